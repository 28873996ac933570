#include <algorithm>
#include <numeric>
#include <random>

#include "check.hpp"
#include "rankfill/counting_sort.hpp"
#include "rankfill/hashing.hpp"

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

TEST(hashed_keys_are_found_and_others_are_not) {
    std::vector<std::int64_t> keys(5000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i * i * 7919) - 100000;
    std::vector<std::int32_t> slots(slots_for(keys.size()), -1), found(keys.size());
    hash_insert(std::span<std::int32_t>(slots), IntegerKeys{keys}, 0);
    hash_find(std::span<const std::int32_t>(slots), IntegerKeys{keys}, IntegerKeys{keys}, found);
    for (std::size_t i = 0; i < keys.size(); ++i) CHECK(found[i] == static_cast<std::int32_t>(i));
    const std::vector<std::int64_t> absent{-100001, 1, 1LL << 60};
    std::vector<std::int32_t> nothing(3);
    hash_find(std::span<const std::int32_t>(slots), IntegerKeys{keys}, IntegerKeys{absent}, nothing);
    CHECK(std::ranges::all_of(nothing, [](auto index) { return index == -1; }));
}

TEST(hashed_words_are_found_by_their_bytes) {
    const std::string bytes = "aaabab\xff";  // "", "a", "aa", "b", "ab\xff"
    const std::vector<std::int64_t> offsets{0, 0, 1, 3, 4, 7};
    const StringKeys words{bytes, offsets};
    std::vector<std::int32_t> slots(slots_for(words.size()), -1), found(words.size());
    hash_insert(std::span<std::int32_t>(slots), words, 0);
    hash_find(std::span<const std::int32_t>(slots), words, words, found);
    for (std::int64_t i = 0; i < words.size(); ++i) CHECK(found[i] == i);
}
