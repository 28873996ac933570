// Conditional expectations over whole tables: rows handed to threads, covariances summed in a fixed order.
#pragma once

#include "rankfill/parallel.hpp"
#include "rankfill/table.hpp"

namespace rankfill {

// Fills the unknown entries and adds the conditional covariances of all rows into the upper triangle of `covariance`.
inline void fill_rows(const KernelTable& kernels, const GaussianTable& table, double* covariance, int threads) {
    constexpr std::int64_t n_tasks = 16;  // a covariance matrix each, so few; the same for any number of threads
    const std::int64_t n = table.values.n_rows, size = std::int64_t{table.precision.stride} * table.precision.n_rows;
    std::vector<double> parts(n_tasks * size);
    parallel_for(n_tasks, threads, [&](std::int64_t task) {
        kernels.gaussian.fill_rows(table, n * task / n_tasks, n * (task + 1) / n_tasks, parts.data() + task * size);
    });
    for (std::int64_t task = 0; task < n_tasks; ++task)
        for (std::int64_t k = 0; k < size; ++k) covariance[k] += parts[task * size + k];
}

}  // namespace rankfill
