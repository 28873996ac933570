// Stochastic gradient steps on columns (see ColumnRule): cheaper than a Broyden step, and less is learned from it.
#pragma once

#include "rankfill/broyden.hpp"

namespace rankfill::RANKFILL_ISA {

// The step of x is as long as is safe whatever C is: 1/(shrinkage + Σ ‖c‖²), for the bias 1/(shrinkage + n).
template <int Blocks>
void gradient_step_of_row(const ColumnPass& pass, std::int64_t column, const float* factors, float* slope) {
    const Ridge& ridge = pass.rule.ridge;
    const std::int64_t begin = pass.columns.indptr[column], end = pass.columns.indptr[column + 1];
    const int width = Blocks ? Blocks * kLanes : pass.dictionary.stride;
    float* row = pass.moving.row(column);
    std::fill_n(slope, width, 0.0f);
    double lengths = 0.0;
    for (std::int64_t t = begin; t < end; ++t) {
        const float* c = pass.dictionary.row(pass.columns.indices[t]);
        const float error = (pass.columns.values[t] - ridge.offset) - dot<Blocks>(c, row, width / kLanes);
        for (int at = 0; at < width; at += kWidth<float>) store(slope + at, load(slope + at) + error * load(c + at));
        lengths += fold<float>(partial_sum<float, Blocks>(
            width / kLanes, [&](int at) { return load(factors + at) * load(c + at) * load(c + at); }));
    }
    const double total = ridge.penalty + lengths;
    if (total > 0.0)
        for (int k = 0; k < ridge.rank; ++k)
            row[k] = static_cast<float>(row[k] + (slope[k] - ridge.penalty * row[k]) / total);
    if (ridge.bias_column >= 0) {
        float& bias = row[ridge.bias_column];
        bias = static_cast<float>(bias + (slope[ridge.bias_column] - ridge.bias_penalty * bias) /
                                             (ridge.bias_penalty + static_cast<double>(end - begin)));
    }
}

template <int Blocks>
ColumnSums gradient_columns(const ColumnPass& pass) {
    const int width = pass.dictionary.stride;
    std::vector<float> direction(width), slope(width), factors(width);
    std::fill_n(factors.begin(), pass.rule.ridge.rank, 1.0f);
    ColumnSums sums;
    for (const std::int32_t column : pass.order) {
        if (pass.columns.indptr[column + 1] == pass.columns.indptr[column]) continue;
        gradient_step_of_row<Blocks>(pass, column, factors.data(), slope.data());
        const float* row = pass.moving.row(column);
        set_direction(pass.rule, row, width, direction.data());
        double length = squared_length(pass.rule, row);
        if (pass.rule.ridge.bias_column < 0) length += pass.rule.unit;
        const double step = pass.rule.rate / length;
        const double squared = move_dictionary<Blocks>(pass, column, direction.data(), static_cast<float>(step));
        sums += {squared, squared};
    }
    return sums;
}

}  // namespace rankfill::RANKFILL_ISA
