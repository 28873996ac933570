// Non-negative passive-aggressive rounds (Blondel, Kubo, Ueda 2014, eq. 10–14).
//
// One round moves w against a fixed x so that w·x comes to within ε of y:
//
//     min ½‖w' − w‖² (+ Cξ or + Cξ²)   s.t.  |w'·x − y| ≤ ε (+ ξ),  w' ≥ 0 where asked.
//
// With a = x, b = y + ε when the prediction is too high and a = −x, b = −y + ε when it is too low, the
// solution is w' = max(w − θa, 0) where θ > 0 solves f(θ) = max(w − θa, 0)·a − b = 0 (minus θ/2C under
// quadratic slack; capped at C under linear slack). f is convex, decreasing and piecewise linear.
#pragma once

#include "rankfill/csr.hpp"
#include "rankfill/lanes.hpp"
#include "rankfill/row_order.hpp"
#include "rankfill/rule.hpp"
#include "rankfill/table.hpp"

namespace rankfill::RANKFILL_ISA {

template <class T>
inline constexpr T kNoRoot = std::numeric_limits<T>::infinity();

// f(θ) = max(w − θa, 0)·a − b − θ·softness, with a = sign·x.
template <class T>
struct RootFunction {
    const T* w;
    const T* x;
    int blocks;
    T sign, b, softness;

    T operator()(T theta) const {
        const Register<T> zero = {};
        const Register<T> sum = partial_sum<T, 0>(blocks, [&](int at) {
            const Register<T> a = sign * load(x + at);
            return maximum<T>(load(w + at) - theta * a, zero) * a;
        });
        return fold<T>(sum) - b - theta * softness;
    }

