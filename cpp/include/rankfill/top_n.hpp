// The n best items of each user, never forming the matrix of scores.
//
// A task packs some items into tiles of sixteen, factor by factor, so that one multiplication serves sixteen scores and
// no sum runs across lanes; the tiles stay in the cache while all users of the task go through them, four at a time. A
// tile is looked at more closely only where it holds a score above the worst kept so far. Order: score down, then item
// index up.
#pragma once

#include "rankfill/csr.hpp"
#include "rankfill/lanes.hpp"
#include "rankfill/table.hpp"
#include "rankfill/transpose.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kUsersTogether = 4;
inline constexpr std::int64_t kTilesTogether = 64;
inline constexpr std::int64_t kTilesOfFew = 4;  // for so few users that packing costs as much as scoring

struct Candidate {
    float score;
    std::int32_t item;
    bool better_than(const Candidate& other) const {
        return score > other.score || (score == other.score && item < other.item);
    }
};

// Items 16t … 16t + 15 as [rank][16]; absent items score zero and are never taken.
inline void pack_tile(Factors<const float> items, int rank, std::int64_t tile, float* packed) {
    constexpr int width = kWidth<float>;
    const std::int64_t first = tile * kLanes;
    if (first + kLanes > items.n_rows) {
        for (int k = 0; k < rank; ++k)
            for (int lane = 0; lane < kLanes; ++lane)
                packed[k * kLanes + lane] = first + lane < items.n_rows ? items.row(first + lane)[k] : 0.0f;
        return;
    }
    for (int lane = 0; lane < kLanes; lane += width)
        for (int from = 0; from < rank; from += width) {
            Register<float> square[width];
            for (int i = 0; i < width; ++i) square[i] = load(items.row(first + lane + i) + from);
            transpose_square(square);
            for (int k = 0; k < std::min(width, rank - from); ++k)
                store(packed + (from + k) * kLanes + lane, square[k]);
        }
}

// The best n seen so far, as a heap with the worst on top.
class Best {
 public:
    Best(int n, std::int64_t n_items) : n_(n) { heap_.reserve(std::min<std::int64_t>(n, n_items)); }

    float threshold() const {
        return static_cast<int>(heap_.size()) < n_ ? -std::numeric_limits<float>::infinity() : heap_.front().score;
    }
    void offer(Candidate candidate) {
        if (static_cast<int>(heap_.size()) < n_) {
            heap_.push_back(candidate);
            std::push_heap(heap_.begin(), heap_.end(), worst_on_top);
        } else if (candidate.better_than(heap_.front())) {
            std::pop_heap(heap_.begin(), heap_.end(), worst_on_top);
            heap_.back() = candidate;
            std::push_heap(heap_.begin(), heap_.end(), worst_on_top);
        }
    }
    // Writes the best first; what is left over gets item −1 and score NaN.
    void write(std::int32_t* items, float* scores) {
        std::sort(heap_.begin(), heap_.end(), worst_on_top);
        for (int k = 0; k < n_; ++k) {
            const bool filled = k < static_cast<int>(heap_.size());
            items[k] = filled ? heap_[k].item : -1;
            scores[k] = filled ? heap_[k].score : std::numeric_limits<float>::quiet_NaN();
        }
    }

 private:
    static bool worst_on_top(const Candidate& a, const Candidate& b) { return a.better_than(b); }
    int n_;
    std::vector<Candidate> heap_;
};

// The scores of one tile for a few users at once: score[member][lane].
template <int Members>
RANKFILL_INLINE void score_tile(const float* const* p, const float* tile, int rank, float (*score)[kLanes]) {
    Register<float> sums[Members][kParts<float>] = {};
    for (int k = 0; k < rank; ++k)
        for (int part = 0; part < kParts<float>; ++part) {
            const Register<float> q = load(tile + k * kLanes + part * kWidth<float>);
            for (int member = 0; member < Members; ++member) sums[member][part] = sums[member][part] + p[member][k] * q;
        }
    for (int member = 0; member < Members; ++member)
        for (int part = 0; part < kParts<float>; ++part)
            store(score[member] + part * kWidth<float>, sums[member][part]);
}

