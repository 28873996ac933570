// Rows of a factorisation with the other side fixed: variance-reduced stochastic gradients, and full gradients.
//
// A row w with entries k = 1 … n, targets r_k and fixed rows x_k is the finite sum
//
//     F(w) = Σ_k f_k(w),   f_k(w) = ½ (r_k − w·x_k)² + ½ λ ‖w‖²,   λ = penalty + shrinkage / n.
//
// SAG, SAGA and SVRG remember the slope e_k = r_k − w·x_k of each entry when it was last met (of the reference row, for
// SVRG): one number per entry, taken of all entries at the row as it is when its turn begins, and for SVRG again before
// every further time through the entries. The penalty is not remembered: its gradient λ w is known exactly. Entries are
// drawn with replacement, as the proofs of all three ask: without, SAG can diverge.
//
// SAG follows what it remembers, and n rounds along the first gradient would go far beyond the minimum: so what it
// remembers of each entry is at first less by the gradient of the row, and starts from a mean of zero.
#pragma once

#include <vector>

#include "rankfill/csr.hpp"
#include "rankfill/folding.hpp"
#include "rankfill/gradient_steps.hpp"
#include "rankfill/lanes.hpp"
#include "rankfill/losses.hpp"
#include "rankfill/row_draws.hpp"
#include "rankfill/table.hpp"

