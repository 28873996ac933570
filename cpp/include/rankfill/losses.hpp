// Losses of a residual e = r − r̂: value and slope dℓ/de, as in objectives/losses.py. `V` is a number or a register.
//
// The logistic loss log(1 + exp(−r r̂)) of targets −1 and +1 is a function of both r and e: r r̂ = r (r − e).
#pragma once

#include "rankfill/gradient_rule.hpp"
#include "rankfill/lanes.hpp"

namespace rankfill::RANKFILL_ISA {

template <class V>
RANKFILL_INLINE V sign_of(const V& e) {
    const V zero = {}, one = zero + 1.0f;
    const V negative = e < zero ? -one : zero;
    return e > zero ? one : negative;
}

RANKFILL_INLINE float logistic_slope(float target, float e) {
    const double margin = static_cast<double>(target) * (static_cast<double>(target) - static_cast<double>(e));
    return static_cast<float>(static_cast<double>(target) / (1.0 + std::exp(margin)));
}

inline double logistic_value(float target, float e) {
    const double margin = static_cast<double>(target) * (static_cast<double>(target) - static_cast<double>(e));
    return margin > 0.0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
}

template <class V>
RANKFILL_INLINE V loss_slope(const LossRule& rule, const V& target, const V& e) {
    const V zero = {}, width = zero + rule.width;
    const V size = e < zero ? -e : e;
    switch (rule.loss) {
        case Loss::squared:
            return e;
        case Loss::absolute:
            return sign_of(e);
        case Loss::insensitive:
            return size > width ? sign_of(e) : zero;
        case Loss::huber:
            return size > width ? width * sign_of(e) : e;
        default:
            if constexpr (std::is_same_v<V, float>) {
                return logistic_slope(target, e);
            } else {
                V slope = {};
                for (int i = 0; i < kWidth<float>; ++i) slope[i] = logistic_slope(target[i], e[i]);
                return slope;
            }
    }
}

// The same in float64 for sums. `D` is a double or a register of them.
template <class D>
RANKFILL_INLINE D loss_value(const LossRule& rule, const D& e) {
    const D zero = {}, width = zero + static_cast<double>(rule.width);
    const D size = e < zero ? -e : e;
    switch (rule.loss) {
        case Loss::squared:
            return 0.5 * e * e;
        case Loss::absolute:
            return size;
        case Loss::insensitive:
            return size > width ? size - width : zero;
        default:
            return size > width ? width * (size - 0.5 * width) : 0.5 * e * e;
    }
}

}  // namespace rankfill::RANKFILL_ISA
