// The rows of the dictionary after a batch of columns, each by a system of its own:
//
//     c = argmin Σ_j (t_j − x_j·c)² + penalty ‖c − c_before‖²        over the columns j of the batch that observe the
//     row
//       = c_before + Σ_j α_j z_j,   (Z Zᵀ + penalty I) α = e          as many unknowns as columns, or if those are more
//                                                                    than the unknowns of a row, the normal equations
#pragma once

#include "rankfill/broyden.hpp"

namespace rankfill::RANKFILL_ISA {

class BatchMover {
 public:
    BatchMover(const ColumnPass& pass, const BatchRows& batch)
        : pass_(pass),
          batch_(batch),
          ridge_(pass.rule.ridge),
          order_(ridge_.order()),
          width_(pass.dictionary.stride),
          stride_(system_stride(order_)),
          system_(order_ * stride_),
          solution_(stride_),
          errors_(pass.order.size()),
          products_(width_ * width_),
          side_(width_),
          rows_(kChunk * width_) {}

    ColumnSums move(std::int64_t at) {
        begin_ = batch_.starts[at];
        n_ = static_cast<int>(batch_.starts[at + 1] - begin_);
        const float* before = batch_.before + at * width_;
        double squared = 0.0;
        for (int j = 0; j < n_; ++j) {
            const float error = (batch_.values[begin_ + j] - ridge_.offset) - dot<0>(before, row(j), width_ / kLanes);
            errors_[j] = error;
            squared += static_cast<double>(error) * error;
        }
        float* c = pass_.dictionary.row(batch_.rows[at]);
        return {n_ <= order_ ? move_by_columns(before, c) : squared - move_by_unknowns(before, c), squared};
    }

 private:
    const float* row(int j) const { return pass_.moving.row(pass_.order[batch_.places[begin_ + j]]); }
    const float* direction(int j) const { return batch_.direction + batch_.places[begin_ + j] * width_; }
    int column_of(int unknown) const { return unknown < ridge_.rank ? unknown : ridge_.held_column; }

    // Returns what is left of the errors with the penalty.
    double move_by_columns(const float* before, float* c) {
        std::fill(system_.begin(), system_.end(), 0.0);
        for (int i = 0; i < n_; ++i) {
            double* equation = system_.data() + i * stride_;
            for (int j = i; j < n_; ++j) equation[j] = dot<0>(row(i), direction(j), width_ / kLanes);
            equation[i] += pass_.rule.penalty;
            equation[n_] = errors_[i];
        }
        solve_system(system_.data(), n_, stride_, solution_.data());
        std::fill(side_.begin(), side_.end(), 0.0);
        double along = 0.0;
        for (int j = 0; j < n_; ++j) {
            for (int k = 0; k < width_; ++k) side_[k] += solution_[j] * direction(j)[k];
            along += solution_[j] * errors_[j];
        }
        for (int k = 0; k < width_; ++k) c[k] = static_cast<float>(before[k] + side_[k]);
        return pass_.rule.penalty * along;
    }

    // Returns by how much that is less than the squared errors before.
    double move_by_unknowns(const float* before, float* c) {
        std::fill(products_.begin(), products_.end(), 0.0);
        std::fill(side_.begin(), side_.end(), 0.0);
        for (int from = 0; from < n_; from += kChunk) {
            const int count = std::min(kChunk, n_ - from);
            for (int t = 0; t < count; ++t) {
                std::copy_n(row(from + t), width_, rows_.data() + t * width_);
                for (int k = 0; k < width_; ++k) side_[k] += errors_[from + t] * row(from + t)[k];
            }
            add_gram(rows_.data(), rows_.data(), width_, count, products_.data(), width_);
        }
        for (int i = 0; i < order_; ++i) {
            double* equation = system_.data() + i * stride_;
            std::fill(equation, equation + stride_, 0.0);
            for (int j = i; j < order_; ++j) equation[j] = products_[column_of(i) * width_ + column_of(j)];
            equation[i] += i < ridge_.rank ? pass_.rule.penalty : pass_.rule.penalty / pass_.rule.unit;
            equation[order_] = side_[column_of(i)];
        }
        solve_system(system_.data(), order_, stride_, solution_.data());
        double gained = 0.0;
        std::copy_n(before, width_, c);
        for (int k = 0; k < order_; ++k) {
            c[column_of(k)] = static_cast<float>(before[column_of(k)] + solution_[k]);
            gained += solution_[k] * side_[column_of(k)];
        }
        return gained;
    }

    const ColumnPass& pass_;
    const BatchRows& batch_;
    const Ridge& ridge_;
    int order_, width_, stride_, n_ = 0;
    std::int64_t begin_ = 0;
    std::vector<double> system_, solution_, errors_, products_, side_;
    std::vector<float> rows_;
};

inline void move_batch(const ColumnPass& pass, const BatchRows& batch, std::int64_t first, std::int64_t last,
                       ColumnSums* per_row) {
    BatchMover mover(pass, batch);
    for (std::int64_t at = first; at < last; ++at) per_row[at] = mover.move(at);
}

inline void sum_gram(const ColumnPass& pass) { ColumnSolver(pass).sum_gram(); }

}  // namespace rankfill::RANKFILL_ISA
