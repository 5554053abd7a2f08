// bf16 types; they share a header with f16.
#pragma once
#include "hip_fp16.h"
