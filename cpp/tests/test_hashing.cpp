#include <algorithm>
#include <string>

#include "check.hpp"
#include "rankfill/hashing.hpp"
#include "rankfill/utf8.hpp"
#include "tables.hpp"

using namespace rankfill;

static std::int32_t find(std::span<const std::int32_t> slots, const IntegerKeys& keys, std::int64_t key) {
    return hash_find_one(slots, keys, key);
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

TEST(keys_entered_after_a_view_was_taken_are_not_found_by_it) {
    const std::vector<std::int64_t> keys{10, 20, 30, 40};
    std::vector<std::int32_t> slots(16, -1);
    CHECK(hash_insert(std::span(slots), IntegerKeys{keys}, 0) == -1);
    const IntegerKeys before{std::span(keys).first(2)};
    CHECK(find(slots, before, 20) == 1);
    CHECK(find(slots, before, 30) == -1);
}

TEST(a_repeated_key_is_reported_and_a_full_table_is_searched_once) {
    const std::vector<std::int64_t> keys{10, 20, 10, 30};
    std::vector<std::int32_t> slots(16, -1), full(4, 0);
    CHECK(hash_insert(std::span(slots), IntegerKeys{keys}, 0) == 2);
    CHECK(find(full, {keys}, 99) == -1);
    CHECK(hash_insert(std::span(full), IntegerKeys{keys}, 1) == 1);
}

TEST(utf8_is_told_from_what_is_not) {
    using namespace std::string_literals;
    for (const std::string& text : {""s, "plain ascii, longer than a word"s, "\xC3\xA9"s, "\xE2\x82\xAC"s,
                                    "\xF0\x9F\x98\x80"s, "12345678\xC3\xA9"s, "\xED\x9F\xBF"s, "\xF4\x8F\xBF\xBF"s})
        CHECK(is_utf8(text));
    for (const std::string& text :
         {"\xFF"s, "\x80"s, "\xC3"s, "\xC0\xAF"s, "\xE0\x80\x80"s, "\xED\xA0\x80"s, "\xF0\x80\x80\x80"s,
          "\xF4\x90\x80\x80"s, "\xF5\x80\x80\x80"s, "12345678\xE2\x82"s, "\xE2\x28\xA1"s})
        CHECK(!is_utf8(text));
}

TEST(extents_are_those_of_the_arrays) {
    for (const KernelTable* kernels : all_tables())
        for (const std::size_t n : {0, 1, 7, 64, 1001}) {
            std::vector<std::int32_t> indices(n, 5);
            std::vector<std::int64_t> offsets(n, 3);
            CHECK(kernels->extents.range_of(indices).largest == (n ? 5 : -1));
            CHECK(kernels->extents.never_decreases(offsets));
            if (n < 2) continue;
            indices[n / 2] = -4, indices[n - 1] = 77, offsets[n - 1] = 2;
            CHECK(kernels->extents.range_of(indices).smallest == -4 &&
                  kernels->extents.range_of(indices).largest == 77);
            CHECK(!kernels->extents.never_decreases(offsets));
        }
}
