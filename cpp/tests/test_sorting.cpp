#include <algorithm>
#include <numeric>
#include <random>

#include "check.hpp"
#include "rankfill/counting_sort.hpp"

using namespace rankfill;

TEST(counting_sort_is_the_stable_sort_for_any_number_of_threads) {
    std::mt19937 generator(1);
    constexpr std::int64_t n = 300000, n_keys = 97;
    std::vector<std::int32_t> keys(n), indices(n);
    std::vector<float> values(n);
    for (std::int64_t i = 0; i < n; ++i) {
        keys[i] = static_cast<std::int32_t>(generator() % n_keys);
        indices[i] = static_cast<std::int32_t>(i);
        values[i] = static_cast<float>(i);
    }
    std::vector<std::int64_t> expected(n);
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
    for (const int threads : {1, 2, 3, 8}) {
        std::vector<std::int64_t> indptr(n_keys + 1), order(n);
        std::vector<std::int32_t> sorted_indices(n);
        std::vector<float> sorted_values(n);
        counting_sort(keys, indices, values, {indptr, sorted_indices, sorted_values, order}, threads);
        CHECK(order == expected);
        CHECK(indptr.back() == n);
        CHECK(std::equal(order.begin(), order.end(), sorted_indices.begin()));
    }
}
