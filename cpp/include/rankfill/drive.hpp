// Whole-matrix work: cuts it into tasks, hands them to threads, adds up in a fixed order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rankfill/parallel.hpp"
#include "rankfill/table.hpp"

namespace rankfill {

// The rows that have entries, longest first by powers of two: long rows start early and the last ones are short,
// so that threads and lanes finish together.
inline std::vector<std::int32_t> long_rows_first(std::span<const std::int64_t> indptr) {
    constexpr int sizes = 33;
    const std::int64_t n_rows = std::ssize(indptr) - 1;
    const auto size_of = [&](std::int64_t row) {
        const std::uint64_t n = indptr[row + 1] - indptr[row];
        if (n > std::numeric_limits<std::int32_t>::max()) throw std::length_error("a row has more than 2^31 entries");
        return std::bit_width(n);
    };
    std::int64_t starts[sizes + 1] = {};
    for (std::int64_t row = 0; row < n_rows; ++row) ++starts[sizes - size_of(row)];
    std::int64_t total = 0;
    for (std::int64_t& start : starts) start = std::exchange(total, total + start);
    std::vector<std::int32_t> order(n_rows);
    const std::int64_t n_filled = starts[sizes];
    for (std::int64_t row = 0; row < n_rows; ++row)
        order[starts[sizes - size_of(row)]++] = static_cast<std::int32_t>(row);
    order.resize(n_filled);
    return order;
}

using PassRows = decltype(RoundKernels::pass_rows);

// Sums go on from `total`: rows that are passed over a block at a time end with the bits of all at once.
inline Losses passive_aggressive_pass(const KernelTable& kernels, PassRows pass_rows, const Csr& ratings,
                                      Factors<float> moving, Factors<const float> fixed, const Rule& rule,
                                      std::uint64_t seed, int threads, Losses total = {}) {
    constexpr std::int64_t at_once = 4096;
    std::vector<float> norms(fixed.n_rows);
    parallel_for((fixed.n_rows + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        kernels.rounds.squared_norms(fixed, task * at_once, std::min(fixed.n_rows, (task + 1) * at_once), norms.data());
    });
    std::vector<Losses> per_row(ratings.n_rows());
    const Pass pass{ratings, moving, fixed, norms.data(), rule, seed, per_row.data()};
    const auto order = long_rows_first(ratings.indptr);
    std::atomic<std::int64_t> next{0};
    parallel_for(std::min<std::int64_t>(threads, std::ssize(order)), threads,
                 [&](std::int64_t) { pass_rows(pass, order, next); });
    for (const Losses& row : per_row) total += row;
    return total;
}

inline void predict_pairs(const KernelTable& kernels, Pairs pairs, Factors<const float> users,
                          Factors<const float> items, const ColdStart& cold, std::span<float> predictions,
                          int threads) {
    constexpr std::int64_t at_once = 1 << 15;
    const std::int64_t n = predictions.size();
    parallel_for((n + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        const std::int64_t from = task * at_once, count = std::min(at_once, n - from);
        kernels.scoring.predict_pairs({pairs.users.subspan(from, count), pairs.items.subspan(from, count)}, users,
                                      items, cold, predictions.subspan(from, count));
    });
}

inline void top_n(const KernelTable& kernels, Factors<const float> users, Factors<const float> items, int rank,
                  const Exclusions& excluded, const Ranked& ranked, int threads) {
    // Every task packs the items for itself, which is little beside the scores of this many users.
    const std::int64_t at_once = std::clamp<std::int64_t>(users.n_rows / (4 * std::max(threads, 1)), 64, 256);
    parallel_for((users.n_rows + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        kernels.scoring.top_n_rows(users, task * at_once, std::min(users.n_rows, (task + 1) * at_once), rank, items,
                                   excluded, ranked);
    });
}

}  // namespace rankfill
