// One ridge regression per row on the entries of its neighbours, by conjugate gradients on the sparse table of what
// each column says: never a system of the size of the neighbours.
#pragma once

#include "rankfill/isa.hpp"
#include "rankfill/neighbours.hpp"

namespace rankfill::RANKFILL_ISA {

class NeighbourRegression {
 public:
    explicit NeighbourRegression(const NeighbourWeights& job)
        : job_(job),
          place_(job.near.n_rows, -1),
          weights_(job.near.keep),
          residual_(job.near.keep),
          direction_(job.near.keep),
          image_(job.near.keep) {}

    void run(std::int64_t row) {
        const std::int32_t* indices = job_.near.indices_of(row);
        n_ = 0;
        while (n_ < job_.near.keep && indices[n_] >= 0) place_[indices[n_]] = n_, ++n_;
        set_table(row);
        for (int i = 0; i < n_; ++i) place_[indices[i]] = -1;
        solve(row);
        float* result = job_.weights + row * job_.near.keep;
        for (int i = 0; i < job_.near.keep; ++i) result[i] = i < n_ ? static_cast<float>(weights_[i]) : 0.0f;
    }

 private:
    struct Term {
        std::int32_t place;
        float entry;
    };

    // For every entry of the row what its k nearest neighbours say in the same column, nearest first.
    void set_table(std::int64_t row) {
        terms_.clear(), ends_.clear();
        for (std::int64_t t = job_.by_own.indptr[row]; t < job_.by_own.indptr[row + 1]; ++t) {
            const std::int32_t column = job_.by_own.indices[t];
            const auto begin = std::ssize(terms_);
            for (std::int64_t s = job_.by_other.indptr[column]; s < job_.by_other.indptr[column + 1]; ++s)
                if (const std::int32_t place = place_[job_.by_other.indices[s]]; place >= 0)
                    terms_.push_back({place, job_.by_other.values[s]});
            std::sort(terms_.begin() + begin, terms_.end(),
                      [](const Term& a, const Term& b) { return a.place < b.place; });
            if (std::ssize(terms_) > begin + job_.k) terms_.resize(begin + job_.k);
            ends_.push_back(std::ssize(terms_));
        }
    }

    // (XᵀX + penalty) w = Xᵀ e; one step per unknown at most in exact arithmetic.
    void solve(std::int64_t row) {
        constexpr double tolerance = 1e-24;  // of the squared residual, relative to the right-hand side
        const float* targets = job_.by_own.values.data() + job_.by_own.indptr[row];
        std::fill_n(weights_.begin(), n_, 0.0);
        std::fill_n(residual_.begin(), n_, 0.0);
        for_columns([&](std::int64_t t, std::span<const Term> terms) {
            for (const Term& term : terms) residual_[term.place] += double{targets[t]} * term.entry;
        });
        direction_ = residual_;
        double size = squared_norm(residual_);
        const double enough = tolerance * size;
        for (int step = 0; step < 2 * n_ && size > enough; ++step) {
            apply();
            double curvature = 0.0;
            for (int i = 0; i < n_; ++i) curvature += direction_[i] * image_[i];
            if (!(curvature > 0.0)) break;
            const double length = size / curvature;
            for (int i = 0; i < n_; ++i) weights_[i] += length * direction_[i], residual_[i] -= length * image_[i];
            const double following = squared_norm(residual_);
            for (int i = 0; i < n_; ++i) direction_[i] = residual_[i] + following / size * direction_[i];
            size = following;
        }
    }

    void apply() {
        for (int i = 0; i < n_; ++i) image_[i] = job_.penalty * direction_[i];
        for_columns([&](std::int64_t, std::span<const Term> terms) {
            double said = 0.0;
            for (const Term& term : terms) said += direction_[term.place] * term.entry;
            for (const Term& term : terms) image_[term.place] += said * term.entry;
        });
    }

    template <class Body>
    void for_columns(const Body& body) const {
        std::int64_t begin = 0;
        for (std::int64_t t = 0; t < std::ssize(ends_); begin = ends_[t++])
            body(t, std::span(terms_).subspan(begin, ends_[t] - begin));
    }

    double squared_norm(const std::vector<double>& vector) const {
        double sum = 0.0;
        for (int i = 0; i < n_; ++i) sum += vector[i] * vector[i];
        return sum;
    }

    const NeighbourWeights& job_;
    int n_ = 0;
    std::vector<std::int32_t> place_;
    std::vector<Term> terms_;
    std::vector<std::int64_t> ends_;
    std::vector<double> weights_, residual_, direction_, image_;
};

inline void neighbour_weights(const NeighbourWeights& job, std::span<const std::int32_t> order,
                              std::atomic<std::int64_t>& next) {
    NeighbourRegression regression(job);
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::ssize(order);)
        regression.run(order[i]);
}

}  // namespace rankfill::RANKFILL_ISA
