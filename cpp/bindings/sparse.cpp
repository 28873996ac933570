#include "arrays.hpp"
#include "rankfill/drive.hpp"

namespace {

constexpr std::int64_t kRowsAtOnce = 16, kPanelBytes = 512;

template <class Task>
void for_rows(std::int64_t n_rows, int threads, const Task& task) {
    parallel_for((n_rows + kRowsAtOnce - 1) / kRowsAtOnce, threads,
                 [&](std::int64_t i) { task(i * kRowsAtOnce, std::min(n_rows, (i + 1) * kRowsAtOnce)); });
}

template <class T>
Block<T> block_of(const Matrix<T>& m) {
    return {m.data(), static_cast<std::int64_t>(m.shape(0)), static_cast<std::int64_t>(m.shape(1))};
}

template <class T>
const SparseKernels<T>& kernels_of(const KernelTable& table) {
    if constexpr (std::is_same_v<T, float>)
        return table.sparse_float;
    else
        return table.sparse_double;
}

template <class T>
NewVector<T> entries(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Matrix<const T> left,
                     Matrix<const T> right, int threads, const std::string& isa) {
    const Pattern pattern{span_of(indptr), span_of(indices)};
    const auto p = block_of(left), q = block_of(right);
    require(p.width == q.width, "left and right must have the same number of columns");
    require(p.width > 0 && p.width % 16 == 0, "left and right must have a multiple of 16 columns");
    require(p.n_rows == pattern.n_rows(), "left must have one row for each row of the pattern");
    auto result = new_vector<T>(indices.shape(0));
    const auto& kernels = kernels_of<T>(table(isa));
    {
        nb::gil_scoped_release release;
        for_rows(p.n_rows, threads,
                 [&](auto first, auto last) { kernels.entries(pattern, p, q, first, last, result.data()); });
    }
    return result;
}

template <class T>
NewMatrix<T> times(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<const T> values,
                   Matrix<const T> block, int threads, const std::string& isa) {
    const Pattern pattern{span_of(indptr), span_of(indices)};
    require(indices.shape(0) == values.shape(0), "indices and values must have the same length");
    const auto x = block_of(block);
    auto result = new_matrix<T>(pattern.n_rows(), x.width);
    const Block<T> target{result.data(), pattern.n_rows(), x.width};
    const auto& kernels = kernels_of<T>(table(isa));
    {
        nb::gil_scoped_release release;
        // A few columns of the block at a time, so that what all rows read of it stays in the cache.
        constexpr std::int64_t columns_at_once = kPanelBytes / sizeof(T);
        const std::int64_t n_panels = (x.width + columns_at_once - 1) / columns_at_once,
                           n_parts = (pattern.n_rows() + kRowsAtOnce - 1) / kRowsAtOnce;
        parallel_for(n_panels * n_parts, threads, [&](std::int64_t i) {
            const std::int64_t from = i / n_parts * columns_at_once, first = i % n_parts * kRowsAtOnce;
            kernels.times(pattern, values.data(), x, first, std::min(pattern.n_rows(), first + kRowsAtOnce), from,
                          std::min(x.width, from + columns_at_once), target);
        });
    }
    return result;
}

NewMatrix<double> gram(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                       Vector<const double> values, Vector<const std::int64_t> column_indptr,
                       Vector<const std::int32_t> column_indices, Vector<const double> column_values, int threads,
                       const std::string& isa) {
    const Pattern rows{span_of(indptr), span_of(indices)}, columns{span_of(column_indptr), span_of(column_indices)};
    require(indices.shape(0) == values.shape(0) && column_indices.shape(0) == column_values.shape(0),
            "indices and values must have the same length");
    require(values.shape(0) == column_values.shape(0), "rows and columns must hold the same entries");
    auto result = new_matrix<double>(rows.n_rows(), rows.n_rows());
    const Block<double> target{result.data(), rows.n_rows(), rows.n_rows()};
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        for_rows(rows.n_rows(), threads, [&](auto first, auto last) {
            kernels.sparse_gram(rows, values.data(), columns, column_values.data(), first, last, target);
        });
    }
    return result;
}

template <class T>
void bind_products(nb::module_& m, const char* entries_name, const char* times_name) {
    m.def(entries_name, &entries<T>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("threads"), nb::arg("isa"));
    m.def(times_name, &times<T>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("block").noconvert(), nb::arg("threads"), nb::arg("isa"));
}

}  // namespace

void bind_sparse(nb::module_& m) {
    bind_products<double>(m, "sparse_entries", "sparse_times");
    bind_products<float>(m, "sparse_entries_float", "sparse_times_float");
    m.def("sparse_gram", &gram, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("column_indptr").noconvert(), nb::arg("column_indices").noconvert(),
          nb::arg("column_values").noconvert(), nb::arg("threads"), nb::arg("isa"));
}
