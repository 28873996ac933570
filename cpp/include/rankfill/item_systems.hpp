// What regressions of items on a few others read and write; see item_system_rows.hpp.
#pragma once

#include <cstdint>

#include "rankfill/sparse_pattern.hpp"

namespace rankfill {

struct ItemSystems {
    Pattern by_item;  // every item's entries by user
    const float* item_values;
    Pattern by_user;  // every user's entries of sources alone
    const float* user_values;
    Block<const float> gram;      // of the sources; the lower triangle is read
    const double* inverse_norms;  // 1 / √G_ii
    const std::int32_t* places;   // the number of each item among the sources, or −1
    double penalty;
    int keep;
    std::int32_t* sources;  // `keep` for each item, by their number among the sources; zeros where there are fewer
    float* weights;
    double* explained;  // of each item, w·(x_i·x_j)_N
};

}  // namespace rankfill
