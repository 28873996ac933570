#include "arrays.hpp"
#include "rankfill/counting_sort.hpp"
#include "rankfill/hashing.hpp"

namespace {

std::tuple<NewVector<std::int64_t>, NewVector<std::int32_t>, NewVector<float>, NewVector<std::int64_t>> sort_rows(
    Vector<const std::int32_t> keys, Vector<const std::int32_t> indices, Vector<const float> values,
    std::int64_t n_keys, bool with_order, int threads) {
    const std::size_t n = keys.shape(0);
    require(indices.shape(0) == n && values.shape(0) == n, "keys, indices and values must have the same length");
    auto indptr = new_vector<std::int64_t>(n_keys + 1);
    auto sorted_indices = new_vector<std::int32_t>(n);
    auto sorted_values = new_vector<float>(n);
    auto order = new_vector<std::int64_t>(with_order ? n : 0);
    {
        nb::gil_scoped_release release;
        counting_sort(span_of(keys), span_of(indices), span_of(values),
                      {span_of(indptr), span_of(sorted_indices), span_of(sorted_values), span_of(order)}, threads);
    }
    return {indptr, sorted_indices, sorted_values, order};
}

std::tuple<NewVector<std::int64_t>, NewVector<std::int32_t>, NewVector<float>> transpose_rows(
    Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<const float> values,
    std::int64_t n_columns, int threads) {
    require(indices.shape(0) == values.shape(0), "indices and values must have the same length");
    auto by_column = new_vector<std::int64_t>(n_columns + 1);
    auto rows = new_vector<std::int32_t>(indices.shape(0));
    auto sorted_values = new_vector<float>(indices.shape(0));
    {
        nb::gil_scoped_release release;
        transpose({span_of(indptr), span_of(indices), span_of(values)},
                  {span_of(by_column), span_of(rows), span_of(sorted_values), {}}, threads);
    }
    return {by_column, rows, sorted_values};
}

template <class Keys>
std::tuple<NewVector<std::int32_t>, NewVector<std::int64_t>> factorize(const Keys& queries) {
    auto codes = new_vector<std::int32_t>(queries.size());
    std::vector<std::int64_t> first_seen;
    {
        nb::gil_scoped_release release;
        first_seen = hash_factorize(queries, span_of(codes));
    }
    return {codes, take(std::move(first_seen))};
}

template <class Keys>
NewVector<std::int32_t> find(Vector<const std::int32_t> slots, const Keys& keys, const Keys& queries) {
    auto indices = new_vector<std::int32_t>(queries.size());
    nb::gil_scoped_release release;
    hash_find(span_of(slots), keys, queries, span_of(indices));
    return indices;
}

IntegerKeys integer_keys(const Vector<const std::int64_t>& keys) { return {span_of(keys)}; }

StringKeys string_keys(const Vector<const std::uint8_t>& bytes, const Vector<const std::int64_t>& offsets) {
    return {{reinterpret_cast<const char*>(bytes.data()), bytes.shape(0)}, span_of(offsets)};
}

// A sequence of str as UTF-8 bytes and offsets.
std::tuple<NewVector<std::uint8_t>, NewVector<std::int64_t>> encode(nb::typed<nb::sequence, nb::str> strings) {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};
    for (nb::handle item : strings) {
        if (!PyUnicode_Check(item.ptr())) throw nb::type_error("every id must be a str");
        Py_ssize_t size;
        const char* text = PyUnicode_AsUTF8AndSize(item.ptr(), &size);
        if (!text) throw nb::python_error();
        bytes.insert(bytes.end(), text, text + size);
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
    return {take(std::move(bytes)), take(std::move(offsets))};
}

}  // namespace

void bind_data(nb::module_& m) {
    m.def("counting_sort", &sort_rows, nb::arg("keys").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("n_keys"), nb::arg("with_order"), nb::arg("threads"));

    m.def("transpose", &transpose_rows, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("n_columns"), nb::arg("threads"));
    m.def("slots_for", &slots_for, nb::arg("n_keys"));
    m.def("encode", &encode, nb::arg("strings"));
    m.def(
        "factorize_integers", [](Vector<const std::int64_t> ids) { return factorize(integer_keys(ids)); },
        nb::arg("ids").noconvert());
    m.def(
        "factorize_strings",
        [](Vector<const std::uint8_t> bytes, Vector<const std::int64_t> offsets) {
            return factorize(string_keys(bytes, offsets));
        },
        nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert());
    m.def(
        "insert_integers",
        [](Vector<std::int32_t> slots, std::int64_t first, Vector<const std::int64_t> keys) {
            hash_insert(span_of(slots), integer_keys(keys), first);
        },
        nb::arg("slots").noconvert(), nb::arg("first"), nb::arg("keys").noconvert());
    m.def(
        "insert_strings",
        [](Vector<std::int32_t> slots, std::int64_t first, Vector<const std::uint8_t> bytes,
           Vector<const std::int64_t> offsets) { hash_insert(span_of(slots), string_keys(bytes, offsets), first); },
        nb::arg("slots").noconvert(), nb::arg("first"), nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert());
    m.def(
        "find_integers",
        [](Vector<const std::int32_t> slots, Vector<const std::int64_t> keys, Vector<const std::int64_t> queries) {
            return find(slots, integer_keys(keys), integer_keys(queries));
        },
        nb::arg("slots").noconvert(), nb::arg("keys").noconvert(), nb::arg("queries").noconvert());
    m.def(
        "find_strings",
        [](Vector<const std::int32_t> slots, Vector<const std::uint8_t> bytes, Vector<const std::int64_t> offsets,
           Vector<const std::uint8_t> query_bytes, Vector<const std::int64_t> query_offsets) {
            return find(slots, string_keys(bytes, offsets), string_keys(query_bytes, query_offsets));
        },
        nb::arg("slots").noconvert(), nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("query_bytes").noconvert(), nb::arg("query_offsets").noconvert());
}
