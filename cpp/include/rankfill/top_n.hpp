// The n best items of each user, never forming the matrix of scores.
//
// Items are packed sixteen to a tile, factor by factor, so that one multiplication serves sixteen scores and no sum
// runs across lanes. A batch of tiles stays in the cache while all users of a task go through it, four at a time. A
// tile is looked at more closely only where it holds a score above the worst kept so far. Order: score down, then
// item index up.
#pragma once

#include "rankfill/csr.hpp"
#include "rankfill/lanes.hpp"
#include "rankfill/table.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kUsersTogether = 4;
inline constexpr int kTilesTogether = 64;

struct Candidate {
    float score;
    std::int32_t item;
    bool better_than(const Candidate& other) const {
        return score > other.score || (score == other.score && item < other.item);
    }
};

// Tile t holds items 16t … 16t + 15 as [rank][16]; absent items score zero and are never taken.
inline void pack_tiles(Factors<const float> item_factors, int rank, float* tiles) {
    const std::int64_t n_tiles = (item_factors.n_rows + kLanes - 1) / kLanes;
    for (std::int64_t tile = 0; tile < n_tiles; ++tile)
        for (int k = 0; k < rank; ++k)
            for (int lane = 0; lane < kLanes; ++lane) {
                const std::int64_t item = tile * kLanes + lane;
                tiles[(tile * rank + k) * kLanes + lane] =
                    item < item_factors.n_rows ? item_factors.row(item)[k] : 0.0f;
            }
}

// The best n seen so far, as a heap with the worst on top.
class Best {
 public:
    explicit Best(int n) : n_(n) { heap_.reserve(n); }

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
RANKFILL_INLINE void score_tile(const float* const* p, const float* tile, int rank, float (*score)[kLanes]) {
    Register<float> sums[kUsersTogether][kParts<float>] = {};
    for (int k = 0; k < rank; ++k)
        for (int part = 0; part < kParts<float>; ++part) {
            const Register<float> q = load(tile + k * kLanes + part * kWidth<float>);
            for (int member = 0; member < kUsersTogether; ++member)
                sums[member][part] = sums[member][part] + p[member][k] * q;
        }
    for (int member = 0; member < kUsersTogether; ++member)
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
inline void top_n_rows(Factors<const float> users, std::int64_t first, std::int64_t last, int rank, const float* tiles,
                       std::int64_t n_items, const Exclusions& excluded, const Ranked& ranked) {
    const std::int64_t n_tiles = (n_items + kLanes - 1) / kLanes;
    std::vector<Best> best(last - first, Best(ranked.n));
    const auto consider = [&](std::int64_t user, std::int64_t tile, const float* score) {
        Best& kept = best[user - first];
        for (unsigned above = lanes_above(score, kept.threshold()); above; above &= above - 1) {
            const int lane = std::countr_zero(above);
            const std::int32_t item = static_cast<std::int32_t>(tile * kLanes + lane);
            if (item >= n_items || !excluded.allowed[item] || excluded.seen(user, item)) continue;
            kept.offer({score[lane], item});
        }
    };
    for (std::int64_t from = 0; from < n_tiles; from += kTilesTogether)
        for (std::int64_t group = first; group < last; group += kUsersTogether) {
            const float* p[kUsersTogether];
            for (int member = 0; member < kUsersTogether; ++member)  // a short group repeats its last user
                p[member] = users.row(std::min(group + member, last - 1));
            for (std::int64_t tile = from; tile < std::min(n_tiles, from + kTilesTogether); ++tile) {
                alignas(64) float score[kUsersTogether][kLanes];
                score_tile(p, tiles + tile * rank * kLanes, rank, score);
                for (int member = 0; member < std::min<std::int64_t>(kUsersTogether, last - group); ++member)
                    consider(group + member, tile, score[member]);
            }
        }
    for (std::int64_t user = first; user < last; ++user)
        best[user - first].write(ranked.items + user * ranked.n, ranked.scores + user * ranked.n);
}

}  // namespace rankfill::RANKFILL_ISA
