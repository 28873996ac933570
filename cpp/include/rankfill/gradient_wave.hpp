// A pass of stochastic gradient rounds over a grid of blocks, several blocks at a time.
//
// Blocks are taken in the order of strata. A block may begin when its user group and its item group have done all
// earlier strata; then no two blocks under way share a row, and the result is that of one block after the other,
// whatever the number of threads. A wave takes one round of as many blocks as a register has floats, so that the
// latency of one dot product is filled with the work of the others.
#pragma once

#include <atomic>
#include <thread>

#include "rankfill/folding.hpp"
#include "rankfill/gradient_steps.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kWave = kWidth<float>;

template <int Blocks, bool Adaptive, bool Projected>
class GradientWave {
 public:
    explicit GradientWave(const GradientPass& pass)
        : pass_(pass),
          rule_(pass.rule),
          user_floor_(floors(rule_, rule_.nonnegative_users, pass.users.stride)),
          item_floor_(floors(rule_, rule_.nonnegative_items, pass.users.stride)),
          idle_(2 * kWave * pass.users.stride, 0.0f) {}

    void run() {
        int waiting = kWave;
        for (int i = 0; i < kWave; ++i) rest(i), ticket_[i] = pass_.next->fetch_add(1, std::memory_order_relaxed);
        while (true) {
            int running = 0;
            waiting = 0;
            for (int i = 0; i < kWave; ++i) {
                while (!running_[i] && ticket_[i] < n_blocks() && ready(ticket_[i])) begin(i);
                running += running_[i];
                waiting += !running_[i] && ticket_[i] < n_blocks();
            }
            if (running == 0) {
                if (waiting == 0) return;
                std::this_thread::yield();  // the rows wanted are in the hands of another thread
                continue;
            }
            rounds(waiting > 0);
        }
    }

 private:
    static constexpr std::int64_t kCheckAfter = 64, kAhead = 4;

    std::int64_t n_blocks() const { return static_cast<std::int64_t>(pass_.grid.groups) * pass_.grid.groups; }
    int user_group(std::int64_t ticket) const { return static_cast<int>(ticket % pass_.grid.groups); }
    int item_group(std::int64_t ticket) const {
        return (user_group(ticket) + pass_.grid.strata[ticket / pass_.grid.groups]) % pass_.grid.groups;
    }
    bool ready(std::int64_t ticket) const {
        const std::int64_t stratum = ticket / pass_.grid.groups;
        return pass_.users_done[user_group(ticket)].load(std::memory_order_acquire) == stratum &&
               pass_.items_done[item_group(ticket)].load(std::memory_order_acquire) == stratum;
    }

    void begin(int i) {
        const std::int64_t block =
            static_cast<std::int64_t>(user_group(ticket_[i])) * pass_.grid.groups + item_group(ticket_[i]);
        const std::int64_t from = pass_.grid.start[block];
        left_[i] = pass_.grid.start[block + 1] - from;
        user_rows_[i] = pass_.users.data, item_rows_[i] = pass_.items.data;
        user_memory_[i] = pass_.user_memory, item_memory_[i] = pass_.item_memory;
        user_penalty_[i] = pass_.user_penalties, item_penalty_[i] = pass_.item_penalties;
        users_[i] = pass_.grid.users + from;
        items_[i] = pass_.grid.items + from;
        values_[i] = pass_.grid.values + from;
        round_[i] = pass_.first_round + static_cast<double>(pass_.rounds_before[ticket_[i]]);
        loss_[i] = squared_[i] = absolute_[i] = 0.0;
        running_[i] = true;
        if (left_[i] == 0) end(i);
    }

    void end(int i) {
        const std::int64_t ticket = ticket_[i];
        const Loss loss = rule_.loss.loss;
        pass_.per_block[ticket] = {loss == Loss::squared    ? 0.5 * squared_[i]
                                   : loss == Loss::absolute ? absolute_[i]
                                                            : loss_[i],
                                   squared_[i], absolute_[i]};
        pass_.users_done[user_group(ticket)].fetch_add(1, std::memory_order_release);
        pass_.items_done[item_group(ticket)].fetch_add(1, std::memory_order_release);
        rest(i);
        ticket_[i] = pass_.next->fetch_add(1, std::memory_order_relaxed);
    }

