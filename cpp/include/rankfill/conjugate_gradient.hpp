// Rows by a few steps of conjugate gradients from where they are, without a Gram matrix: entries × rank a step.
//
// Some entries go through at once: their products are folded together, and what they add to an element is added in
// their order while the element stays in a register, to the same bits as one entry after the other.
#pragma once

#include <vector>

#include "rankfill/folding.hpp"
#include "rankfill/ridge.hpp"

namespace rankfill::RANKFILL_ISA {

template <int Blocks>
class GradientSolver {
 public:
    explicit GradientSolver(const RidgePass& pass)
        : pass_(pass),
          ridge_(pass.ridge),
          stride_(pass.fixed.stride),
          residual_(stride_),
          direction_(stride_),
          image_(stride_) {}

    void solve(std::int64_t row) {
        begin_ = pass_.ratings.indptr[row], end_ = pass_.ratings.indptr[row + 1];
        float* w = pass_.moving.row(row);
        start(w);
        direction_ = residual_;
        float energy = norm(residual_);
        for (int step = 0; step < ridge_.steps && energy > 0.0f; ++step) {
            apply();
            const float curvature = dot<Blocks>(direction_.data(), image_.data(), stride() / kLanes);
            if (!(curvature > 0.0f)) break;
            const float length = energy / curvature;
            for (int k = 0; k < stride(); ++k) w[k] += length * direction_[k];
            for (int k = 0; k < stride(); ++k) residual_[k] -= length * image_[k];
            const float before = energy;
            energy = norm(residual_);
            const float share = energy / before;
            for (int k = 0; k < stride(); ++k) direction_[k] = residual_[k] + share * direction_[k];
        }
    }

 private:
    static constexpr int kAtOnce = kWidth<float>;

    int stride() const { return Blocks ? Blocks * kLanes : stride_; }

    float norm(const std::vector<float>& v) const { return dot<Blocks>(v.data(), v.data(), stride() / kLanes); }

    // The negative gradient at w.
    void start(const float* w) {
        add_penalty(w, residual_);
        for (float& each : residual_) each = -each;
        add_entries(w, residual_, [&](float product, float rating) {
            if (!ridge_.implicit) return rating - ridge_.offset - product;
            const float weight = ridge_.confidence * rating;
            return 1.0f + weight - weight * product;
        });
        keep_held(residual_);
    }

    // image ← (Σ x xᵀ + penalties) direction
    void apply() {
        add_penalty(direction_.data(), image_);
        add_entries(direction_.data(), image_, [&](float product, float rating) {
            return ridge_.implicit ? product * (ridge_.confidence * rating) : product;
        });
        keep_held(image_);
    }

    // target += Σ_t factor(v·x_t, r_t) x_t
    template <class Factor>
    void add_entries(const float* v, std::vector<float>& target, const Factor& factor) const {
        for (std::int64_t first = begin_; first < end_; first += kAtOnce) {
            const int n = static_cast<int>(std::min<std::int64_t>(kAtOnce, end_ - first));
            const float* rows[kAtOnce];
            float factors[kAtOnce];
            for (int i = 0; i < n; ++i) rows[i] = pass_.fixed.row(pass_.ratings.indices[first + i]);
            for (std::int64_t t = first + kAtOnce; t < std::min(first + 2 * kAtOnce, end_); ++t)
                for (int at = 0; at < stride(); at += kLanes)
                    __builtin_prefetch(pass_.fixed.row(pass_.ratings.indices[t]) + at);
            products<Blocks>(v, rows, n, stride() / kLanes, factors);
            for (int i = 0; i < n; ++i) factors[i] = factor(factors[i], pass_.ratings.values[first + i]);
            n == kAtOnce ? add_rows<kAtOnce>(factors, rows, n, target.data())
                         : add_rows<0>(factors, rows, n, target.data());
        }
    }

    // target += Σ factors[i] rows[i]; `N` is the number of rows where it is known.
    template <int N>
    void add_rows(const float* factors, const float* const* rows, int n, float* target) const {
        for (int at = 0; at < stride(); at += kWidth<float>) {
            Register<float> sum = load(target + at);
            for (int i = 0; i < (N ? N : n); ++i) sum = sum + factors[i] * load(rows[i] + at);
            store(target + at, sum);
        }
    }

    // target ← penalties · v, and with implicit feedback the Gram matrix of all columns · v
    void add_penalty(const float* v, std::vector<float>& target) const {
        const double scale = ridge_.scale(end_ - begin_);
        const float penalty = static_cast<float>(ridge_.penalty * scale);
        for (int k = 0; k < stride(); ++k) target[k] = penalty * v[k];
        if (ridge_.bias_column >= 0)
            target[ridge_.bias_column] = static_cast<float>(ridge_.bias_penalty * scale) * v[ridge_.bias_column];
        if (!ridge_.implicit) return;
        for (int first = 0; first < ridge_.rank; first += kAtOnce) {
            const int n = std::min(kAtOnce, ridge_.rank - first);
            const float* rows[kAtOnce];
            for (int i = 0; i < n; ++i) rows[i] = pass_.gram + (first + i) * stride();
            n == kAtOnce ? add_rows<kAtOnce>(v + first, rows, n, target.data())
                         : add_rows<0>(v + first, rows, n, target.data());
        }
    }

    void keep_held(std::vector<float>& v) const {
        if (ridge_.held_column >= 0) v[ridge_.held_column] = 0.0f;
    }

    const RidgePass& pass_;
    const Ridge& ridge_;
    int stride_;
    std::vector<float> residual_, direction_, image_;
    std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace rankfill::RANKFILL_ISA
