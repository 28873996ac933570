// What one step of coordinate descent reads and moves: one factor of all rows, against the same factor of the columns.
#pragma once

#include <cstdint>

namespace rankfill {

struct FactorStep {
    const std::int64_t* indptr;
    const std::int32_t* indices;
    float* residuals;  // an entry each
    float* own;        // a row each
    const float* other;
    float sign = 1.0f;
    double penalty = 0.0;
    bool by_count = false;
    bool nonnegative = false;
};

}  // namespace rankfill
