// Entries of a row drawn with replacement: draw t is a hash of (seed, row, t), so it costs no memory and no state.
#pragma once

#include <cstdint>

#include "rankfill/hashing.hpp"

namespace rankfill {

class RowDraws {
 public:
    RowDraws(std::uint64_t seed, std::int64_t row, std::int64_t n)
        : state_(mix(seed + kGolden * static_cast<std::uint64_t>(row + 1))), n_(static_cast<std::uint64_t>(n)) {}

    // The upper 32 bits of the hash as a fraction of n (n < 2³²): below n, and even to one part in 2³²/n.
    std::int64_t next() {
        state_ += kGolden;
        return static_cast<std::int64_t>(((mix(state_) >> 32) * n_) >> 32);
    }

 private:
    static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
    std::uint64_t state_, n_;
};

}  // namespace rankfill