    // Where the tangent at θ, from the right, meets zero. A flat tangent above zero means that there is no root, unless
    // b ≥ 0: then only the squares of tiny entries have vanished, and θ is as good as the root.
    T newton(T theta) const {
        const Register<T> zero = {};
        const auto where_active = [&](int at, const Register<T>& a, const Register<T>& term) {
            return (a < zero) | (load(w + at) > theta * a) ? term : zero;
        };
        const T slope = softness + fold<T>(partial_sum<T, 0>(blocks, [&](int at) {
                            const Register<T> a = sign * load(x + at);
                            return where_active(at, a, a * a);
                        }));
        const T level = fold<T>(partial_sum<T, 0>(blocks,
                                                  [&](int at) {
                                                      const Register<T> a = sign * load(x + at);
                                                      return where_active(at, a, a * load(w + at));
                                                  })) -
                        b;
        if (slope == 0) return level > 0 && b < 0 ? kNoRoot<T> : theta;
        return level / slope;
    }
};

// Newton's method from θ = 0. On a convex decreasing piecewise-linear function it climbs monotonically from
// breakpoint to breakpoint, so it ends, at the exact root, after at most n steps (two to four in practice).
template <class T>
T exact_root(const RootFunction<T>& f) {
    T theta = 0;
    for (int step = 0; step <= f.blocks * kLanes + 1; ++step) {
        const T next = f.newton(theta);
        if (!(next > theta)) break;
        theta = next;
        if (theta == kNoRoot<T>) break;
    }
    return theta;
}

// Stops at |f| ≤ τ·scale, the paper's rule with scale = |y| + ε, or where rounding lets f come no closer to zero.
template <class T>
T bisection_root(const RootFunction<T>& f, T scale) {
    const T tolerance = std::max(T(kBisectionTolerance) * scale, std::numeric_limits<T>::epsilon() * f(T(0)));
    // The first Newton step is below the root and of its size; the last breakpoint w/x can be astronomically above.
    T low = 0, high = f.newton(0);
    T value = f(high);
    for (int doubling = 0; value > tolerance; ++doubling, value = f(high)) {
        if (doubling == 64) return kNoRoot<T>;
        low = high;
        high *= 2;
    }
    T theta = high;
    for (int halving = 0; std::abs(value) > tolerance && halving < 100; ++halving) {
        theta = low + (high - low) / 2;
        if (theta == low || theta == high) break;
        value = f(theta);
        (value < 0 ? high : low) = theta;
    }
    return theta;
}

// Algorithm 2 of the paper: [0, max w/x] is halved until |f| ≤ τ·(y + ε), or as far as rounding lets it. For w, x and
// y that are not negative, and a prediction that is too high.
template <class T>
T published_root(const RootFunction<T>& f) {
    T low = 0, high = 0;
    for (int j = 0; j < f.blocks * kLanes; ++j)
        if (f.x[j] > 0) high = std::max(high, f.w[j] / f.x[j]);
    if (f.b == 0 && f.softness == 0) return high;
    T theta = high, value = f(high);
    const T tolerance = T(kBisectionTolerance) * f.b;
    while (std::abs(value) > tolerance) {
        theta = low + (high - low) / 2;
        if (theta == low || theta == high) break;
        value = f(theta);
        (value < 0 ? high : low) = theta;
    }
    return theta;
}

template <class T>
T root_step(const T* w, const T* x, int blocks, T y, T sign, const Rule& rule) {
    const T epsilon = static_cast<T>(rule.epsilon);
    const T softness = rule.slack == Slack::quadratic ? static_cast<T>(0.5 / rule.C) : T(0);
    const RootFunction<T> f{w, x, blocks, sign, sign * y + epsilon, softness};
    const T cap = static_cast<T>(rule.C);
    // Lemma 3: no root is needed where the cap binds.
    if (rule.slack == Slack::linear && f(cap) >= 0) return cap;
    const T theta = rule.root == Root::exact       ? exact_root(f)
                    : rule.root == Root::bisection ? bisection_root(f, std::abs(y) + epsilon)
                                                   : published_root(f);
    if (rule.slack == Slack::linear) return std::min(theta, cap);
    return theta == kNoRoot<T> ? T(0) : theta;  // no feasible row: stay
}

// Step size s of w ← w + s·x (then clipped), from the error e = y − w·x and ‖x‖².
template <class T>
RANKFILL_INLINE T closed_form_step(T error, T squared_norm, const Rule& rule) {
    const T loss = std::abs(error) - static_cast<T>(rule.epsilon);
    if (!(loss > 0) || !(squared_norm > 0)) return T(0);
    T step;
    switch (rule.slack) {
        case Slack::none:
            step = loss / squared_norm;
            break;
        case Slack::linear:
            step = std::min(static_cast<T>(rule.C), loss / squared_norm);
            break;
        default:
            step = loss / (squared_norm + static_cast<T>(0.5 / rule.C));
    }
    return std::copysign(step, error);
}

template <class T>
RANKFILL_INLINE T step_size(const T* w, const T* x, int blocks, T y, T error, T squared_norm, const Rule& rule) {
    const T approximate = closed_form_step(error, squared_norm, rule);
    if (approximate == 0 || !rule.nonnegative || rule.root == Root::approximate) return approximate;
    if (error > 0 && rule.root == Root::published_bisection) return approximate;  // exact where x ≥ 0
    const T sign = error < 0 ? T(1) : T(-1);
    return -sign * root_step(w, x, blocks, y, sign, rule);
}

template <int Blocks, class T>
RANKFILL_INLINE void move(T* w, const T* x, T step, bool nonnegative, int blocks) {
    const int n = (Blocks ? Blocks : blocks) * kLanes;
    const Register<T> zero = {};
    for (int at = 0; at < n; at += kWidth<T>) {
        const Register<T> moved = load(w + at) + step * load(x + at);
        store(w + at, nonnegative ? maximum<T>(moved, zero) : moved);
    }
}

// One whole round; returns the error e = y − w·x before it.
template <int Blocks, class T>
RANKFILL_INLINE T update(T* w, const T* x, T y, T squared_norm, const Rule& rule, int blocks) {
    const T error = y - dot<Blocks>(w, x, blocks);
    move<Blocks>(w, x, step_size(w, x, blocks, y, error, squared_norm, rule), rule.nonnegative, blocks);
    return error;
}

RANKFILL_INLINE void count(Losses& losses, float error, const Rule& rule) {
    const double magnitude = std::abs(static_cast<double>(error));
    const double loss = std::max(magnitude - rule.epsilon, 0.0);
    losses.loss += rule.slack == Slack::quadratic ? loss * loss : loss;
    losses.absolute += magnitude;
}

// One row of a pass: its entries in the order of (seed, row), the other side fixed.
template <int Blocks>
Losses row_pass(const Pass& pass, std::int64_t row) {
    Losses losses;
    const std::int64_t begin = pass.ratings.indptr[row];
    const std::int64_t n = pass.ratings.indptr[row + 1] - begin;
    const Rule rule = pass.rule;
    const int blocks = pass.fixed.stride / kLanes;
    float* w = pass.moving.row(row);
    std::vector<float> mean(w, w + (rule.averaged ? pass.fixed.stride : 0));
    float met = rule.averaged;
    RowOrder order(pass.seed, row, n);
    for (std::int64_t k = 0; k < n; ++k, order.advance()) {
        const std::int64_t entry = begin + order.position();
        const std::int32_t index = pass.ratings.indices[entry];
        const float error = update<Blocks>(w, pass.fixed.row(index), pass.ratings.values[entry],
                                           pass.squared_norms[index], rule, blocks);
        if (rule.averaged) average<Blocks>(mean.data(), w, 1.0f / (met += 1.0f), blocks);
        count(losses, error, rule);
    }
    std::copy_n(mean.data(), mean.size(), w);
    return losses;
}

// Rounds in order of arrival: p_u moves against q_i, and q_i against the p_u of before the round.
template <int Blocks>
Losses online_rounds(std::span<const std::int32_t> users, std::span<const std::int32_t> items,
                     std::span<const float> values, Factors<float> user_factors, Factors<float> item_factors,
                     const Rule& user_rule, const Rule& item_rule) {
    Losses losses;
    const int blocks = user_factors.stride / kLanes;
    std::vector<float> before(user_factors.stride);
    for (std::size_t t = 0; t < users.size(); ++t) {
        float* p = user_factors.row(users[t]);
        float* q = item_factors.row(items[t]);
        std::copy_n(p, user_factors.stride, before.data());
        count(losses, update<Blocks>(p, q, values[t], dot<Blocks>(q, q, blocks), user_rule, blocks), user_rule);
        update<Blocks>(q, before.data(), values[t], dot<Blocks>(before.data(), before.data(), blocks), item_rule,
                       blocks);
    }
    return losses;
}

}  // namespace rankfill::RANKFILL_ISA
