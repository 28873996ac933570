// The sums of several rows at once: G registers of partial sums, one a row, folded together into one register with the
// sum of a row in each lane. Fewer shuffles than folding each row for itself, and the same bits.
#pragma once

#include <utility>

#include "rankfill/lanes.hpp"

namespace rankfill::RANKFILL_ISA {

template <class T, int N>
struct Vector {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
    typedef T unaligned __attribute__((vector_size(N * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T, int N>
using Lanes = typename Vector<T, N>::type;

template <int N, class T>
RANKFILL_INLINE Lanes<T, N> load_lanes(const T* source) {
    return *reinterpret_cast<const typename Vector<T, N>::unaligned*>(source);
}
template <int N, class T>
RANKFILL_INLINE void store_lanes(T* target, const Lanes<T, N>& value) {
    *reinterpret_cast<typename Vector<T, N>::unaligned*>(target) = value;
}

// A register with value(i) in lane i. Put together in registers: a load of what was just stored in pieces would wait
// for all of them to reach the cache.
template <class Value, int... Lane>
RANKFILL_INLINE auto collect(const Value& value, std::integer_sequence<int, Lane...>) {
    return Lanes<float, sizeof...(Lane)>{value(Lane)...};
}
template <int N, class Value>
RANKFILL_INLINE Lanes<float, N> collect(const Value& value) {
    return collect(value, std::make_integer_sequence<int, N>());
}

// Adds term(value) to the double of each lane, as many at a time as a register holds: the compiler takes wider vectors
// apart into single numbers.
template <int N, class Term>
RANKFILL_INLINE void accumulate(double* sums, const Lanes<float, N>& values, const Term& term) {
    constexpr int at_once = std::min(N, kWidth<double>);
    alignas(64) float lanes[N];
    store_lanes<N>(lanes, values);
#pragma GCC unroll 16
    for (int at = 0; at < N; at += at_once) {
        const auto some = __builtin_convertvector(load_lanes<at_once>(lanes + at), Lanes<double, at_once>);
        store_lanes<at_once>(sums + at, load_lanes<at_once>(sums + at) + term(some));
    }
}

template <class Values>
RANKFILL_INLINE Values magnitude(const Values& values) {
    return values > -values ? values : -values;
}

// One step of folding: a and b have n lanes and hold segments of `length`, each of one row. The lower halves of the
// segments are gathered into one register, the upper halves into another, and the two are added. Lane i of the lower
// halves comes from `source`, of a below n, of b from n on.
constexpr int source(int lane, int length, int n) {
    if (length == 2) {  // stays within 128 bits: a0 a2 b0 b2
        const int quad = lane / 4 * 4, place = lane % 4;
        return (place < 2 ? 0 : n) + quad + 2 * (place % 2);
    }
    const int segment = lane / length * length, place = lane % length;
    return (place < length / 2 ? 0 : n) + segment + place % (length / 2);
}

template <int Length, class Sums, int... Lane>
RANKFILL_INLINE Sums fold_pair(const Sums& a, const Sums& b, std::integer_sequence<int, Lane...>) {
    constexpr int n = sizeof...(Lane);
    return __builtin_shufflevector(a, b, source(Lane, Length, n)...) +
           __builtin_shufflevector(a, b, (source(Lane, Length, n) + Length / 2)...);
}

template <int From, class Sums, int... Lane>
RANKFILL_INLINE Lanes<float, sizeof...(Lane)> part(const Sums& whole, std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(whole, whole, (From + Lane)...);
}

// N lanes that hold segments of `Length` of G rows: halved until every row has one lane.
template <int G, int N, int Length>
RANKFILL_INLINE Lanes<float, G> fold_within(const Lanes<float, N>& sums) {
    if constexpr (N == G) {
        return sums;
    } else {
        constexpr auto lanes = std::make_integer_sequence<int, N / 2>();
        const Lanes<float, N / 2> lower = part<0>(sums, lanes), upper = part<N / 2>(sums, lanes);
        return fold_within<G, N / 2, Length / 2>(fold_pair<Length>(lower, upper, lanes));
    }
}

// The sum over the lanes of each of G registers; that of sums[kSlots<G>.of_lane[i]] in lane i.
template <int G, int Registers = G, int Length = kWidth<float>>
RANKFILL_INLINE Lanes<float, G> fold_rows(Register<float>* sums) {
    if constexpr (Registers == 1) {
        return fold_within<G, kWidth<float>, Length>(sums[0]);
    } else {
        for (int pair = 0; pair < Registers / 2; ++pair)
            sums[pair] =
                fold_pair<Length>(sums[2 * pair], sums[2 * pair + 1], std::make_integer_sequence<int, kWidth<float>>());
        return fold_rows<G, Registers / 2, Length / 2>(sums);
    }
}

// Which of the G registers ends up in lane i: the folding followed through with row numbers.
template <int G>
struct Slots {
    int of_lane[G];

    constexpr Slots() : of_lane{} {
        int held[G][kWidth<float>] = {};
        for (int r = 0; r < G; ++r)
            for (int lane = 0; lane < kWidth<float>; ++lane) held[r][lane] = r;
        int length = kWidth<float>;
        for (int registers = G; registers > 1; registers /= 2, length /= 2)
            for (int pair = 0; pair < registers / 2; ++pair)
                fold(held[2 * pair], held[2 * pair + 1], length, kWidth<float>, held[pair]);
        for (int n = kWidth<float>; n > G; n /= 2, length /= 2) fold(held[0], held[0] + n / 2, length, n / 2, held[0]);
        for (int lane = 0; lane < G; ++lane) of_lane[lane] = held[0][lane];
    }

 private:
    static constexpr void fold(const int* a, const int* b, int length, int n, int* into) {
        int folded[kWidth<float>] = {};
        for (int lane = 0; lane < n; ++lane) {
            const int from = source(lane, length, n);
            folded[lane] = from < n ? a[from] : b[from - n];
        }
        for (int lane = 0; lane < n; ++lane) into[lane] = folded[lane];
    }
};
template <int G>
inline constexpr Slots<G> kSlots;

// w·x of up to as many rows x as a register has floats. A full set is folded together, to the same bits.
template <int Blocks>
RANKFILL_INLINE void products(const float* w, const float* const* rows, int n, int blocks, float* result) {
    constexpr int full = kWidth<float>;
    if (n < full) {
        for (int i = 0; i < n; ++i) result[i] = dot<Blocks>(w, rows[i], blocks);
        return;
    }
    Register<float> sums[full];
#pragma GCC unroll 16
    for (int i = 0; i < full; ++i) sums[kSlots<full>.of_lane[i]] = partial_dot<Blocks>(w, rows[i], blocks);
    store(result, fold_rows<full>(sums));
}

}  // namespace rankfill::RANKFILL_ISA
