// What the kernels of neighbours take and give. A matrix is seen from two sides: `own` are the rows that are compared
// (items, or users), `other` the columns they share.
#pragma once

#include <cstdint>
#include <span>

#include "rankfill/csr.hpp"

namespace rankfill {

enum class Similarity { cosine, pearson, inverse_euclidean };
enum class Weighing { equal, similarity, learned };

// Row r of `indices` holds the neighbours of row r, most similar first, then −1; `weights` go with them.
struct Neighbours {
    std::int64_t n_rows;
    int keep;
    const std::int32_t* indices;
    const float* weights;

    const std::int32_t* indices_of(std::int64_t row) const { return indices + row * keep; }
    const float* weights_of(std::int64_t row) const { return weights + row * keep; }
};

// The `keep` most similar rows of each of `rows`, over the columns that both have: those with a similarity above zero
// and at least `min_support` columns in common. A similarity is multiplied by support / (support + shrinkage).
struct SimilarRows {
    Csr by_own, by_other;
    std::span<const std::int32_t> rows;
    Similarity similarity;
    int min_support;
    double shrinkage;
    int keep;
    std::int32_t* indices;
    float* similarities;
};

// Σ w e over the k nearest neighbours that have an entry e, divided by penalty + Σ w unless the weights are learned.
struct NeighbourSums {
    Neighbours near;
    Csr by_other;
    int k;
    Weighing weighing;
    double penalty;
};

// Weights of the neighbours of each row: min Σ (e − Σ w e')² + penalty ‖w‖² over the entries e of the row, e' those of
// the k nearest neighbours in the same column.
struct NeighbourWeights {
    Csr by_own, by_other;
    Neighbours near;
    int k;
    double penalty;
    float* weights;
};

}  // namespace rankfill
