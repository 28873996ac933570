// Whether strings that came from outside are UTF-8.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "rankfill/hashing.hpp"

namespace rankfill {

// The length of the character at the front of `text`, 0 if there is none: no overlong forms, no surrogates, nothing
// beyond U+10FFFF.
inline std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    const bool refused = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) >= 0xA0) ||
                         (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) >= 0x90);
    return refused ? 0 : length;
}

inline bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        std::uint64_t word;
        if (text.size() >= sizeof word) {  // eight characters of ASCII at once
            std::memcpy(&word, text.data(), sizeof word);
            if ((word & 0x8080808080808080ULL) == 0) {
                text.remove_prefix(sizeof word);
                continue;
            }
        }
        const std::size_t length = character_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

inline std::int64_t first_that_is_no_utf8(const StringKeys& keys) {
    for (std::int64_t i = 0; i < keys.size(); ++i)
        if (!is_utf8(keys[i])) return i;
    return -1;
}

}  // namespace rankfill