namespace rankfill::RANKFILL_ISA {

// target ← target + scale · x, a block of lanes at a time.
template <int Blocks, class T>
RANKFILL_INLINE void add_scaled(T* target, T scale, const T* x, int blocks) {
    const int n = (Blocks ? Blocks : blocks) * kLanes;
    for (int at = 0; at < n; at += kWidth<T>) store(target + at, load(target + at) + scale * load(x + at));
}

template <int Blocks, class T>
RANKFILL_INLINE void scale_row(T* row, T scale, int blocks) {
    const int n = (Blocks ? Blocks : blocks) * kLanes;
    for (int at = 0; at < n; at += kWidth<T>) store(row + at, scale * load(row + at));
}

// Remembers the slopes of all entries at w, and sets `mean` to (1/n) Σ e_k x_k.
template <int Blocks, class T>
RANKFILL_INLINE void remember_slopes(const ReducedPass& pass, std::int64_t begin, std::int64_t n, const T* w, T* slopes,
                                     T* mean, int blocks) {
    const T share = T(1) / static_cast<T>(n);
    std::fill_n(mean, pass.fixed.stride, T(0));
    for (std::int64_t k = 0; k < n; ++k) {
        const T* x = pass.fixed.row(pass.ratings.indices[begin + k]);
        slopes[k] = static_cast<T>(pass.ratings.values[begin + k]) - dot<Blocks>(w, x, blocks);
        add_scaled<Blocks>(mean, share * slopes[k], x, blocks);
    }
}

// Room to work in: what is remembered of the entries, and for SAG which of them have been met and what they had less.
template <class T>
struct ReducedRoom {
    explicit ReducedRoom(int stride) : mean(stride), less(stride) {}
    std::vector<T> slopes, mean, less;
    std::vector<char> met;
};

// SAG begins at rest: takes the gradient of the row, less the penalty, out of `mean` and notes it in `less`.
template <class T>
void begin_at_rest(const ReducedPass& pass, std::int64_t n, const T* w, T penalty, ReducedRoom<T>& room) {
    room.met.assign(static_cast<std::size_t>(n), 0);
    for (int at = 0; at < pass.fixed.stride; ++at) {
        const T pull = (at == pass.bias ? static_cast<T>(pass.bias_share) * penalty : penalty) * w[at];
        room.less[at] = room.mean[at] - pull;
        room.mean[at] = pull;
    }
}

// One row of a pass: `inner` times as many rounds as it has entries.
template <int Blocks, class T = float>
void variance_reduced_row(const ReducedPass& pass, std::int64_t row, ReducedRoom<T>& room) {
    const std::int64_t begin = pass.ratings.indptr[row], n = pass.ratings.indptr[row + 1] - begin;
    const int blocks = pass.fixed.stride / kLanes;
    T* w = pass.moving.row(row);
    const std::int32_t* indices = pass.ratings.indices.data() + begin;
    const float* values = pass.ratings.values.data() + begin;
    const T share = T(1) / static_cast<T>(n),
            penalty = static_cast<T>(pass.penalty) + static_cast<T>(pass.shrinkage) / static_cast<T>(n);
    T largest = 0;
    for (std::int64_t k = 0; k < n; ++k) {
        const T* x = pass.fixed.row(indices[k]);
        largest = std::max(largest, dot<Blocks>(x, x, blocks));
    }
    const T lipschitz = largest + penalty;
    if (!(lipschitz > 0)) return;
    const T eta = static_cast<T>(pass.step) / lipschitz;
    const T keep = T(1) - eta * penalty, keep_bias = T(1) - eta * (static_cast<T>(pass.bias_share) * penalty);
    if (std::ssize(room.slopes) < n) room.slopes.resize(n);
    T *slopes = room.slopes.data(), *mean = room.mean.data();
    RowDraws draws(pass.seed, row, n);
    for (int turn = 0; turn < pass.inner; ++turn) {
        if (turn == 0 || pass.method == Reduction::svrg)
            remember_slopes<Blocks>(pass, begin, n, w, slopes, mean, blocks);
        if (turn == 0 && pass.method == Reduction::sag) begin_at_rest(pass, n, w, penalty, room);
        for (std::int64_t t = 0; t < n; ++t) {
            const std::int64_t k = draws.next();
            const T* x = pass.fixed.row(indices[k]);
            const T slope = static_cast<T>(values[k]) - dot<Blocks>(w, x, blocks);
            const T change = slope - slopes[k];
            const T bias = pass.bias >= 0 ? keep_bias * w[pass.bias] : T(0);
            scale_row<Blocks>(w, keep, blocks);
            if (pass.bias >= 0) w[pass.bias] = bias;
            if (pass.method == Reduction::sag) {
                add_scaled<Blocks>(mean, share * change, x, blocks);
                if (!room.met[k]) add_scaled<Blocks>(mean, share, room.less.data(), blocks);
                room.met[k] = 1;
                add_scaled<Blocks>(w, eta, mean, blocks);
            } else {
                add_scaled<Blocks>(w, eta * change, x, blocks);
                add_scaled<Blocks>(w, eta, mean, blocks);
                if (pass.method == Reduction::saga) add_scaled<Blocks>(mean, share * change, x, blocks);
            }
            if (pass.method != Reduction::svrg) slopes[k] = slope;
            if (pass.still >= 0) w[pass.still] = T(1);
        }
    }
}

// The gradient of one row of Σ_k ℓ(r_k − w·x_k) + ½ (penalty n + shrinkage) ‖w‖² (biases are columns; see
// GradientRule), and its value. A few entries at a time; the rows of the next ones are fetched meanwhile. With
// `Squared` the loss is known when this is compiled.
template <int Blocks, bool Squared>
RoundSums full_gradient_row(const FullGradient& job, std::int64_t row) {
    constexpr int at_once = kWidth<float>;
    const LossRule loss = Squared ? LossRule{} : job.loss;
    const std::int64_t begin = job.ratings.indptr[row], end = job.ratings.indptr[row + 1];
    const int blocks = Blocks ? Blocks : job.fixed.stride / kLanes;
    const float* w = job.moving.row(row);
    float* gradient = job.gradient.row(row);
    std::fill_n(gradient, job.gradient.stride, 0.0f);
    RoundSums sums;
    for (std::int64_t first = begin; first < end; first += at_once) {
        const int n = static_cast<int>(std::min<std::int64_t>(at_once, end - first));
        const float* rows[at_once];
        for (int i = 0; i < n; ++i) rows[i] = job.fixed.row(job.ratings.indices[first + i]);
        for (std::int64_t k = first + at_once; k < std::min(first + 2 * at_once, end); ++k)
            for (int block = 0; block < blocks; ++block)
                __builtin_prefetch(job.fixed.row(job.ratings.indices[k]) + block * kLanes);
        float slopes[at_once];
        products<Blocks>(w, rows, n, blocks, slopes);
        for (int i = 0; i < n; ++i) {
            const float target = job.ratings.values[first + i], e = target - slopes[i];
            sums += terms(loss, target, e);
            slopes[i] = -loss_slope(loss, target, e);
        }
        for (int at = 0; at < blocks * kLanes; at += kWidth<float>) {
            Register<float> sum = load(gradient + at);
            for (int i = 0; i < n; ++i) sum = sum + slopes[i] * load(rows[i] + at);
            store(gradient + at, sum);
        }
    }
    add_scaled<Blocks>(gradient, job.penalty * static_cast<float>(end - begin) + job.shrinkage, w, blocks);
    return sums;
}

}  // namespace rankfill::RANKFILL_ISA
