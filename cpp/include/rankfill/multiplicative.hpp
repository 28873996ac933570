// Multiplicative updates of non-negative rows (Lee, Seung, NIPS 2000), over the observed entries only.
#pragma once

#include "rankfill/csr.hpp"
#include "rankfill/lanes.hpp"

namespace rankfill::RANKFILL_ISA {

// w ← w ∘ (Σ r x + shrinkage w⁰) / (Σ (w·x) x + (penalty + shrinkage) w); sums in float over a chunk of entries, chunks
// in double.
class MultiplicativeUpdate {
 public:
    MultiplicativeUpdate(const Csr& ratings, Factors<float> moving, Factors<const float> fixed,
                         Factors<const float> start, double penalty, double shrinkage)
        : ratings_(ratings),
          moving_(moving),
          fixed_(fixed),
          start_(start),
          penalty_(penalty),
          shrinkage_(shrinkage),
          chunk_(2 * fixed.stride),
          sums_(2 * fixed.stride) {}

    template <int Blocks>
    void move(std::int64_t row) {
        constexpr std::int64_t at_once = 128;
        const std::int64_t begin = ratings_.indptr[row], end = ratings_.indptr[row + 1];
        if (begin == end) return;
        const int stride = fixed_.stride;
        float* w = moving_.row(row);
        const float* towards = start_.row(row);
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (std::int64_t from = begin; from < end; from += at_once) {
            collect<Blocks>(w, from, std::min(from + at_once, end));
            for (int k = 0; k < 2 * stride; ++k) sums_[k] += chunk_[k];
        }
        for (int k = 0; k < stride; ++k) {
            const double above = sums_[k] + shrinkage_ * towards[k];
            const double below = sums_[stride + k] + (penalty_ + shrinkage_) * w[k];
            if (below > 0.0) w[k] = static_cast<float>(w[k] * (above / below));
        }
    }

 private:
    template <int Blocks>
    void collect(const float* w, std::int64_t from, std::int64_t to) {
        const int stride = fixed_.stride;
        std::fill(chunk_.begin(), chunk_.end(), 0.0f);
        float* __restrict above = chunk_.data();
        float* __restrict below = chunk_.data() + stride;
        for (std::int64_t t = from; t < to; ++t) {
            const float* __restrict x = fixed_.row(ratings_.indices[t]);
            const float rating = ratings_.values[t], predicted = dot<Blocks>(w, x, stride / kLanes);
            for (int k = 0; k < stride; ++k) {
                above[k] += rating * x[k];
                below[k] += predicted * x[k];
            }
        }
    }

    const Csr& ratings_;
    Factors<float> moving_;
    Factors<const float> fixed_;
    Factors<const float> start_;
    double penalty_, shrinkage_;
    std::vector<float> chunk_;
    std::vector<double> sums_;
};

}  // namespace rankfill::RANKFILL_ISA
