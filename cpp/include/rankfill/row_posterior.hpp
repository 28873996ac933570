// What one side of a Bayesian factorisation draws, row by row.
#pragma once

#include "rankfill/csr.hpp"

namespace rankfill {

// Rows that entries are predicted from beside the moving one. `held_column` holds their own bias.
struct PosteriorSide {
    std::span<const std::int32_t> indices;
    Factors<const float> rows;
    int held_column = -1;
};

// With the other sides fixed, a row w = (factors, bias) has the distribution N(A⁻¹ c, A⁻¹):
//
//     A = Λ + α Σ x xᵀ,    c = Λ prior + α Σ x (r − biases of the others − product of the others),
//
// x = (factors of the other row, 1), or with a third side the sum of both other rows' factors.
struct RowPosterior {
    Csr ratings;  // its indices are those of the first side
    Factors<float> moving;
    PosteriorSide first, second;      // the second has no rows where there is none
    int rank, bias_column;            // of the moving rows
    double noise_precision;           // α
    Factors<const double> precision;  // Λ, rank + 1 rows and at least as many columns
    Factors<const float> prior;       // a row for each moving one, or one for all
    std::uint64_t key;                // of the random numbers
    Factors<float> means;             // A⁻¹ c of every row, laid out as the moving ones; no rows where nobody asks
    std::span<const std::int32_t>
        numbers;  // whose random numbers each row takes; those of its own where there are none

    int order() const { return rank + 1; }
};

}  // namespace rankfill
