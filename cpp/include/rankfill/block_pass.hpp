// What one pass of a block update reads and moves; see block_update.hpp.
#pragma once

#include <cstdint>

#include "rankfill/gradient_rule.hpp"

namespace rankfill {

// Numbers a column in `other`: two terms that leave or enter the residuals, the one that moves next, one unused, so
// that what an entry needs lies on half a cache line.
constexpr int kTerms = 2, kOthers = 4;

struct BlockPass {
    const std::int64_t* indptr;
    const std::int32_t* indices;
    const float* targets;  // read by the logistic loss alone
    double* residuals;
    const double* own;    // kTerms a row
    const double* other;  // kOthers a column
    Loss loss;
    double width;        // δ of huber; absolute is rounded off with 1/(2δ) e² + ½δ below it
    double tube;         // ε of insensitive: the loss absolute, rounded off likewise, of what is beyond it
    double* slopes;      // s of each row
    double* curvatures;  // c of each row
};

}  // namespace rankfill
