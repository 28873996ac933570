// Borrowed views of the arrays that Python owns.
#pragma once

#include <cstdint>
#include <span>

namespace rankfill {

// Row r of a sparse matrix holds entries indptr[r] … indptr[r + 1] − 1.
struct Csr {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;
    std::span<const float> values;

    std::int64_t n_rows() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
};

// Factor rows, `stride` apart; the stride is a multiple of 16 and what lies past the rank is zero.
template <class T>
struct Factors {
    T* data;
    std::int64_t n_rows;
    int stride;

    T* row(std::int64_t r) const { return data + r * stride; }
};

}  // namespace rankfill
