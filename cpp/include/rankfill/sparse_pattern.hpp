// Where the entries of a sparse matrix are, and dense blocks of vectors; rows of a block are `width` apart, unpadded.
#pragma once

#include <cstdint>
#include <span>

namespace rankfill {

struct Pattern {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;

    std::int64_t n_rows() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
};

template <class T>
struct Block {
    T* data;
    std::int64_t n_rows, width;

    T* row(std::int64_t r) const { return data + r * width; }
};

}  // namespace rankfill
