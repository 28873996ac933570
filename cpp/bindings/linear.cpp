#include "pattern.hpp"

namespace {

LazyMethod method_of(const std::string& name) {
    if (name == "sgd") return LazyMethod::kSgd;
    if (name == "asgd") return LazyMethod::kAveraged;
    if (name == "sag") return LazyMethod::kSag;
    if (name == "saga") return LazyMethod::kSaga;
    if (name == "svrg") return LazyMethod::kSvrg;
    refuse("method must be sgd, asgd, sag, saga or svrg, found " + name);
}

LazyLoss loss_of(const std::string& name) {
    if (name == "squared") return LazyLoss::kSquared;
    if (name == "logistic") return LazyLoss::kLogistic;
    refuse("loss must be squared or logistic, found " + name);
}

std::int64_t lazy_steps(const CheckedPattern& rows, Vector<const double> values, Vector<const double> targets,
                        Matrix<double> coordinates, Vector<double> shared, Vector<double> slopes, std::int64_t first,
                        std::int64_t last, const std::string& method, const std::string& loss, double step,
                        double decay, double power, bool intercept, std::uint64_t seed, const std::string& isa) {
    const auto n = static_cast<std::size_t>(rows.n_rows());
    require(values.shape(0) == rows.n_entries(), "there must be one value for each entry of the rows");
    require(targets.shape(0) == n && slopes.shape(0) == n, "there must be one target and one slope for each row");
    require(coordinates.shape(1) == 3, "a coordinate is three numbers");
    rows.require_columns(static_cast<std::int64_t>(coordinates.shape(0)), "coordinates");
    require(shared.shape(0) == 4, "the coordinates share four numbers");
    require(0 <= first && first <= last, "steps go from one number to a larger one");
    require(n > 0 || first == last, "there must be rows to draw from");
    require(n < (std::size_t{1} << 32), "there must be fewer than 2^32 rows");
    require(step >= 0 && decay >= 0 && step * decay < 1, "step times decay must be below 1");
    const LazyRule rule{method_of(method), loss_of(loss), step, decay, power, intercept, seed};
    const LazyProblem problem{rows.spans(),
                              values.data(),
                              targets.data(),
                              {reinterpret_cast<Coordinate*>(coordinates.data()), coordinates.shape(0)},
                              slopes.data()};
    LazyShared state{shared.data()[0], shared.data()[1], shared.data()[2], shared.data()[3]};
    const KernelTable& kernels = table(isa);
    std::int64_t visits;
    {
        nb::gil_scoped_release release;
        visits = kernels.lazy_steps(problem, rule, state, first, last);
    }
    shared.data()[0] = state.scale;
    shared.data()[1] = state.sum;
    shared.data()[2] = state.intercept;
    shared.data()[3] = state.intercept_second;
    return visits;
}

}  // namespace

void bind_linear(nb::module_& m) {
    m.def("lazy_steps", &lazy_steps, nb::arg("rows"), nb::arg("values").noconvert(), nb::arg("targets").noconvert(),
          nb::arg("coordinates").noconvert(), nb::arg("shared").noconvert(), nb::arg("slopes").noconvert(),
          nb::arg("first"), nb::arg("last"), nb::arg("method"), nb::arg("loss"), nb::arg("step"), nb::arg("decay"),
          nb::arg("power"), nb::arg("intercept"), nb::arg("seed"), nb::arg("isa"));
}
