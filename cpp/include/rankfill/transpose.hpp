// A square of registers turned over its diagonal, without a detour through memory.
#pragma once

#include "rankfill/lanes.hpp"

namespace rankfill::RANKFILL_ISA {

// Of two rows `Half` apart: exchanges the upper lanes of the first with the lower lanes of the second, in each stretch
// of 2 · Half lanes.
template <int Half, int... Lane>
RANKFILL_INLINE void exchange(Register<float>& a, Register<float>& b, std::integer_sequence<int, Lane...>) {
    constexpr int width = kWidth<float>;
    const Register<float> first = __builtin_shufflevector(a, b, (Lane & Half ? width + Lane - Half : Lane)...);
    b = __builtin_shufflevector(a, b, (Lane & Half ? width + Lane : Lane + Half)...);
    a = first;
}

template <int Half = kWidth<float> / 2>
RANKFILL_INLINE void transpose_square(Register<float>* rows) {
    for (int i = 0; i < kWidth<float>; ++i)
        if ((i & Half) == 0) exchange<Half>(rows[i], rows[i + Half], std::make_integer_sequence<int, kWidth<float>>());
    if constexpr (Half > 1) transpose_square<Half / 2>(rows);
}

}  // namespace rankfill::RANKFILL_ISA
