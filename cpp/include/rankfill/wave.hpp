// The passive-aggressive pass, several rows at a time.
//
// Within a row each round waits for the one before it: prediction, step, move. Rows are independent, so a wave
// takes one round of as many rows as a register has floats, and the waiting of one row is filled with the work
// of the others. The sums of all rows of a wave are folded together, and their steps computed in one register.
// A row that ends is replaced by the next one, so lanes are idle only at the very end of a pass.
#pragma once

#include <atomic>
#include <utility>

#include "rankfill/passive_aggressive.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kRows = kWidth<float>;
using Floats = Register<float>;

// One step of folding kRows registers into one: each holds segments of length L, of one row each; the lower and
// upper halves of the segments of a and b are gathered into two registers and added. Lane i of the gathered
// halves comes from `source(i)` (of a below kRows, of b above it), or half a segment further.
constexpr int source(int lane, int length) {
    if (length == 2) {  // stays within 128 bits: a0 a2 b0 b2
        const int quad = lane / 4 * 4, place = lane % 4;
        return (place < 2 ? 0 : kRows) + quad + 2 * (place % 2);
    }
    const int segment = lane / length * length, place = lane % length;
    return (place < length / 2 ? 0 : kRows) + segment + place % (length / 2);
}

template <int Length, int... Lane>
RANKFILL_INLINE Floats fold_pair(const Floats& a, const Floats& b, std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(a, b, source(Lane, Length)...) +
           __builtin_shufflevector(a, b, (source(Lane, Length) + Length / 2)...);
}

// The sum over the lanes of each of kRows registers, in the order of `kSlot`.
template <int Length = kRows>
RANKFILL_INLINE Floats fold_rows(Floats* sums) {
    if constexpr (Length == 1) {
        return sums[0];
    } else {
        for (int pair = 0; pair < Length / 2; ++pair)
            sums[pair] =
                fold_pair<Length>(sums[2 * pair], sums[2 * pair + 1], std::make_integer_sequence<int, kRows>());
        return fold_rows<Length / 2>(sums);
    }
}

// Which of the kRows registers ends up in lane i: the folding followed through with row numbers.
struct Slots {
    int of_lane[kRows];
    constexpr Slots() : of_lane{} {
        int held[kRows][kRows] = {};
        for (int r = 0; r < kRows; ++r)
            for (int lane = 0; lane < kRows; ++lane) held[r][lane] = r;
        for (int length = kRows; length > 1; length /= 2)
            for (int pair = 0; pair < length / 2; ++pair) {
                int folded[kRows] = {};
                for (int lane = 0; lane < kRows; ++lane) {
                    const int from = source(lane, length);
                    folded[lane] = held[2 * pair + from / kRows][from % kRows];
                }
                for (int lane = 0; lane < kRows; ++lane) held[pair][lane] = folded[lane];
            }
        for (int lane = 0; lane < kRows; ++lane) of_lane[lane] = held[0][lane];
    }
};
inline constexpr Slots kSlots;

// The rule in the numbers that a wave computes with.
struct Steps {
    Slack slack;
    float cap, epsilon, softness;

    explicit Steps(const Rule& rule)
        : slack(rule.slack),
          cap(static_cast<float>(rule.C)),
          epsilon(static_cast<float>(rule.epsilon)),
          softness(static_cast<float>(0.5 / rule.C)) {}

    RANKFILL_INLINE Floats operator()(const Floats& errors, const Floats& norms) const {
        const Floats zero = {}, caps = zero + cap;
        const Floats losses = maximum<float>(errors, -errors) - epsilon;
        Floats steps;
        if (slack == Slack::quadratic) {
            steps = losses / (norms + softness);
        } else {
            steps = losses / norms;
            if (slack == Slack::linear) steps = steps < caps ? steps : caps;
        }
        steps = errors < zero ? -steps : steps;
        return (losses > zero) & (norms > zero) ? steps : zero;
    }
};

// From this length on, a row's entries are too many for the caches near the core: they are fetched one by one.
inline constexpr std::int32_t kLongRow = 2048;
inline constexpr int kEntriesAhead = 8;

