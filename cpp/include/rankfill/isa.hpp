// One source, several instruction sets. A translation unit under cpp/isa/ names its set, turns it on with a
// target pragma, and includes the kernels, which land in a namespace of that name. What must come before the pragma
// is in before_target.hpp.
//
// Every set computes on the same sixteen virtual lanes, in the same order, without fused multiply-add:
// the choice of instruction set changes the speed of a result, never its bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#ifndef RANKFILL_ISA
#define RANKFILL_ISA baseline
#define RANKFILL_VECTOR_BYTES 16
#endif

#define RANKFILL_INLINE inline __attribute__((always_inline))
#define RANKFILL_APART __attribute__((noinline))  // seldom called: keeps its registers to itself
