// The order in which a row's entries are met in one pass: k ↦ (start + k · stride) mod n.
//
// The start and the stride come from a hash of (seed, row), the stride coprime to n, so the walk meets every entry
// once. It costs an addition an entry and no memory, and entries to come can be prefetched.
//
// In a short row the stride is a large prime modulo n. In a long one it is the inverse modulo n of a small prime r:
// the walk visits r places all over the row, then the entry beside each, and so on. A line of the cache that was
// fetched for one entry is still there for its neighbours.
#pragma once

#include <cstdint>

#include "rankfill/hashing.hpp"

namespace rankfill {

inline constexpr std::int64_t kLongRow = 512;
inline constexpr std::int64_t kPrimes[16] = {2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549,
                                             2147483543, 2147483497, 2147483489, 2147483477, 2147483423, 2147483399,
                                             2147483353, 2147483323, 2147483269, 2147483249};
// Their product is above 2³¹: no row's length is divisible by all of them.
inline constexpr std::int64_t kPlaces[8] = {11, 13, 17, 19, 23, 29, 31, 37};

class RowOrder {
 public:
    RowOrder(std::uint64_t seed, std::int64_t row, std::int64_t n) : n_(n) {
        const std::uint64_t hash = mix(seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(row + 1));
        position_ = static_cast<std::int64_t>((hash >> 4) % static_cast<std::uint64_t>(n));
        if (n < kLongRow) {
            std::uint64_t choice = hash & 15;
            while (kPrimes[choice] % n == 0 && n > 1) choice = (choice + 1) & 15;
            stride_ = kPrimes[choice] % n;
        } else {
            std::uint64_t choice = hash & 7;
            while (n % kPlaces[choice] == 0) choice = (choice + 1) & 7;
            std::int64_t turns = 1;
            while ((turns * n + 1) % kPlaces[choice] != 0) ++turns;
            stride_ = (turns * n + 1) / kPlaces[choice];
        }
    }

    std::int64_t position() const { return position_; }
    std::int64_t stride() const { return stride_; }
    std::int64_t size() const { return n_; }
    void advance() {
        position_ += stride_;
        if (position_ >= n_) position_ -= n_;
    }

 private:
    std::int64_t n_, position_, stride_;
};

}  // namespace rankfill
