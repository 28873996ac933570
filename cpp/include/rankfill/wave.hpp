// The passive-aggressive pass, several rows at a time.
//
// Within a row each round waits for the one before it: prediction, step, move. Rows are independent, so a wave takes
// one round of eight rows, and the waiting of one is filled with the work of the others. What a round needs is laid out
// for it some rounds ahead, while its rows of factors are fetched. A row that ends is replaced by the next one, so
// lanes are idle only at the very end of a pass.
#pragma once

#include <atomic>

#include "rankfill/folding.hpp"
#include "rankfill/passive_aggressive.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kRows = 8, kGroup = std::min(kRows, kWidth<float>);
using Floats = Lanes<float, kGroup>;

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
        const Floats losses = magnitude(errors) - epsilon;
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

// What the rows of a wave meet in one round.
struct alignas(64) Meeting {
    std::int32_t index[kRows];
    float value[kRows], squared_norm[kRows];
    std::uint32_t begins;     // the lanes for which another row begins with this round, a bit each
    std::int32_t row[kRows];  // of those lanes; −1: none is left, the lane is idle
};

// Lays out the meetings of a thread's share of the rows: eight rows side by side, each with its entries in the order of
// its walk.
template <int Blocks>
class Schedule {
 public:
    // Takes rows, none of them empty, from `order` at the shared counter until none is left.
    Schedule(const Pass& pass, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next)
        : pass_(pass), order_(order), next_(next) {
        for (int i = 0; i < kRows; ++i) reserve_row(i);
    }

