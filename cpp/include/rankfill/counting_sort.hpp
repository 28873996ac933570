// Stable counting sort of (key, index, value) triples into rows by key.
//
// The input is cut into one slice per thread; each counts its keys, the counts become start offsets, each
// slice scatters to its own places. A stable sort has one result, so it does not depend on the threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rankfill/csr.hpp"
#include "rankfill/parallel.hpp"

namespace rankfill {

struct SortedRows {
    std::span<std::int64_t> indptr;  // n_keys + 1
    std::span<std::int32_t> indices;
    std::span<float> values;
    std::span<std::int64_t> order;  // where each sorted entry came from; empty when not asked for
};

// `indices_from(i)` gives a function that tells the index of entries i, i + 1, … in turn.
template <class IndicesFrom>
void sort_by_key(std::span<const std::int32_t> keys, const IndicesFrom& indices_from, std::span<const float> values,
                 const SortedRows& sorted, int threads) {
    const std::int64_t n = keys.size();
    const std::int64_t n_keys = sorted.indptr.size() - 1;
    // A slice carries one counter per key: below this size another slice costs more than it saves.
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
        auto index_of = indices_from(slice_begin(s));
        for (std::int64_t i = slice_begin(s); i < slice_begin(s + 1); ++i) {
            const std::int64_t place = next[keys[i]]++;
            sorted.indices[place] = index_of(i);
            sorted.values[place] = values[i];
            if (!sorted.order.empty()) sorted.order[place] = i;
        }
    });
}

inline void counting_sort(std::span<const std::int32_t> keys, std::span<const std::int32_t> indices,
                          std::span<const float> values, const SortedRows& sorted, int threads) {
    const auto indices_from = [&](std::int64_t) { return [&](std::int64_t i) { return indices[i]; }; };
    sort_by_key(keys, indices_from, values, sorted, threads);
}

// The rows of `rows` by column: the index of an entry is its row, found on the way instead of written out.
inline void transpose(const Csr& rows, const SortedRows& sorted, int threads) {
    const auto rows_from = [&](std::int64_t first) {
        std::int64_t row = std::upper_bound(rows.indptr.begin(), rows.indptr.end(), first) - rows.indptr.begin() - 1;
        return [&rows, row](std::int64_t i) mutable {
            while (i >= rows.indptr[row + 1]) ++row;
            return static_cast<std::int32_t>(row);
        };
    };
    sort_by_key(rows.indices, rows_from, rows.values, sorted, threads);
}

}  // namespace rankfill
