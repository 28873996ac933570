// Which rows of factors meet in which round, laid out some rounds ahead while they are fetched.
#pragma once

#include <atomic>

#include "rankfill/isa.hpp"
#include "rankfill/lanes.hpp"
#include "rankfill/row_order.hpp"
#include "rankfill/table.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kRows = 8;  // side by side
// A row is laid out this many rounds at a time, for the rounds after the next ones. Longer would fetch so much ahead
// that it pushes what is needed now out of the nearest cache.
inline constexpr int kTile = 4, kRing = 4 * kTile;

// What the rows of a wave meet in one round.
struct alignas(64) Meeting {
    const float* x[kRows];
    float value[kRows], squared_norm[kRows];
    std::int32_t row[kRows];   // of the lanes for which another row begins; −1: none is left, the lane is idle
    std::uint32_t begins = 0;  // which lanes these are, a bit each
};

// The meetings of a thread's share of the rows, each row with its entries in the order of its walk.
template <int Blocks>
class Schedule {
 public:
    // Takes rows, none of them empty, from `order` at the shared counter until none is left.
    Schedule(const Pass& pass, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next)
        : pass_(pass), order_(order), next_(next) {
        for (Lane& lane : lanes_) lane.next_row = take();
        for (const float*& x : before(0).x) x = pass_.fixed.data;
        for (int i = 0; i < kRows; ++i) lay_out(i, 0);
    }

    // Rounds are counted modulo 2³², of which the ring is a divisor.
    Meeting& at(unsigned round) { return meetings_[round % kRing]; }
    Meeting& before(unsigned round) { return meetings_[(round + kRing - 1) % kRing]; }

    // To be called in every round: lays out part of the tile that follows the present one.
    RANKFILL_INLINE void lay_out_ahead(unsigned round) {
        constexpr int lanes = kRows / kTile;
        const int phase = round % kTile, tile = (round - phase + kTile) % kRing;
        for (int i = 0; i < lanes; ++i) lay_out(phase * lanes + i, tile);
    }

    // False when every lane has been laid out to the end of its last row.
    bool has_more() const { return busy_ > 0; }

 private:
    struct Lane {
        const std::int32_t* indices;
        const float* values;
        std::int64_t position, stride, n, left = 0, next_row;
    };

    RANKFILL_INLINE void lay_out(int i, int round) {
        Lane& lane = lanes_[i];
        if (lane.left < kTile) [[unlikely]]
            return lay_out_pieces(i, round);
        lane.left -= kTile;
        if (lane.n < kLongRow)
            lay_out_run<kTile, false>(i, round, kTile);
        else
            lay_out_run<kTile, true>(i, round, kTile);
    }

    RANKFILL_APART void lay_out_pieces(int i, int round) {
        Lane& lane = lanes_[i];
        for (const int end = round + kTile; round < end;) {
            if (lane.left == 0) begin_row(i, meetings_[round]);
            const int run = static_cast<int>(std::min<std::int64_t>(lane.left, end - round));
            lane.left -= run;
            lay_out_run<0, false>(i, round, run);
            round += run;
        }
    }

    // The entries of one row for `run` rounds, a number known at compile time where Run is not 0.
    template <int Run, bool Long>
    RANKFILL_INLINE void lay_out_run(int i, int round, int run) {
        Lane& lane = lanes_[i];
        const std::int32_t* const indices = lane.indices;
        const float* const values = lane.values;
        const float *const fixed = pass_.fixed.data, *const squared_norms = pass_.squared_norms;
        Meeting* const meetings = meetings_ + round;
        const std::int64_t stride = lane.stride, back = stride - lane.n;
        std::int64_t position = lane.position;
#pragma GCC unroll 8
        for (int k = 0; k < (Run ? Run : run); ++k) {
            const std::int64_t index = indices[position];
            const float* const x = fixed + index * (Blocks ? Blocks * kLanes : pass_.fixed.stride);
            meetings[k].x[i] = x;
            std::memcpy(meetings[k].value + i, values + position, sizeof(float));
            std::memcpy(meetings[k].squared_norm + i, squared_norms + index, sizeof(float));
            for (int block = 0; block < (Blocks ? Blocks : 4); ++block) __builtin_prefetch(x + block * kLanes);
            if constexpr (Long) {  // the walk comes by here again: the entries that it meets then
                __builtin_prefetch(indices + position + kLine);
                __builtin_prefetch(values + position + kLine);
            }
            const std::int64_t wrapped = position + back;
            position = wrapped < 0 ? position + stride : wrapped;
        }
        lane.position = position;
    }

    void begin_row(int i, Meeting& meeting) {
        Lane& lane = lanes_[i];
        const std::int64_t row = lane.next_row;
        meeting.begins |= 1u << i;
        meeting.row[i] = static_cast<std::int32_t>(row);
        if (row < 0) {  // an idle lane meets ratings of zero with a row of zeros, which changes nothing
            lane = {&kNoIndex, &kNoValue, 0, 0, 1, std::numeric_limits<std::int64_t>::max(), -1};
            --busy_;
            return;
        }
        const std::int64_t begin = pass_.ratings.indptr[row];
        const RowOrder walk(pass_.seed, row, pass_.ratings.indptr[row + 1] - begin);
        lane.indices = pass_.ratings.indices.data() + begin;
        lane.values = pass_.ratings.values.data() + begin;
        lane.position = walk.position();
        lane.stride = walk.stride();
        lane.n = lane.left = walk.size();
        for (int at = 0; at < pass_.moving.stride; at += kLanes) __builtin_prefetch(pass_.moving.row(row) + at, 1);
        __builtin_prefetch(pass_.per_row + row, 1);
        lane.next_row = take();
        if (lane.next_row >= 0) fetch_entries(lane.next_row);
    }

    std::int32_t take() {
        const std::int64_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
        if (ticket >= std::ssize(order_)) return -1;
        __builtin_prefetch(pass_.ratings.indptr.data() + order_[ticket]);
        return order_[ticket];
    }

    // Inlined, because GCC takes a function that only prefetches for one that does nothing.
    RANKFILL_INLINE void fetch_entries(std::int64_t row) const {
        const std::int64_t begin = pass_.ratings.indptr[row];
        const std::int64_t end = std::min(pass_.ratings.indptr[row + 1], begin + kLongRow);
        for (std::int64_t at = begin; at < end; at += kLine) {
            __builtin_prefetch(pass_.ratings.indices.data() + at, 0, 2);
            __builtin_prefetch(pass_.ratings.values.data() + at, 0, 2);
        }
    }

    static constexpr std::int32_t kNoIndex = 0;
    static constexpr float kNoValue = 0.0f;
    static constexpr int kLine = 16;  // entries to a line of the cache

    const Pass& pass_;
    const std::span<const std::int32_t> order_;
    std::atomic<std::int64_t>& next_;
    int busy_ = kRows;
    Lane lanes_[kRows];
    Meeting meetings_[kRing];
};

}  // namespace rankfill::RANKFILL_ISA
