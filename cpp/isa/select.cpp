#include "rankfill/table.hpp"

namespace rankfill {

const KernelTable& baseline_table();
#if defined(__x86_64__)
const KernelTable& avx2_table();
const KernelTable& avx512_table();
#endif

std::vector<const KernelTable*> available_tables() {
    std::vector<const KernelTable*> tables{&baseline_table()};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) tables.push_back(&avx2_table());
    if (__builtin_cpu_supports("avx512f")) tables.push_back(&avx512_table());
#endif
    return tables;
}

}  // namespace rankfill
