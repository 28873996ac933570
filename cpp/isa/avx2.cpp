#define RANKFILL_ISA avx2
#define RANKFILL_VECTOR_BYTES 32
#include "rankfill/before_target.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#include "rankfill/make_table.hpp"

namespace rankfill {
const KernelTable& avx2_table() {
    static const KernelTable table = avx2::make_table("avx2");
    return table;
}
}  // namespace rankfill
#if defined(__clang__)
#pragma clang attribute pop
#endif