using Integers = Native<float>::mask;  // as many 32-bit integers as there are rows in a wave

template <int Blocks>
class Wave {
 public:
    explicit Wave(const Pass& pass)
        : pass_(pass),
          rule_(pass.rule),
          steps_(pass.rule),
          needs_root_(rule_.nonnegative && rule_.root != Root::approximate),
          idle_(pass.fixed.stride, 0.0f) {}

    // Takes rows, none of them empty, from `order` at the shared counter until none is left and all are done.
    void run(std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
        for (int i = 0; i < kRows; ++i) reserve_row(i, order, next);
        int active = 0;
        for (int i = 0; i < kRows; ++i) active += begin_row(i, order, next);
        while (active > 0) {
            const std::int32_t rounds = *std::min_element(left_, left_ + kRows);
            const bool any_long = *std::max_element(n_, n_ + kRows) >= kLongRow;
            fetch_next_rows(rounds);
            for (std::int32_t r = 0; r < rounds; ++r) any_long ? round<true>() : round<false>();
            for (int i = 0; i < kRows; ++i)
                if (left_[i] != kForEver && (left_[i] -= rounds) == 0) {
                    pass_.per_row[row_[i]] = {loss_[i], absolute_[i]};
                    active -= !begin_row(i, order, next);
                }
        }
    }

 private:
    void reserve_row(int i, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
        const std::int64_t ticket = next.fetch_add(1, std::memory_order_relaxed);
        const bool left = ticket < static_cast<std::int64_t>(order.size());
        next_row_[i] = left ? order[ticket] : -1;
        fetched_[i] = left ? pass_.ratings.indptr[next_row_[i]] : 0;
    }

    bool begin_row(int i, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
        loss_[i] = absolute_[i] = 0.0;
        if (next_row_[i] < 0) {  // an idle lane meets a rating of zero with a row of zeros, which changes nothing
            w_[i] = idle_.data();
            indices_[i] = &kNoIndex;
            values_[i] = &kNoValue;
            position_[i] = stride_[i] = index_[i] = 0;
            n_[i] = 1;
            left_[i] = kForEver;
            return false;
        }
        const std::int64_t row = next_row_[i], begin = pass_.ratings.indptr[row];
        const RowOrder walk(pass_.seed, row, pass_.ratings.indptr[row + 1] - begin);
        row_[i] = row;
        w_[i] = pass_.moving.row(row);
        indices_[i] = pass_.ratings.indices.data() + begin;
        values_[i] = pass_.ratings.values.data() + begin;
        position_[i] = static_cast<std::int32_t>(walk.position());
        stride_[i] = static_cast<std::int32_t>(walk.stride());
        n_[i] = left_[i] = static_cast<std::int32_t>(walk.size());
        index_[i] = indices_[i][position_[i]];
        reserve_row(i, order, next);
        return true;
    }

    // Brings part of each lane's next row into the cache while the present one is worked on.
    void fetch_next_rows(std::int32_t rounds) {
        for (int i = 0; i < kRows; ++i) {
            if (next_row_[i] < 0) continue;
            const std::int64_t begin = pass_.ratings.indptr[next_row_[i]];
            const std::int64_t end = std::min(pass_.ratings.indptr[next_row_[i] + 1], begin + kLongRow);
            for (int line = 0; line <= rounds / 4 && fetched_[i] < end; ++line, fetched_[i] += kLanes) {
                __builtin_prefetch(pass_.ratings.indices.data() + fetched_[i]);
                __builtin_prefetch(pass_.ratings.values.data() + fetched_[i]);
            }
        }
    }

