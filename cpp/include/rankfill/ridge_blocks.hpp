// Rows by blocks of columns, one after the other, each solved exactly while the rest of the row stays (the subspaces of
// iALS++; Rendle, Krichene, Zhang, Koren 2021). At high rank a row costs entries × rank × block + rank × block² instead
// of entries × rank² + rank³, and block after block the objective never rises.
#pragma once

#include "rankfill/least_squares.hpp"

namespace rankfill::RANKFILL_ISA {

template <int Blocks>
class BlockSolver {
 public:
    explicit BlockSolver(const RidgePass& pass)
        : pass_(pass),
          ridge_(pass.ridge),
          most_columns_(std::min(ridge_.block, (ridge_.rank + kLanes - 1) / kLanes * kLanes)),
          rows_(kChunk * most_columns_),
          weighted_(ridge_.implicit ? kChunk * most_columns_ : 0),
          system_(most_columns_ * system_stride(most_columns_)),
          side_(most_columns_),
          solution_(system_stride(most_columns_)),
          step_(most_columns_) {}

    void solve(std::int64_t row) {
        begin_ = pass_.ratings.indptr[row], end_ = pass_.ratings.indptr[row + 1];
        scale_ = ridge_.scale(end_ - begin_);
        w_ = pass_.moving.row(row);
        start();
        for (int first = 0; first < ridge_.rank; first += most_columns_)
            solve_block(first, std::min(most_columns_, ridge_.rank - first));
        if (ridge_.bias_column >= 0) solve_bias();
    }

 private:
    float weight(std::int64_t t) const { return ridge_.implicit ? ridge_.confidence * pass_.ratings.values[t] : 1.0f; }

    // What each entry pulls with: minus the slope of its loss at w.
    void start() {
        pulls_.resize(end_ - begin_);
        const int blocks = pass_.fixed.stride / kLanes;
        for (std::int64_t t = begin_; t < end_; ++t) {
            const float product = dot<Blocks>(w_, pass_.fixed.row(pass_.ratings.indices[t]), blocks);
            const float rating = pass_.ratings.values[t], heavy = weight(t);
            pulls_[t - begin_] = ridge_.implicit ? 1.0f + heavy - heavy * product : rating - ridge_.offset - product;
        }
    }

    void solve_block(int first, int order) {
        const int columns = (order + kLanes - 1) / kLanes * kLanes, stride = system_stride(most_columns_);
        std::fill(system_.begin(), system_.end(), 0.0);
        std::fill(side_.begin(), side_.end(), 0.0);
        for (std::int64_t from = begin_; from < end_; from += kChunk) {
            const int n = static_cast<int>(std::min<std::int64_t>(kChunk, end_ - from));
            gather(from, n, first, order, columns);
            const Chunk rows{rows_.data(), kLanes, kBlockStride}, weighted{weighted_.data(), kLanes, kBlockStride};
            add_gram(ridge_.implicit ? weighted : rows, rows, columns, n, system_.data(), stride);
            for (int column = 0; column < columns; column += kLanes)
                add_tile<1>(pulls_.data() + (from - begin_), 1, rows.column(column), kLanes, n, side_.data() + column,
                            most_columns_);
        }
        complete(first, order, stride);
        if (ridge_.nonnegative) {
            std::fill(solution_.begin(), solution_.end(), 0.0);
            for (int k = 0; k < order; ++k) solution_[k] = w_[first + k];
            solve_nonnegative(system_.data(), order, stride, order, solution_.data());
        } else {
            solve_system(system_.data(), order, stride, solution_.data());
        }
        std::fill(step_.begin(), step_.end(), 0.0f);
        for (int k = 0; k < order; ++k) {
            const float moved = static_cast<float>(solution_[k]);
            step_[k] = moved - w_[first + k];
            w_[first + k] = moved;
        }
        for (std::int64_t t = begin_; t < end_; ++t) {
            const float* x = pass_.fixed.row(pass_.ratings.indices[t]) + first;
            pulls_[t - begin_] -= weight(t) * dot<0>(step_.data(), x, columns / kLanes);
        }
    }

    void gather(std::int64_t from, int n, int first, int order, int columns) {
        for (int t = 0; t < n; ++t) {
            const float* x = pass_.fixed.row(pass_.ratings.indices[from + t]) + first;
            float* __restrict row = rows_.data() + t * kLanes;
            for (int k = 0; k < columns; k += kLanes) std::copy_n(x + k, kLanes, row + k * kChunk);
            for (int k = order; k < columns; ++k) row[(columns - kLanes) * kChunk + k % kLanes] = 0.0f;
            if (!ridge_.implicit) continue;
            const float heavy = weight(from + t);
            float* __restrict weighted = weighted_.data() + t * kLanes;
            for (int k = 0; k < columns; k += kLanes)
                for (int c = 0; c < kLanes; ++c) weighted[k * kChunk + c] = heavy * row[k * kChunk + c];
        }
    }

    // Brings penalties and the Gram matrix of all columns into the system, and the right-hand side that makes the
    // solution the new columns themselves rather than their step.
    void complete(int first, int order, int stride) {
        const double penalty = ridge_.penalty * scale_;
        if (ridge_.implicit) {
            const float* gram = pass_.gram + first;
            for (int i = 0; i < order; ++i)
                for (int j = i; j < order; ++j) system_[i * stride + j] += gram[(first + i) * pass_.fixed.stride + j];
            for (int j = 0; j < ridge_.rank; ++j)
                for (int k = 0; k < order; ++k)
                    side_[k] -= static_cast<double>(gram[j * pass_.fixed.stride + k]) * static_cast<double>(w_[j]);
        }
        for (int k = 0; k < order; ++k) {
            system_[k * stride + k] += penalty;
            side_[k] -= penalty * static_cast<double>(w_[first + k]);
        }
        for (int j = 0; j < order; ++j)
            for (int k = 0; k < order; ++k)
                side_[k] += system_[std::min(j, k) * stride + std::max(j, k)] * static_cast<double>(w_[first + j]);
        for (int k = 0; k < order; ++k) system_[k * stride + order] = side_[k];
    }

    void solve_bias() {
        const double penalty = ridge_.bias_penalty * scale_, bias = w_[ridge_.bias_column];
        double pull = 0.0;
        for (const float each : pulls_) pull += each;
        w_[ridge_.bias_column] =
            static_cast<float>(bias + (pull - penalty * bias) / (static_cast<double>(end_ - begin_) + penalty));
    }

    const RidgePass& pass_;
    const Ridge& ridge_;
    int most_columns_;
    std::vector<float> rows_, weighted_, pulls_;
    std::vector<double> system_, side_, solution_;
    std::vector<float> step_;
    float* w_ = nullptr;
    double scale_ = 1.0;
    std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace rankfill::RANKFILL_ISA
