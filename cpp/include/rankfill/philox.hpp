// Random numbers that are a function of their place alone: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011).
//
// Whoever draws names a key, a row and a position in the row; no state is kept, so that rows may be drawn in any order
// on any thread. Normal numbers come in pairs by Box and Muller's formula, four for each block of bits.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace rankfill {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox(std::uint64_t key, std::uint64_t row, std::uint64_t block) {
    auto key_low = static_cast<std::uint32_t>(key), key_high = static_cast<std::uint32_t>(key >> 32);
    PhiloxBlock x{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                  static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)};
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t one = std::uint64_t{0xD2511F53} * x[0], other = std::uint64_t{0xCD9E8D57} * x[2];
        x = {static_cast<std::uint32_t>(other >> 32) ^ x[1] ^ key_low, static_cast<std::uint32_t>(other),
             static_cast<std::uint32_t>(one >> 32) ^ x[3] ^ key_high, static_cast<std::uint32_t>(one)};
        key_low += 0x9E3779B9, key_high += 0xBB67AE85;
    }
    return x;
}

// Between 0 and 1, never either.
inline double open_uniform(std::uint32_t bits) { return (bits + 0.5) * 0x1p-32; }

// Standard normal numbers 0 … n − 1 of a row.
inline void draw_normals(std::uint64_t key, std::uint64_t row, int n, double* numbers) {
    for (int at = 0; at < n; at += 4) {
        const PhiloxBlock bits = philox(key, row, at / 4);
        for (int pair = 0; pair < 4; pair += 2) {
            const double radius = std::sqrt(-2.0 * std::log(open_uniform(bits[pair])));
            const double angle = 2.0 * std::numbers::pi * open_uniform(bits[pair + 1]);
            if (at + pair < n) numbers[at + pair] = radius * std::cos(angle);
            if (at + pair + 1 < n) numbers[at + pair + 1] = radius * std::sin(angle);
        }
    }
}

}  // namespace rankfill
