#include "arrays.hpp"
#include "rankfill/drive_columns.hpp"

namespace {

ColumnPass pass_of(const Vector<const std::int64_t>& indptr, const Vector<const std::int32_t>& indices,
                   const Vector<const float>& values, const Vector<const std::int32_t>& order,
                   const Matrix<float>& moving, Factors<float> dictionary, const ColumnRule& rule) {
    const Csr columns{span_of(indptr), span_of(indices), span_of(values)};
    const auto x = factors_of(moving, "moving");
    require(x.stride == dictionary.stride, "moving and dictionary must have the same number of columns");
    require(x.n_rows == columns.n_rows(), "moving must have one row for each column of the ratings");
    require(indices.shape(0) == values.shape(0), "indices and values must have the same length");
    require(rule.ridge.rank >= 1 && rule.ridge.rank + 2 * (rule.ridge.bias_column >= 0) <= x.stride,
            "the factors must have room for the rank and the biases");
    return {columns, span_of(order), x, dictionary, rule, {nullptr, nullptr}};
}

std::tuple<double, double> broyden(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                                   Vector<const float> values, Vector<const std::int32_t> order, Matrix<float> moving,
                                   Matrix<float> dictionary, const ColumnRule& rule, Matrix<double> gram,
                                   Vector<std::int64_t> age, std::int64_t batch, int threads, const std::string& isa) {
    ColumnPass pass = pass_of(indptr, indices, values, order, moving, factors_of(dictionary, "dictionary"), rule);
    const std::size_t unknowns = rule.ridge.order();
    require(gram.shape(0) == unknowns && gram.shape(1) == (unknowns / 16 + 1) * 16 && age.shape(0) == 1,
            "the Gram matrix must have a row for each unknown and room for a right-hand side, in sixteens");
    pass.gram = {gram.data(), age.data()};
    const KernelTable& kernels = table(isa);
    ColumnSums sums;
    {
        nb::gil_scoped_release release;
        sums = broyden_columns(kernels, pass, batch, threads);
    }
    return {sums.objective, sums.squared};
}

std::tuple<double, double> gradient(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                                    Vector<const float> values, Vector<const std::int32_t> order, Matrix<float> moving,
                                    Matrix<float> dictionary, const ColumnRule& rule, const std::string& isa) {
    const ColumnPass pass = pass_of(indptr, indices, values, order, moving, factors_of(dictionary, "dictionary"), rule);
    const KernelTable& kernels = table(isa);
    ColumnSums sums;
    {
        nb::gil_scoped_release release;
        sums = kernels.columns.gradient(pass);
    }
    return {sums.objective, sums.squared};
}

void solve(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<const float> values,
           Vector<const std::int32_t> order, Matrix<float> moving, Matrix<const float> dictionary,
           const ColumnRule& rule, int threads, const std::string& isa) {
    const auto c = factors_of(dictionary, "dictionary");
    const Factors<float> unchanged{const_cast<float*>(c.data), c.n_rows, c.stride};
    const ColumnPass pass = pass_of(indptr, indices, values, order, moving, unchanged, rule);
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    solve_columns(kernels, pass, threads);
}

}  // namespace

void bind_columns(nb::module_& m) {
    nb::class_<ColumnRule>(m, "ColumnRule", "What a step on a column does.")
        .def(
            "__init__",
            [](ColumnRule* self, const Ridge& ridge, double penalty, double rate, double unit, int inner,
               bool from_row) { new (self) ColumnRule{ridge, penalty, rate, unit, inner, from_row}; },
            nb::kw_only(), nb::arg("ridge"), nb::arg("penalty"), nb::arg("rate"), nb::arg("unit"), nb::arg("inner"),
            nb::arg("from_row"));

    m.def("broyden_columns", &broyden, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("order").noconvert(), nb::arg("moving").noconvert(),
          nb::arg("dictionary").noconvert(), nb::arg("rule"), nb::arg("gram").noconvert(), nb::arg("age").noconvert(),
          nb::arg("batch"), nb::arg("threads"), nb::arg("isa"));
    m.def("gradient_columns", &gradient, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("order").noconvert(), nb::arg("moving").noconvert(),
          nb::arg("dictionary").noconvert(), nb::arg("rule"), nb::arg("isa"));
    m.def("solve_columns", &solve, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("order").noconvert(), nb::arg("moving").noconvert(),
          nb::arg("dictionary").noconvert(), nb::arg("rule"), nb::arg("threads"), nb::arg("isa"));
}
