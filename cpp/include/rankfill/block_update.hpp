// Block updates of primal–dual completion (Xin, Jaakkola, AISTATS 2012): one rank-one term of W at a time, against
// maintained residuals e = r − w.
//
// With b fixed, v minimises Σ ℓ(e_ui − v_u b_i) + λ‖v‖, e without the term. Around the residuals as they are, every
// loss lies below a parabola of slope g = dℓ/de and curvature h, so with s_u = Σ_i g b_i + v_u c_u and c_u = Σ_i h b_i²
// the new v_u = ξ s_u / (1 + ξ c_u), where ξ = 0 or Σ_u s_u² / (1 + ξ c_u)² = λ², never raises the objective and for
// ½e² is exact.
#pragma once

#include "rankfill/block_pass.hpp"
#include "rankfill/isa.hpp"

namespace rankfill::RANKFILL_ISA {

typedef double Four __attribute__((vector_size(32)));
typedef double FourAnywhere __attribute__((vector_size(32), aligned(8), may_alias));

struct Parabola {
    double slope, curvature;
};

template <Loss loss>
RANKFILL_INLINE Parabola parabola(double e, double target, double width, double tube) {
    if constexpr (loss == Loss::insensitive) {
        const double beyond = std::copysign(std::max(std::abs(e) - tube, 0.0), e);
        const double size = std::max(std::abs(beyond), width);
        return {beyond / size, 1.0 / size};
    }
    const double size = std::max(std::abs(e), width);
    if constexpr (loss == Loss::absolute) return {e / size, 1.0 / size};
    if constexpr (loss == Loss::huber) return {width * e / size, width / size};
    const double margin = target * (target - e), half = 0.5 * margin;
    return {target / (1.0 + std::exp(margin)), std::abs(half) < 1e-4 ? 0.25 : 0.25 * std::tanh(half) / half};
}

// The sums of a row on four lanes: lane t mod 4 takes entry t.
template <Loss loss>
struct BlockSums {
    Four s = {}, c = {};

    RANKFILL_INLINE void add(const Four& e, const float* targets, const Four& b, double width, double tube) {
        if constexpr (loss == Loss::squared) {
            s += e * b;
            c += b * b;
        } else {
            Four slope, curvature;
            for (int lane = 0; lane < 4; ++lane) {
                const Parabola above = parabola<loss>(e[lane], targets[lane], width, tube);
                slope[lane] = above.slope, curvature[lane] = above.curvature;
            }
            s += slope * b;
            c += curvature * (b * b);
        }
    }
};

// By reference: how a vector is returned by value differs between instruction sets. To be copied at once: a Four& bound
// to it forgets that it may begin anywhere.
RANKFILL_INLINE const FourAnywhere& four(const double* source) {
    return *reinterpret_cast<const FourAnywhere*>(source);
}

// residual ← residual + own·other over the two terms, then the sums against the third.
template <Loss loss>
inline void block_row(const BlockPass& pass, std::int64_t row) {
    const std::int64_t end = pass.indptr[row + 1];
    const double first = pass.own[kTerms * row], second = pass.own[kTerms * row + 1];
    const auto other = [&](std::int64_t t) { return pass.other + std::int64_t{kOthers} * pass.indices[t]; };
    BlockSums<loss> sums;
    std::int64_t t = pass.indptr[row];
    for (; t + 4 <= end; t += 4) {
        const Four w = four(other(t)), x = four(other(t + 1)), y = four(other(t + 2)), z = four(other(t + 3));
        const Four wx = __builtin_shufflevector(w, x, 0, 4, 2, 6), yz = __builtin_shufflevector(y, z, 0, 4, 2, 6);
        const Four wx1 = __builtin_shufflevector(w, x, 1, 5, 1, 5), yz1 = __builtin_shufflevector(y, z, 1, 5, 1, 5);
        const Four one = __builtin_shufflevector(wx, yz, 0, 1, 4, 5), b = __builtin_shufflevector(wx, yz, 2, 3, 6, 7);
        const Four two = __builtin_shufflevector(wx1, yz1, 0, 1, 4, 5);
        const Four e = four(pass.residuals + t) + (first * one + second * two);
        std::memcpy(pass.residuals + t, &e, sizeof e);
        sums.add(e, pass.targets + t, b, pass.width, pass.tube);
    }
    if (t < end) {
        Four e = {}, b = {};
        float targets[4] = {};
        for (int lane = 0; t + lane < end; ++lane) {
            const double* o = other(t + lane);
            e[lane] = pass.residuals[t + lane] + (first * o[0] + second * o[1]);
            pass.residuals[t + lane] = e[lane];
            b[lane] = o[2];
            targets[lane] = pass.targets[t + lane];
        }
        sums.add(e, targets, b, pass.width, pass.tube);
    }
    pass.slopes[row] = (sums.s[0] + sums.s[2]) + (sums.s[1] + sums.s[3]);
    pass.curvatures[row] = (sums.c[0] + sums.c[2]) + (sums.c[1] + sums.c[3]);
}

template <Loss loss>
inline void block_rows_of(const BlockPass& pass, std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) block_row<loss>(pass, row);
}

inline void block_rows(const BlockPass& pass, std::int64_t first, std::int64_t last) {
    switch (pass.loss) {
        case Loss::squared:
            return block_rows_of<Loss::squared>(pass, first, last);
        case Loss::absolute:
            return block_rows_of<Loss::absolute>(pass, first, last);
        case Loss::insensitive:
            return block_rows_of<Loss::insensitive>(pass, first, last);
        case Loss::huber:
            return block_rows_of<Loss::huber>(pass, first, last);
        default:
            return block_rows_of<Loss::logistic>(pass, first, last);
    }
}

// The root ξ of ‖s / (1 + ξc)‖ = λ by Newton's method on 1/‖·‖ − 1/λ, which is concave and rises: from 0 the steps
// never pass the root, and it is nearly straight, so they are few. 0 where s is not longer than λ. Sums on four lanes.
inline double block_weight(std::span<const double> s, std::span<const double> c, double penalty) {
    constexpr int most = 100;
    const std::size_t n = s.size();
    double xi = 0.0;
    for (int step = 0; step < most; ++step) {
        Four squares = {}, changes = {};
        const auto add = [&](const Four& slope, const Four& curvature) {
            const Four shrink = 1.0 / (1.0 + xi * curvature), q = slope * shrink;
            squares += q * q;
            changes += (q * q) * (curvature * shrink);
        };
        std::size_t u = 0;
        for (; u + 4 <= n; u += 4) {
            const Four slope = four(&s[u]), curvature = four(&c[u]);
            add(slope, curvature);
        }
        Four slope = {}, curvature = {};
        for (int lane = 0; u < n; ++u, ++lane) slope[lane] = s[u], curvature[lane] = c[u];
        add(slope, curvature);
        const double square = (squares[0] + squares[2]) + (squares[1] + squares[3]);
        const double change = (changes[0] + changes[2]) + (changes[1] + changes[3]);
        const double excess = std::sqrt(square) / penalty - 1.0;
        if (!(excess > 1e-13) || !(change > 0.0)) break;
        xi += excess * (square / change);
    }
    return xi;
}

}  // namespace rankfill::RANKFILL_ISA
