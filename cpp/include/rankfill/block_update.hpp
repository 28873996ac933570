// Block updates of primal–dual completion (Xin, Jaakkola, AISTATS 2012): one rank-one term of W at a time, against
// maintained residuals e = r − w.
//
// With b fixed, v minimises Σ ℓ(e_ui − v_u b_i) + λ‖v‖, e without the term. Around the residuals as they are, every loss
// lies below a parabola of slope g = dℓ/de and curvature h, so with s_u = Σ_i g b_i + v_u c_u and c_u = Σ_i h b_i² the new
// v_u = ξ s_u / (1 + ξ c_u), where ξ = 0 or Σ_u s_u² / (1 + ξ c_u)² = λ², never raises the objective and for ½e² is exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "rankfill/gradient_rule.hpp"

namespace rankfill {

// A number of `other` a term: two that leave or enter the residuals, the one that moves next, and one unused, so that
// what an entry needs lies on half a cache line.
constexpr int kTerms = 2, kOthers = 4;

struct BlockPass {
    const std::int64_t* indptr;
    const std::int32_t* indices;
    const float* targets;  // read by the logistic loss alone
    double* residuals;
    const double* own;    // kTerms a row
    const double* other;  // kOthers a column
    double width;         // δ of huber; absolute is rounded off with 1/(2δ) e² + ½δ below it
    double* slopes;       // s of each row
    double* curvatures;   // c of each row
};

struct Parabola {
    double slope, curvature;
};

template <Loss loss>
inline Parabola parabola(double e, double target, double width) {
    if constexpr (loss == Loss::squared) return {e, 1.0};
    const double size = std::max(std::abs(e), width);
    if constexpr (loss == Loss::absolute) return {e / size, 1.0 / size};
    if constexpr (loss == Loss::huber) return {width * e / size, width / size};
    const double margin = target * (target - e), half = 0.5 * margin;
    return {target / (1.0 + std::exp(margin)), std::abs(half) < 1e-4 ? 0.25 : 0.25 * std::tanh(half) / half};
}

// residual ← residual + own·other over the two terms; then the sums against the next term, on four lanes: lane t mod 4
// takes entry t.
template <Loss loss>
inline void block_row(const BlockPass& pass, std::int64_t row) {
    constexpr int lanes = 4;
    const std::int64_t begin = pass.indptr[row], end = pass.indptr[row + 1];
    const double first = pass.own[kTerms * row], second = pass.own[kTerms * row + 1];
    double s[lanes] = {}, c[lanes] = {};
    const auto add = [&](std::int64_t t, int lane) {
        const double* other = pass.other + std::int64_t{kOthers} * pass.indices[t];
        const double e = pass.residuals[t] + (first * other[0] + second * other[1]);
        pass.residuals[t] = e;
        const Parabola below = parabola<loss>(e, pass.targets[t], pass.width);
        s[lane] += below.slope * other[2];
        c[lane] += below.curvature * (other[2] * other[2]);
    };
    std::int64_t t = begin;
    for (; t + lanes <= end; t += lanes)
        for (int lane = 0; lane < lanes; ++lane) add(t + lane, lane);
    for (int lane = 0; t < end; ++t, ++lane) add(t, lane);
    pass.slopes[row] = (s[0] + s[2]) + (s[1] + s[3]);
    pass.curvatures[row] = (c[0] + c[2]) + (c[1] + c[3]);
}

template <Loss loss>
inline void block_rows(const BlockPass& pass, std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) block_row<loss>(pass, row);
}

// The root ξ of ‖s / (1 + ξc)‖ = λ by Newton's method on 1/‖·‖ − 1/λ, which is concave and rises: from 0 the steps
// never pass the root, and it is nearly straight, so they are few. 0 where s is not longer than λ.
inline double block_weight(std::span<const double> s, std::span<const double> c, double penalty) {
    constexpr int most = 100;
    double xi = 0.0;
    for (int step = 0; step < most; ++step) {
        double squares = 0.0, change = 0.0;
        for (std::size_t u = 0; u < s.size(); ++u) {
            const double shrink = 1.0 / (1.0 + xi * c[u]), q = s[u] * shrink;
            squares += q * q;
            change += q * q * (c[u] * shrink);
        }
        const double norm = std::sqrt(squares), excess = norm / penalty - 1.0;
        if (!(excess > 1e-13) || !(change > 0.0)) break;
        xi += excess * (squares / change);
    }
    return xi;
}

}  // namespace rankfill
