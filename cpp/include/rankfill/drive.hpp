// Whole-matrix work: cuts it into tasks, hands them to threads, adds up in a fixed order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rankfill/parallel.hpp"
#include "rankfill/table.hpp"

namespace rankfill {

// Cuts rows into runs of about equal numbers of entries, so that long-tailed rows balance.
inline std::vector<std::int64_t> balanced_cuts(std::span<const std::int64_t> indptr, std::int64_t n_tasks) {
    const std::int64_t n_rows = static_cast<std::int64_t>(indptr.size()) - 1;
    const std::int64_t n_entries = indptr.back() - indptr.front();
    std::vector<std::int64_t> cuts{0};
    for (std::int64_t task = 1; task < n_tasks; ++task) {
        const std::int64_t wanted = indptr.front() + n_entries * task / n_tasks;
        const std::int64_t row = std::lower_bound(indptr.begin(), indptr.end() - 1, wanted) - indptr.begin();
        if (row > cuts.back()) cuts.push_back(row);
    }
    if (n_rows > cuts.back()) cuts.push_back(n_rows);
    return cuts;
}

inline Losses passive_aggressive_pass(const KernelTable& kernels, const Csr& ratings, Factors<float> moving,
                                      Factors<const float> fixed, const Rule& rule, std::uint64_t seed, int threads) {
    std::vector<Losses> per_row(ratings.n_rows());
    const auto cuts = balanced_cuts(ratings.indptr, threads == 1 ? 1 : 32 * static_cast<std::int64_t>(threads));
    parallel_for(static_cast<std::int64_t>(cuts.size()) - 1, threads, [&](std::int64_t task) {
        kernels.pass_rows(ratings, cuts[task], cuts[task + 1], moving, fixed, rule, seed, per_row.data());
    });
    Losses total;
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
        kernels.predict_pairs({pairs.users.subspan(from, count), pairs.items.subspan(from, count)}, users, items, cold,
                              predictions.subspan(from, count));
    });
}

inline void top_n(const KernelTable& kernels, Factors<const float> users, Factors<const float> items, int rank,
                  const Exclusions& excluded, const Ranked& ranked, int threads) {
    constexpr std::int64_t at_once = 64;
    std::vector<float> tiles((items.n_rows + 15) / 16 * 16 * rank);
    kernels.pack_tiles(items, rank, tiles.data());
    parallel_for((users.n_rows + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        kernels.top_n_rows(users, task * at_once, std::min(users.n_rows, (task + 1) * at_once), rank, tiles.data(),
                           items.n_rows, excluded, ranked);
    });
}

}  // namespace rankfill
