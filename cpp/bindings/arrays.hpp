// Arrays that Python owns, checked and borrowed; arrays that the kernels hand over.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <stdexcept>
#include <string>

#include "rankfill/table.hpp"

namespace nb = nanobind;
using namespace rankfill;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using NewMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
std::span<T> span_of(const Vector<T>& v) {
    return {v.data(), v.shape(0)};
}

template <class T>
Factors<T> factors_of(const Matrix<T>& m, const char* name) {
    if (m.shape(1) == 0 || m.shape(1) % 16 != 0)
        throw std::invalid_argument(std::string(name) + " must have a multiple of 16 columns, has " +
                                    std::to_string(m.shape(1)) + "; pad the rows with zeros");
    return {m.data(), static_cast<std::int64_t>(m.shape(0)), static_cast<int>(m.shape(1))};
}

inline void require(bool condition, const char* rule) {
    if (!condition) throw std::invalid_argument(rule);
}

template <class T>
NewVector<T> take(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NewVector<T>(kept->data(), {kept->size()}, owner);
}

template <class T>
NewVector<T> new_vector(std::size_t n) {
    T* data = new T[n];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return NewVector<T>(data, {n}, owner);
}

template <class T>
NewMatrix<T> new_matrix(std::size_t rows, std::size_t columns) {
    T* data = new T[rows * columns];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return NewMatrix<T>(data, {rows, columns}, owner);
}

template <class T>
std::span<T> span_of(const NewVector<T>& v) {
    return {v.data(), v.shape(0)};
}

inline const KernelTable& table(const std::string& isa) {
    for (const KernelTable* candidate : available_tables())
        if (candidate->name == isa) return *candidate;
    throw std::invalid_argument("instruction set \"" + isa + "\" is not available on this machine");
}
