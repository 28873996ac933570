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
};
template <>
struct Native<double> {
    typedef double type __attribute__((vector_size(RANKFILL_VECTOR_BYTES)));
};

template <class T>
struct Lanes {
    using Register = typename Native<T>::type;
    static constexpr int width = RANKFILL_VECTOR_BYTES / sizeof(T);
    static constexpr int parts = kLanes / width;
    Register part[parts];

    static Lanes load(const T* source) {
        Lanes lanes;
        std::memcpy(&lanes, source, sizeof lanes);
        return lanes;
    }
    void store(T* target) const { std::memcpy(target, this, sizeof *this); }

    friend Lanes operator*(const Lanes& a, const Lanes& b) {
        Lanes c;
        for (int p = 0; p < parts; ++p) c.part[p] = a.part[p] * b.part[p];
        return c;
    }
    friend Lanes operator+(const Lanes& a, const Lanes& b) {
        Lanes c;
        for (int p = 0; p < parts; ++p) c.part[p] = a.part[p] + b.part[p];
        return c;
    }
    Lanes plus_scaled(T scale, const Lanes& direction) const {
        Lanes c;
        for (int p = 0; p < parts; ++p) c.part[p] = part[p] + scale * direction.part[p];
        return c;
    }
    Lanes clipped_at_zero() const {
        Lanes c;
        const Register zero = {};
        for (int p = 0; p < parts; ++p) c.part[p] = part[p] > zero ? part[p] : zero;
        return c;
    }

    T sum() const {
        Register folded[parts];
        for (int p = 0; p < parts; ++p) folded[p] = part[p];
        for (int half = parts / 2; half >= 1; half /= 2)
            for (int p = 0; p < half; ++p) folded[p] = folded[p] + folded[p + half];
        T lane[width];
        std::memcpy(lane, &folded[0], sizeof folded[0]);
        for (int half = width / 2; half >= 1; half /= 2)
            for (int l = 0; l < half; ++l) lane[l] = lane[l] + lane[l + half];
        return lane[0];
    }
};

// `Blocks` is the number of blocks when it is known at compile time, 0 when it is `blocks`.
template <int Blocks, class T>
inline T dot(const T* a, const T* b, int blocks) {
    const int n = Blocks ? Blocks : blocks;
    Lanes<T> total = Lanes<T>::load(a) * Lanes<T>::load(b);
    for (int k = 1; k < n; ++k)
        total = total + Lanes<T>::load(a + k * kLanes) * Lanes<T>::load(b + k * kLanes);
    return total.sum();
}

}  // namespace rankfill::RANKFILL_ISA
