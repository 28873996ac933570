#include "arrays.hpp"
#include "rankfill/gradient_drive.hpp"

namespace {

LossRule loss_of(const std::string& loss, double width) {
    LossRule rule;
    rule.loss = loss == "squared"               ? Loss::squared
                : loss == "absolute"            ? Loss::absolute
                : loss == "epsilon-insensitive" ? Loss::insensitive
                : loss == "huber"               ? Loss::huber
                                                : Loss::logistic;
    rule.width = static_cast<float>(width);
    return rule;
}

StepSize step_of(const std::string& step) {
    return step == "adagrad"    ? StepSize::adagrad
           : step == "constant" ? StepSize::constant
           : step == "inverse"  ? StepSize::inverse
           : step == "sqrt"     ? StepSize::sqrt
           : step == "power"    ? StepSize::power
                                : StepSize::line_search;
}

using Sums = std::tuple<double, double, double>;
Sums sums_of(const RoundSums& sums) { return {sums.loss, sums.squared, sums.absolute}; }

void require_rows(const Factors<float>& users, const Factors<float>& items, const Vector<float>& user_memory,
                  const Vector<float>& item_memory, const GradientRule& rule) {
    require(users.stride == items.stride, "user_factors and item_factors must have the same number of columns");
    require(rule.rank + 2 * rule.biased <= users.stride, "the factors must have a column for each factor and bias");
    require(user_memory.shape(0) == static_cast<std::size_t>(users.n_rows) &&
                item_memory.shape(0) == static_cast<std::size_t>(items.n_rows),
            "the sums of squared gradients must have one number for each row");
}

Sums pass(Vector<const std::int32_t> users, Vector<const std::int32_t> items, Vector<const float> values,
          Vector<const std::int64_t> start, Vector<const std::int32_t> strata, Matrix<float> user_factors,
          Matrix<float> item_factors, Vector<float> user_memory, Vector<float> item_memory,
          Vector<const float> user_penalties, Vector<const float> item_penalties, const GradientRule& rule,
          double first_round, int threads, const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require_rows(p, q, user_memory, item_memory, rule);
    require(user_penalties.shape(0) == user_memory.shape(0) && item_penalties.shape(0) == item_memory.shape(0),
            "there must be one penalty for each row");
    const std::size_t groups = strata.shape(0), n = start.data()[groups * groups];
    require(start.shape(0) == groups * groups + 1, "start must have one number for each block and one more");
    require(users.shape(0) >= n + 4 && items.shape(0) >= n + 4 && values.shape(0) >= n,
            "users and items must go on for four entries past the last block");
    const Grid grid{users.data(), items.data(), values.data(), start.data(), strata.data(), static_cast<int>(groups)};
    RoundSums sums;
    {
        nb::gil_scoped_release release;
        sums = gradient_pass(table(isa), grid, p, q, user_memory.data(), item_memory.data(), user_penalties.data(),
                             item_penalties.data(), rule, first_round, threads);
    }
    return sums_of(sums);
}

Sums online(Vector<const std::int32_t> users, Vector<const std::int32_t> items, Vector<const float> targets,
            double first_round, Matrix<float> user_factors, Matrix<float> item_factors, Vector<float> user_memory,
            Vector<float> item_memory, Vector<const float> user_penalties, Vector<const float> item_penalties,
            const GradientRule& rule, const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require_rows(p, q, user_memory, item_memory, rule);
    const std::size_t n = users.shape(0);
    require(
        items.shape(0) == n && targets.shape(0) == n && user_penalties.shape(0) == n && item_penalties.shape(0) == n,
        "users, items, targets and penalties must have the same length");
    RoundSums sums;
    {
        nb::gil_scoped_release release;
        sums = table(isa).gradient.rounds({span_of(users), span_of(items)}, span_of(targets), first_round, p, q,
                                          user_memory.data(), item_memory.data(), user_penalties.data(),
                                          item_penalties.data(), rule);
    }
    return sums_of(sums);
}

void reduced(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<const float> values,
             Matrix<float> moving, Matrix<const float> fixed, Vector<float> memory, const std::string& method,
             double penalty, double shrinkage, double step, int inner, int still, std::uint64_t seed, int threads,
             const std::string& isa) {
    const Csr ratings{span_of(indptr), span_of(indices), span_of(values)};
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    require(w.stride == x.stride, "moving and fixed must have the same number of columns");
    require(w.n_rows == ratings.n_rows(), "moving must have one row for each row of the ratings");
    require(indices.shape(0) == values.shape(0) && memory.shape(0) == values.shape(0),
            "indices, values and memory must have the same length");
    require(still < w.stride, "still must be a column of the rows, or -1");
    const Reduction reduction = method == "sag" ? Reduction::sag : method == "saga" ? Reduction::saga : Reduction::svrg;
    const ReducedPass pass{ratings,
                           w,
                           x,
                           memory.data(),
                           reduction,
                           static_cast<float>(penalty),
                           static_cast<float>(shrinkage),
                           static_cast<float>(step),
                           inner,
                           still,
                           seed};
    nb::gil_scoped_release release;
    variance_reduced_pass(table(isa), pass, threads);
}

Sums gradient(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<const float> values,
              Matrix<const float> moving, Matrix<const float> fixed, Matrix<float> gradient, const std::string& loss,
              double width, double penalty, double shrinkage, int threads, const std::string& isa) {
    const Csr ratings{span_of(indptr), span_of(indices), span_of(values)};
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    const auto g = factors_of(gradient, "gradient");
    require(w.stride == x.stride && w.stride == g.stride, "all factors must have the same number of columns");
    require(w.n_rows == ratings.n_rows() && g.n_rows == w.n_rows, "moving and gradient must have one row a row");
    require(indices.shape(0) == values.shape(0), "indices and values must have the same length");
    RoundSums sums;
    {
        nb::gil_scoped_release release;
        sums = full_gradient(table(isa),
                             {ratings, w, x, g, loss_of(loss, width), static_cast<float>(penalty),
                              static_cast<float>(shrinkage), nullptr},
                             threads);
    }
    return sums_of(sums);
}

}  // namespace

