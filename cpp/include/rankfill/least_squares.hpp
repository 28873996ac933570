// Rows by their normal equations: Gram matrix and right-hand side over the entries, then a small solve.
//
// Entries are gathered a chunk at a time, such that what a tile reads lies side by side; a tile of the Gram matrix,
// some rows by sixteen columns, stays in registers over a chunk, sums in float in the order of the entries, and is
// added to the system in double. Every element has a sum of its own, so the shape of the tiles changes the speed and
// never the bits.
#pragma once

#include "rankfill/folding.hpp"
#include "rankfill/ridge.hpp"
#include "rankfill/small_system.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kChunk = 128;
inline constexpr int kBlockStride = kChunk * kLanes;
inline constexpr int kTileRows = RANKFILL_VECTOR_BYTES / 8;  // with their columns, half of the registers

// sums[r][c] += Σ_t left[t][r] · right[t][c], c = 0 … 15.
template <int Rows>
RANKFILL_INLINE void add_tile(const float* left, int left_stride, const float* right, int right_stride, int n,
                              double* sums, int sums_stride) {
    constexpr int parts = kParts<float>, width = kWidth<float>;
    Register<float> tile[Rows][parts] = {};
    for (int t = 0; t < n; ++t, left += left_stride, right += right_stride) {
        Register<float> columns[parts];
        for (int p = 0; p < parts; ++p) columns[p] = load(right + p * width);
        for (int r = 0; r < Rows; ++r)
            for (int p = 0; p < parts; ++p) tile[r][p] = tile[r][p] + left[r] * columns[p];
    }
    for (int r = 0; r < Rows; ++r) {
        float lanes[kLanes];
        for (int p = 0; p < parts; ++p) store(lanes + p * width, tile[r][p]);
        for (int c = 0; c < kLanes; ++c) sums[r * sums_stride + c] += lanes[c];
    }
}

// A chunk of rows: block after block of sixteen columns, in each block row after row.
struct Chunk {
    const float* data;
    int row_stride, block_stride;

    const float* column(int index) const { return data + index / kLanes * block_stride + index % kLanes; }
};

// The blocks of Σ_t left[t] right[t]ᵀ that touch the upper triangle; `columns` is a multiple of sixteen.
inline void add_gram(const Chunk& left, const Chunk& right, int columns, int n, double* sums, int sums_stride) {
    for (int row = 0; row < columns; row += kTileRows)
        for (int column = row / kLanes * kLanes; column < columns; column += kLanes)
            add_tile<kTileRows>(left.column(row), left.row_stride, right.column(column), right.row_stride, n,
                                sums + row * sums_stride + column, sums_stride);
}

// The same for whole rows, one after the other.
inline void add_gram(const float* left, const float* right, int columns, int n, double* sums, int sums_stride) {
    add_gram(Chunk{left, columns, kLanes}, Chunk{right, columns, kLanes}, columns, n, sums, sums_stride);
}

// Σ x xᵀ of rows first … last − 1 into the upper triangle of `sums`, stride × stride.
inline void add_gram_of_rows(Factors<const float> factors, std::int64_t first, std::int64_t last, double* sums) {
    for (std::int64_t row = first; row < last; row += kChunk)
        add_gram(factors.row(row), factors.row(row), factors.stride,
                 static_cast<int>(std::min<std::int64_t>(kChunk, last - row)), sums, factors.stride);
}

class RowSolver {
 public:
    explicit RowSolver(const RidgePass& pass)
        : pass_(pass),
          ridge_(pass.ridge),
          columns_((ridge_.rank + kLanes - 1) / kLanes * kLanes),
          stride_(std::max(system_stride(ridge_.order()), columns_)),
          rows_(kChunk * columns_),
          weighted_(ridge_.implicit ? kChunk * columns_ : 0),
          sides_(kChunk * 2),
          system_(std::max(columns_, ridge_.order()) * stride_),
          borders_(2 * columns_),
          solution_(stride_) {}

    void solve(std::int64_t row) {
        const std::int64_t begin = pass_.ratings.indptr[row], end = pass_.ratings.indptr[row + 1];
        collect(begin, end);
        complete(end - begin);
        float* w = pass_.moving.row(row);
        const int order = ridge_.order();
        if (ridge_.nonnegative) {
            std::fill(solution_.begin(), solution_.end(), 0.0);
            for (int k = 0; k < order; ++k) solution_[k] = w[column_of(k)];
            solve_nonnegative(system_.data(), order, stride_, ridge_.rank, solution_.data());
        } else {
            solve_system(system_.data(), order, stride_, solution_.data());
        }
        for (int k = 0; k < order; ++k) w[column_of(k)] = static_cast<float>(solution_[k]);
    }

 private:
    int column_of(int unknown) const { return unknown < ridge_.rank ? unknown : ridge_.bias_column; }

