// Every build of the kernels that can run here, the wide one among them.
#pragma once

#include <vector>

#include "rankfill/table.hpp"

const rankfill::KernelTable& wide_table();

inline std::vector<const rankfill::KernelTable*> all_tables() {
    auto tables = rankfill::available_tables();
    tables.push_back(&wide_table());
    return tables;
}
