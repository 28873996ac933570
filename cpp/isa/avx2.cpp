#define RANKFILL_ISA avx2
#define RANKFILL_VECTOR_BYTES 32
#include <atomic>
#include <utility>

#include "rankfill/columns.hpp"
#include "rankfill/csr.hpp"
#include "rankfill/factor_step.hpp"
#include "rankfill/isa.hpp"
#include "rankfill/ridge.hpp"
#include "rankfill/row_order.hpp"
#include "rankfill/sparse_pattern.hpp"
#include "rankfill/table.hpp"

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
