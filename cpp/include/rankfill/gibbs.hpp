// Rows drawn from their distribution given the other side: the normal equations of least squares, and a normal number
// for each unknown.
//
// With A = L D Lᵀ the elimination leaves D Lᵀ and y = L⁻¹ c; the solution of D Lᵀ w = y + √D z has the mean A⁻¹ c and
// the covariance A⁻¹. The random numbers z are those of the row's number, so that rows may be drawn in any order.
#pragma once

#include "rankfill/least_squares.hpp"
#include "rankfill/philox.hpp"
#include "rankfill/row_posterior.hpp"

namespace rankfill::RANKFILL_ISA {

class RowSampler {
 public:
    explicit RowSampler(const RowPosterior& pass)
        : pass_(pass),
          columns_((pass.rank + kLanes - 1) / kLanes * kLanes),
          stride_(std::max(system_stride(pass.order()), columns_)),
          rows_(kChunk * columns_),
          sides_(kChunk * 2),
          system_(std::max(columns_, pass.order()) * stride_),
          borders_(2 * columns_),
          solution_(stride_),
          normals_(pass.order()) {}

    void draw(std::int64_t row) {
        const std::int64_t begin = pass_.ratings.indptr[row], end = pass_.ratings.indptr[row + 1];
        const int order = pass_.order();
        collect(begin, end);
        complete(row, end - begin);
        eliminate_system(system_.data(), order, stride_, solution_.data());
        if (pass_.means.n_rows > 0) {
            substitute_back(system_.data(), order, stride_, solution_.data());
            write(pass_.means.row(row));
        }
        const std::int64_t number = pass_.numbers.empty() ? row : pass_.numbers[row];
        draw_normals(pass_.key, static_cast<std::uint64_t>(number), order, normals_.data());
        for (int k = 0; k < order; ++k)
            system_[k * stride_ + order] += std::sqrt(system_[k * stride_ + k]) * normals_[k];
        substitute_back(system_.data(), order, stride_, solution_.data());
        write(pass_.moving.row(row));
    }

 private:
    void write(float* target) const {
        for (int k = 0; k < pass_.rank; ++k) target[k] = static_cast<float>(solution_[k]);
        target[pass_.bias_column] = static_cast<float>(solution_[pass_.rank]);
    }

    // Sums over the entries: the Gram matrix into the system, Σ x and Σ x · target into the borders.
    void collect(std::int64_t begin, std::int64_t end) {
        std::fill(system_.begin(), system_.end(), 0.0);
        std::fill(borders_.begin(), borders_.end(), 0.0);
        target_sum_ = 0.0;
        for (std::int64_t from = begin; from < end; from += kChunk) {
            const int n = static_cast<int>(std::min<std::int64_t>(kChunk, end - from));
            for (int t = 0; t < n; ++t) gather(from + t, t);
            const Chunk rows{rows_.data(), kLanes, kBlockStride};
            add_gram(rows, rows, columns_, n, system_.data(), stride_);
            for (int column = 0; column < columns_; column += kLanes)
                add_tile<2>(sides_.data(), 2, rows.column(column), kLanes, n, borders_.data() + column, columns_);
        }
    }

    // Entry `at` as row t of the chunk.
    void gather(std::int64_t at, int t) {
        const float* x = pass_.first.rows.row(pass_.first.indices[at]);
        float* __restrict row = rows_.data() + t * kLanes;
        for (int k = 0; k < columns_; k += kLanes) std::copy_n(x + k, kLanes, row + k * kChunk);
        for (int k = pass_.rank; k < columns_; ++k) row[(columns_ - kLanes) * kChunk + k % kLanes] = 0.0f;
        float target = pass_.ratings.values[at] - x[pass_.first.held_column];
        if (pass_.second.rows.n_rows > 0) target -= join(pass_.second.rows.row(pass_.second.indices[at]), row);
        sides_[2 * t] = 1.0f;
        sides_[2 * t + 1] = target;
        target_sum_ += target;
    }

    // Adds the factors of the third side to the row; returns what both other sides predict by themselves.
    float join(const float* other, float* __restrict row) const {
        float product = other[pass_.second.held_column];
        for (int k = 0; k < pass_.rank; ++k) {
            float& own = row[k / kLanes * kBlockStride + k % kLanes];
            product += own * other[k];
            own += other[k];
        }
        return product;
    }

    // The prior, and the borders, into the system.
    void complete(std::int64_t row, std::int64_t n) {
        const int rank = pass_.rank, order = pass_.order();
        const double alpha = pass_.noise_precision;
        const float* prior = pass_.prior.row(pass_.prior.n_rows == 1 ? 0 : row);
        double* bias = system_.data() + rank * stride_;
        for (int i = 0; i < rank; ++i) {
            double* own = system_.data() + i * stride_;
            for (int j = i; j < rank; ++j) own[j] *= alpha;
            own[rank] = alpha * borders_[i];
            own[order] = alpha * borders_[columns_ + i];
        }
        std::fill(bias, bias + stride_, 0.0);
        bias[rank] = alpha * static_cast<double>(n);
        bias[order] = alpha * target_sum_;
        for (int i = 0; i < order; ++i) {
            double* own = system_.data() + i * stride_;
            const double* precision = pass_.precision.row(i);
            for (int j = 0; j < order; ++j) own[order] += precision[j] * prior[j];
            for (int j = i; j < order; ++j) own[j] += precision[j];
        }
    }

    const RowPosterior& pass_;
    int columns_, stride_;
    std::vector<float> rows_, sides_;
    std::vector<double> system_, borders_, solution_, normals_;
    double target_sum_ = 0.0;
};

inline void draw_rows(const RowPosterior& pass, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
    RowSampler sampler(pass);
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::ssize(order);)
        sampler.draw(order[i]);
}

}  // namespace rankfill::RANKFILL_ISA
