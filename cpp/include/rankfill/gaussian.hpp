// Rows of a Gaussian table with unknown entries: their expectation given the known ones, and how sure that is.
//
// For a row with unknown entries J and known ones O, both less their mean, and the precision matrix Λ (the inverse of
// the covariance matrix),
//
//     E[x_J | x_O] = −Λ_JJ⁻¹ Λ_JO x_O,        Cov[x_J | x_O] = Λ_JJ⁻¹.
//
// Both come out of one symmetric sweep over the pivots of (Λ_JJ | −Λ_JO x_O): |J|³/2 multiplications a row, none where
// nothing is unknown. Every element goes through its own operations in a fixed order: the bits do not depend on the
// registers.
#pragma once

#include "rankfill/lanes.hpp"
#include "rankfill/table.hpp"

namespace rankfill::RANKFILL_ISA {

class ConditionalRows {
 public:
    explicit ConditionalRows(const GaussianTable& table) : table_(table) {}

    void fill(std::int64_t row, double* covariance) {
        const std::int64_t begin = table_.indptr[row];
        const int n = static_cast<int>(table_.indptr[row + 1] - begin);
        if (n == 0) return;
        const std::int32_t* unknown = table_.indices.data() + begin;
        double* x = table_.values.row(row);
        for (int a = 0; a < n; ++a) x[unknown[a]] = 0.0;
        gather(unknown, n, x);
        for (int k = 0; k < n; ++k) sweep(k, n);
        const std::int64_t width = table_.precision.stride;
        for (int a = 0; a < n; ++a) {
            const double* solved = system_.data() + a * stride_;
            x[unknown[a]] = solved[n];
            double* target = covariance + unknown[a] * width;
            for (int b = a; b < n; ++b) target[unknown[b]] -= solved[b];
        }
    }

 private:
    // The upper triangle of Λ_JJ, and the right-hand side in column n.
    void gather(const std::int32_t* unknown, int n, const double* x) {
        stride_ = n / kLanes * kLanes + kLanes;
        pivot_.assign(stride_, 0.0);
        system_.resize(std::max(system_.size(), static_cast<std::size_t>(stride_) * stride_));
        for (int a = 0; a < n; ++a) {
            const double* precision = table_.precision.row(unknown[a]);
            double* row = system_.data() + a * stride_;
            std::fill_n(row, stride_, 0.0);
            for (int b = a; b < n; ++b) row[b] = precision[unknown[b]];
            row[n] = -dot<0>(precision, x, table_.precision.stride / kLanes);
        }
    }

    // Exchanges unknown k with its side; after all sweeps the triangle holds −Λ_JJ⁻¹ and column n the solution. Whole
    // registers from the diagonal on: what this writes left of it is never read.
    void sweep(int k, int n) {
        constexpr int width = kWidth<double>;
        double* pivot = pivot_.data();
        double* exchanged = system_.data() + k * stride_;
        for (int i = 0; i < k; ++i) pivot[i] = system_[i * stride_ + k];
        for (int j = k; j <= n; ++j) pivot[j] = exchanged[j];
        const double inverse = 1.0 / pivot[k];
        for (int i = 0; i < n; ++i) {
            double* row = system_.data() + i * stride_;
            const double factor = pivot[i] * inverse;
            for (int j = i / width * width; j <= n; j += width)
                store(row + j, load(row + j) - factor * load(pivot + j));
        }
        for (int i = 0; i < k; ++i) system_[i * stride_ + k] = pivot[i] * inverse;
        for (int j = k + 1; j <= n; ++j) exchanged[j] = pivot[j] * inverse;
        exchanged[k] = -inverse;
    }

    const GaussianTable& table_;
    int stride_ = 0;
    std::vector<double> system_, pivot_;
};

inline void fill_rows(const GaussianTable& table, std::int64_t first, std::int64_t last, double* covariance) {
    ConditionalRows rows(table);
    for (std::int64_t row = first; row < last; ++row) rows.fill(row, covariance);
}

}  // namespace rankfill::RANKFILL_ISA