// Bit l is set where score[l] is above the threshold.
RANKFILL_INLINE unsigned lanes_above(const float* score, float threshold) {
    typename Native<float>::mask any = {};
    for (int part = 0; part < kParts<float>; ++part) any |= load(score + part * kWidth<float>) > threshold;
    std::uint64_t words[RANKFILL_VECTOR_BYTES / 8], combined = 0;
    std::memcpy(words, &any, sizeof any);
    for (const std::uint64_t word : words) combined |= word;
    if (combined == 0) return 0;
    unsigned above = 0;
    for (int lane = 0; lane < kLanes; ++lane) above |= static_cast<unsigned>(score[lane] > threshold) << lane;
    return above;
}

// Rows first … last − 1 of `users`; row r must not get the items of seen row r, nor any with allowed[item] = 0.
class TopRows {
 public:
    TopRows(Factors<const float> users, std::int64_t first, std::int64_t last, int rank, Factors<const float> items,
            const Exclusions& excluded, const Ranked& ranked)
        : users_(users),
          first_(first),
          last_(last),
          rank_(rank),
          items_(items),
          excluded_(excluded),
          best_(last - first, Best(ranked.n, items.n_rows)) {}

    void run(const Ranked& ranked) {
        const std::int64_t n_tiles = (items_.n_rows + kLanes - 1) / kLanes;
        const std::int64_t together = last_ - first_ <= kUsersTogether ? kTilesOfFew : kTilesTogether;
        std::vector<float> packed(together * kLanes * rank_);
        for (std::int64_t from = 0; from < n_tiles; from += together) {
            const std::int64_t to = std::min(n_tiles, from + together);
            for (std::int64_t tile = from; tile < to; ++tile) pack_tile(items_, rank_, tile, at(packed, tile - from));
            std::int64_t user = first_;
            for (; user + kUsersTogether <= last_; user += kUsersTogether)
                score<kUsersTogether>(user, from, to, packed);
            for (; user < last_; ++user) score<1>(user, from, to, packed);
        }
        for (std::int64_t user = first_; user < last_; ++user)
            best_[user - first_].write(ranked.items + user * ranked.n, ranked.scores + user * ranked.n);
    }

 private:
    float* at(std::vector<float>& packed, std::int64_t tile) const { return packed.data() + tile * kLanes * rank_; }

    template <int Members>
    void score(std::int64_t user, std::int64_t from, std::int64_t to, std::vector<float>& packed) {
        const float* p[Members];
        for (int member = 0; member < Members; ++member) p[member] = users_.row(user + member);
        for (std::int64_t tile = from; tile < to; ++tile) {
            alignas(64) float score[Members][kLanes];
            score_tile<Members>(p, at(packed, tile - from), rank_, score);
            for (int member = 0; member < Members; ++member) consider(user + member, tile, score[member]);
        }
    }

    void consider(std::int64_t user, std::int64_t tile, const float* score) {
        Best& kept = best_[user - first_];
        for (unsigned above = lanes_above(score, kept.threshold()); above; above &= above - 1) {
            const int lane = std::countr_zero(above);
            const std::int64_t item = tile * kLanes + lane;
            if (item >= items_.n_rows || !excluded_.allowed[item]) continue;
            const auto index = static_cast<std::int32_t>(item);
            if (!excluded_.seen(user, index)) kept.offer({score[lane], index});
        }
    }

    Factors<const float> users_;
    std::int64_t first_, last_;
    int rank_;
    Factors<const float> items_;
    const Exclusions& excluded_;
    std::vector<Best> best_;
};

}  // namespace rankfill::RANKFILL_ISA