    void rest(int i) {
        running_[i] = false;
        left_[i] = std::numeric_limits<std::int64_t>::max();
        // An idle lane meets a rating of zero with rows of its own, again and again.
        user_rows_[i] = idle_.data() + 2 * i * stride(), item_rows_[i] = user_rows_[i] + stride();
        idle_memory_[i] = idle_memory_[kWave + i] = 1.0f;
        user_memory_[i] = idle_memory_ + i, item_memory_[i] = idle_memory_ + kWave + i;
        user_penalty_[i] = item_penalty_[i] = &kNoValue;
        users_[i] = items_[i] = kNoIndex;
        values_[i] = &kNoValue;
        loss_[i] = squared_[i] = absolute_[i] = round_[i] = 0.0;
    }

    void rounds(bool check_soon) {
        std::int64_t n = *std::min_element(left_, left_ + kWave);
        if (check_soon) n = std::min(n, kCheckAfter);
        for (std::int64_t r = 0; r < n; ++r) round();
        for (int i = 0; i < kWave; ++i)
            if (running_[i] && (left_[i] -= n) == 0) end(i);
    }

    RANKFILL_INLINE void round() {
        float *p[kWave], *q[kWave];
        float *memory_p[kWave], *memory_q[kWave];
        Penalties penalties[kWave];
        alignas(64) float slopes[kWave], steps_p[kWave], steps_q[kWave];
        Register<float> sums[kWave];
#pragma GCC unroll 16
        for (int i = 0; i < kWave; ++i) {
            locate(i, p[i], q[i], memory_p[i], memory_q[i]);
            penalties[i] = {user_penalty_[i][*users_[i]], item_penalty_[i][*items_[i]]};
            sums[kSlots<kWave>.of_lane[i]] = partial_dot<Blocks>(p[i], q[i], blocks());
        }
        const Register<float> target = collect<kWave>([&](int i) { return *values_[i]; });
        const Register<float> e = target - fold_rows<kWave>(sums);
        const Register<float> slope = loss_slope(rule_.loss, target, e);
        store(slopes, slope);
        step_sizes(p, q, memory_p, memory_q, penalties, target, e, slope, steps_p, steps_q);
        move(p, q, memory_p, memory_q, penalties, slopes, steps_p, steps_q);
        count(target, e);
        if (pass_.user_means.rows != nullptr)
            for (int i = 0; i < kWave; ++i)
                if (running_[i])
                    take_in(pass_.user_means, *users_[i], p[i]), take_in(pass_.item_means, *items_[i], q[i]);
        for (int i = 0; i < kWave; ++i) values_[i] += running_[i], users_[i] += running_[i], items_[i] += running_[i];
    }

    RANKFILL_INLINE void locate(int i, float*& p, float*& q, float*& memory_p, float*& memory_q) {
        p = user_rows_[i] + static_cast<std::int64_t>(*users_[i]) * stride();
        q = item_rows_[i] + static_cast<std::int64_t>(*items_[i]) * stride();
        memory_p = user_memory_[i] + *users_[i], memory_q = item_memory_[i] + *items_[i];
        const float* next_p = user_rows_[i] + static_cast<std::int64_t>(users_[i][kAhead]) * stride();
        const float* next_q = item_rows_[i] + static_cast<std::int64_t>(items_[i][kAhead]) * stride();
        for (int block = 0; block < (Blocks ? Blocks : 4); ++block) {
            __builtin_prefetch(next_p + block * kLanes);
            __builtin_prefetch(next_q + block * kLanes);
        }
    }

