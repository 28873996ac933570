// What one side of a least-squares factorisation solves; the words of the Python interface as types.
#pragma once

#include <cmath>

#include "rankfill/csr.hpp"

namespace rankfill {

// Row by row, the other side fixed:
//
//     min  ½ Σ (r − offset − w·x)² + ½ penalty s ‖factors of w‖² + ½ bias_penalty s (bias of w)²,
//
// s = (n + base)^exponent with n ratings in the row, or 1;
//
// or, with implicit feedback, over the entries of all columns with weight 1 + confidence · r and target 1 where there
// is a rating, weight 1 and target 0 elsewhere.
struct Ridge {
    int rank = 0;
    int bias_column = -1;  // of the moving row, −1 without biases; the fixed rows hold 1 there
    int held_column = -1;  // of the moving row, where it holds 1; the fixed rows hold their bias there
    float offset = 0.0f;
    double penalty = 0.0;
    double bias_penalty = 0.0;
    bool by_count = false;     // whether s is of the row's number of ratings; otherwise 1
    bool nonnegative = false;  // the factors, not the bias
    bool implicit = false;
    float confidence = 0.0f;
    int steps = 0;  // of conjugate gradients; 0 solves the normal equations
    double exponent = 1.0;
    double base = 0.0;
    int block = 0;  // columns solved at a time, a multiple of sixteen; 0 for all at once

    int order() const { return rank + (bias_column >= 0); }

    double scale(std::int64_t n_ratings) const {
        if (!by_count) return 1.0;
        const double count = static_cast<double>(n_ratings) + base;
        return exponent == 1.0 ? count : std::pow(count, exponent);
    }
};

// One pass over the rows of `ratings`. `gram` is Σ x xᵀ over all fixed rows, stride × stride, with implicit feedback.
struct RidgePass {
    Csr ratings;
    Factors<float> moving;
    Factors<const float> fixed;
    Ridge ridge;
    const float* gram;
};

struct SquaredErrors {
    double weighted = 0.0;  // explicit: Σ e²; implicit: Σ (1 + confidence · r) e² − (w·x)², e = 1 − w·x
    double plain = 0.0;     // Σ e²

    SquaredErrors& operator+=(const SquaredErrors& other) {
        weighted += other.weighted;
        plain += other.plain;
        return *this;
    }
};

}  // namespace rankfill