    // The next meeting, or false when all rows have had all of theirs.
    RANKFILL_INLINE bool next(Meeting& meeting) {
        meeting.begins = 0;
        if (rounds_ == 0 && !begin_rows(meeting)) return false;
        --rounds_;
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
            const std::int32_t index = indices_[i][position_[i]];
            meeting.index[i] = index;
            meeting.value[i] = values_[i][position_[i]];
            meeting.squared_norm[i] = pass_.squared_norms[index];
            const float* row = pass_.fixed.data + static_cast<std::int64_t>(index) * stride();
            for (int block = 0; block < (Blocks ? Blocks : 4); ++block) __builtin_prefetch(row + block * kLanes);
        }
        if (any_long_) fetch_far_entries();
        for (int at = 0; at < kRows; at += kGroup) advance(at, position_, stride_);
        return true;
    }

 private:
    // Replaces the rows that have ended; false when none is left.
    bool begin_rows(Meeting& meeting) {
        std::int32_t rounds = kForEver, longest = 0;
        for (int i = 0; i < kRows; ++i) {
            if (left_[i] != kForEver && (left_[i] -= run_) == 0) {
                meeting.begins |= 1u << i;
                meeting.row[i] = next_row_[i];
                begin_row(i);
            }
            rounds = std::min(rounds, left_[i]);
            longest = std::max(longest, n_[i]);
        }
        if (rounds == kForEver) return false;
        rounds_ = run_ = rounds;
        any_long_ = longest >= kLongRow;
        fetch_next_rows();
        return true;
    }

    void begin_row(int i) {
        if (next_row_[i] < 0) {  // an idle lane meets ratings of zero with a row of zeros, which changes nothing
            indices_[i] = &kNoIndex;
            values_[i] = &kNoValue;
            position_[i] = stride_[i] = far_[i] = 0;
            n_[i] = 1;
            left_[i] = kForEver;
            return;
        }
        const std::int64_t row = next_row_[i], begin = pass_.ratings.indptr[row];
        const RowOrder walk(pass_.seed, row, pass_.ratings.indptr[row + 1] - begin);
        indices_[i] = pass_.ratings.indices.data() + begin;
        values_[i] = pass_.ratings.values.data() + begin;
        position_[i] = static_cast<std::int32_t>(walk.position());
        stride_[i] = static_cast<std::int32_t>(walk.stride());
        far_[i] = static_cast<std::int32_t>(kEntriesAhead * walk.stride() % walk.size());
        n_[i] = left_[i] = static_cast<std::int32_t>(walk.size());
        reserve_row(i);
    }

    void reserve_row(int i) {
        const std::int64_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
        const bool left = ticket < static_cast<std::int64_t>(order_.size());
        next_row_[i] = left ? order_[ticket] : -1;
        fetched_[i] = left ? pass_.ratings.indptr[next_row_[i]] : 0;
    }

    // Brings part of each lane's next row into the cache while the present one is worked on.
    void fetch_next_rows() {
        for (int i = 0; i < kRows; ++i) {
            if (next_row_[i] < 0) continue;
            const std::int64_t begin = pass_.ratings.indptr[next_row_[i]];
            const std::int64_t end = std::min(pass_.ratings.indptr[next_row_[i] + 1], begin + kLongRow);
            for (int line = 0; line <= rounds_ / 4 && fetched_[i] < end; ++line, fetched_[i] += kLanes) {
                __builtin_prefetch(pass_.ratings.indices.data() + fetched_[i]);
                __builtin_prefetch(pass_.ratings.values.data() + fetched_[i]);
            }
        }
    }

    void fetch_far_entries() {
        alignas(64) std::int32_t far[kRows];
        std::copy_n(position_, kRows, far);
        for (int at = 0; at < kRows; at += kGroup) advance(at, far, far_);
        for (int i = 0; i < kRows; ++i) {
            __builtin_prefetch(indices_[i] + far[i]);
            __builtin_prefetch(values_[i] + far[i]);
        }
    }

    RANKFILL_INLINE void advance(int at, std::int32_t* position, const std::int32_t* by) const {
        const auto n = load_lanes<kGroup>(n_ + at);
        const auto moved = load_lanes<kGroup>(position + at) - n + load_lanes<kGroup>(by + at);  // cannot overflow
        store_lanes<kGroup>(position + at, moved < 0 ? moved + n : moved);
    }

    RANKFILL_INLINE int stride() const { return Blocks ? Blocks * kLanes : pass_.fixed.stride; }

    static constexpr std::int32_t kNoIndex = 0;
    static constexpr float kNoValue = 0.0f;
    static constexpr std::int32_t kForEver = std::numeric_limits<std::int32_t>::max();

    const Pass& pass_;
    const std::span<const std::int32_t> order_;
    std::atomic<std::int64_t>& next_;
    std::int32_t rounds_ = 0, run_ = 0;  // until the next row ends: those left, those there were
    bool any_long_ = false;

    // The row of each lane: where it is, what is left of it, and the row that follows.
    const std::int32_t* indices_[kRows];
    const float* values_[kRows];
    alignas(64) std::int32_t position_[kRows], stride_[kRows], far_[kRows], n_[kRows], left_[kRows] = {};
    std::int64_t next_row_[kRows], fetched_[kRows];
};

template <int Blocks, bool Averaged>
class Wave {
 public:
    explicit Wave(const Pass& pass)
        : pass_(pass),
          rule_(pass.rule),
          steps_(pass.rule),
          needs_root_(rule_.nonnegative && rule_.root != Root::approximate),
          idle_(pass.fixed.stride, 0.0f),
          means_(Averaged ? kRows * pass.fixed.stride : 0) {
        std::fill_n(row_, kRows, -1);
    }

    void run(std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
        Schedule<Blocks> schedule(pass_, order, next);
        Meeting ahead[kRoundsAhead];
        int laid_out = 0, now = 0;
        while (laid_out < kRoundsAhead && schedule.next(ahead[laid_out])) ++laid_out;
        if (laid_out == kRoundsAhead) {
            for (bool more = true; more; now = (now + 1) % kRoundsAhead) {
                measure(ahead[now]);
                more = schedule.next(ahead[now]);  // while the steps are divided
                move_rows();
            }
            --laid_out;
        }
        for (; laid_out > 0; --laid_out, now = (now + 1) % kRoundsAhead) {
            measure(ahead[now]);
            move_rows();
        }
        for (int i = 0; i < kRows; ++i) change_row(i, -1);
    }

 private:
    static constexpr int kRoundsAhead = 8;

