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

// Some rows by sixteen columns stay in registers while all pivots of a panel are taken off, in their order: every
// element goes through the same differences as one pivot at a time would take it, so that panels never change the bits.
inline constexpr int kPanel = 32;
inline constexpr int kPanelRows = RANKFILL_VECTOR_BYTES == 64 ? 8 : RANKFILL_VECTOR_BYTES / 16;
inline constexpr int kWithoutPanels = 64;

// row[j] −= factor[k] · pivot row k [j] over the pivots, for the columns of one tile.
template <int Rows>
RANKFILL_INLINE void take_off_tile(double* rows, int stride, const double* const* pivots, const double* factors,
                                   int n_pivots) {
    constexpr int parts = kParts<double>, width = kWidth<double>;
    Register<double> tile[Rows][parts];
    for (int r = 0; r < Rows; ++r)
        for (int p = 0; p < parts; ++p) tile[r][p] = load(rows + r * stride + p * width);
    for (int k = 0; k < n_pivots; ++k, factors += Rows)
        for (int p = 0; p < parts; ++p) {
            const Register<double> pivot = load(pivots[k] + p * width);
            for (int r = 0; r < Rows; ++r) tile[r][p] = tile[r][p] - factors[r] * pivot;
        }
    for (int r = 0; r < Rows; ++r)
        for (int p = 0; p < parts; ++p) store(rows + r * stride + p * width, tile[r][p]);
}

// Takes the pivots, rows of the system, off rows first … first + Rows − 1, which lie in one block of sixteen.
template <int Rows>
void take_off(double* system, int order, int stride, int first, const int* pivots, int n_pivots) {
    double factors[kPanel * Rows];
    const double* pivot_columns[kPanel];
    const int block_end = first / kLanes * kLanes + kLanes;
    for (int k = 0; k < n_pivots; ++k) {
        const double* __restrict pivot_row = system + pivots[k] * stride;
        for (int r = 0; r < Rows; ++r) {
            double* __restrict row = system + (first + r) * stride;
            const double factor = factors[k * Rows + r] = pivot_row[first + r] / pivot_row[pivots[k]];
            for (int j = first + r; j < block_end; ++j) row[j] -= factor * pivot_row[j];
        }
    }
    for (int column = block_end; column <= order; column += kLanes) {
        for (int k = 0; k < n_pivots; ++k) pivot_columns[k] = system + pivots[k] * stride + column;
        take_off_tile<Rows>(system + first * stride + column, stride, pivot_columns, factors, n_pivots);
    }
}

// Rows first … last − 1 are eliminated one pivot after the other; returns how many pivots there were.
inline int eliminate_panel(double* system, int order, int stride, int first, int last, const double* diagonal,
                           int* pivots) {
    int n_pivots = 0;
    for (int k = first; k < last; ++k) {
        const double* __restrict pivot_row = system + k * stride;
        if (!(pivot_row[k] > kSmallestPivot * diagonal[k])) {
            system[k * stride + k] = 0.0;
            continue;
        }
        pivots[n_pivots++] = k;
        for (int i = k + 1; i < last; ++i) {
            double* __restrict row = system + i * stride;
            const double factor = pivot_row[i] / pivot_row[k];
            for (int j = i; j <= order; ++j) row[j] -= factor * pivot_row[j];
        }
    }
    return n_pivots;
}

// Elimination without pivoting (LDLᵀ): the upper triangle becomes D Lᵀ and the right-hand side L⁻¹ of itself. `room`
// has `order` places.
inline void eliminate_system(double* system, int order, int stride, double* room) {
    double* diagonal = room;
    for (int i = 0; i < order; ++i) diagonal[i] = system[i * stride + i];
    int pivots[kWithoutPanels];
    const int panel = order <= kWithoutPanels ? order : kPanel;
    for (int first = 0; first < order; first += panel) {
        const int last = std::min(first + panel, order);
        const int n_pivots = eliminate_panel(system, order, stride, first, last, diagonal, pivots);
        int row = last;
        for (; row + kPanelRows <= order; row += kPanelRows)
            take_off<kPanelRows>(system, order, stride, row, pivots, n_pivots);
        for (; row < order; ++row) take_off<1>(system, order, stride, row, pivots, n_pivots);
    }
}

// What an eliminated system says; `solution` has `stride` places.
inline void substitute_back(const double* system, int order, int stride, double* solution) {
    std::fill(solution, solution + stride, 0.0);
    solution[order] = -1.0;  // brings the right-hand side into the dot product
    for (int k = order - 1; k >= 0; --k) {
        const double* row = system + k * stride;
        const int from = k / kLanes * kLanes;  // what lies left of it is zero in the solution
        const double rest = dot<0>(row + from, solution + from, (stride - from) / kLanes);
        solution[k] = row[k] > 0.0 ? -rest / row[k] : 0.0;
    }
}

// Solves by elimination. Reads and destroys the upper triangle; `solution` has `stride` places.
inline void solve_system(double* system, int order, int stride, double* solution) {
    eliminate_system(system, order, stride, solution);
    substitute_back(system, order, stride, solution);
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