    // Sums over the entries: the Gram matrix into the system, Σ x and Σ x · target into the borders.
    void collect(std::int64_t begin, std::int64_t end) {
        std::fill(system_.begin(), system_.end(), 0.0);
        std::fill(borders_.begin(), borders_.end(), 0.0);
        target_sum_ = 0.0;
        for (std::int64_t from = begin; from < end; from += kChunk) {
            const int n = static_cast<int>(std::min<std::int64_t>(kChunk, end - from));
            gather(from, n);
            const Chunk rows{rows_.data(), kLanes, kBlockStride};
            const Chunk weighted{weighted_.data(), kLanes, kBlockStride};
            add_gram(ridge_.implicit ? weighted : rows, rows, columns_, n, system_.data(), stride_);
            for (int column = 0; column < columns_; column += kLanes)
                add_tile<2>(sides_.data(), 2, rows.column(column), kLanes, n, borders_.data() + column, columns_);
        }
    }

    void gather(std::int64_t from, int n) {
        for (int t = 0; t < n; ++t) {
            const float* x = pass_.fixed.row(pass_.ratings.indices[from + t]);
            const float rating = pass_.ratings.values[from + t];
            float* __restrict row = rows_.data() + t * kLanes;
            for (int k = 0; k < columns_; k += kLanes) std::copy_n(x + k, kLanes, row + k * kChunk);
            for (int k = ridge_.rank; k < columns_; ++k) row[(columns_ - kLanes) * kChunk + k % kLanes] = 0.0f;
            float target = rating - ridge_.offset;
            if (ridge_.held_column >= 0) target -= x[ridge_.held_column];
            if (ridge_.implicit) {
                const float weight = ridge_.confidence * rating;
                target = 1.0f + weight;
                float* __restrict weighted = weighted_.data() + t * kLanes;
                for (int k = 0; k < columns_; k += kLanes)
                    for (int c = 0; c < kLanes; ++c) weighted[k * kChunk + c] = weight * row[k * kChunk + c];
            }
            sides_[2 * t] = 1.0f;
            sides_[2 * t + 1] = target;
            target_sum_ += target;
        }
    }

    // Brings borders, penalties and the Gram matrix of all columns into the system.
    void complete(std::int64_t n) {
        const int rank = ridge_.rank, order = ridge_.order();
        const double scale = ridge_.scale(n);
        if (ridge_.implicit)
            for (int i = 0; i < rank; ++i)
                for (int j = i; j < rank; ++j) system_[i * stride_ + j] += pass_.gram[i * pass_.fixed.stride + j];
        for (int i = 0; i < rank; ++i) {
            system_[i * stride_ + i] += ridge_.penalty * scale;
            if (order > rank) system_[i * stride_ + rank] = borders_[i];
            system_[i * stride_ + order] = borders_[columns_ + i];
        }
        if (order > rank) {
            double* bias = system_.data() + rank * stride_;
            std::fill(bias, bias + stride_, 0.0);
            bias[rank] = static_cast<double>(n) + ridge_.bias_penalty * scale;
            bias[order] = target_sum_;
        }
    }

    const RidgePass& pass_;
    const Ridge& ridge_;
    int columns_, stride_;
    std::vector<float> rows_, weighted_, sides_;
    std::vector<double> system_, borders_, solution_;
    double target_sum_ = 0.0;
};

// The errors of a row, as many at a time as a register has lanes.
template <int Blocks>
SquaredErrors squared_errors_of_row(const RidgePass& pass, std::int64_t row) {
    constexpr int at_once = kWidth<float>;
    SquaredErrors sums;
    const float* w = pass.moving.row(row);
    const std::int64_t begin = pass.ratings.indptr[row], end = pass.ratings.indptr[row + 1];
    for (std::int64_t first = begin; first < end; first += at_once) {
        const int n = static_cast<int>(std::min<std::int64_t>(at_once, end - first));
        const float* rows[at_once];
        float scores[at_once];
        for (int i = 0; i < n; ++i) rows[i] = pass.fixed.row(pass.ratings.indices[first + i]);
        products<Blocks>(w, rows, n, pass.fixed.stride / kLanes, scores);
        for (int i = 0; i < n; ++i) {
            const float product = scores[i], rating = pass.ratings.values[first + i];
            const double error = pass.ridge.implicit ? 1.0f - product : rating - pass.ridge.offset - product;
            sums.plain += error * error;
            if (pass.ridge.implicit)
                sums.weighted += (1.0 + static_cast<double>(pass.ridge.confidence * rating)) * error * error -
                                 static_cast<double>(product) * product;
        }
    }
    if (!pass.ridge.implicit) sums.weighted = sums.plain;
    return sums;
}

}  // namespace rankfill::RANKFILL_ISA
