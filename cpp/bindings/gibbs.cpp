#include <nanobind/stl/optional.h>

#include "pattern.hpp"
#include "rankfill/drive_gibbs.hpp"

namespace {

PosteriorSide side_of(Vector<const std::int32_t> indices, const Matrix<const float>& rows, int held_column, int rank,
                      std::int64_t n_entries, const char* name) {
    const auto x = factors_of(rows, name);
    require(rank <= x.stride && held_column >= 0 && held_column < x.stride,
            "the rows of the other sides must have room for the rank and their bias");
    require(std::ssize(span_of(indices)) == n_entries, "there must be one index of each side for each entry");
    return {span_of(indices), x, held_column};
}

void draw(const CheckedPattern& entries, Vector<const float> values, Matrix<float> moving, Matrix<const float> fixed,
          int held_column, std::optional<Vector<const std::int32_t>> third_indices,
          std::optional<Matrix<const float>> third, int third_held_column, int rank, int bias_column,
          double noise_precision, Matrix<const double> precision, Matrix<const float> prior, std::uint64_t key,
          std::optional<Matrix<float>> means, std::optional<Vector<const std::int32_t>> numbers, int threads,
          const std::string& isa) {
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    const Csr ratings = entries.with(values);
    require(rank >= 1, "there must be at least one factor");
    require(rank < w.stride && bias_column >= 0 && bias_column < w.stride,
            "the moving rows must have room for the rank and their bias");
    require(rank <= x.stride && held_column >= 0 && held_column < x.stride,
            "the fixed rows must have room for the rank and their bias");
    entries.require_table(w.n_rows, x.n_rows, "moving", "fixed");
    RowPosterior pass{ratings,
                      w,
                      {ratings.indices, x, held_column},
                      {},
                      rank,
                      bias_column,
                      noise_precision,
                      factors_of(precision, "precision"),
                      factors_of(prior, "prior"),
                      key,
                      {nullptr, 0, 0},
                      {}};
    require(pass.precision.n_rows > rank && pass.precision.stride > rank,
            "the precision must have a row and a column for each factor and the bias");
    require(pass.prior.stride > rank, "the prior must have a column for each factor and the bias");
    require(pass.prior.n_rows == 1 || pass.prior.n_rows == w.n_rows,
            "the prior must have one row, or one for each moving row");
    require(third.has_value() == third_indices.has_value(), "the third side needs rows and indices, or neither");
    if (third) {
        pass.second = side_of(*third_indices, *third, third_held_column, rank, std::ssize(ratings.indices), "third");
        require_rows(pass.second.indices, pass.second.rows.n_rows, "third_indices", "third");
    }
    if (means) {
        pass.means = factors_of(*means, "means");
        require(pass.means.n_rows == w.n_rows && pass.means.stride == w.stride, "the means must be as large as moving");
    }
    if (numbers) {
        pass.numbers = span_of(*numbers);
        require(std::ssize(pass.numbers) == w.n_rows, "there must be one number for each moving row");
    }
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    draw_rows(kernels, pass, threads);
}

NewMatrix<float> normals(std::uint64_t key, std::int64_t n_rows, int width, int threads) {
    require(n_rows >= 0 && width >= 0, "the numbers of rows and columns must not be negative");
    auto numbers = new_matrix<float>(n_rows, width);
    nb::gil_scoped_release release;
    normal_rows(key, n_rows, width, numbers.data(), threads);
    return numbers;
}

}  // namespace

void bind_gibbs(nb::module_& m) {
    m.def("draw_rows", &draw, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("moving").noconvert(),
          nb::arg("fixed").noconvert(), nb::arg("held_column"), nb::arg("third_indices").noconvert().none(),
          nb::arg("third").noconvert().none(), nb::arg("third_held_column"), nb::arg("rank"), nb::arg("bias_column"),
          nb::arg("noise_precision"), nb::arg("precision").noconvert(), nb::arg("prior").noconvert(), nb::arg("key"),
          nb::arg("means").noconvert().none(), nb::arg("numbers").noconvert().none(), nb::arg("threads"),
          nb::arg("isa"));
    m.def("normal_rows", &normals, nb::arg("key"), nb::arg("n_rows"), nb::arg("width"), nb::arg("threads"));
}
