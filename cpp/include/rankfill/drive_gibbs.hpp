// Rows drawn over whole matrices, and matrices of normal numbers: handed to threads, each row by its number.
#pragma once

#include "rankfill/drive.hpp"
#include "rankfill/philox.hpp"

namespace rankfill {

inline void draw_rows(const KernelTable& kernels, const RowPosterior& pass, int threads) {
    const auto order = long_rows_first(pass.ratings.indptr);
    std::atomic<std::int64_t> next{0};
    parallel_for(std::min<std::int64_t>(threads, std::ssize(order)), threads,
                 [&](std::int64_t) { kernels.gibbs.draw_rows(pass, order, next); });
}

inline void normal_rows(std::uint64_t key, std::int64_t n_rows, int width, float* numbers, int threads) {
    constexpr std::int64_t at_once = 256;
    parallel_for((n_rows + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        std::vector<double> normals(width);
        for (std::int64_t row = task * at_once; row < std::min(n_rows, (task + 1) * at_once); ++row) {
            draw_normals(key, static_cast<std::uint64_t>(row), width, normals.data());
            for (int k = 0; k < width; ++k) numbers[row * width + k] = static_cast<float>(normals[k]);
        }
    });
}

}  // namespace rankfill
