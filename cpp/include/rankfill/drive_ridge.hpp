// Least squares over whole matrices: rows handed to threads, sums in a fixed order.
#pragma once

#include "rankfill/drive.hpp"

namespace rankfill {

inline void solve_rows(const KernelTable& kernels, const RidgePass& pass, int threads) {
    const auto order = long_rows_first(pass.ratings.indptr);
    std::atomic<std::int64_t> next{0};
    parallel_for(std::min<std::int64_t>(threads, std::ssize(order)), threads,
                 [&](std::int64_t) { kernels.least_squares.solve_rows(pass, order, next); });
}

// Whole tasks of rows: the sums of each are kept and added in order.
// Sums go on from `total`.
inline SquaredErrors squared_errors(const KernelTable& kernels, const RidgePass& pass, int threads,
                                    SquaredErrors total = {}) {
    constexpr std::int64_t at_once = 256;
    const std::int64_t n = pass.ratings.n_rows();
    std::vector<SquaredErrors> per_row(n);
    parallel_for((n + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        kernels.least_squares.squared_errors(pass, task * at_once, std::min(n, (task + 1) * at_once), per_row.data());
    });
    for (const SquaredErrors& row : per_row) total += row;
    return total;
}

// Σ x xᵀ over all rows, stride × stride, both triangles.
inline void gram_matrix(const KernelTable& kernels, Factors<const float> factors, float* gram, int threads) {
    constexpr std::int64_t at_once = 4096;
    const std::int64_t n_tasks = (factors.n_rows + at_once - 1) / at_once, stride = factors.stride;
    std::vector<double> parts(n_tasks * stride * stride), total(stride * stride);
    parallel_for(n_tasks, threads, [&](std::int64_t task) {
        kernels.least_squares.add_gram(factors, task * at_once, std::min(factors.n_rows, (task + 1) * at_once),
                                       parts.data() + task * stride * stride);
    });
    for (std::int64_t task = 0; task < n_tasks; ++task)
        for (std::int64_t k = 0; k < stride * stride; ++k) total[k] += parts[task * stride * stride + k];
    for (std::int64_t i = 0; i < stride; ++i)
        for (std::int64_t j = i; j < stride; ++j)
            gram[i * stride + j] = gram[j * stride + i] = static_cast<float>(total[i * stride + j]);
}

}  // namespace rankfill
