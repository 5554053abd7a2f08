// size_t is built into NVRTC.
#pragma once
typedef long ptrdiff_t;
#ifndef NULL
#define NULL 0
#endif
