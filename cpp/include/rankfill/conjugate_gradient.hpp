// Rows by a few steps of conjugate gradients from where they are, without a Gram matrix: entries × rank a step.
#pragma once

#include <atomic>

#include "rankfill/lanes.hpp"
#include "rankfill/ridge.hpp"

namespace rankfill::RANKFILL_ISA {

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
            const float curvature = dot<0>(direction_.data(), image_.data(), stride_ / kLanes);
            if (!(curvature > 0.0f)) break;
            const float length = energy / curvature;
            for (int k = 0; k < stride_; ++k) w[k] += length * direction_[k];
            for (int k = 0; k < stride_; ++k) residual_[k] -= length * image_[k];
            const float before = energy;
            energy = norm(residual_);
            const float share = energy / before;
            for (int k = 0; k < stride_; ++k) direction_[k] = residual_[k] + share * direction_[k];
        }
    }

 private:
    float norm(const std::vector<float>& v) const { return dot<0>(v.data(), v.data(), stride_ / kLanes); }

    // The negative gradient at w.
    void start(const float* w) {
        add_penalty(w, residual_);
        for (float& each : residual_) each = -each;
        for (std::int64_t t = begin_; t < end_; ++t) {
            const float* x = pass_.fixed.row(pass_.ratings.indices[t]);
            const float product = dot<0>(w, x, stride_ / kLanes), rating = pass_.ratings.values[t];
            float error = rating - ridge_.offset - product;
            if (ridge_.implicit) {
                const float weight = ridge_.confidence * rating;
                error = 1.0f + weight - weight * product;
            }
            for (int k = 0; k < stride_; ++k) residual_[k] += error * x[k];
        }
        keep_held(residual_);
    }

    // image ← (Σ x xᵀ + penalties) direction
    void apply() {
        add_penalty(direction_.data(), image_);
        for (std::int64_t t = begin_; t < end_; ++t) {
            const float* x = pass_.fixed.row(pass_.ratings.indices[t]);
            float product = dot<0>(direction_.data(), x, stride_ / kLanes);
            if (ridge_.implicit) product *= ridge_.confidence * pass_.ratings.values[t];
            for (int k = 0; k < stride_; ++k) image_[k] += product * x[k];
        }
        keep_held(image_);
    }

    // target ← penalties · v, and with implicit feedback the Gram matrix of all columns · v
    void add_penalty(const float* v, std::vector<float>& target) const {
        const double scale = ridge_.by_count ? static_cast<double>(end_ - begin_) : 1.0;
        const float penalty = static_cast<float>(ridge_.penalty * scale);
        for (int k = 0; k < stride_; ++k) target[k] = penalty * v[k];
        if (ridge_.bias_column >= 0)
            target[ridge_.bias_column] = static_cast<float>(ridge_.bias_penalty * scale) * v[ridge_.bias_column];
        if (ridge_.implicit)
            for (int j = 0; j < ridge_.rank; ++j)
                for (int k = 0; k < stride_; ++k) target[k] += v[j] * pass_.gram[j * stride_ + k];
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
