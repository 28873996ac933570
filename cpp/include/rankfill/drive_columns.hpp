// Columns over whole matrices: what does not depend on each other is handed to threads.
#pragma once

#include <compare>

#include "rankfill/drive.hpp"

namespace rankfill {

inline void solve_columns(const KernelTable& kernels, const ColumnPass& pass, int threads) {
    std::atomic<std::int64_t> next{0};
    parallel_for(std::min<std::int64_t>(threads, std::ssize(pass.order)), threads,
                 [&](std::int64_t) { kernels.columns.solve(pass, next); });
}

// The entries of a batch by row, and the rows as they were.
class Batch {
 public:
    explicit Batch(const ColumnPass& pass) : pass_(pass) {
        for (std::int64_t place = 0; place < std::ssize(pass.order); ++place)
            for (std::int64_t t = begin_of(place); t < begin_of(place, 1); ++t)
                entries_.push_back({pass.columns.indices[t], static_cast<std::int32_t>(place), t});
        std::sort(entries_.begin(), entries_.end());
        const int width = pass.dictionary.stride;
        for (const Entry& entry : entries_) {
            if (rows_.empty() || rows_.back() != entry.row) {
                rows_.push_back(entry.row);
                starts_.push_back(std::ssize(places_));
                const float* row = pass.dictionary.row(entry.row);
                before_.insert(before_.end(), row, row + width);
            }
            places_.push_back(entry.place);
            values_.push_back(pass.columns.values[entry.position]);
        }
        starts_.push_back(std::ssize(places_));
        direction_.resize(pass.order.size() * width);
    }

    // More is saved by taking missing rows out of the Gram matrix of all rows than that costs.
    bool is_dense() const {
        std::int64_t saved = 0;
        for (std::int64_t place = 0; place < std::ssize(pass_.order); ++place)
            saved += std::max<std::int64_t>(2 * (begin_of(place, 1) - begin_of(place)) - pass_.dictionary.n_rows, 0);
        return saved > pass_.dictionary.n_rows;
    }

    ColumnSums move(const KernelTable& kernels, int threads) {
        constexpr std::int64_t at_once = 64;
        const std::int64_t n = std::ssize(rows_), width = pass_.dictionary.stride;
        for (std::int64_t place = 0; place < std::ssize(pass_.order); ++place)
            kernels.columns.set_direction(pass_.rule, pass_.moving.row(pass_.order[place]), width,
                                          direction_.data() + place * width);
        const BatchRows batch{rows_, starts_, places_, values_, before_.data(), direction_.data()};
        std::vector<ColumnSums> per_row(n);
        parallel_for((n + at_once - 1) / at_once, threads, [&](std::int64_t task) {
            kernels.columns.move_batch(pass_, batch, task * at_once, std::min(n, (task + 1) * at_once), per_row.data());
        });
        ColumnSums total;
        for (const ColumnSums& row : per_row) total += row;
        for (std::int64_t place = 0; place < std::ssize(pass_.order); ++place)
            if (begin_of(place, 1) > begin_of(place)) total.objective += shrinkage_cost(place);
        return total;
    }

 private:
    struct Entry {
        std::int32_t row, place;
        std::int64_t position;
        auto operator<=>(const Entry&) const = default;
    };

    std::int64_t begin_of(std::int64_t place, int next = 0) const {
        return pass_.columns.indptr[pass_.order[place] + next];
    }

    double shrinkage_cost(std::int64_t place) const {
        const Ridge& ridge = pass_.rule.ridge;
        const float* row = pass_.moving.row(pass_.order[place]);
        double total = 0.0;
        for (int k = 0; k < ridge.rank; ++k) total += ridge.penalty * row[k] * row[k];
        if (ridge.bias_column >= 0) total += ridge.bias_penalty * row[ridge.bias_column] * row[ridge.bias_column];
        return total;
    }

    const ColumnPass& pass_;
    std::vector<Entry> entries_;
    std::vector<std::int32_t> rows_, places_;
    std::vector<std::int64_t> starts_;
    std::vector<float> values_, before_, direction_;
};

// A step on `at_once` columns together, then on the next. A batch of one is a step on a column.
inline ColumnSums broyden_columns(const KernelTable& kernels, const ColumnPass& pass, std::int64_t at_once,
                                  int threads) {
    if (at_once <= 1) return kernels.columns.broyden(pass);
    ColumnSums total;
    for (std::int64_t from = 0; from < std::ssize(pass.order); from += at_once) {
        ColumnPass part = pass;
        part.order = pass.order.subspan(from, std::min<std::int64_t>(at_once, std::ssize(pass.order) - from));
        Batch batch(part);
        ColumnSums sums;
        for (int iteration = 0; iteration < pass.rule.inner; ++iteration) {
            *pass.gram.age = -1;
            if (batch.is_dense()) kernels.columns.sum_gram(part);
            solve_columns(kernels, part, threads);
            sums = batch.move(kernels, threads);
        }
        *pass.gram.age = -1;
        total += sums;
    }
    return total;
}

}  // namespace rankfill
