// The most similar rows of a row, over the columns that both have: sums for all other rows at once, one row at a time.
#pragma once

#include "rankfill/isa.hpp"
#include "rankfill/neighbours.hpp"

namespace rankfill::RANKFILL_ISA {

// Sums over the columns that two rows have in common.
template <Similarity Kind>
struct CommonSums;

template <>
struct CommonSums<Similarity::cosine> {
    double xy = 0.0, xx = 0.0, yy = 0.0;
    std::int64_t support = 0;

    void add(double x, double y) { xy += x * y, xx += x * x, yy += y * y, ++support; }
    double similarity() const {
        const double sizes = std::sqrt(xx * yy);
        return sizes > 0.0 ? xy / sizes : 0.0;
    }
};

template <>
struct CommonSums<Similarity::pearson> {
    double x_sum = 0.0, y_sum = 0.0, xy = 0.0, xx = 0.0, yy = 0.0;
    std::int64_t support = 0;

    void add(double x, double y) { x_sum += x, y_sum += y, xy += x * y, xx += x * x, yy += y * y, ++support; }
    // A spread that is a rounding of its two terms is none: vectors that are constant have no correlation.
    double similarity() const {
        constexpr double rounding = 1e-12;
        const auto n = static_cast<double>(support);
        const double x_spread = n * xx - x_sum * x_sum, y_spread = n * yy - y_sum * y_sum;
        if (!(x_spread > rounding * n * xx && y_spread > rounding * n * yy)) return 0.0;
        return (n * xy - x_sum * y_sum) / std::sqrt(x_spread * y_spread);
    }
};

template <>
struct CommonSums<Similarity::inverse_euclidean> {
    double squares = 0.0;
    std::int64_t support = 0;

    void add(double x, double y) { squares += (x - y) * (x - y), ++support; }
    double similarity() const { return 1.0 / (1.0 + std::sqrt(squares)); }
};

template <Similarity Kind>
class RowComparison {
 public:
    explicit RowComparison(const SimilarRows& job) : job_(job), sums_(job.by_own.n_rows()) {}

    void run(std::int64_t place) {
        const std::int32_t row = job_.rows[place];
        add_up(row);
        found_.clear();
        for (const std::int32_t other : touched_) {
            const CommonSums<Kind>& sums = sums_[other];
            if (other != row && sums.support >= job_.min_support) {
                const auto support = static_cast<double>(sums.support);
                const double similarity = sums.similarity() * (support / (support + job_.shrinkage));
                if (similarity > 0.0) found_.push_back({similarity, other});
            }
            sums_[other] = {};
        }
        touched_.clear();
        write(place);
    }

 private:
    struct Candidate {
        double similarity;
        std::int32_t row;
    };

    void add_up(std::int32_t row) {
        const Csr &own = job_.by_own, &other = job_.by_other;
        for (std::int64_t t = own.indptr[row]; t < own.indptr[row + 1]; ++t) {
            const std::int32_t column = own.indices[t];
            const double x = own.values[t];
            for (std::int64_t s = other.indptr[column]; s < other.indptr[column + 1]; ++s) {
                CommonSums<Kind>& sums = sums_[other.indices[s]];
                if (sums.support == 0) touched_.push_back(other.indices[s]);
                sums.add(x, other.values[s]);
            }
        }
    }

    // Most similar first, equal ones in the order of their rows.
    void write(std::int64_t place) {
        const auto nearer = [](const Candidate& a, const Candidate& b) {
            return a.similarity > b.similarity || (a.similarity == b.similarity && a.row < b.row);
        };
        const auto n = std::min<std::int64_t>(job_.keep, std::ssize(found_));
        if (n < std::ssize(found_)) std::nth_element(found_.begin(), found_.begin() + n, found_.end(), nearer);
        std::sort(found_.begin(), found_.begin() + n, nearer);
        std::int32_t* indices = job_.indices + place * job_.keep;
        float* similarities = job_.similarities + place * job_.keep;
        for (std::int64_t i = 0; i < job_.keep; ++i) {
            indices[i] = i < n ? found_[i].row : -1;
            similarities[i] = i < n ? static_cast<float>(found_[i].similarity) : 0.0f;
        }
    }

    const SimilarRows& job_;
    std::vector<CommonSums<Kind>> sums_;
    std::vector<std::int32_t> touched_;
    std::vector<Candidate> found_;
};

template <Similarity Kind>
void compare_rows(const SimilarRows& job, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
    RowComparison<Kind> comparison(job);
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::ssize(order);)
        comparison.run(order[i]);
}

inline void similar_rows(const SimilarRows& job, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
    switch (job.similarity) {
        case Similarity::cosine:
            return compare_rows<Similarity::cosine>(job, order, next);
        case Similarity::pearson:
            return compare_rows<Similarity::pearson>(job, order, next);
        case Similarity::inverse_euclidean:
            return compare_rows<Similarity::inverse_euclidean>(job, order, next);
    }
}

}  // namespace rankfill::RANKFILL_ISA
