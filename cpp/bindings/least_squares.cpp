#include "arrays.hpp"
#include "rankfill/drive_ridge.hpp"

namespace {

RidgePass pass_of(const Vector<const std::int64_t>& indptr, const Vector<const std::int32_t>& indices,
                  const Vector<const float>& values, Factors<float> moving, const Matrix<const float>& fixed,
                  const Ridge& ridge) {
    const Csr ratings{span_of(indptr), span_of(indices), span_of(values)};
    const auto x = factors_of(fixed, "fixed");
    require(moving.stride == x.stride, "moving and fixed must have the same number of columns");
    require(moving.n_rows == ratings.n_rows(), "moving must have one row for each row of the ratings");
    require(indices.shape(0) == values.shape(0), "indices and values must have the same length");
    require(ridge.rank >= 1 && ridge.rank + 2 * (ridge.bias_column >= 0) <= x.stride,
            "the factors must have room for the rank and the biases");
    require(ridge.bias_column < x.stride && ridge.held_column < x.stride, "the columns of the biases must exist");
    return {ratings, moving, x, ridge, nullptr};
}

void solve(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<const float> values,
           Matrix<float> moving, Matrix<const float> fixed, const Ridge& ridge, Matrix<const float> gram, int threads,
           const std::string& isa) {
    RidgePass pass = pass_of(indptr, indices, values, factors_of(moving, "moving"), fixed, ridge);
    pass.gram = gram.data();
    const std::size_t stride = pass.fixed.stride;
    require(!ridge.implicit || (gram.shape(0) == stride && gram.shape(1) == stride),
            "implicit feedback needs the Gram matrix of the fixed rows");
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    solve_rows(kernels, pass, threads);
}

std::tuple<double, double> errors(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                                  Vector<const float> values, Matrix<const float> moving, Matrix<const float> fixed,
                                  const Ridge& ridge, int threads, const std::string& isa) {
    const auto w = factors_of(moving, "moving");
    const Factors<float> unchanged{const_cast<float*>(w.data), w.n_rows, w.stride};
    const RidgePass pass = pass_of(indptr, indices, values, unchanged, fixed, ridge);
    const KernelTable& kernels = table(isa);
    SquaredErrors sums;
    {
        nb::gil_scoped_release release;
        sums = squared_errors(kernels, pass, threads);
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
               double bias_penalty, bool by_count, bool nonnegative, bool implicit, float confidence, int steps) {
                new (self) Ridge{rank,     bias_column, held_column, offset,     penalty, bias_penalty,
                                 by_count, nonnegative, implicit,    confidence, steps};
            },
            nb::kw_only(), nb::arg("rank"), nb::arg("bias_column"), nb::arg("held_column"), nb::arg("offset"),
            nb::arg("penalty"), nb::arg("bias_penalty"), nb::arg("by_count"), nb::arg("nonnegative"),
            nb::arg("implicit"), nb::arg("confidence"), nb::arg("steps"));

    m.def("solve_rows", &solve, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(), nb::arg("ridge"),
          nb::arg("gram").noconvert(), nb::arg("threads"), nb::arg("isa"));
    m.def("squared_errors", &errors, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(), nb::arg("ridge"),
          nb::arg("threads"), nb::arg("isa"));
    m.def("gram_matrix", &gram, nb::arg("factors").noconvert(), nb::arg("threads"), nb::arg("isa"));
}
