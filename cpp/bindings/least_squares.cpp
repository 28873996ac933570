#include "pattern.hpp"
#include "rankfill/drive_ridge.hpp"

namespace {

RidgePass pass_of(const CheckedPattern& entries, const Vector<const float>& values, Factors<float> moving,
                  const Matrix<const float>& fixed, const Ridge& ridge) {
    const auto x = factors_of(fixed, "fixed");
    require_factors(entries, moving, x);
    require_ridge(ridge, x.stride);
    return {entries.with(values), moving, x, ridge, nullptr};
}

void solve(const CheckedPattern& entries, Vector<const float> values, Matrix<float> moving, Matrix<const float> fixed,
           const Ridge& ridge, Matrix<const float> gram, int threads, const std::string& isa) {
    RidgePass pass = pass_of(entries, values, factors_of(moving, "moving"), fixed, ridge);
    pass.gram = gram.data();
    const std::size_t stride = pass.fixed.stride;
    require(!ridge.implicit || (gram.shape(0) == stride && gram.shape(1) == stride),
            "implicit feedback needs the Gram matrix of the fixed rows");
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    solve_rows(kernels, pass, threads);
}

std::tuple<double, double> errors(const CheckedPattern& entries, Vector<const float> values, Matrix<const float> moving,
                                  Matrix<const float> fixed, const Ridge& ridge, int threads, const std::string& isa,
                                  const std::tuple<double, double>& before) {
    const auto w = factors_of(moving, "moving");
    const Factors<float> unchanged{const_cast<float*>(w.data), w.n_rows, w.stride};
    const RidgePass pass = pass_of(entries, values, unchanged, fixed, ridge);
    const KernelTable& kernels = table(isa);
    SquaredErrors sums{std::get<0>(before), std::get<1>(before)};
    {
        nb::gil_scoped_release release;
        sums = squared_errors(kernels, pass, threads, sums);
    }
    return {sums.weighted, sums.plain};
}

NewMatrix<float> gram(Matrix<const float> factors, int threads, const std::string& isa) {
    const auto x = factors_of(factors, "factors");
    auto result = new_matrix<float>(x.stride, x.stride);
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        gram_matrix(kernels, x, result.data(), threads);
    }
    return result;
}

}  // namespace

void bind_least_squares(nb::module_& m) {
    nb::class_<Ridge>(m, "Ridge", "What one side of a least-squares factorisation solves.")
        .def(
            "__init__",
            [](Ridge* self, int rank, int bias_column, int held_column, float offset, double penalty,
               double bias_penalty, bool by_count, bool nonnegative, bool implicit, float confidence, int steps,
               double exponent, double base, int block) {
                new (self) Ridge{rank,        bias_column, held_column, offset, penalty,  bias_penalty, by_count,
                                 nonnegative, implicit,    confidence,  steps,  exponent, base,         block};
            },
            nb::kw_only(), nb::arg("rank"), nb::arg("bias_column"), nb::arg("held_column"), nb::arg("offset"),
            nb::arg("penalty"), nb::arg("bias_penalty"), nb::arg("by_count"), nb::arg("nonnegative"),
            nb::arg("implicit"), nb::arg("confidence"), nb::arg("steps"), nb::arg("exponent") = 1.0,
            nb::arg("base") = 0.0, nb::arg("block") = 0);

    m.def("solve_rows", &solve, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("moving").noconvert(),
          nb::arg("fixed").noconvert(), nb::arg("ridge"), nb::arg("gram").noconvert(), nb::arg("threads"),
          nb::arg("isa"));
    m.def("squared_errors", &errors, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("moving").noconvert(),
          nb::arg("fixed").noconvert(), nb::arg("ridge"), nb::arg("threads"), nb::arg("isa"),
          nb::arg("before") = std::tuple<double, double>{0.0, 0.0}, "Sums go on from those of the rows before.");
    m.def("gram_matrix", &gram, nb::arg("factors").noconvert(), nb::arg("threads"), nb::arg("isa"));
}
