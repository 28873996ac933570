// The n best items of one user from the rows as they lie: rough scores of all, exact ones only where they may count.
//
// An exact score adds its products factor by factor. A rough one adds them in whichever order is fastest. Each is
// within γ S of the true value, γ about rank · 2⁻²⁴ and S = Σ_k |p_k q_k|, so an item whose rough score is below the
// worst kept one by more than 4 · rank · 2⁻²⁴ · S cannot be among the best, roundings of this test included.
#pragma once

#include "rankfill/folding.hpp"
#include "rankfill/top_n.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr std::int64_t kItemsAhead = 64;    // items
inline constexpr int kLargestRankOfFew = 1 << 14;  // up to which the bound has room to spare

class TopOfOne {
 public:
    TopOfOne(const float* p, int rank, Factors<const float> items, std::int64_t user, const Exclusions& excluded, int n)
        : p_(items.stride, 0.0f),
          rank_(rank),
          items_(items),
          user_(user),
          excluded_(excluded),
          unit_(4.0f * static_cast<float>(rank) * 0x1p-24f),
          best_(n, items.n_rows) {
        std::copy(p, p + rank, p_.begin());
    }

    template <int Blocks>
    void run(std::int32_t* items, float* scores) {
        alignas(64) float rough[kWidth<float>];
        for (std::int64_t first = 0; first < items_.n_rows; first += kWidth<float>) {
            const float bound = error_bound(rough_scores<Blocks>(first, rough));
            const float threshold = best_.threshold();
            if (all_at_most(rough, bound, threshold)) continue;
            unsigned above = 0;
            for (int i = 0; i < kWidth<float>; ++i) above |= unsigned{!(rough[i] + bound <= threshold)} << i;
            for (; above; above &= above - 1) consider(first + std::countr_zero(above));
        }
        best_.write(items, scores);
    }

 private:
    // Of as many items as a register has lanes; returns at least the largest S among them.
    template <int Blocks>
    RANKFILL_INLINE float rough_scores(std::int64_t first, float* scores) const {
        constexpr int width = kWidth<float>;
        const int stride = Blocks ? Blocks * kLanes : items_.stride;
        Register<float> sums[width], largest = {};
#pragma GCC unroll 16
        for (int i = 0; i < width; ++i) {
            const float* q = items_.row(std::min(first + i, items_.n_rows - 1));
            Register<float> sum = {}, size = {};
            for (int at = 0; at < stride; at += width) {
                if (at % kLanes == 0) __builtin_prefetch(q + kItemsAhead * stride + at);
                const Register<float> product = load(p_.data() + at) * load(q + at);
                sum = sum + product;
                size = size + magnitude(product);
            }
            sums[kSlots<width>.of_lane[i]] = sum;
            largest = maximum<float>(largest, size);
        }
        store(scores, fold_rows<width>(sums));
        return fold<float>(largest);
    }

    static RANKFILL_INLINE bool all_at_most(const float* rough, float bound, float threshold) {
        const typename Native<float>::mask within = load(rough) + bound <= threshold;
        std::uint64_t words[RANKFILL_VECTOR_BYTES / 8], combined = ~std::uint64_t{0};
        std::memcpy(words, &within, sizeof within);
        for (const std::uint64_t word : words) combined &= word;
        return combined == ~std::uint64_t{0};
    }

    // Infinite where a sum may have overflowed, or is no number.
    float error_bound(float size) const {
        if (!(size <= 0.25f * std::numeric_limits<float>::max())) return std::numeric_limits<float>::infinity();
        return unit_ * size + std::numeric_limits<float>::min();
    }

    void consider(std::int64_t item) {
        if (item >= items_.n_rows || !excluded_.allowed[item]) return;
        const float* q = items_.row(item);
        float score = 0.0f;
        for (int k = 0; k < rank_; ++k) score = score + p_[k] * q[k];
        const auto index = static_cast<std::int32_t>(item);
        if (score > best_.threshold() && !excluded_.seen(user_, index)) best_.offer({score, index});
    }

    std::vector<float> p_;
    int rank_;
    Factors<const float> items_;
    std::int64_t user_;
    const Exclusions& excluded_;
    float unit_;
    Best best_;
};

}  // namespace rankfill::RANKFILL_ISA
