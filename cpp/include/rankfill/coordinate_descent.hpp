// One factor at a time on maintained residuals (CCD++; Yu, Hsieh, Si, Dhillon, ICDM 2012).
//
// The residual of an entry is kept twice, by user and by item. Both copies go through the same additions of the same
// products, so they agree to the bit without ever being compared.
#pragma once

#include "rankfill/csr.hpp"
#include "rankfill/factor_step.hpp"
#include "rankfill/lanes.hpp"

namespace rankfill::RANKFILL_ISA {

// e = (r − offset) − w·x for the entries of a row.
template <int Blocks>
void residuals_of_row(const Csr& ratings, Factors<const float> moving, Factors<const float> fixed, float offset,
                      std::int64_t row, float* residuals) {
    for (std::int64_t t = ratings.indptr[row]; t < ratings.indptr[row + 1]; ++t)
        residuals[t] = (ratings.values[t] - offset) -
                       dot<Blocks>(moving.row(row), fixed.row(ratings.indices[t]), fixed.stride / kLanes);
}

// residual ← residual + sign · own · other
inline void shift_row(const FactorStep& step, std::int64_t row) {
    const float own = step.sign * step.own[row];
    for (std::int64_t t = step.indptr[row]; t < step.indptr[row + 1]; ++t)
        step.residuals[t] += own * step.other[step.indices[t]];
}

// own ← Σ residual · other / (penalty + Σ other²), sums in double on sixteen lanes: lane t mod 16 takes entry t.
inline void move_row(const FactorStep& step, std::int64_t row) {
    const std::int64_t begin = step.indptr[row], n = step.indptr[row + 1] - begin;
    if (n == 0) return;
    const float* residuals = step.residuals + begin;
    const std::int32_t* indices = step.indices + begin;
    double above[kLanes] = {}, below[kLanes] = {};
    std::int64_t t = 0;
    const auto add = [&](int lane) {
        const double other = step.other[indices[t + lane]];
        above[lane] += residuals[t + lane] * other;
        below[lane] += other * other;
    };
    for (; t + kLanes <= n; t += kLanes)
        for (int lane = 0; lane < kLanes; ++lane) add(lane);
    for (int lane = 0; lane < n - t; ++lane) add(lane);
    for (int half = kLanes / 2; half >= 1; half /= 2)
        for (int lane = 0; lane < half; ++lane) {
            above[lane] += above[lane + half];
            below[lane] += below[lane + half];
        }
    const double curvature = step.penalty * (step.by_count ? static_cast<double>(n) : 1.0) + below[0];
    if (!(curvature > 0.0)) return;
    const double moved = above[0] / curvature;
    step.own[row] = static_cast<float>(step.nonnegative ? std::max(moved, 0.0) : moved);
}

inline void shift_rows(const FactorStep& step, std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) shift_row(step, row);
}

inline void move_rows(const FactorStep& step, std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) move_row(step, row);
}

}  // namespace rankfill::RANKFILL_ISA
