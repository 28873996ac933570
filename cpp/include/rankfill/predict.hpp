// Predictions p_u·q_i for pairs of indices.
#pragma once

#include "rankfill/csr.hpp"
#include "rankfill/lanes.hpp"

namespace rankfill::RANKFILL_ISA {

// An index of −1 is an id without factors: its side's default row stands in, and `both_unknown` for the pair.
template <int Blocks>
void predict_pairs(std::span<const std::int32_t> users, std::span<const std::int32_t> items,
                   Factors<const float> user_factors, Factors<const float> item_factors, const float* default_user,
                   const float* default_item, float both_unknown, std::span<float> predictions) {
    const int blocks = user_factors.stride / kLanes;
    for (std::size_t t = 0; t < users.size(); ++t) {
        const float* p = users[t] < 0 ? default_user : user_factors.row(users[t]);
        const float* q = items[t] < 0 ? default_item : item_factors.row(items[t]);
        predictions[t] = users[t] < 0 && items[t] < 0 ? both_unknown : dot<Blocks>(p, q, blocks);
    }
}

}  // namespace rankfill::RANKFILL_ISA
