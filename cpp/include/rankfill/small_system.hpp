// Symmetric positive definite systems of the size of the rank, in double precision.
//
// Row i of a system holds the coefficients of unknowns 0 … order − 1 and then the right-hand side; rows are `stride`
// apart, a multiple of sixteen. Every operation is element by element or a dot product on sixteen lanes, so that the
// bits do not depend on the width of the registers.
#pragma once

#include "rankfill/lanes.hpp"

namespace rankfill::RANKFILL_ISA {

// A pivot below this share of its diagonal is rounding: the unknown depends on those before it and stays zero.
inline constexpr double kSmallestPivot = 1e-6;
// Non-negative solutions: the largest violation of the optimality conditions, relative to the right-hand side.
inline constexpr double kViolation = 1e-9;
inline constexpr int kSweeps = 1000;

inline int system_stride(int order) { return order / kLanes * kLanes + kLanes; }

// Solves by elimination without pivoting (LDLᵀ). Reads and destroys the upper triangle; `solution` has `stride` places.
inline void solve_system(double* system, int order, int stride, double* solution) {
    double* diagonal = solution;  // free until the back substitution
    for (int i = 0; i < order; ++i) diagonal[i] = system[i * stride + i];
    for (int k = 0; k < order; ++k) {
        const double* __restrict pivot_row = system + k * stride;
        if (!(pivot_row[k] > kSmallestPivot * diagonal[k])) {
            system[k * stride + k] = 0.0;
            continue;
        }
        for (int i = k + 1; i < order; ++i) {
            double* __restrict row = system + i * stride;
            const double factor = pivot_row[i] / pivot_row[k];
            for (int j = i; j <= order; ++j) row[j] -= factor * pivot_row[j];
        }
    }
    std::fill(solution, solution + stride, 0.0);
    solution[order] = -1.0;  // brings the right-hand side into the dot product
    for (int k = order - 1; k >= 0; --k) {
        const double* row = system + k * stride;
        const int from = k / kLanes * kLanes;  // what lies left of it is zero in the solution
        const double rest = dot<0>(row + from, solution + from, (stride - from) / kLanes);
        solution[k] = row[k] > 0.0 ? -rest / row[k] : 0.0;
    }
}

// The same with the first `n_constrained` unknowns kept ≥ 0: cyclic coordinate descent from `solution`.
// Reads the upper triangle and fills the lower one.
inline void solve_nonnegative(double* system, int order, int stride, int n_constrained, double* solution) {
    for (int i = 0; i < order; ++i)
        for (int j = 0; j < i; ++j) system[i * stride + j] = system[j * stride + i];
    solution[order] = -1.0;
    double largest = 0.0;
    for (int k = 0; k < order; ++k) largest = std::max(largest, std::abs(system[k * stride + order]));
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        double violation = 0.0;
        for (int k = 0; k < order; ++k) {
            const double* row = system + k * stride;
            if (!(row[k] > 0.0)) continue;
            const double gradient = dot<0>(row, solution, stride / kLanes);
            double moved = solution[k] - gradient / row[k];
            if (k < n_constrained) moved = std::max(moved, 0.0);
            violation = std::max(violation, std::abs(moved - solution[k]) * row[k]);
            solution[k] = moved;
        }
        if (violation <= kViolation * largest) break;
    }
}

}  // namespace rankfill::RANKFILL_ISA
