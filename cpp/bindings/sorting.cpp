#include "pattern.hpp"
#include "rankfill/codes.hpp"
#include "rankfill/counting_sort.hpp"

namespace {

std::tuple<NewVector<std::int64_t>, NewVector<std::int32_t>, NewVector<float>, NewVector<std::int64_t>> sort_rows(
    Vector<const std::int32_t> keys, Vector<const std::int32_t> indices, Vector<const float> values,
    std::int64_t n_keys, bool with_order, int threads) {
    const std::size_t n = keys.shape(0);
    require(indices.shape(0) == n && values.shape(0) == n, "keys, indices and values must have the same length");
    require(n_keys >= 0, "n_keys must be zero or a positive number");
    require_rows(span_of(keys), n_keys, "keys", "the result");
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
    const CheckedPattern& entries, Vector<const float> values, std::int64_t n_columns, int threads) {
    const Csr by_row = entries.with(values);
    entries.require_columns(n_columns, "the result");
    require(entries.n_rows() <= std::numeric_limits<std::int32_t>::max(), "there must be fewer than 2^31 rows");
    auto by_column = new_vector<std::int64_t>(n_columns + 1);
    auto rows = new_vector<std::int32_t>(entries.n_entries());
    auto sorted_values = new_vector<float>(entries.n_entries());
    {
        nb::gil_scoped_release release;
        transpose(by_row, {span_of(by_column), span_of(rows), span_of(sorted_values), {}}, threads);
    }
    return {by_column, rows, sorted_values};
}

void decode_values(Vector<const std::uint8_t> codes, Vector<const float> scale, Vector<float> values, int threads) {
    require(scale.shape(0) == 256, "the scale must have 256 values, one for each code");
    require(values.shape(0) == codes.shape(0), "there must be one value for each code");
    nb::gil_scoped_release release;
    decode(span_of(codes), span_of(scale), span_of(values), threads);
}

}  // namespace

void bind_sorting(nb::module_& m) {
    m.def("counting_sort", &sort_rows, nb::arg("keys").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("n_keys"), nb::arg("with_order"), nb::arg("threads"));

    m.def("transpose", &transpose_rows, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("n_columns"),
          nb::arg("threads"));

    m.def("decode", &decode_values, nb::arg("codes").noconvert(), nb::arg("scale").noconvert(),
          nb::arg("values").noconvert(), nb::arg("threads"), "values[k] = scale[codes[k]].");
}
