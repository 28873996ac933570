// A small random ratings matrix with long-tailed rows, empty rows among them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "rankfill/csr.hpp"

struct Problem {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<float> values, moving, fixed;
    int stride;
    std::int64_t n_rows, n_columns;

    Problem(std::int64_t n_rows, std::int64_t n_columns, int rank, unsigned seed)
        : stride((rank + 15) / 16 * 16), n_rows(n_rows), n_columns(n_columns) {
        std::mt19937 generator(seed);
        std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
        for (std::int64_t row = 0; row < n_rows; ++row) {
            const float share = row % 7 == 3 ? 0.0f : uniform(generator) * uniform(generator);
            for (std::int64_t column = 0; column < n_columns; ++column)
                if (uniform(generator) < share) {
                    indices.push_back(static_cast<std::int32_t>(column));
                    values.push_back(std::floor(uniform(generator) * 5) + 1);
                }
            indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
        moving.assign(n_rows * stride, 0.0f);
        fixed.assign(n_columns * stride, 0.0f);
        for (std::int64_t column = 0; column < n_columns; ++column)
            for (int k = 0; k < rank; ++k) fixed[column * stride + k] = uniform(generator);
    }

    rankfill::Csr ratings() const { return {indptr, indices, values}; }
    rankfill::Factors<const float> fixed_factors() const { return {fixed.data(), n_columns, stride}; }
};
