// The solution of least norm of a symmetric positive semi-definite system, also where it is singular.
#pragma once

#include "rankfill/small_system.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kRotations = 40;           // sweeps, far more than are ever needed
inline constexpr double kSmallestShare = 1e-6;  // eigenvalues below this share of the largest are rounding

// Eigenvalues onto the diagonal of `matrix`, eigenvectors into the rows of `vectors`, by Jacobi's rotations.
inline void diagonalise(double* matrix, double* vectors, int order, int stride) {
    std::fill(vectors, vectors + order * stride, 0.0);
    for (int i = 0; i < order; ++i) vectors[i * stride + i] = 1.0;
    for (int sweep = 0; sweep < kRotations; ++sweep) {
        bool rotated = false;
        for (int p = 0; p < order; ++p)
            for (int q = p + 1; q < order; ++q) {
                double *a = matrix + p * stride, *b = matrix + q * stride;
                if (!(std::abs(a[q]) > 1e-15 * std::sqrt(std::abs(a[p]) * std::abs(b[q])))) continue;
                rotated = true;
                const double half = (b[q] - a[p]) / (2.0 * a[q]);
                const double t = (half < 0.0 ? -1.0 : 1.0) / (std::abs(half) + std::sqrt(half * half + 1.0));
                const double cosine = 1.0 / std::sqrt(t * t + 1.0), sine = t * cosine;
                const auto rotate = [&](double& left, double& right) {
                    const double kept = left;
                    left = cosine * kept - sine * right;
                    right = sine * kept + cosine * right;
                };
                for (int k = 0; k < order; ++k) rotate(matrix[k * stride + p], matrix[k * stride + q]);
                for (int k = 0; k < order; ++k) rotate(a[k], b[k]);
                for (int k = 0; k < order; ++k) rotate(vectors[p * stride + k], vectors[q * stride + k]);
                a[q] = b[p] = 0.0;
            }
        if (!rotated) return;
    }
}

class LeastNorm {
 public:
    explicit LeastNorm(int most) : stride_(system_stride(most)), work_(2 * most * stride_), solution_(stride_) {}

    // Row i of `system`: coefficients of unknowns 0 … order − 1, both triangles, then the right-hand side; rows are
    // `stride` apart. It stays as it is. The solution is padded with zeros.
    const double* solve(const double* system, int order, int stride) {
        double* copy = work_.data();
        for (int i = 0; i < order; ++i) std::copy_n(system + i * stride, stride, copy + i * stride);
        solve_system(copy, order, stride, solution_.data());
        solution_[order] = 0.0;
        for (int i = 0; i < order; ++i)
            if (!(copy[i * stride + i] > 0.0)) {
                solve_singular(system, order, stride);
                break;
            }
        return solution_.data();
    }

 private:
    void solve_singular(const double* system, int order, int stride) {
        double *matrix = work_.data(), *vectors = matrix + order * stride;
        for (int i = 0; i < order; ++i) {
            std::copy_n(system + i * stride, order, matrix + i * stride);
            std::fill(matrix + i * stride + order, matrix + (i + 1) * stride, 0.0);
        }
        diagonalise(matrix, vectors, order, stride);
        double largest = 0.0;
        for (int i = 0; i < order; ++i) largest = std::max(largest, matrix[i * stride + i]);
        std::fill(solution_.begin(), solution_.end(), 0.0);
        for (int i = 0; i < order; ++i) {
            const double eigenvalue = matrix[i * stride + i], *vector = vectors + i * stride;
            if (!(eigenvalue > kSmallestShare * largest)) continue;
            double side = 0.0;
            for (int k = 0; k < order; ++k) side += vector[k] * system[k * stride + order];
            for (int k = 0; k < order; ++k) solution_[k] += side / eigenvalue * vector[k];
        }
    }

    int stride_;
    std::vector<double> work_, solution_;
};

}  // namespace rankfill::RANKFILL_ISA