void bind_gradients(nb::module_& m) {
    nb::class_<GradientRule>(m, "GradientRule", "What one stochastic gradient round does.")
        .def(
            "__init__",
            [](GradientRule* self, const std::string& loss, double width, const std::string& step, double rate,
               double power, double penalty, double period, bool nonnegative_users, bool nonnegative_items, int rank,
               bool biased) {
                new (self) GradientRule{loss_of(loss, width),
                                        step_of(step),
                                        nonnegative_users,
                                        nonnegative_items,
                                        biased,
                                        rank,
                                        static_cast<float>(rate),
                                        static_cast<float>(penalty),
                                        power,
                                        period};
            },
            nb::kw_only(), nb::arg("loss"), nb::arg("width"), nb::arg("step"), nb::arg("rate"), nb::arg("power"),
            nb::arg("penalty"), nb::arg("period"), nb::arg("nonnegative_users"), nb::arg("nonnegative_items"),
            nb::arg("rank"), nb::arg("biased"));

    m.def("gradient_pass", &pass, nb::arg("users").noconvert(), nb::arg("items").noconvert(),
          nb::arg("values").noconvert(), nb::arg("start").noconvert(), nb::arg("strata").noconvert(),
          nb::arg("user_factors").noconvert(), nb::arg("item_factors").noconvert(), nb::arg("user_memory").noconvert(),
          nb::arg("item_memory").noconvert(), nb::arg("user_penalties").noconvert(),
          nb::arg("item_penalties").noconvert(), nb::arg("rule"), nb::arg("first_round"), nb::arg("threads"),
          nb::arg("isa"));
    m.def("variance_reduced_pass", &reduced, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(),
          nb::arg("memory").noconvert(), nb::arg("method"), nb::arg("penalty"), nb::arg("shrinkage"), nb::arg("step"),
          nb::arg("inner"), nb::arg("still"), nb::arg("seed"), nb::arg("threads"), nb::arg("isa"));
    m.def("full_gradient", &gradient, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(),
          nb::arg("gradient").noconvert(), nb::arg("loss"), nb::arg("width"), nb::arg("penalty"), nb::arg("shrinkage"),
          nb::arg("threads"), nb::arg("isa"));
    m.def("gradient_online", &online, nb::arg("users").noconvert(), nb::arg("items").noconvert(),
          nb::arg("targets").noconvert(), nb::arg("first_round"), nb::arg("user_factors").noconvert(),
          nb::arg("item_factors").noconvert(), nb::arg("user_memory").noconvert(), nb::arg("item_memory").noconvert(),
          nb::arg("user_penalties").noconvert(), nb::arg("item_penalties").noconvert(), nb::arg("rule"),
          nb::arg("isa"));
}
