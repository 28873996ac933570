// Where the entries of a sparse matrix are, checked when it is made: whoever holds one may follow its indices.
#pragma once

#include "extents.hpp"

class CheckedPattern {
 public:
    // The number of columns is the least that has room for every index.
    CheckedPattern(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices)
        : CheckedPattern(indptr, indices, 0) {
        require_offsets(span_of(indptr), indices.shape(0), "indptr", "indices");
        const IndexRange range = extents().range_of(span_of(indices));
        if (range.smallest < 0)
            require_rows(span_of(indices), std::int64_t{range.largest} + 1, "indices", "the other side");
        n_columns_ = std::int64_t{range.largest} + 1;
    }
    // What a kernel of this library has made is trusted.
    CheckedPattern(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, std::int64_t n_columns)
        : indptr_(std::move(indptr)), indices_(std::move(indices)), n_columns_(n_columns) {}

    std::int64_t n_rows() const { return static_cast<std::int64_t>(indptr_.shape(0)) - 1; }
    std::int64_t n_columns() const { return n_columns_; }
    std::size_t n_entries() const { return indices_.shape(0); }
    const std::int64_t* indptr() const { return indptr_.data(); }
    const std::int32_t* indices() const { return indices_.data(); }

    Pattern spans() const { return {span_of(indptr_), span_of(indices_)}; }
    Csr with(const Vector<const float>& values) const {
        require(values.shape(0) == n_entries(), "there must be one value for each entry of the rows");
        return {span_of(indptr_), span_of(indices_), span_of(values)};
    }
    void require_table(std::int64_t own, std::int64_t other, const char* own_name, const char* other_name) const {
        if (own != n_rows())
            refuse(std::string(own_name) + " must have one row for each of the " + std::to_string(n_rows()) +
                   " rows of entries, has " + std::to_string(own));
        require_columns(other, other_name);
    }
    void require_columns(std::int64_t other, const char* other_name) const {
        if (other < n_columns_)
            refuse(std::string(other_name) + " must have a row for every index of the entries, at least " +
                   std::to_string(n_columns_) + ", has " + std::to_string(other));
    }

 private:
    Vector<const std::int64_t> indptr_;
    Vector<const std::int32_t> indices_;
    std::int64_t n_columns_;
};

// Factors that move against fixed ones, entry by entry.
template <class T>
void require_factors(const CheckedPattern& pattern, const Factors<T>& moving, const Factors<const float>& fixed) {
    require(moving.stride == fixed.stride, "moving and fixed must have the same number of columns");
    pattern.require_table(moving.n_rows, fixed.n_rows, "moving", "fixed");
}

inline void require_ridge(const Ridge& ridge, int stride) {
    require(ridge.rank >= 1 && ridge.rank <= stride - 2 * (ridge.bias_column >= 0),
            "the factors must have room for the rank and the biases");
    require(ridge.block >= 0 && ridge.block % 16 == 0, "block must be a multiple of sixteen, or 0");
    require(ridge.bias_column < 0 || ridge.held_column >= 0, "biases need a column of either side");
    require(ridge.bias_column < stride && ridge.held_column < stride, "the columns of the biases must exist");
}
