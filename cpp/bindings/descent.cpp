#include "arrays.hpp"
#include "rankfill/drive.hpp"

namespace {

constexpr std::int64_t kRowsAtOnce = 64;

template <class Task>
void for_rows(std::int64_t n_rows, int threads, const Task& task) {
    parallel_for((n_rows + kRowsAtOnce - 1) / kRowsAtOnce, threads,
                 [&](std::int64_t i) { task(i * kRowsAtOnce, std::min(n_rows, (i + 1) * kRowsAtOnce)); });
}

Csr csr_of(const Vector<const std::int64_t>& indptr, const Vector<const std::int32_t>& indices,
           const Vector<const float>& values) {
    require(indices.shape(0) == values.shape(0), "indices and values must have the same length");
    return {span_of(indptr), span_of(indices), span_of(values)};
}

template <class T>
void check(const Csr& ratings, const Factors<T>& moving, const Factors<const float>& fixed) {
    require(moving.stride == fixed.stride, "moving and fixed must have the same number of columns");
    require(moving.n_rows == ratings.n_rows(), "moving must have one row for each row of the ratings");
}

NewVector<float> residuals(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                           Vector<const float> values, Matrix<const float> moving, Matrix<const float> fixed,
                           float offset, int threads, const std::string& isa) {
    const Csr ratings = csr_of(indptr, indices, values);
    const auto w = factors_of(moving, "moving"), x = factors_of(fixed, "fixed");
    check(ratings, w, x);
    auto result = new_vector<float>(values.shape(0));
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        for_rows(ratings.n_rows(), threads, [&](std::int64_t first, std::int64_t last) {
            kernels.descent.residuals(ratings, w, x, offset, first, last, result.data());
        });
    }
    return result;
}

FactorStep step_of(const Vector<const std::int64_t>& indptr, const Vector<const std::int32_t>& indices,
                   const Vector<float>& residuals, float* own, std::size_t n_own, const Vector<const float>& other) {
    require(indices.shape(0) == residuals.shape(0), "there must be one residual for each entry");
    require(n_own + 1 == indptr.shape(0), "own must have one number for each row");
    return {indptr.data(), indices.data(), residuals.data(), own, other.data()};
}

void shift(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<float> residuals,
           Vector<const float> own, Vector<const float> other, float sign, int threads, const std::string& isa) {
    FactorStep step =
        step_of(indptr, indices, residuals, const_cast<float*>(own.data()), own.shape(0), other);  // only read
    step.sign = sign;
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    for_rows(own.shape(0), threads, [&](auto first, auto last) { kernels.descent.shift_rows(step, first, last); });
}

void move(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<float> residuals,
          Vector<float> own, Vector<const float> other, double penalty, bool by_count, bool nonnegative, int threads,
          const std::string& isa) {
    FactorStep step = step_of(indptr, indices, residuals, own.data(), own.shape(0), other);
    step.penalty = penalty, step.by_count = by_count, step.nonnegative = nonnegative;
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    for_rows(own.shape(0), threads, [&](auto first, auto last) { kernels.descent.move_rows(step, first, last); });
}

void multiplicative(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<const float> values,
                    Matrix<float> moving, Matrix<const float> fixed, Matrix<const float> start, double penalty,
                    double shrinkage, int threads, const std::string& isa) {
    const Csr ratings = csr_of(indptr, indices, values);
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    const auto towards = factors_of(start, "start");
    check(ratings, w, x);
    require(towards.n_rows == w.n_rows && towards.stride == w.stride, "start must have the shape of moving");
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    for_rows(ratings.n_rows(), threads, [&](std::int64_t first, std::int64_t last) {
        kernels.descent.multiplicative_rows(ratings, w, x, towards, penalty, shrinkage, first, last);
    });
}

}  // namespace

void bind_descent(nb::module_& m) {
    m.def("residuals", &residuals, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(), nb::arg("offset"),
          nb::arg("threads"), nb::arg("isa"));
    m.def("shift_residuals", &shift, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("residuals").noconvert(), nb::arg("own").noconvert(), nb::arg("other").noconvert(), nb::arg("sign"),
          nb::arg("threads"), nb::arg("isa"));
    m.def("move_factor", &move, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("residuals").noconvert(), nb::arg("own").noconvert(), nb::arg("other").noconvert(),
          nb::arg("penalty"), nb::arg("by_count"), nb::arg("nonnegative"), nb::arg("threads"), nb::arg("isa"));
    m.def("multiplicative_rows", &multiplicative, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(),
          nb::arg("start").noconvert(), nb::arg("penalty"), nb::arg("shrinkage"), nb::arg("threads"), nb::arg("isa"));
}
