// Checks of what a kernel will follow: indices into tables, offsets into arrays. One pass at the speed of memory.
#pragma once

#include "arrays.hpp"

[[noreturn]] inline void refuse(const std::string& rule) { throw std::invalid_argument(rule); }

inline const ExtentKernels& extents() { return available_tables().back()->extents; }

// Refuses the first index that is not below `n_rows`; negative ones only unless they stand for something.
inline void require_rows(std::span<const std::int32_t> indices, std::int64_t n_rows, const char* name,
                         const char* table, std::int64_t least = 0) {
    const IndexRange range = extents().range_of(indices);
    if (indices.empty() || (range.smallest >= least && range.largest < n_rows)) return;
    std::size_t at = 0;
    while (indices[at] >= least && indices[at] < n_rows) ++at;
    refuse(std::string(name) + " must be numbers of rows of " + table + ", which has " + std::to_string(n_rows) +
           "; found " + std::to_string(indices[at]) + " at position " + std::to_string(at));
}

// Offsets begin at 0, never decrease and end at `end`.
inline void require_offsets(std::span<const std::int64_t> offsets, std::int64_t end, const char* name,
                            const char* entries) {
    if (offsets.empty()) refuse(std::string(name) + " must have at least one number, found none");
    if (offsets.front() != 0)
        refuse(std::string(name) + " must begin with 0, found " + std::to_string(offsets.front()));
    if (!extents().never_decreases(offsets)) {
        std::size_t at = 1;
        while (offsets[at] >= offsets[at - 1]) ++at;
        refuse(std::string(name) + " must not decrease, found " + std::to_string(offsets[at]) + " after " +
               std::to_string(offsets[at - 1]) + " at position " + std::to_string(at));
    }
    if (offsets.back() != end)
        refuse(std::string(name) + " must end with the number of " + entries + ", " + std::to_string(end) + ", found " +
               std::to_string(offsets.back()));
}
