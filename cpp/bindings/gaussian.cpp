#include "pattern.hpp"
#include "rankfill/drive_gaussian.hpp"

namespace {

NewMatrix<double> fill(const CheckedPattern& entries, Matrix<double> values, Matrix<const double> precision,
                       int threads, const std::string& isa) {
    const Pattern holes = entries.spans();
    const GaussianTable rows{holes.indptr, holes.indices, factors_of(values, "values"),
                             factors_of(precision, "precision")};
    entries.require_table(rows.values.n_rows, rows.precision.n_rows, "values", "precision");
    require(values.shape(1) == precision.shape(1), "values and precision must have the same number of columns");
    require(precision.shape(0) <= precision.shape(1), "precision must have a row for each column");
    const KernelTable& kernels = table(isa);
    auto covariance = new_matrix<double>(precision.shape(0), precision.shape(1));
    std::fill_n(covariance.data(), precision.shape(0) * precision.shape(1), 0.0);
    nb::gil_scoped_release release;
    fill_rows(kernels, rows, covariance.data(), threads);
    return covariance;
}

}  // namespace

void bind_gaussian(nb::module_& m) {
    m.def("fill_rows", &fill, nb::arg("holes"), nb::arg("values").noconvert(), nb::arg("precision").noconvert(),
          nb::arg("threads"), nb::arg("isa"));
}
