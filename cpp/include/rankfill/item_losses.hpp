// One regression per item on all other items, by Newton's method with conjugate gradients.
//
//     min over w, v of  Σ_u loss(y_u, z_u) + ½ penalty ‖w‖² + ½ effect_penalty ‖v‖²,   w_j = 0
//     z_u = x_u·w + f_u·v,   x_u the row of user u, f_u a few dense features of the user
//     loss(y, z) = ½ (y − z)², or log(1 + exp(−y z)) for targets −1 and +1
//
// over the users with a target for item j; with `everyone`, over all of them, −1 for those without a target. The unit
// of work is an item; all numbers are double and have one order of sums.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "rankfill/sparse_pattern.hpp"

namespace rankfill {

struct ItemLosses {
    Pattern by_item;  // of each item, whose targets there are
    const float* targets;
    Pattern by_user;  // the inputs
    const float* values;
    Block<const float> features;
    double penalty, effect_penalty, tolerance;
    bool logistic, everyone;
    Block<float> weights;  // column j belongs to item j
    Block<float> effects;  // row j
    double* objectives;
};

class LossOfItem {
 public:
    explicit LossOfItem(const ItemLosses& task)
        : task_(task),
          n_items_(task.by_item.n_rows()),
          size_(n_items_ + task.features.width),
          point_(size_),
          gradient_(size_),
          step_(size_),
          rest_(size_),
          direction_(size_),
          product_(size_) {}

    void solve(std::int64_t item) {
        item_ = item;
        collect_rows();
        std::fill(point_.begin(), point_.end(), 0.0);
        std::fill(margins_.begin(), margins_.end(), 0.0);
        double value = objective(margins_, point_), first_norm = -1.0;
        for (int iteration = 0; iteration < kMostSteps; ++iteration) {
            set_gradient();
            const double norm = std::sqrt(dot(gradient_, gradient_));
            if (first_norm < 0.0) first_norm = norm;
            if (!(norm > task_.tolerance * first_norm)) break;
            // A square is minimised in one step.
            find_step(task_.logistic ? norm * std::min(0.1, std::sqrt(norm / first_norm))
                                     : task_.tolerance * first_norm);
            if (!search_line(value)) break;
        }
        for (std::int64_t i = 0; i < n_items_; ++i) task_.weights.row(i)[item] = static_cast<float>(point_[i]);
        for (std::int64_t f = 0; f < task_.features.width; ++f)
            task_.effects.row(item)[f] = static_cast<float>(point_[n_items_ + f]);
        task_.objectives[item] = value;
    }

 private:
    static constexpr int kMostSteps = 60, kMostProducts = 200, kHalvings = 30;

    void collect_rows() {
        const std::int64_t begin = task_.by_item.indptr[item_], end = task_.by_item.indptr[item_ + 1];
        users_.clear(), targets_.clear();
        if (task_.everyone)
            for (std::int64_t user = 0; user < task_.by_user.n_rows(); ++user)
                users_.push_back(static_cast<std::int32_t>(user)), targets_.push_back(-1.0);
        for (std::int64_t t = begin; t < end; ++t) {
            const std::int32_t user = task_.by_item.indices[t];
            if (task_.everyone)
                targets_[user] = task_.targets[t];
            else
                users_.push_back(user), targets_.push_back(task_.targets[t]);
        }
        for (auto* each : {&margins_, &curvatures_, &moves_}) each->resize(users_.size());
    }

    // Of one row, its product with a point.
    double times(std::size_t row, const std::vector<double>& point) const {
        const std::int32_t user = users_[row];
        double sum = 0.0;
        for (std::int64_t f = 0; f < task_.features.width; ++f)
            sum += static_cast<double>(task_.features.row(user)[f]) * point[n_items_ + f];
        for (std::int64_t t = task_.by_user.indptr[user]; t < task_.by_user.indptr[user + 1]; ++t)
            sum += static_cast<double>(task_.values[t]) * point[task_.by_user.indices[t]];
        return sum;
    }

