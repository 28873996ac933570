#include "pattern.hpp"
#include "rankfill/drive.hpp"

namespace {

constexpr std::int64_t kRowsAtOnce = 64;

template <class Task>
void for_rows(std::int64_t n_rows, int threads, const Task& task) {
    parallel_for((n_rows + kRowsAtOnce - 1) / kRowsAtOnce, threads,
                 [&](std::int64_t i) { task(i * kRowsAtOnce, std::min(n_rows, (i + 1) * kRowsAtOnce)); });
}

NewVector<float> residuals(const CheckedPattern& entries, Vector<const float> values, Matrix<const float> moving,
                           Matrix<const float> fixed, float offset, int threads, const std::string& isa) {
    const Csr ratings = entries.with(values);
    const auto w = factors_of(moving, "moving"), x = factors_of(fixed, "fixed");
    require_factors(entries, w, x);
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

FactorStep step_of(const CheckedPattern& entries, const Vector<float>& residuals, float* own, std::int64_t n_own,
                   const Vector<const float>& other) {
    require(entries.n_entries() == residuals.shape(0), "there must be one residual for each entry");
    entries.require_table(n_own, other.shape(0), "own", "other");
    return {entries.indptr(), entries.indices(), residuals.data(), own, other.data()};
}

void shift(const CheckedPattern& entries, Vector<float> residuals, Vector<const float> own, Vector<const float> other,
           float sign, int threads, const std::string& isa) {
    FactorStep step = step_of(entries, residuals, const_cast<float*>(own.data()), own.shape(0), other);  // only read
    step.sign = sign;
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    for_rows(own.shape(0), threads, [&](auto first, auto last) { kernels.descent.shift_rows(step, first, last); });
}

void move(const CheckedPattern& entries, Vector<float> residuals, Vector<float> own, Vector<const float> other,
          double penalty, bool by_count, bool nonnegative, int threads, const std::string& isa) {
    FactorStep step = step_of(entries, residuals, own.data(), own.shape(0), other);
    step.penalty = penalty, step.by_count = by_count, step.nonnegative = nonnegative;
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    for_rows(own.shape(0), threads, [&](auto first, auto last) { kernels.descent.move_rows(step, first, last); });
}

void multiplicative(const CheckedPattern& entries, Vector<const float> values, Matrix<float> moving,
                    Matrix<const float> fixed, Matrix<const float> start, double penalty, double shrinkage, int threads,
                    const std::string& isa) {
    const Csr ratings = entries.with(values);
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    const auto towards = factors_of(start, "start");
    require_factors(entries, w, x);
    require(towards.n_rows == w.n_rows && towards.stride == w.stride, "start must have the shape of moving");
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    for_rows(ratings.n_rows(), threads, [&](std::int64_t first, std::int64_t last) {
        kernels.descent.multiplicative_rows(ratings, w, x, towards, penalty, shrinkage, first, last);
    });
}

}  // namespace

void bind_descent(nb::module_& m) {
    m.def("residuals", &residuals, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("moving").noconvert(),
          nb::arg("fixed").noconvert(), nb::arg("offset"), nb::arg("threads"), nb::arg("isa"));
    m.def("shift_residuals", &shift, nb::arg("pattern"), nb::arg("residuals").noconvert(), nb::arg("own").noconvert(),
          nb::arg("other").noconvert(), nb::arg("sign"), nb::arg("threads"), nb::arg("isa"));
    m.def("move_factor", &move, nb::arg("pattern"), nb::arg("residuals").noconvert(), nb::arg("own").noconvert(),
          nb::arg("other").noconvert(), nb::arg("penalty"), nb::arg("by_count"), nb::arg("nonnegative"),
          nb::arg("threads"), nb::arg("isa"));
    m.def("multiplicative_rows", &multiplicative, nb::arg("pattern"), nb::arg("values").noconvert(),
          nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(), nb::arg("start").noconvert(), nb::arg("penalty"),
          nb::arg("shrinkage"), nb::arg("threads"), nb::arg("isa"));
}
