// One ridge regression per item on a few others: the sources that occur with it most strongly.
//
// With x_j the column of item j, x_i those of the sources and G their Gram matrix, item j is regressed on the `keep`
// sources with the largest |x_i·x_j| / √G_ii above zero, itself left out: (G_NN + penalty · I) w = (x_i·x_j)_N.
#pragma once

#include <algorithm>
#include <vector>

#include "rankfill/item_systems.hpp"
#include "rankfill/small_system.hpp"

namespace rankfill::RANKFILL_ISA {

class ItemSystem {
 public:
    explicit ItemSystem(const ItemSystems& task)
        : task_(task),
          stride_(system_stride(task.keep)),
          together_(task.gram.n_rows),
          system_(static_cast<std::size_t>(task.keep) * stride_),
          solution_(stride_) {}

    void solve(std::int64_t item) {
        count_together(item);
        choose();
        const int order = static_cast<int>(chosen_.size()), stride = system_stride(order);
        for (int a = 0; a < order; ++a) {
            double* row = system_.data() + a * stride;
            std::fill(row, row + stride, 0.0);
            const std::int32_t own = chosen_[a].source;
            row[a] = task_.gram.row(own)[own] + task_.penalty;
            for (int b = a + 1; b < order; ++b) row[b] = task_.gram.row(chosen_[b].source)[own];
            row[order] = together_[own];
        }
        if (order > 0) solve_system(system_.data(), order, stride, solution_.data());
        std::int32_t* sources = task_.sources + item * task_.keep;
        float* weights = task_.weights + item * task_.keep;
        double explained = 0.0;
        for (int a = 0; a < order; ++a) {
            sources[a] = chosen_[a].source;
            weights[a] = static_cast<float>(solution_[a]);
            explained += solution_[a] * together_[chosen_[a].source];
        }
        std::fill(sources + order, sources + task_.keep, 0);
        std::fill(weights + order, weights + task_.keep, 0.0f);
        task_.explained[item] = explained;
    }

 private:
    struct Candidate {
        double strength;
        std::int32_t source;
    };

    void count_together(std::int64_t item) {
        const Pattern &users = task_.by_item, &others = task_.by_user;
        std::fill(together_.begin(), together_.end(), 0.0);
        for (std::int64_t t = users.indptr[item]; t < users.indptr[item + 1]; ++t) {
            const double value = task_.item_values[t];
            const std::int32_t user = users.indices[t];
            for (std::int64_t s = others.indptr[user]; s < others.indptr[user + 1]; ++s)
                together_[others.indices[s]] += value * static_cast<double>(task_.user_values[s]);
        }
        if (const std::int32_t own = task_.places[item]; own >= 0) together_[own] = 0.0;
    }

    // In the order of the sources, so that the result does not depend on how the strongest were found.
    void choose() {
        chosen_.clear();
        for (std::int32_t source = 0; source < std::ssize(together_); ++source)
            if (together_[source] != 0.0)
                chosen_.push_back({std::abs(together_[source]) * task_.inverse_norms[source], source});
        const auto stronger = [](const Candidate& a, const Candidate& b) {
            return a.strength != b.strength ? a.strength > b.strength : a.source < b.source;
        };
        if (std::ssize(chosen_) > task_.keep) {
            std::nth_element(chosen_.begin(), chosen_.begin() + task_.keep - 1, chosen_.end(), stronger);
            chosen_.resize(task_.keep);
        }
        std::ranges::sort(chosen_, {}, &Candidate::source);
    }

    const ItemSystems& task_;
    int stride_;
    std::vector<double> together_, system_, solution_;
    std::vector<Candidate> chosen_;
};

inline void solve_item_systems(const ItemSystems& task, std::atomic<std::int64_t>& next) {
    constexpr std::int64_t at_once = 16;
    ItemSystem system(task);
    const std::int64_t n_items = task.by_item.n_rows();
    for (std::int64_t first; (first = next.fetch_add(at_once, std::memory_order_relaxed)) < n_items;)
        for (std::int64_t item = first; item < std::min(first + at_once, n_items); ++item) system.solve(item);
}

}  // namespace rankfill::RANKFILL_ISA
