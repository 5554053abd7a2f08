// Math is built into NVRTC.
#pragma once
