// What every machine of the architecture runs: SSE2 on x86-64, NEON on arm64.
#include "rankfill/make_table.hpp"

namespace rankfill {
const KernelTable& baseline_table() {
    static const KernelTable table = baseline::make_table("baseline");
    return table;
}
}  // namespace rankfill
