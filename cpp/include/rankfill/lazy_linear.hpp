// Stochastic steps of a linear model on sparse rows, at a cost of O(entries of the row) each.
//
//     minimise over θ, b:  (1/n) Σ_i ℓ(y_i, θ·x_i + b) + (λ/2) ‖θ‖²
//
// A step touches the coordinates of one row only. What it would do to all others is one number for all of them:
//
//     θ = s β           the penalty shrinks s, not the coordinates
//     S = Σ η/s         SAG, SAGA, SVRG: a coordinate misses the mean gradient m_j at every step that does not touch
//     it,
//                       β_j −= m_j (S − S at its last touch) makes up for that just in time
//     S = Σ s           averaging: the sum of the iterates of a coordinate grows by β_j (S − S at its last touch)
//
// A coordinate is three numbers side by side, one line of the cache: β_j, then m_j or the sum of its iterates, then S
// at its last touch. Rows are drawn uniformly with replacement, by a hash of the number of the step, so that the rows
// to come are known and can be fetched ahead.
#pragma once

#include "rankfill/hashing.hpp"
#include "rankfill/isa.hpp"
#include "rankfill/lazy_rule.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr double kSmallestScale = 1e-30;
inline constexpr int kAhead = 2;
inline constexpr std::size_t kNear = std::size_t{1} << 19;  // coordinates that stay in the cache need not be fetched

class LazySteps {
 public:
    LazySteps(const LazyProblem& problem, const LazyRule& rule, LazyShared& shared)
        : problem_(problem),
          rule_(rule),
          shared_(shared),
          n_(problem.rows.n_rows()),
          far_(problem.coordinates.size_bytes() > kNear) {}

    // Steps first … last − 1, counted from 0 over all calls; returns how many coordinates were visited.
    std::int64_t run(std::int64_t first, std::int64_t last) {
        visits_ = 0;
        for (std::int64_t step = first; step < last; ++step) {
            fetch_row(row_of(step + 2 * kAhead));
            if (far_) fetch_coordinates(row_of(step + kAhead));
            const std::int64_t row = row_of(step);
            switch (rule_.method) {
                case LazyMethod::kSgd:
                    plain(row, step);
                    break;
                case LazyMethod::kAveraged:
                    averaged(row, step);
                    break;
                case LazyMethod::kSag:
                    reduced<LazyMethod::kSag>(row);
                    break;
                case LazyMethod::kSaga:
                    reduced<LazyMethod::kSaga>(row);
                    break;
                case LazyMethod::kSvrg:
                    reduced<LazyMethod::kSvrg>(row);
                    break;
            }
            if (shared_.scale < kSmallestScale) rescale();
        }
        return visits_;
    }

 private:
    std::int64_t row_of(std::int64_t step) const {
        const std::uint64_t hash = mix(rule_.seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(step + 1));
        return static_cast<std::int64_t>(((hash >> 32) * static_cast<std::uint64_t>(n_)) >> 32);
    }
    std::int64_t begin_of(std::int64_t row) const { return problem_.rows.indptr[row]; }
    std::int64_t end_of(std::int64_t row) const { return problem_.rows.indptr[row + 1]; }
    Coordinate& at(std::int64_t entry) const { return problem_.coordinates[problem_.rows.indices[entry]]; }

    void fetch_row(std::int64_t row) const {
        for (std::int64_t entry = begin_of(row); entry < end_of(row); entry += 8) {
            __builtin_prefetch(&problem_.values[entry]);
            if (entry % 16 < 8) __builtin_prefetch(&problem_.rows.indices[entry]);
        }
    }
    void fetch_coordinates(std::int64_t row) const {
        for (std::int64_t entry = begin_of(row); entry < end_of(row); ++entry) __builtin_prefetch(&at(entry), 1);
    }

    double slope(double margin, double target) const {
        return rule_.loss == LazyLoss::kSquared ? margin - target : -target / (1.0 + std::exp(target * margin));
    }
    // Four sums side by side, so that no addition waits for the one before.
    template <class Visit>
    double margin(std::int64_t row, Visit visit) {
        const std::int64_t begin = begin_of(row), n = end_of(row) - begin;
        const std::int32_t* index = problem_.rows.indices.data() + begin;
        const double* value = problem_.values + begin;
        Coordinate* coordinates = problem_.coordinates.data();
        const auto product = [&](std::int64_t entry) {
            Coordinate& coordinate = coordinates[index[entry]];
            visit(coordinate);
            return coordinate.beta * value[entry];
        };
        double a = 0, b = 0, c = 0, d = 0;
        std::int64_t entry = 0;
        for (; entry + 4 <= n; entry += 4) {
            a += product(entry);
            b += product(entry + 1);
            c += product(entry + 2);
            d += product(entry + 3);
        }
        if (entry < n) a += product(entry);
        if (entry + 1 < n) b += product(entry + 1);
        if (entry + 2 < n) c += product(entry + 2);
        visits_ += n;
        return shared_.scale * ((a + b) + (c + d)) + shared_.intercept;
    }
    double falling_step(std::int64_t step) const {
        const double shrunk = 1.0 + rule_.step * rule_.decay * static_cast<double>(step);
        return rule_.step / (rule_.power == 1.0 ? shrunk : std::pow(shrunk, rule_.power));
    }

