// Sixteen lanes of float or double, held in as many native registers as the instruction set needs.
//
// A factor row is padded with zeros to a whole number of blocks of sixteen, so no kernel has a tail loop.
// A dot product adds block by block into sixteen partial sums and then folds them 16 → 8 → 4 → 2 → 1.
#pragma once

#include "rankfill/isa.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr int kLanes = 16;

template <class T>
struct Native;
template <>
struct Native<float> {
    typedef float type __attribute__((vector_size(RANKFILL_VECTOR_BYTES)));
    typedef float unaligned __attribute__((vector_size(RANKFILL_VECTOR_BYTES), aligned(4), may_alias));
    typedef std::int32_t mask __attribute__((vector_size(RANKFILL_VECTOR_BYTES)));
};
template <>
struct Native<double> {
    typedef double type __attribute__((vector_size(RANKFILL_VECTOR_BYTES)));
    typedef double unaligned __attribute__((vector_size(RANKFILL_VECTOR_BYTES), aligned(8), may_alias));
    typedef std::int64_t mask __attribute__((vector_size(RANKFILL_VECTOR_BYTES)));
};

template <class T>
using Register = typename Native<T>::type;
template <class T>
inline constexpr int kWidth = RANKFILL_VECTOR_BYTES / sizeof(T);
template <class T>
inline constexpr int kParts = kLanes / kWidth<T>;

template <class T>
RANKFILL_INLINE Register<T> load(const T* source) {
    return *reinterpret_cast<const typename Native<T>::unaligned*>(source);
}
template <class T>
RANKFILL_INLINE void store(T* target, const Register<T>& value) {
    *reinterpret_cast<typename Native<T>::unaligned*>(target) = value;
}
// a > b ? a : b, which is what the instruction does; GCC makes two of it where b is zero.
template <class T>
RANKFILL_INLINE Register<T> maximum(const Register<T>& a, const Register<T>& b) {
#if defined(__x86_64__) && RANKFILL_VECTOR_BYTES == 32
    if constexpr (sizeof(T) == 4) return __builtin_ia32_maxps256(a, b);
    if constexpr (sizeof(T) == 8) return __builtin_ia32_maxpd256(a, b);
#elif defined(__x86_64__) && RANKFILL_VECTOR_BYTES == 16
    if constexpr (sizeof(T) == 4) return __builtin_ia32_maxps(a, b);
    if constexpr (sizeof(T) == 8) return __builtin_ia32_maxpd(a, b);
#endif
    return a > b ? a : b;
}

// Sums term(at), a register's worth at a time for at = 0, kWidth, …: sixteen partial sums, folded to one register.
template <class T, int Blocks, class Term>
RANKFILL_INLINE Register<T> partial_sum(int blocks, const Term& term) {
    const int n = Blocks ? Blocks : blocks;
    Register<T> sums[kParts<T>];
    for (int p = 0; p < kParts<T>; ++p) sums[p] = term(p * kWidth<T>);
    for (int k = 1; k < n; ++k)
        for (int p = 0; p < kParts<T>; ++p) sums[p] = sums[p] + term(k * kLanes + p * kWidth<T>);
    for (int half = kParts<T> / 2; half >= 1; half /= 2)
        for (int p = 0; p < half; ++p) sums[p] = sums[p] + sums[p + half];
    return sums[0];
}

// Folds lane l onto lane l + half, down to one.
template <class T>
RANKFILL_INLINE T fold(Register<T> sums) {
    T lane[kWidth<T>];
    store(lane, sums);
    for (int half = kWidth<T> / 2; half >= 1; half /= 2)
        for (int l = 0; l < half; ++l) lane[l] = lane[l] + lane[l + half];
    return lane[0];
}

// `Blocks` is the number of blocks when it is known at compile time, 0 when it is `blocks`.
template <int Blocks, class T>
RANKFILL_INLINE Register<T> partial_dot(const T* a, const T* b, int blocks) {
    return partial_sum<T, Blocks>(blocks, [&](int at) { return load(a + at) * load(b + at); });
}

template <int Blocks, class T>
RANKFILL_INLINE T dot(const T* a, const T* b, int blocks) {
    return fold<T>(partial_dot<Blocks>(a, b, blocks));
}

// Takes one more row into a running mean; `gain` is one over how many are then in it.
template <int Blocks>
RANKFILL_INLINE void average(float* mean, const float* w, float gain, int blocks) {
    const int n = (Blocks ? Blocks : blocks) * kLanes;
    for (int at = 0; at < n; at += kWidth<float>) {
        const Register<float> before = load(mean + at);
        store(mean + at, before + gain * (load(w + at) - before));
    }
}

}  // namespace rankfill::RANKFILL_ISA
