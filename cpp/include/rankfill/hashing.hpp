// Ids to indices: an open-addressing table of 32-bit slots over keys that live in arrays.
//
// slots[h] is the index of a key, or −1; the table has a power of two of slots, at most half of them used.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rankfill {

inline std::uint64_t mix(std::uint64_t z) {  // splitmix64 finaliser
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

inline std::uint64_t hash_of(std::int64_t key) { return mix(static_cast<std::uint64_t>(key) + 0x9e3779b97f4a7c15ULL); }

inline std::uint64_t hash_of(std::string_view key) {
    std::uint64_t state = 0x9e3779b97f4a7c15ULL + key.size();
    for (std::size_t begin = 0; begin < key.size(); begin += 8) {
        std::uint64_t word = 0;
        for (std::size_t b = 0; b < 8 && begin + b < key.size(); ++b)
            word |= static_cast<std::uint64_t>(static_cast<unsigned char>(key[begin + b])) << (8 * b);
        state = mix(state ^ word);
    }
    return state;
}

struct IntegerKeys {
    std::span<const std::int64_t> keys;
    std::int64_t operator[](std::int64_t i) const { return keys[i]; }
    std::int64_t size() const { return keys.size(); }
};

struct StringKeys {  // key i is bytes[offsets[i] … offsets[i + 1])
    std::span<const char> bytes;
    std::span<const std::int64_t> offsets;
    std::string_view operator[](std::int64_t i) const {
        return {bytes.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
    std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
};

inline std::int64_t slots_for(std::int64_t n_keys) { return std::bit_ceil<std::uint64_t>(2 * n_keys + 2); }

// One thread may enter keys while others look some up: a slot goes from free to its key once, after the key is written.
inline std::int32_t slot_value(std::span<const std::int32_t> slots, std::uint64_t slot) {
    return __atomic_load_n(&slots[slot], __ATOMIC_ACQUIRE);
}

// The slot that holds `key`, or the free one where it belongs; −1 in a table full of others. An index beyond the keys
// is that of a key entered later than these: not one of them.
template <class Keys, class Key>
std::int64_t probe(std::span<const std::int32_t> slots, const Keys& keys, const Key& key) {
    const std::uint64_t mask = slots.size() - 1;
    std::uint64_t slot = hash_of(key) & mask;
    for (std::size_t tried = 0; tried < slots.size(); ++tried, slot = (slot + 1) & mask) {
        const std::int32_t index = slot_value(slots, slot);
        if (index < 0 || (index < keys.size() && keys[index] == key)) return slot;
    }
    return -1;
}

// Enters keys first … n − 1; returns the first that was there already, or for which there was no room, −1 if none.
template <class Keys>
std::int64_t hash_insert(std::span<std::int32_t> slots, const Keys& keys, std::int64_t first) {
    for (std::int64_t i = first; i < keys.size(); ++i) {
        const std::int64_t slot = probe(std::span<const std::int32_t>(slots), keys, keys[i]);
        if (slot < 0 || slots[slot] >= 0) return i;
        __atomic_store_n(&slots[slot], static_cast<std::int32_t>(i), __ATOMIC_RELEASE);
    }
    return -1;
}

// The index of a key, −1 for one that is not there.
template <class Keys, class Key>
std::int32_t hash_find_one(std::span<const std::int32_t> slots, const Keys& keys, const Key& key) {
    const std::int64_t slot = probe(slots, keys, key);
    const std::int32_t index = slot < 0 ? -1 : slot_value(slots, slot);
    return index < keys.size() ? index : -1;  // entered by another thread since
}

template <class Keys>
void hash_find(std::span<const std::int32_t> slots, const Keys& keys, const Keys& queries,
               std::span<std::int32_t> indices) {
    for (std::int64_t i = 0; i < queries.size(); ++i) indices[i] = hash_find_one(slots, keys, queries[i]);
}

// Numbers the distinct queries in order of first appearance; returns the position of each first appearance.
template <class Keys>
std::vector<std::int64_t> hash_factorize(const Keys& queries, std::span<std::int32_t> codes) {
    std::vector<std::int64_t> first_seen;
    std::vector<std::int32_t> slots(1024, -1);
    struct Seen {
        const Keys& queries;
        const std::vector<std::int64_t>& first_seen;
        auto operator[](std::int64_t code) const { return queries[first_seen[code]]; }
        std::int64_t size() const { return first_seen.size(); }
    };
    const Seen seen{queries, first_seen};
    for (std::int64_t i = 0; i < queries.size(); ++i) {
        if (2 * (seen.size() + 1) > static_cast<std::int64_t>(slots.size())) {
            slots.assign(2 * slots.size(), -1);
            hash_insert(std::span<std::int32_t>(slots), seen, 0);
        }
        auto& slot = slots[probe(std::span<const std::int32_t>(slots), seen, queries[i])];
        if (slot < 0) {
            slot = static_cast<std::int32_t>(first_seen.size());
            first_seen.push_back(i);
        }
        codes[i] = slot;
    }
    return first_seen;
}

}  // namespace rankfill
