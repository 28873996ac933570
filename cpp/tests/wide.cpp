// The code of the 512-bit variant compiled for any machine: the compiler splits its registers, so that its logic
// can be tested where AVX-512 cannot run.
#define RANKFILL_ISA wide
#define RANKFILL_VECTOR_BYTES 64
#include "rankfill/make_table.hpp"

const rankfill::KernelTable& wide_table() {
    static const rankfill::KernelTable table = rankfill::wide::make_table("wide");
    return table;
}
