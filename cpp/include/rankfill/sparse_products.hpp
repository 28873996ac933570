// Products of a sparse matrix, in the precision of its values: entries of a low-rank matrix where the pattern has
// them, sparse times block, and the Gram matrix of the rows. Rows are independent, every number has one order of sums.
#pragma once

#include <vector>

#include "rankfill/lanes.hpp"
#include "rankfill/sparse_pattern.hpp"

namespace rankfill::RANKFILL_ISA {

// The next row of `right` is on its way while one is multiplied: short ones asked for at once, long ones by and by.
template <int Blocks, class T>
void entries_of_row(const Pattern& pattern, Block<const T> left, Block<const T> right, std::int64_t row, T* result) {
    constexpr int line = 64 / sizeof(T);
    const T* own = left.row(row);
    const std::int64_t end = pattern.indptr[row + 1];
    for (std::int64_t t = pattern.indptr[row]; t < end; ++t) {
        const T* other = right.row(pattern.indices[t]);
        const T* following = right.row(pattern.indices[std::min(t + 1, end - 1)]);
        for (int at = 0; at < Blocks * kLanes; at += line) __builtin_prefetch(following + at);
        const auto product = [&](int at) {
            if (Blocks == 0 && at % line == 0) __builtin_prefetch(following + at);
            return load(own + at) * load(other + at);
        };
        result[t] = fold<T>(partial_sum<T, Blocks>(static_cast<int>(left.width / kLanes), product));
    }
}

// `Parts` registers of a row of the product stay where they are while the entries of the row go by; the next entry's
// part of the block is on its way.
template <int Parts, class T>
RANKFILL_INLINE void times_tile(const Pattern& pattern, const T* values, Block<const T> block, std::int64_t row,
                                std::int64_t column, T* result) {
    Register<T> sums[Parts] = {};
    const std::int64_t end = pattern.indptr[row + 1];
    for (std::int64_t t = pattern.indptr[row]; t < end; ++t) {
        const T* following = block.row(pattern.indices[std::min(t + 1, end - 1)]) + column;
        for (int p = 0; p < Parts; p += 64 / RANKFILL_VECTOR_BYTES) __builtin_prefetch(following + p * kWidth<T>);
        const T* x = block.row(pattern.indices[t]) + column;
        for (int p = 0; p < Parts; ++p) sums[p] = sums[p] + values[t] * load(x + p * kWidth<T>);
    }
    for (int p = 0; p < Parts; ++p) store(result + column + p * kWidth<T>, sums[p]);
}

// Columns `from` up to `to` of the rows `first` up to `last` of the product.
template <class T>
void times_rows(const Pattern& pattern, const T* values, Block<const T> block, std::int64_t first, std::int64_t last,
                std::int64_t from, std::int64_t to, Block<T> result) {
    for (std::int64_t row = first; row < last; ++row) {
        T* target = result.row(row);
        std::int64_t c = from;
        const auto tiles = [&]<int Parts>() {
            for (; c + Parts * kWidth<T> <= to; c += Parts * kWidth<T>)
                times_tile<Parts>(pattern, values, block, row, c, target);
        };
        tiles.template operator()<8>(), tiles.template operator()<4>();
        tiles.template operator()<2>(), tiles.template operator()<1>();
        for (; c < to; ++c) {
            T sum = 0;
            for (std::int64_t t = pattern.indptr[row]; t < pattern.indptr[row + 1]; ++t)
                sum = sum + values[t] * block.row(pattern.indices[t])[c];
            target[c] = sum;
        }
    }
}

// Row r of A Aᵀ up to the diagonal: every entry of row r of A, in order, times the column of A it is in.
// `columns` is Aᵀ by its rows, whose entries are in order. Sums are in double precision.
template <class T>
void gram_rows(const Pattern& rows, const T* values, const Pattern& columns, const T* column_values, std::int64_t first,
               std::int64_t last, Block<T> result) {
    std::vector<double> sums(result.width);
    for (std::int64_t row = first; row < last; ++row) {
        std::fill(sums.begin(), sums.begin() + row + 1, 0.0);
        for (std::int64_t t = rows.indptr[row]; t < rows.indptr[row + 1]; ++t) {
            const double value = values[t];
            const std::int32_t column = rows.indices[t];
            const std::int64_t end = columns.indptr[column + 1];
            for (std::int64_t s = columns.indptr[column]; s < end && columns.indices[s] <= row; ++s)
                sums[columns.indices[s]] += value * static_cast<double>(column_values[s]);
        }
        T* target = result.row(row);
        for (std::int64_t j = 0; j <= row; ++j) target[j] = static_cast<T>(sums[j]);
        std::fill(target + row + 1, target + result.width, T{0});
    }
}

}  // namespace rankfill::RANKFILL_ISA
