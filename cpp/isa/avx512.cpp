#define RANKFILL_ISA avx512
#define RANKFILL_VECTOR_BYTES 64
#include "rankfill/before_target.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f")
#endif
#include "rankfill/make_table.hpp"

namespace rankfill {
const KernelTable& avx512_table() {
    static const KernelTable table = avx512::make_table("avx512");
    return table;
}
}  // namespace rankfill
#if defined(__clang__)
#pragma clang attribute pop
#endif
