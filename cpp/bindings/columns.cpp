#include "pattern.hpp"
#include "rankfill/drive_columns.hpp"

namespace {

ColumnPass pass_of(const CheckedPattern& entries, const Vector<const float>& values,
                   const Vector<const std::int32_t>& order, const Matrix<float>& moving, Factors<float> dictionary,
                   const ColumnRule& rule) {
    const Csr columns = entries.with(values);
    const auto x = factors_of(moving, "moving");
    require(x.stride == dictionary.stride, "moving and dictionary must have the same number of columns");
    entries.require_table(x.n_rows, dictionary.n_rows, "moving", "dictionary");
    require_rows(span_of(order), x.n_rows, "order", "moving");
    require_ridge(rule.ridge, x.stride);
    return {columns, span_of(order), x, dictionary, rule, {nullptr, nullptr}};
}

std::tuple<double, double> broyden(const CheckedPattern& entries, Vector<const float> values,
                                   Vector<const std::int32_t> order, Matrix<float> moving, Matrix<float> dictionary,
                                   const ColumnRule& rule, Matrix<double> gram, Vector<std::int64_t> age,
                                   std::int64_t batch, int threads, const std::string& isa) {
    ColumnPass pass = pass_of(entries, values, order, moving, factors_of(dictionary, "dictionary"), rule);
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

std::tuple<double, double> gradient(const CheckedPattern& entries, Vector<const float> values,
                                    Vector<const std::int32_t> order, Matrix<float> moving, Matrix<float> dictionary,
                                    const ColumnRule& rule, const std::string& isa) {
    const ColumnPass pass = pass_of(entries, values, order, moving, factors_of(dictionary, "dictionary"), rule);
    const KernelTable& kernels = table(isa);
    ColumnSums sums;
    {
        nb::gil_scoped_release release;
        sums = kernels.columns.gradient(pass);
    }
    return {sums.objective, sums.squared};
}

void solve(const CheckedPattern& entries, Vector<const float> values, Vector<const std::int32_t> order,
           Matrix<float> moving, Matrix<const float> dictionary, const ColumnRule& rule, int threads,
           const std::string& isa) {
    const auto c = factors_of(dictionary, "dictionary");
    const Factors<float> unchanged{const_cast<float*>(c.data), c.n_rows, c.stride};
    const ColumnPass pass = pass_of(entries, values, order, moving, unchanged, rule);
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

    m.def("broyden_columns", &broyden, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("order").noconvert(),
          nb::arg("moving").noconvert(), nb::arg("dictionary").noconvert(), nb::arg("rule"),
          nb::arg("gram").noconvert(), nb::arg("age").noconvert(), nb::arg("batch"), nb::arg("threads"),
          nb::arg("isa"));
    m.def("gradient_columns", &gradient, nb::arg("pattern"), nb::arg("values").noconvert(),
          nb::arg("order").noconvert(), nb::arg("moving").noconvert(), nb::arg("dictionary").noconvert(),
          nb::arg("rule"), nb::arg("isa"));
    m.def("solve_columns", &solve, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("order").noconvert(),
          nb::arg("moving").noconvert(), nb::arg("dictionary").noconvert(), nb::arg("rule"), nb::arg("threads"),
          nb::arg("isa"));
}
