// Ratings kept as codes of a scale of at most 256 values, one byte each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "rankfill/parallel.hpp"

namespace rankfill {

// `scale` has 256 values, so that no code can lead outside.
inline void decode(std::span<const std::uint8_t> codes, std::span<const float> scale, std::span<float> values,
                   int threads) {
    constexpr std::int64_t at_once = 1 << 16;
    const std::int64_t n = codes.size();
    parallel_for((n + at_once - 1) / at_once, threads, [&](std::int64_t task) {
        const std::int64_t end = std::min(n, (task + 1) * at_once);
        for (std::int64_t k = task * at_once; k < end; ++k) values[k] = scale[codes[k]];
    });
}

}  // namespace rankfill
