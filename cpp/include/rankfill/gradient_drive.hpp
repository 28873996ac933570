// A pass of stochastic gradient rounds: what the waves share, and the sums in the order of the blocks.
#pragma once

#include "rankfill/drive.hpp"
#include "rankfill/parallel.hpp"
#include "rankfill/table.hpp"

namespace rankfill {

inline RoundSums gradient_pass(const KernelTable& kernels, const Grid& grid, Factors<float> users, Factors<float> items,
                               float* user_memory, float* item_memory, const float* user_penalties,
                               const float* item_penalties, const GradientRule& rule, double first_round, int threads,
                               RowMeans user_means = {}, RowMeans item_means = {}) {
    const std::int64_t n_blocks = static_cast<std::int64_t>(grid.groups) * grid.groups;
    std::vector<std::int64_t> rounds_before(n_blocks);
    std::int64_t rounds = 0;
    for (std::int64_t ticket = 0; ticket < n_blocks; ++ticket) {
        const std::int64_t row = ticket % grid.groups, column = (row + grid.strata[ticket / grid.groups]) % grid.groups;
        const std::int64_t* start = grid.start + row * grid.groups + column;
        rounds_before[ticket] = rounds;
        rounds += start[1] - start[0];
    }
    std::vector<RoundSums> per_block(n_blocks);
    std::vector<std::atomic<std::int64_t>> users_done(grid.groups), items_done(grid.groups);
    std::atomic<std::int64_t> next{0};
    const GradientPass pass{grid,
                            users,
                            items,
                            user_memory,
                            item_memory,
                            user_penalties,
                            item_penalties,
                            user_means,
                            item_means,
                            rule,
                            first_round,
                            rounds_before.data(),
                            &next,
                            users_done.data(),
                            items_done.data(),
                            per_block.data()};
    parallel_for(std::min(threads, grid.groups), threads, [&](std::int64_t) { kernels.gradient.pass(pass); });
    RoundSums total;
    for (const RoundSums& block : per_block) total += block;
    return total;
}

inline void variance_reduced_pass(const KernelTable& kernels, const ReducedPass& pass, int threads) {
    const auto order = long_rows_first(pass.ratings.indptr);
    std::atomic<std::int64_t> next{0};
    parallel_for(std::min<std::int64_t>(threads, std::ssize(order)), threads,
                 [&](std::int64_t) { kernels.gradient.reduced_rows(pass, order, next); });
}

inline RoundSums full_gradient(const KernelTable& kernels, FullGradient job, int threads) {
    constexpr std::int64_t at_once = 64;
    const std::int64_t n = job.ratings.n_rows();
    std::vector<RoundSums> per_row(n);
    job.per_row = per_row.data();
    parallel_for((n + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        kernels.gradient.full_rows(job, task * at_once, std::min(n, (task + 1) * at_once));
    });
    RoundSums total;
    for (const RoundSums& row : per_row) total += row;
    return total;
}

}  // namespace rankfill