    void add_row(std::size_t row, double factor, std::vector<double>& sums) const {
        const std::int32_t user = users_[row];
        for (std::int64_t f = 0; f < task_.features.width; ++f)
            sums[n_items_ + f] += factor * static_cast<double>(task_.features.row(user)[f]);
        for (std::int64_t t = task_.by_user.indptr[user]; t < task_.by_user.indptr[user + 1]; ++t)
            sums[task_.by_user.indices[t]] += factor * static_cast<double>(task_.values[t]);
    }

    double held(std::int64_t i) const { return i < n_items_ ? task_.penalty : task_.effect_penalty; }

    // The point stays within w_j = 0 since no gradient leads out of it.
    void set_gradient() {
        for (std::int64_t i = 0; i < size_; ++i) gradient_[i] = held(i) * point_[i];
        for (std::size_t row = 0; row < users_.size(); ++row) {
            const double y = targets_[row], z = margins_[row];
            const double other = task_.logistic ? 1.0 / (1.0 + std::exp(y * z)) : 0.0;
            curvatures_[row] = task_.logistic ? other * (1.0 - other) : 1.0;
            add_row(row, task_.logistic ? -y * other : z - y, gradient_);
        }
        gradient_[item_] = 0.0;
    }

    // Conjugate gradients on H · step = −gradient.
    void find_step(double goal) {
        std::fill(step_.begin(), step_.end(), 0.0);
        for (std::int64_t i = 0; i < size_; ++i) direction_[i] = rest_[i] = -gradient_[i];
        double squared = dot(rest_, rest_);
        for (int k = 0; k < kMostProducts && std::sqrt(squared) > goal; ++k) {
            for (std::int64_t i = 0; i < size_; ++i) product_[i] = held(i) * direction_[i];
            for (std::size_t row = 0; row < users_.size(); ++row)
                add_row(row, curvatures_[row] * times(row, direction_), product_);
            product_[item_] = 0.0;
            const double length = squared / dot(direction_, product_);
            for (std::int64_t i = 0; i < size_; ++i) {
                step_[i] += length * direction_[i];
                rest_[i] -= length * product_[i];
            }
            const double before = squared;
            squared = dot(rest_, rest_);
            for (std::int64_t i = 0; i < size_; ++i) direction_[i] = rest_[i] + squared / before * direction_[i];
        }
    }

    // The whole step or the first half, quarter, … that pays; false where rounding leaves nothing to gain.
    bool search_line(double& value) {
        const double slope = dot(gradient_, step_);
        for (std::size_t row = 0; row < users_.size(); ++row) moves_[row] = times(row, step_);
        double length = 1.0;
        for (int k = 0; k < kHalvings; ++k, length *= 0.5) {
            for (std::int64_t i = 0; i < size_; ++i) direction_[i] = point_[i] + length * step_[i];
            for (std::size_t row = 0; row < users_.size(); ++row) margins_[row] += length * moves_[row];
            const double found = objective(margins_, direction_);
            if (found <= value + 1e-4 * length * slope) {
                const bool gained = found < value;
                point_.swap(direction_);
                value = found;
                return gained;
            }
            for (std::size_t row = 0; row < users_.size(); ++row) margins_[row] -= length * moves_[row];
        }
        return false;
    }

    double objective(const std::vector<double>& margins, const std::vector<double>& point) const {
        double sum = 0.0;
        for (std::size_t row = 0; row < users_.size(); ++row) {
            const double margin = targets_[row] * margins[row], miss = targets_[row] - margins[row];
            if (task_.logistic)
                sum += margin > 0.0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
            else
                sum += 0.5 * miss * miss;
        }
        for (std::int64_t i = 0; i < size_; ++i) sum += 0.5 * held(i) * point[i] * point[i];
        return sum;
    }

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        double sum = 0.0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
        return sum;
    }

    const ItemLosses& task_;
    std::int64_t n_items_, size_, item_ = 0;
    std::vector<double> point_, gradient_, step_, rest_, direction_, product_;
    std::vector<std::int32_t> users_;
    std::vector<double> targets_, margins_, curvatures_, moves_;
};

inline void solve_item_losses(const ItemLosses& task, std::atomic<std::int64_t>& next) {
    LossOfItem regression(task);
    for (std::int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < task.by_item.n_rows();)
        regression.solve(item);
}

}  // namespace rankfill