    template <bool AnyLong>
    RANKFILL_INLINE void round() {
        const float* x[kRows];
        Floats sums[kRows];
        alignas(64) float targets[kRows], norms[kRows], steps[kRows], errors[kRows];
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
            x[i] = fixed_row(index_[i]);
            norms[i] = pass_.squared_norms[index_[i]];
            targets[i] = values_[i][position_[i]];
            sums[kSlots.of_lane[i]] = partial_dot<Blocks>(w_[i], x[i], blocks());
        }
        look_ahead<AnyLong>();
        const Floats error = load(targets) - fold_rows(sums);
        store(errors, error);
        store(steps, steps_(error, load(norms)));
        if (needs_root_)
            for (int i = 0; i < kRows; ++i)
                steps[i] = step_size(w_[i], x[i], blocks(), targets[i], errors[i], norms[i], rule_);
        if (rule_.nonnegative)
            for (int i = 0; i < kRows; ++i) move<Blocks>(w_[i], x[i], steps[i], true, blocks());
        else
            for (int i = 0; i < kRows; ++i) move<Blocks>(w_[i], x[i], steps[i], false, blocks());
        count(error);
    }

    // Chooses the next entries now, so that their rows of factors have a whole wave's time to come into the cache.
    template <bool AnyLong>
    RANKFILL_INLINE void look_ahead() {
        Integers position, stride, n;
        std::memcpy(&position, position_, sizeof position);
        std::memcpy(&stride, stride_, sizeof stride);
        std::memcpy(&n, n_, sizeof n);
        position = advanced(position, stride, n);
        std::memcpy(position_, &position, sizeof position);
        alignas(64) std::int32_t ahead[kRows];
        if constexpr (AnyLong) {
            for (int step = 0; step < kEntriesAhead; ++step) position = advanced(position, stride, n);
            std::memcpy(ahead, &position, sizeof position);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
            index_[i] = indices_[i][position_[i]];
            const float* row = fixed_row(index_[i]);
            for (int block = 0; block < (Blocks ? Blocks : 4); ++block) __builtin_prefetch(row + block * kLanes);
            if constexpr (AnyLong) {
                __builtin_prefetch(indices_[i] + ahead[i]);
                __builtin_prefetch(values_[i] + ahead[i]);
            }
        }
    }

    static RANKFILL_INLINE Integers advanced(Integers position, Integers stride, Integers n) {
        const Integers moved = position - n + stride;  // in this order it cannot overflow
        return moved < 0 ? moved + n : moved;
    }

    RANKFILL_INLINE void count(const Floats& error) {
        typedef float Some __attribute__((vector_size(RANKFILL_VECTOR_BYTES / 2)));
        const Register<double> zero = {};
        const Floats magnitudes = maximum<float>(error, -error);
        for (int at = 0; at < kRows; at += kWidth<double>) {
            Some some;
            std::memcpy(&some, reinterpret_cast<const float*>(&magnitudes) + at, sizeof some);
            const Register<double> magnitude = __builtin_convertvector(some, Register<double>);
            const Register<double> excess = maximum<double>(magnitude - rule_.epsilon, zero);
            store(absolute_ + at, load(absolute_ + at) + magnitude);
            store(loss_ + at, load(loss_ + at) + (rule_.slack == Slack::quadratic ? excess * excess : excess));
        }
    }

    RANKFILL_INLINE int blocks() const { return Blocks ? Blocks : pass_.fixed.stride / kLanes; }
    RANKFILL_INLINE const float* fixed_row(std::int32_t index) const {
        return pass_.fixed.data + static_cast<std::int64_t>(index) * (Blocks ? Blocks * kLanes : pass_.fixed.stride);
    }

    static constexpr std::int32_t kNoIndex = 0;
    static constexpr float kNoValue = 0.0f;
    static constexpr std::int32_t kForEver = std::numeric_limits<std::int32_t>::max();

    const Pass& pass_;
    const Rule rule_;
    const Steps steps_;
    const bool needs_root_;
    std::vector<float> idle_;

    // The row of each lane: where it is, what is left of it, and the row that follows.
    float* w_[kRows];
    const std::int32_t* indices_[kRows];
    const float* values_[kRows];
    std::int64_t row_[kRows], next_row_[kRows], fetched_[kRows];
    alignas(64) std::int32_t position_[kRows], stride_[kRows], n_[kRows], left_[kRows], index_[kRows];
    alignas(64) double loss_[kRows], absolute_[kRows];
};

}  // namespace rankfill::RANKFILL_ISA
