// Factorisations that learn from one column at a time: what a step is, what a pass over columns reads and writes.
#pragma once

#include <cstdint>
#include <span>

#include "rankfill/csr.hpp"
#include "rankfill/ridge.hpp"

namespace rankfill {

// A Broyden step on a column y, observed where it has entries: alternately, `inner` times,
//
//     x ← argmin ‖y − C x‖² + shrinkage ‖x − x̄‖²         C ← C_before + (y − C_before x) xᵀ / (penalty + ‖x‖²)
//
// over the observed rows of C. The least change of x̄ where that leaves a choice; x̄ is the row of the column if
// `from_row`, else zero. A gradient step moves x from its row by one step along the gradient of the same problem, then
// C by rate / (unit + ‖x‖²) · (y − C x) xᵀ.
//
// The shrinkage is the penalty of `ridge`, which also says where the biases are. A bias of a row of C moves as the
// factor that stands before √unit in x, so that the ratings may be of any size.
struct ColumnRule {
    Ridge ridge;
    double penalty = 1.0;
    double rate = 0.0;
    double unit = 1.0;
    int inner = 2;
    bool from_row = false;
};

// What the steps cost: ‖y − C x‖² + penalty ‖C − C_before‖² after them, ‖y − C_before x‖².
struct ColumnSums {
    double objective = 0.0;
    double squared = 0.0;

    ColumnSums& operator+=(const ColumnSums& other) {
        objective += other.objective;
        squared += other.squared;
        return *this;
    }
};

// Σ c cᵀ over all rows of the dictionary, in the unknowns of a column; `age` counts the steps since it was summed up,
// −1 if it never was. Steps keep it up to date by terms of rank one.
struct DictionaryGram {
    double* sums;
    std::int64_t* age;
};

// One pass, or one batch of it: `order` lists the columns.
struct ColumnPass {
    Csr columns;
    std::span<const std::int32_t> order;
    Factors<float> moving;      // a row x a column
    Factors<float> dictionary;  // C
    ColumnRule rule;
    DictionaryGram gram;
};

// The entries of a batch of columns by row of the dictionary. Place k of a batch is its column order[k].
struct BatchRows {
    std::span<const std::int32_t> rows;
    std::span<const std::int64_t> starts;  // one more than rows
    std::span<const std::int32_t> places;
    std::span<const float> values;
    const float* before;     // the rows before the step, stride apart
    const float* direction;  // one row per place: x with the bias of C in units, see ColumnRule
};

}  // namespace rankfill
