// Stable counting sort of (key, index, value) triples into rows by key.
//
// The input is cut into one slice a thread; each counts its keys, the counts become start offsets, each
// slice scatters to its own places. A stable sort has one result, so it does not depend on the threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rankfill/parallel.hpp"

namespace rankfill {

struct SortedRows {
    std::span<std::int64_t> indptr;  // n_keys + 1
    std::span<std::int32_t> indices;
    std::span<float> values;
    std::span<std::int64_t> order;  // where each sorted entry came from; empty when not asked for
};

inline void counting_sort(std::span<const std::int32_t> keys, std::span<const std::int32_t> indices,
                          std::span<const float> values, const SortedRows& sorted, int threads) {
    const std::int64_t n = keys.size();
    const std::int64_t n_keys = sorted.indptr.size() - 1;
    // A slice carries one counter a key: below this size another slice costs more than it saves.
    const std::int64_t worthwhile = std::max<std::int64_t>(1, n / std::max<std::int64_t>(n_keys, 1 << 16));
    const int slices = static_cast<int>(std::min<std::int64_t>(std::max(threads, 1), worthwhile));
    const auto slice_begin = [&](int s) { return n * s / slices; };

    std::vector<std::vector<std::int64_t>> offsets(slices);
    parallel_for(slices, threads, [&](std::int64_t s) {
        offsets[s].assign(n_keys, 0);
        for (std::int64_t i = slice_begin(s); i < slice_begin(s + 1); ++i) ++offsets[s][keys[i]];
    });

    std::int64_t running = 0;
    for (std::int64_t key = 0; key < n_keys; ++key) {
        sorted.indptr[key] = running;
        for (auto& slice : offsets) {
            const std::int64_t count = slice[key];
            slice[key] = running;
            running += count;
        }
    }
    sorted.indptr[n_keys] = running;

    parallel_for(slices, threads, [&](std::int64_t s) {
        auto& next = offsets[s];
        for (std::int64_t i = slice_begin(s); i < slice_begin(s + 1); ++i) {
            const std::int64_t place = next[keys[i]]++;
            sorted.indices[place] = indices[i];
            sorted.values[place] = values[i];
            if (!sorted.order.empty()) sorted.order[place] = i;
        }
    });
}

}  // namespace rankfill