    void plain(std::int64_t row, std::int64_t step) {
        const double found = slope(margin(row, [](Coordinate&) {}), problem_.targets[row]), eta = falling_step(step);
        shared_.scale *= 1.0 - eta * rule_.decay;
        const double move = eta * found / shared_.scale;
        for (std::int64_t entry = begin_of(row); entry < end_of(row); ++entry)
            at(entry).beta -= move * problem_.values[entry];
        if (rule_.intercept) shared_.intercept -= eta * found;
    }

    void averaged(std::int64_t row, std::int64_t step) {
        const double sum = shared_.sum;
        const auto catch_up = [sum](Coordinate& coordinate) {
            coordinate.second += coordinate.beta * (sum - coordinate.last);
            coordinate.last = sum;
        };
        const double found = slope(margin(row, catch_up), problem_.targets[row]), eta = falling_step(step);
        shared_.scale *= 1.0 - eta * rule_.decay;
        const double move = eta * found / shared_.scale;
        for (std::int64_t entry = begin_of(row); entry < end_of(row); ++entry)
            at(entry).beta -= move * problem_.values[entry];
        if (rule_.intercept) shared_.intercept -= eta * found;
        shared_.sum += shared_.scale;
        shared_.intercept_second += shared_.intercept;
    }

    template <LazyMethod method>
    void reduced(std::int64_t row) {
        const double sum = shared_.sum, share = 1.0 / static_cast<double>(n_);
        const auto catch_up = [sum](Coordinate& coordinate) {
            coordinate.beta -= coordinate.second * (sum - coordinate.last);
        };
        const double found = slope(margin(row, catch_up), problem_.targets[row]);
        const double change = found - problem_.slopes[row];
        shared_.scale *= 1.0 - rule_.step * rule_.decay;
        const double move = rule_.step / shared_.scale, now = shared_.sum + move;
        shared_.sum = now;
        const std::int64_t begin = begin_of(row), n = end_of(row) - begin;
        const std::int32_t* index = problem_.rows.indices.data() + begin;
        const double* value = problem_.values + begin;
        Coordinate* coordinates = problem_.coordinates.data();
        for (std::int64_t entry = 0; entry < n; ++entry) {
            Coordinate& coordinate = coordinates[index[entry]];
            const double part = change * value[entry];
            if constexpr (method == LazyMethod::kSag) {
                coordinate.second += part * share;
                coordinate.beta -= move * coordinate.second;
            } else {
                coordinate.beta -= move * (part + coordinate.second);
                if constexpr (method == LazyMethod::kSaga) coordinate.second += part * share;
            }
            coordinate.last = now;
        }
        if (rule_.intercept) {
            if constexpr (method == LazyMethod::kSag) {
                shared_.intercept_second += change * share;
                shared_.intercept -= rule_.step * shared_.intercept_second;
            } else {
                shared_.intercept -= rule_.step * (change + shared_.intercept_second);
                if constexpr (method == LazyMethod::kSaga) shared_.intercept_second += change * share;
            }
        }
        if constexpr (method != LazyMethod::kSvrg) problem_.slopes[row] = found;
    }

    // Brings all coordinates up to date and the scale back to 1; rare, for the scale falls by less than a third a step.
    void rescale() {
        for (Coordinate& coordinate : problem_.coordinates) {
            const double missed = shared_.sum - coordinate.last;
            if (rule_.method == LazyMethod::kAveraged)
                coordinate.second += coordinate.beta * missed;
            else if (rule_.method != LazyMethod::kSgd)
                coordinate.beta -= coordinate.second * missed;
            coordinate.beta *= shared_.scale;
            coordinate.last = 0;
        }
        shared_.scale = 1;
        shared_.sum = 0;
        visits_ += static_cast<std::int64_t>(problem_.coordinates.size());
    }

    const LazyProblem& problem_;
    const LazyRule& rule_;
    LazyShared& shared_;
    std::int64_t n_, visits_ = 0;
    bool far_;
};

inline std::int64_t lazy_steps(const LazyProblem& problem, const LazyRule& rule, LazyShared& shared, std::int64_t first,
                               std::int64_t last) {
    return LazySteps(problem, rule, shared).run(first, last);
}

}  // namespace rankfill::RANKFILL_ISA