    void change_row(int i, std::int32_t row) {
        if (row_[i] >= 0) pass_.per_row[row_[i]] = {loss_[i], absolute_[i]};
        if (Averaged && row_[i] >= 0) std::copy_n(mean(i), pass_.fixed.stride, w_[i]);
        loss_[i] = absolute_[i] = 0.0;
        row_[i] = row;
        w_[i] = row < 0 ? idle_.data() : pass_.moving.row(row);
        met_[i] = rule_.averaged;
        if (Averaged) std::copy_n(w_[i], pass_.fixed.stride, mean(i));
    }

    // The steps of all lanes.
    RANKFILL_INLINE void measure(const Meeting& meeting) {
        if (meeting.begins != 0)
            for (int i = 0; i < kRows; ++i)
                if (meeting.begins >> i & 1) change_row(i, meeting.row[i]);
#pragma GCC unroll 4
        for (int first = 0; first < kRows; first += kGroup) {
            Register<float> sums[kGroup];
#pragma GCC unroll 16
            for (int i = 0; i < kGroup; ++i) {
                x_[first + i] = fixed_row(meeting.index[first + i]);
                sums[kSlots<kGroup>.of_lane[i]] = partial_dot<Blocks>(w_[first + i], x_[first + i], blocks());
            }
            const Floats targets = load_lanes<kGroup>(meeting.value + first);
            const Floats norms = load_lanes<kGroup>(meeting.squared_norm + first);
            const Floats errors = targets - fold_rows<kGroup>(sums);
            store_lanes<kGroup>(step_ + first, steps_(errors, norms));
            if (needs_root_)
                for (int i = 0; i < kGroup; ++i)
                    step_[first + i] =
                        step_size(w_[first + i], x_[first + i], blocks(), targets[i], errors[i], norms[i], rule_);
            count(first, errors);
        }
    }

    RANKFILL_INLINE void move_rows() {
        if (rule_.nonnegative) {
#pragma GCC unroll 16
            for (int i = 0; i < kRows; ++i) move<Blocks>(w_[i], x_[i], step_[i], true, blocks());
        } else {
#pragma GCC unroll 16
            for (int i = 0; i < kRows; ++i) move<Blocks>(w_[i], x_[i], step_[i], false, blocks());
        }
        if constexpr (Averaged) average_rows();
    }

    RANKFILL_INLINE void average_rows() {
        for (int first = 0; first < kRows; first += kGroup) {
            const Floats met = load_lanes<kGroup>(met_ + first) + 1.0f;
            store_lanes<kGroup>(met_ + first, met);
            store_lanes<kGroup>(step_ + first, 1.0f / met);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) average<Blocks>(mean(i), w_[i], step_[i], blocks());
    }

    RANKFILL_INLINE void count(int first, const Floats& errors) {
        const Floats size = magnitude(errors);
        accumulate<kGroup>(absolute_ + first, size, [](const auto& size) { return size; });
        accumulate<kGroup>(loss_ + first, size, [&](const auto& size) {
            const auto beyond = size - rule_.epsilon, excess = beyond > 0.0 ? beyond : beyond - beyond;
            return rule_.slack == Slack::quadratic ? excess * excess : excess;
        });
    }

    RANKFILL_INLINE float* mean(int i) { return means_.data() + i * (Blocks ? Blocks * kLanes : pass_.fixed.stride); }
    RANKFILL_INLINE int blocks() const { return Blocks ? Blocks : pass_.fixed.stride / kLanes; }
    RANKFILL_INLINE const float* fixed_row(std::int32_t index) const {
        return pass_.fixed.data + static_cast<std::int64_t>(index) * (Blocks ? Blocks * kLanes : pass_.fixed.stride);
    }

    const Pass& pass_;
    const Rule rule_;
    const Steps steps_;
    const bool needs_root_;
    std::vector<float> idle_, means_;

    float* w_[kRows];
    const float* x_[kRows];
    std::int32_t row_[kRows];
    alignas(64) float step_[kRows], met_[kRows];  // met: how many rows are in each mean
    alignas(64) double loss_[kRows], absolute_[kRows];
};

}  // namespace rankfill::RANKFILL_ISA