    RANKFILL_INLINE void step_sizes(float* const* p, float* const* q, float* const* memory_p, float* const* memory_q,
                                    const Penalties* penalties, const Register<float>& target, const Register<float>& e,
                                    const Register<float>& slope, float* steps_p, float* steps_q) {
        if constexpr (Adaptive) {
            store(steps_p, rule_.rate / square_root(collect<kWave>([&](int i) { return *memory_p[i]; })));
            store(steps_q, rule_.rate / square_root(collect<kWave>([&](int i) { return *memory_q[i]; })));
        } else {
            for (int i = 0; i < kWave; ++i)
                steps_p[i] = steps_q[i] =
                    rule_.step == StepSize::line_search
                        ? searched_step(rule_, p[i], q[i], target[i], e[i], slope[i], penalties[i], blocks())
                        : rule_.scheduled(round_[i]);
            for (int i = 0; i < kWave; ++i) round_[i] += 1.0;
        }
    }

    RANKFILL_INLINE void move(float* const* p, float* const* q, float* const* memory_p, float* const* memory_q,
                              const Penalties* penalties, const float* slopes, const float* steps_p,
                              const float* steps_q) {
        const Floors floor{user_floor_.data(), item_floor_.data()};
        Register<float> squares_p[kWave], squares_q[kWave];
#pragma GCC unroll 16
        for (int i = 0; i < kWave; ++i) {
            const Squares squares = move_pair<Blocks, Adaptive, Projected>(
                p[i], q[i], slopes[i], steps_p[i], steps_q[i], penalties[i], rule_, floor, blocks());
            squares_p[kSlots<kWave>.of_lane[i]] = squares.p, squares_q[kSlots<kWave>.of_lane[i]] = squares.q;
        }
        if constexpr (Adaptive) {
            const float share = 1.0f / static_cast<float>(rule_.rank);
            alignas(64) float grown_p[kWave], grown_q[kWave];
            store(grown_p, share * fold_rows<kWave>(squares_p));
            store(grown_q, share * fold_rows<kWave>(squares_q));
            for (int i = 0; i < kWave; ++i) {
                *memory_p[i] = *memory_p[i] + grown_p[i];
                *memory_q[i] = *memory_q[i] + grown_q[i];
            }
        }
    }

    // Sums of e² and |e|, from which the squared and the absolute loss follow; the other losses are summed apart.
    RANKFILL_INLINE void count(const Register<float>& target, const Register<float>& error) {
        const Register<float> size = magnitude(error);
        accumulate<kWave>(squared_, size, [](const auto& size) { return size * size; });
        accumulate<kWave>(absolute_, size, [](const auto& size) { return size; });
        if (rule_.loss.loss != Loss::squared && rule_.loss.loss != Loss::absolute)
            for (int i = 0; i < kWave; ++i) loss_[i] += terms(rule_.loss, target[i], error[i]).loss;
    }

    RANKFILL_INLINE void take_in(const RowMeans& means, std::int32_t row, const float* w) const {
        average<Blocks>(means.rows + static_cast<std::int64_t>(row) * stride(), w, 1.0f / (means.met[row] += 1.0f),
                        blocks());
    }

    RANKFILL_INLINE int blocks() const { return Blocks ? Blocks : pass_.users.stride / kLanes; }
    RANKFILL_INLINE int stride() const { return Blocks ? Blocks * kLanes : pass_.users.stride; }

    static constexpr float kNoValue = 0.0f;
    static constexpr std::int32_t kNoIndex[kAhead + 1] = {};

    const GradientPass& pass_;
    const GradientRule rule_;
    std::vector<float> user_floor_, item_floor_, idle_;
    float idle_memory_[2 * kWave];

    bool running_[kWave];
    float *user_rows_[kWave], *item_rows_[kWave], *user_memory_[kWave], *item_memory_[kWave];
    std::int64_t ticket_[kWave], left_[kWave];
    const std::int32_t *users_[kWave], *items_[kWave];
    const float *values_[kWave], *user_penalty_[kWave], *item_penalty_[kWave];
    alignas(64) double loss_[kWave], squared_[kWave], absolute_[kWave], round_[kWave];
};

}  // namespace rankfill::RANKFILL_ISA
