// Neighbours of whole matrices: rows handed to threads, longest first.
#pragma once

#include "rankfill/drive.hpp"

namespace rankfill {

// Numbers of places in `rows`, those with the most entries first by powers of two, empty ones last.
inline std::vector<std::int32_t> long_places_first(std::span<const std::int64_t> indptr,
                                                   std::span<const std::int32_t> rows) {
    std::vector<std::int32_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    const auto size_of = [&](std::int32_t place) {
        const std::int32_t row = rows[place];
        return std::bit_width(static_cast<std::uint64_t>(indptr[row + 1] - indptr[row]));
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return size_of(a) > size_of(b); });
    return order;
}

inline void similar_rows(const KernelTable& kernels, const SimilarRows& job, int threads) {
    const auto order = long_places_first(job.by_own.indptr, job.rows);
    std::atomic<std::int64_t> next{0};
    parallel_for(std::min<std::int64_t>(threads, std::ssize(order)), threads,
                 [&](std::int64_t) { kernels.neighbours.similar_rows(job, order, next); });
}

inline void neighbour_weights(const KernelTable& kernels, const NeighbourWeights& job, int threads) {
    const auto order = long_rows_first(job.by_own.indptr);
    std::fill_n(job.weights, job.near.n_rows * job.near.keep, 0.0f);  // of rows without entries
    std::atomic<std::int64_t> next{0};
    parallel_for(std::min<std::int64_t>(threads, std::ssize(order)), threads,
                 [&](std::int64_t) { kernels.neighbours.weights(job, order, next); });
}

// Pairs come in the order of columns.
inline void neighbour_sums_of_pairs(const KernelTable& kernels, const NeighbourSums& job,
                                    std::span<const std::int32_t> rows, std::span<const std::int32_t> columns,
                                    float* result, int threads) {
    constexpr std::int64_t at_once = 1 << 13;
    const std::int64_t n = rows.size();
    parallel_for((n + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        const std::int64_t from = task * at_once, count = std::min(at_once, n - from);
        kernels.neighbours.sums_of_pairs(job, rows.subspan(from, count), columns.subspan(from, count), result + from);
    });
}

// Everything that is said in each of some columns, or to each of some rows.
inline void neighbour_sums_of_all(decltype(NeighbourKernels::sums_of_rows) sums, const NeighbourSums& job,
                                  const Csr& along, std::span<const std::int32_t> which, float* result, int threads) {
    constexpr std::int64_t at_once = 16;
    const std::int64_t n = which.size();
    parallel_for((n + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        sums(job, along, which, task * at_once, std::min(n, (task + 1) * at_once), result);
    });
}

}  // namespace rankfill
