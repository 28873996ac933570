// One stochastic gradient round on rows p and q for the rating r (targets are scaled, the offset taken off):
//
//     e = r − p·q,  g = dℓ/de,   p ← p + η_p (g q − λ p),   q ← q + η_q (g p − λ q),   both from the rows before.
//
// AdaGrad keeps one number a row: η_p = rate / √G_p, and after the round G_p grows by ‖g q − λ p‖² / rank.
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

struct Squares {
    Register<float> p, q;
};

// Moves both rows; with `Adaptive` it also returns the partial sums of the squared gradients.
template <int Blocks, bool Adaptive, bool Projected>
RANKFILL_INLINE Squares move_pair(float* p, float* q, float slope, float eta_p, float eta_q, const GradientRule& rule,
                                  const Floors& floor, int blocks) {
    const int n = Blocks ? Blocks : blocks;
    const float penalty = rule.penalty;
    Register<float> squares_p[kParts<float>] = {}, squares_q[kParts<float>] = {};
    for (int k = 0; k < n; ++k)
        for (int part = 0; part < kParts<float>; ++part) {
            const int at = k * kLanes + part * kWidth<float>;
            const Register<float> a = load(p + at), b = load(q + at);
            const Register<float> down_p = slope * b - penalty * a, down_q = slope * a - penalty * b;
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
    if (rule.biased) p[rule.rank + 1] = q[rule.rank] = 1.0f;
    for (int half = kParts<float> / 2; half >= 1; half /= 2)
        for (int part = 0; part < half; ++part) {
            squares_p[part] = squares_p[part] + squares_p[part + half];
            squares_q[part] = squares_q[part] + squares_q[part + half];
        }
    return {squares_p[0], squares_q[0]};
}

// The loss of one rating and the penalty of both rows after a step η, from products of the rows before it.
struct OneSample {
    LossRule loss;
    float target, slope, penalty, product, norms, bias_p, bias_q;  // product and norms of the factors alone

    double value(float e, float norms_after, float bias_p_after, float bias_q_after) const {
        const double fit =
            loss.loss == Loss::logistic ? logistic_value(target, e) : loss_value(loss, static_cast<double>(e));
        const double biases = static_cast<double>(bias_p_after) * static_cast<double>(bias_p_after) +
                              static_cast<double>(bias_q_after) * static_cast<double>(bias_q_after);
        return fit + 0.5 * static_cast<double>(penalty) * (static_cast<double>(norms_after) + biases);
    }
};

// The first of rate, rate/2, rate/4, … with f(θ − η∇f) ≤ f(θ) − ½ η ‖∇f‖²; f is the loss and penalty of this rating.
inline float searched_step(const GradientRule& rule, const float* p, const float* q, float target, float e, float slope,
                           int blocks) {
    const float bias_p = rule.biased ? p[rule.rank] : 0.0f, bias_q = rule.biased ? q[rule.rank + 1] : 0.0f;
    const float ones = rule.biased ? 1.0f : 0.0f;
    const float norms =
        (dot<0>(p, p, blocks) - bias_p * bias_p - ones) + (dot<0>(q, q, blocks) - bias_q * bias_q - ones);
    const float product = (target - e) - (bias_p + bias_q);
    const OneSample f{rule.loss, target, slope, rule.penalty, product, norms, bias_p, bias_q};
    const double before = f.value(e, norms, bias_p, bias_q);
    const float lambda = rule.penalty;
    const float down_p = ones * (slope - lambda * bias_p), down_q = ones * (slope - lambda * bias_q);
    const float squares =
        (slope * slope + lambda * lambda) * norms - 4.0f * slope * lambda * product + down_p * down_p + down_q * down_q;
    float eta = rule.rate;
    for (int halving = 0; halving < 30; ++halving, eta *= 0.5f) {
        const float keep = 1.0f - eta * lambda, take = eta * slope;
        const float both = keep * keep + take * take, cross = keep * take;
        const float bias_p_after = bias_p + eta * down_p, bias_q_after = bias_q + eta * down_q;
        const float product_after = both * product + cross * norms + bias_p_after + bias_q_after;
        const double after =
            f.value(target - product_after, both * norms + 4.0f * cross * product, bias_p_after, bias_q_after);
        if (after <= before - 0.5 * static_cast<double>(eta) * static_cast<double>(squares)) break;
    }
    return eta;
}

RANKFILL_INLINE RoundSums terms(const LossRule& rule, float target, float e) {
    const double wide = e;
    const double value = rule.loss == Loss::logistic ? logistic_value(target, e) : loss_value(rule, wide);
    return {value, wide * wide, wide < 0.0 ? -wide : wide};
}

// One round of one lane: what the waves must equal to the bit.
template <int Blocks>
RANKFILL_INLINE RoundSums gradient_round(float* p, float* q, float target, double t, float* memory_p, float* memory_q,
                                         const GradientRule& rule, const Floors& floor, int blocks) {
    const float e = target - dot<Blocks>(p, q, blocks);
    const float slope = loss_slope(rule.loss, target, e);
    if (rule.step == StepSize::adagrad) {
        const Squares squares = move_pair<Blocks, true, true>(p, q, slope, rule.rate / std::sqrt(*memory_p),
                                                              rule.rate / std::sqrt(*memory_q), rule, floor, blocks);
        const float share = 1.0f / static_cast<float>(rule.rank);
        *memory_p = *memory_p + share * fold<float>(squares.p);
        *memory_q = *memory_q + share * fold<float>(squares.q);
    } else {
        const float eta = rule.step == StepSize::line_search ? searched_step(rule, p, q, target, e, slope, blocks)
                                                             : rule.scheduled(t);
        move_pair<Blocks, false, true>(p, q, slope, eta, eta, rule, floor, blocks);
    }
    return terms(rule.loss, target, e);
}

// Rounds in order of arrival; the offset is the mean of the ratings so far and moves with each.
template <int Blocks>
RoundSums gradient_rounds(Pairs pairs, std::span<const float> targets, double first_round, Factors<float> users,
                          Factors<float> items, float* user_memory, float* item_memory, const GradientRule& rule) {
    const auto user_floor = floors(rule, rule.nonnegative_users, users.stride);
    const auto item_floor = floors(rule, rule.nonnegative_items, users.stride);
    RoundSums sums;
    for (std::size_t k = 0; k < targets.size(); ++k)
        sums += gradient_round<Blocks>(users.row(pairs.users[k]), items.row(pairs.items[k]), targets[k],
                                       first_round + static_cast<double>(k), user_memory + pairs.users[k],
                                       item_memory + pairs.items[k], rule, {user_floor.data(), item_floor.data()},
                                       users.stride / kLanes);
    return sums;
}

}  // namespace rankfill::RANKFILL_ISA
