// What the bindings look at before a kernel follows an index: the extremes of indices and the order of offsets.
#pragma once

#include "rankfill/isa.hpp"
#include "rankfill/table.hpp"

namespace rankfill::RANKFILL_ISA {

inline IndexRange range_of(std::span<const std::int32_t> indices) {
    std::int32_t smallest = std::numeric_limits<std::int32_t>::max(), largest = -1;
    for (const std::int32_t index : indices) {
        smallest = std::min(smallest, index);
        largest = std::max(largest, index);
    }
    return {smallest, largest};
}

inline bool never_decreases(std::span<const std::int64_t> offsets) {
    std::int64_t steps_down = 0;
    for (std::size_t i = 1; i < offsets.size(); ++i) steps_down |= offsets[i] < offsets[i - 1];
    return steps_down == 0;
}

}  // namespace rankfill::RANKFILL_ISA
