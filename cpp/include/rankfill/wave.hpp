// The passive-aggressive pass, several rows at a time.
//
// Within a row each round waits for the one before it: prediction, step, move. Rows are independent, so a wave takes
// one round of eight rows, and the waiting of one is filled with the work of the others. The move that a round asks for
// is made on the way to the product of the next one, so that a row is read and written once a round. A row that ends is
// replaced by the next one, so lanes are idle only at the very end of a pass.
#pragma once

#include "rankfill/folding.hpp"
#include "rankfill/passive_aggressive.hpp"
#include "rankfill/schedule.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kGroup = std::min(kRows, kWidth<float>);
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

template <int Blocks, bool Averaged>
class Wave {
 public:
    explicit Wave(const Pass& pass)
        : pass_(pass),
          rule_(pass.rule),
          steps_(pass.rule),
          needs_root_(rule_.nonnegative && rule_.root != Root::approximate),
          store_((Averaged ? 2 : 1) * kRows * pass.fixed.stride + kLanes, 0.0f),
          rows_(aligned(store_.data())),
          means_(rows_ + kRows * pass.fixed.stride) {
        std::fill_n(row_, kRows, -1);
    }

    void run(std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
        Schedule<Blocks> schedule(pass_, order, next);
        // That a factor may be.
        const Register<float> least =
            Register<float>{} + (rule_.nonnegative ? 0.0f : -std::numeric_limits<float>::infinity());
        unsigned round = 0;
        for (int laid_out = 2 * kTile; laid_out > 0; ++round) {
            Meeting& meeting = schedule.at(round);
            const Meeting& before = schedule.before(round);
            for (; meeting.begins != 0; meeting.begins &= meeting.begins - 1) [[unlikely]] {
                const int i = std::countr_zero(meeting.begins);
                change_row(i, meeting.row[i], before.x[i]);
            }
#pragma GCC unroll 4
            for (int first = 0; first < kRows; first += kGroup) meet(first, before, meeting, least);
            schedule.lay_out_ahead(round);  // while the steps are divided
            if (!schedule.has_more()) --laid_out;
        }
        for (int i = 0; i < kRows; ++i) change_row(i, -1, schedule.before(round).x[i]);
    }

 private:
    // Puts a row away, after its last move, and takes another.
    RANKFILL_APART void change_row(int i, std::int32_t row, const float* before) {
        if (row_[i] >= 0) {
            move<Blocks>(this->row(i), before, step_[i], rule_.nonnegative, blocks());
            if constexpr (Averaged) average<Blocks>(mean(i), this->row(i), gain_[i], blocks());
            std::copy_n(Averaged ? mean(i) : this->row(i), width(), pass_.moving.row(row_[i]));
            pass_.per_row[row_[i]] = {loss_[i], absolute_[i]};
        }
        row_[i] = row;
        step_[i] = 0.0f;
        loss_[i] = absolute_[i] = 0.0;
        if (row < 0)
            std::fill_n(this->row(i), width(), 0.0f);
        else
            std::copy_n(pass_.moving.row(row), width(), this->row(i));
        if constexpr (Averaged) {
            std::copy_n(this->row(i), width(), mean(i));
            met_[i] = rule_.averaged;
            gain_[i] = 0.0f;
        }
    }

    // One round of the lanes of a register: the move asked for before, the product, the step.
    RANKFILL_INLINE void meet(int first, const Meeting& before, const Meeting& now, const Register<float>& least) {
        Register<float> sums[kGroup];
#pragma GCC unroll 16
        for (int i = 0; i < kGroup; ++i)
            sums[kSlots<kGroup>.of_lane[i]] = moved_product(first + i, before.x[first + i], now.x[first + i], least);
        const Floats targets = load_lanes<kGroup>(now.value + first);
        const Floats norms = load_lanes<kGroup>(now.squared_norm + first);
        const Floats errors = targets - fold_rows<kGroup>(sums);
        store_lanes<kGroup>(step_ + first, steps_(errors, norms));
        if (needs_root_)
            for (int i = 0; i < kGroup; ++i)
                step_[first + i] =
                    step_size(row(first + i), now.x[first + i], blocks(), targets[i], errors[i], norms[i], rule_);
        if constexpr (Averaged) {
            const Floats met = load_lanes<kGroup>(met_ + first) + 1.0f;
            store_lanes<kGroup>(met_ + first, met);
            store_lanes<kGroup>(gain_ + first, 1.0f / met);
        }
        count(first, errors);
    }

    RANKFILL_INLINE Register<float> moved_product(int i, const float* before, const float* now,
                                                  const Register<float>& least) {
        float *const w = row(i), *const mean = this->mean(i);
        const float step = step_[i];
        return partial_sum<float, Blocks>(blocks(), [&](int at) {
            const Register<float> moved = maximum<float>(load(w + at) + step * load(before + at), least);
            store(w + at, moved);
            if constexpr (Averaged) {
                const Register<float> so_far = load(mean + at);
                store(mean + at, so_far + gain_[i] * (moved - so_far));
            }
            return moved * load(now + at);
        });
    }

    RANKFILL_INLINE void count(int first, const Floats& errors) {
        const Floats size = magnitude(errors);
        accumulate<kGroup>(absolute_ + first, size, [](const auto& size) { return size; });
        accumulate<kGroup>(loss_ + first, size, [&](const auto& size) {
            const auto excess = maximum<double>(Register<double>{}, size - rule_.epsilon);
            return rule_.slack == Slack::quadratic ? excess * excess : excess;
        });
    }

    static float* aligned(float* start) { return start + (64 - reinterpret_cast<std::uintptr_t>(start) % 64) % 64 / 4; }
    RANKFILL_INLINE float* row(int i) { return rows_ + i * width(); }
    RANKFILL_INLINE float* mean(int i) { return means_ + i * width(); }
    RANKFILL_INLINE int width() const { return Blocks ? Blocks * kLanes : pass_.fixed.stride; }
    RANKFILL_INLINE int blocks() const { return Blocks ? Blocks : pass_.fixed.stride / kLanes; }

    const Pass& pass_;
    const Rule rule_;
    const Steps steps_;
    const bool needs_root_;
    std::vector<float> store_;
    float *const rows_, *const means_;  // of the lanes

    std::int32_t row_[kRows];
    alignas(64) float step_[kRows] = {}, met_[kRows] = {}, gain_[kRows] = {};  // met: how many rows are in each mean
    alignas(64) double loss_[kRows] = {}, absolute_[kRows] = {};
};

}  // namespace rankfill::RANKFILL_ISA
