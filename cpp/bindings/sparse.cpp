#include "pattern.hpp"
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
NewVector<T> entries(const CheckedPattern& rows, Matrix<const T> left, Matrix<const T> right, int threads,
                     const std::string& isa) {
    const Pattern pattern = rows.spans();
    const auto p = block_of(left), q = block_of(right);
    require(p.width == q.width, "left and right must have the same number of columns");
    require(p.width > 0 && p.width % 16 == 0, "left and right must have a multiple of 16 columns");
    rows.require_table(p.n_rows, q.n_rows, "left", "right");
    auto result = new_vector<T>(rows.n_entries());
    const auto& kernels = kernels_of<T>(table(isa));
    {
        nb::gil_scoped_release release;
        for_rows(p.n_rows, threads,
                 [&](auto first, auto last) { kernels.entries(pattern, p, q, first, last, result.data()); });
    }
    return result;
}

template <class T>
NewMatrix<T> times(const CheckedPattern& rows, Vector<const T> values, Matrix<const T> block, int threads,
                   const std::string& isa) {
    const Pattern pattern = rows.spans();
    require(rows.n_entries() == values.shape(0), "there must be one value for each entry of the rows");
    const auto x = block_of(block);
    rows.require_columns(x.n_rows, "block");
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

template <class T>
NewMatrix<T> gram(const CheckedPattern& by_row, Vector<const T> values, const CheckedPattern& by_column,
                  Vector<const T> column_values, int threads, const std::string& isa) {
    const Pattern rows = by_row.spans(), columns = by_column.spans();
    require(by_row.n_entries() == values.shape(0) && by_column.n_entries() == column_values.shape(0),
            "there must be one value for each entry of the rows");
    require(values.shape(0) == column_values.shape(0), "rows and columns must hold the same entries");
    by_row.require_columns(by_column.n_rows(), "columns");
    by_column.require_columns(by_row.n_rows(), "rows");
    auto result = new_matrix<T>(rows.n_rows(), rows.n_rows());
    const Block<T> target{result.data(), rows.n_rows(), rows.n_rows()};
    const auto& kernels = kernels_of<T>(table(isa));
    {
        nb::gil_scoped_release release;
        for_rows(rows.n_rows(), threads, [&](auto first, auto last) {
            kernels.gram(rows, values.data(), columns, column_values.data(), first, last, target);
        });
    }
    return result;
}

template <class T>
void bind_products(nb::module_& m, const char* entries_name, const char* times_name, const char* gram_name) {
    m.def(entries_name, &entries<T>, nb::arg("pattern"), nb::arg("left").noconvert(), nb::arg("right").noconvert(),
          nb::arg("threads"), nb::arg("isa"));
    m.def(times_name, &times<T>, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("block").noconvert(),
          nb::arg("threads"), nb::arg("isa"));
    m.def(gram_name, &gram<T>, nb::arg("rows"), nb::arg("values").noconvert(), nb::arg("columns"),
          nb::arg("column_values").noconvert(), nb::arg("threads"), nb::arg("isa"));
}

}  // namespace

void bind_sparse(nb::module_& m) {
    bind_products<double>(m, "sparse_entries", "sparse_times", "sparse_gram");
    bind_products<float>(m, "sparse_entries_float", "sparse_times_float", "sparse_gram_float");
}
