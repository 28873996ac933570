// The n best items of each user, never forming the matrix of scores.
//
// Items are packed sixteen to a tile, factor by factor, so one multiply-add serves sixteen scores and no sum
// runs across lanes. Users go through the tiles a few at a time; a tile is looked at more closely only where
// it holds a score above the worst kept so far. Order: score down, then item index up.
#pragma once

#include "rankfill/csr.hpp"
#include "rankfill/lanes.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kUsersTogether = 4;
inline constexpr int kTilesTogether = 64;  // tiles kept in cache while the users of a group go through them

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

// Rows first … last − 1 of `users`; row r must not get the items of seen row r, nor any with allowed[item] = 0.
inline void top_n_rows(Factors<const float> users, std::int64_t first, std::int64_t last, int rank, const float* tiles,
                       std::int64_t n_items, std::span<const std::int64_t> seen_indptr,
                       std::span<const std::int32_t> seen_items, std::span<const std::uint8_t> allowed, int n,
                       std::int32_t* items, float* scores) {
    const std::int64_t n_tiles = (n_items + kLanes - 1) / kLanes;
    for (std::int64_t group = first; group < last; group += kUsersTogether) {
        const int together = static_cast<int>(std::min<std::int64_t>(kUsersTogether, last - group));
        std::vector<Best> best(together, Best(n));
        for (std::int64_t from = 0; from < n_tiles; from += kTilesTogether) {
            const std::int64_t to = std::min(n_tiles, from + kTilesTogether);
            for (int member = 0; member < together; ++member) {
                const float* p = users.row(group + member);
                const auto seen = seen_items.subspan(seen_indptr[group + member],
                                                     seen_indptr[group + member + 1] - seen_indptr[group + member]);
                Best& kept = best[member];
                for (std::int64_t tile = from; tile < to; ++tile) {
                    const float* q = tiles + tile * rank * kLanes;
                    Register<float> sums[kParts<float>] = {};
                    for (int k = 0; k < rank; ++k)
                        for (int part = 0; part < kParts<float>; ++part)
                            sums[part] = sums[part] + p[k] * load(q + k * kLanes + part * kWidth<float>);
                    float score[kLanes];
                    for (int part = 0; part < kParts<float>; ++part) store(score + part * kWidth<float>, sums[part]);
                    const float threshold = kept.threshold();
                    int above = 0;
                    for (int lane = 0; lane < kLanes; ++lane) above |= (score[lane] > threshold) << lane;
                    for (; above; above &= above - 1) {
                        const int lane = std::countr_zero(static_cast<unsigned>(above));
                        const std::int32_t item = static_cast<std::int32_t>(tile * kLanes + lane);
                        if (item >= n_items || !allowed[item]) continue;
                        if (std::binary_search(seen.begin(), seen.end(), item)) continue;
                        kept.offer({score[lane], item});
                    }
                }
            }
        }
        for (int member = 0; member < together; ++member)
            best[member].write(items + (group + member) * n, scores + (group + member) * n);
    }
}

}  // namespace rankfill::RANKFILL_ISA
