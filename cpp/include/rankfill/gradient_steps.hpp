// One stochastic gradient round on rows p and q for the rating r (targets are scaled, the offset taken off):
//
//     e = r − p·q,  g = dℓ/de,   p ← p + η_p (g q − λ_p p),   q ← q + η_q (g p − λ_q q),   both from the rows before.
//
// AdaGrad keeps one number per row: η_p = rate / √G_p, and after the round G_p grows by ‖g q − λ p‖² / rank. Biases
// move with a share of λ; in G they count with all of it.
#pragma once

#include <span>
#include <type_traits>

#include "rankfill/csr.hpp"
#include "rankfill/losses.hpp"
#include "rankfill/table.hpp"

namespace rankfill::RANKFILL_ISA {

template <class V>
RANKFILL_INLINE V square_root(const V& value) {
    if constexpr (std::is_same_v<V, float>) {
        return std::sqrt(value);
    } else {
        V root = {};
        for (int i = 0; i < kWidth<float>; ++i) root[i] = std::sqrt(value[i]);
        return root;
    }
}

// Lowest allowed value of each column: 0 for a factor that must not be negative, −∞ otherwise and for biases.
inline std::vector<float> floors(const GradientRule& rule, bool nonnegative, int stride) {
    std::vector<float> floor(stride, -std::numeric_limits<float>::infinity());
    if (nonnegative) std::fill_n(floor.begin(), rule.rank, 0.0f);
    return floor;
}

struct Floors {
    const float* users;
    const float* items;
};

struct Penalties {
    float p, q;
};

struct Squares {
    Register<float> p, q;
};

// Moves both rows; with `Adaptive` it also returns the partial sums of the squared gradients.
template <int Blocks, bool Adaptive, bool Projected>
RANKFILL_INLINE Squares move_pair(float* p, float* q, float slope, float eta_p, float eta_q, Penalties penalty,
                                  const GradientRule& rule, const Floors& floor, int blocks) {
    const int n = Blocks ? Blocks : blocks;
    Register<float> squares_p[kParts<float>] = {}, squares_q[kParts<float>] = {};
    const float bias_p = rule.biased ? p[rule.rank] : 0.0f, bias_q = rule.biased ? q[rule.rank + 1] : 0.0f;
    for (int k = 0; k < n; ++k)
        for (int part = 0; part < kParts<float>; ++part) {
            const int at = k * kLanes + part * kWidth<float>;
            const Register<float> a = load(p + at), b = load(q + at);
            const Register<float> down_p = slope * b - penalty.p * a, down_q = slope * a - penalty.q * b;
            Register<float> moved_p = a + eta_p * down_p, moved_q = b + eta_q * down_q;
            if constexpr (Projected) {
                moved_p = maximum<float>(moved_p, load(floor.users + at));
                moved_q = maximum<float>(moved_q, load(floor.items + at));
            }
            store(p + at, moved_p);
            store(q + at, moved_q);
            if constexpr (Adaptive) {
                squares_p[part] = squares_p[part] + down_p * down_p;
                squares_q[part] = squares_q[part] + down_q * down_q;
            }
        }
    if (rule.biased) {
        p[rule.rank] = bias_p + eta_p * (slope - rule.bias_share * penalty.p * bias_p);
        q[rule.rank + 1] = bias_q + eta_q * (slope - rule.bias_share * penalty.q * bias_q);
        p[rule.rank + 1] = q[rule.rank] = 1.0f;
    }
    for (int half = kParts<float> / 2; half >= 1; half /= 2)
        for (int part = 0; part < half; ++part) {
            squares_p[part] = squares_p[part] + squares_p[part + half];
            squares_q[part] = squares_q[part] + squares_q[part + half];
        }
    return {squares_p[0], squares_q[0]};
}

inline double loss_of_one(const LossRule& rule, float target, float e) {
    return rule.loss == Loss::logistic ? logistic_value(target, e) : loss_value(rule, static_cast<double>(e));
}

// The first of rate, rate/2, rate/4, … with f(θ − η∇f) ≤ f(θ) − ½ η ‖∇f‖²; f is the loss and penalty of this rating.
// Rows after a step are sums of the rows before it, so their products follow from three: ‖p‖², ‖q‖² and p·q.
inline float searched_step(const GradientRule& rule, const float* p, const float* q, float target, float e, float slope,
                           Penalties penalty, int blocks) {
    const float bias_p = rule.biased ? p[rule.rank] : 0.0f, bias_q = rule.biased ? q[rule.rank + 1] : 0.0f;
    const float ones = rule.biased ? 1.0f : 0.0f;
    const float norm_p = dot<0>(p, p, blocks) - bias_p * bias_p - ones;
    const float norm_q = dot<0>(q, q, blocks) - bias_q * bias_q - ones;
    const float product = (target - e) - (bias_p + bias_q);
    const auto value = [&](float residual, float squares_p, float squares_q) {
        return loss_of_one(rule.loss, target, residual) + 0.5 * static_cast<double>(penalty.p * squares_p) +
               0.5 * static_cast<double>(penalty.q * squares_q);
    };
    const float share = rule.bias_share;
    const double before = value(e, norm_p + share * bias_p * bias_p, norm_q + share * bias_q * bias_q);
    const float down_p = ones * (slope - share * penalty.p * bias_p),
                down_q = ones * (slope - share * penalty.q * bias_q);
    const float squares = (slope * slope + penalty.p * penalty.p) * norm_p + down_p * down_p +
                          (slope * slope + penalty.q * penalty.q) * norm_q + down_q * down_q -
                          2.0f * slope * (penalty.p + penalty.q) * product;
    float eta = rule.rate;
    for (int halving = 0; halving < 30; ++halving, eta *= 0.5f) {
        const float keep_p = 1.0f - eta * penalty.p, keep_q = 1.0f - eta * penalty.q, take = eta * slope;
        const float b = bias_p + eta * down_p, c = bias_q + eta * down_q;
        const float after =
            (keep_p * keep_q + take * take) * product + keep_p * take * norm_p + keep_q * take * norm_q + b + c;
        const float cross = 2.0f * take * product;
        const float squares_p = keep_p * keep_p * norm_p + keep_p * cross + take * take * norm_q + share * b * b;
        const float squares_q = keep_q * keep_q * norm_q + keep_q * cross + take * take * norm_p + share * c * c;
        if (value(target - after, squares_p, squares_q) <=
            before - 0.5 * static_cast<double>(eta) * static_cast<double>(squares))
            break;
    }
    return eta;
}

RANKFILL_INLINE RoundSums terms(const LossRule& rule, float target, float e) {
    const double wide = e;
    return {loss_of_one(rule, target, e), wide * wide, std::abs(wide)};
}

// One round of one lane: what the waves must equal to the bit.
template <int Blocks>
RANKFILL_INLINE RoundSums gradient_round(float* p, float* q, float target, double t, float* memory_p, float* memory_q,
                                         Penalties penalty, const GradientRule& rule, const Floors& floor, int blocks) {
    const float e = target - dot<Blocks>(p, q, blocks);
    const float slope = loss_slope(rule.loss, target, e);
    if (rule.step == StepSize::adagrad) {
        const Squares squares =
            move_pair<Blocks, true, true>(p, q, slope, rule.rate / std::sqrt(*memory_p),
                                          rule.rate / std::sqrt(*memory_q), penalty, rule, floor, blocks);
        const float share = 1.0f / static_cast<float>(rule.rank);
        *memory_p = *memory_p + share * fold<float>(squares.p);
        *memory_q = *memory_q + share * fold<float>(squares.q);
    } else {
        const float eta = rule.step == StepSize::line_search
                              ? searched_step(rule, p, q, target, e, slope, penalty, blocks)
                              : rule.scheduled(t);
        move_pair<Blocks, false, true>(p, q, slope, eta, eta, penalty, rule, floor, blocks);
    }
    return terms(rule.loss, target, e);
}

// Rounds in order of arrival, each with its own penalties.
template <int Blocks>
RoundSums gradient_rounds(Pairs pairs, std::span<const float> targets, double first_round, Factors<float> users,
                          Factors<float> items, float* user_memory, float* item_memory, const float* user_penalties,
                          const float* item_penalties, const GradientRule& rule) {
    const auto user_floor = floors(rule, rule.nonnegative_users, users.stride);
    const auto item_floor = floors(rule, rule.nonnegative_items, users.stride);
    RoundSums sums;
    for (std::size_t k = 0; k < targets.size(); ++k)
        sums += gradient_round<Blocks>(users.row(pairs.users[k]), items.row(pairs.items[k]), targets[k],
                                       first_round + static_cast<double>(k), user_memory + pairs.users[k],
                                       item_memory + pairs.items[k], {user_penalties[k], item_penalties[k]}, rule,
                                       {user_floor.data(), item_floor.data()}, users.stride / kLanes);
    return sums;
}

}  // namespace rankfill::RANKFILL_ISA
