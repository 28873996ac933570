#include "pattern.hpp"
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

void require_memory(const Factors<float>& users, const Factors<float>& items, const Vector<float>& user_memory,
                    const Vector<float>& item_memory, const GradientRule& rule) {
    require(users.stride == items.stride, "user_factors and item_factors must have the same number of columns");
    require(rule.rank >= 1 && rule.rank <= users.stride - 2 * rule.biased,
            "the factors must have a column for each factor and bias");
    require(user_memory.shape(0) == static_cast<std::size_t>(users.n_rows) &&
                item_memory.shape(0) == static_cast<std::size_t>(items.n_rows),
            "the sums of squared gradients must have one number for each row");
}

// No rows at all: no means are wanted.
RowMeans means_of(Matrix<float> means, Vector<float> met, const Factors<float>& rows) {
    require(means.shape(0) == met.shape(0), "there must be one number of rounds for each mean");
    if (met.shape(0) == 0) return {};
    const auto found = factors_of(means, "the means");
    require(found.n_rows == rows.n_rows && found.stride == rows.stride, "the means must have the shape of the factors");
    return {found.data, met.data()};
}

// Ratings in blocks, checked when they are put together. Users and items go on for some entries past the last block.
struct CheckedGrid {
    static constexpr std::size_t kBeyond = 4;

    CheckedGrid(Vector<const std::int32_t> users, Vector<const std::int32_t> items, Vector<const float> values,
                Vector<const std::int64_t> start)
        : users(users), items(items), values(values), start(start) {
        const std::size_t n = values.shape(0);
        require_offsets(span_of(start), n, "start", "values");
        while (groups * groups + 1 < start.shape(0)) ++groups;
        require(groups * groups + 1 == start.shape(0), "start must have one number for each block and one more");
        require(users.shape(0) == n + kBeyond && items.shape(0) == n + kBeyond,
                "users and items must go on for four entries past the last block");
        require_rows(span_of(users), std::numeric_limits<std::int32_t>::max(), "users", "user_factors");
        require_rows(span_of(items), std::numeric_limits<std::int32_t>::max(), "items", "item_factors");
        n_users = std::int64_t{extents().range_of(span_of(users)).largest} + 1;
        n_items = std::int64_t{extents().range_of(span_of(items)).largest} + 1;
    }

    Vector<const std::int32_t> users, items;
    Vector<const float> values;
    Vector<const std::int64_t> start;
    std::size_t groups = 1;
    std::int64_t n_users, n_items;
};

void require_order_of_strata(std::span<const std::int32_t> strata, std::size_t groups) {
    std::vector<bool> met(groups);
    for (const std::int32_t stratum : strata)
        if (stratum >= 0 && static_cast<std::size_t>(stratum) < groups) met[stratum] = true;
    require(strata.size() == groups && std::find(met.begin(), met.end(), false) == met.end(),
            "strata must hold every number below the number of groups once");
}

Sums pass(const CheckedGrid& blocks, Vector<const std::int32_t> strata, Matrix<float> user_factors,
          Matrix<float> item_factors, Vector<float> user_memory, Vector<float> item_memory,
          Vector<const float> user_penalties, Vector<const float> item_penalties, Matrix<float> user_means,
          Matrix<float> item_means, Vector<float> user_met, Vector<float> item_met, const GradientRule& rule,
          double first_round, int threads, const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require_memory(p, q, user_memory, item_memory, rule);
    require(user_penalties.shape(0) == user_memory.shape(0) && item_penalties.shape(0) == item_memory.shape(0),
            "there must be one penalty for each row");
    require_order_of_strata(span_of(strata), blocks.groups);
    require(p.n_rows >= blocks.n_users && q.n_rows >= blocks.n_items,
            "the factors must have a row for every user and item of the grid");
    const RowMeans means_p = means_of(user_means, user_met, p), means_q = means_of(item_means, item_met, q);
    require((means_p.rows == nullptr) == (means_q.rows == nullptr), "there must be means of both sides or of neither");
    const Grid grid{blocks.users.data(), blocks.items.data(), blocks.values.data(),
                    blocks.start.data(), strata.data(),       static_cast<int>(blocks.groups)};
    RoundSums sums;
    {
        nb::gil_scoped_release release;
        sums = gradient_pass(table(isa), grid, p, q, user_memory.data(), item_memory.data(), user_penalties.data(),
                             item_penalties.data(), rule, first_round, threads, means_p, means_q);
    }
    return sums_of(sums);
}

Sums online(Vector<const std::int32_t> users, Vector<const std::int32_t> items, Vector<const float> targets,
            double first_round, Matrix<float> user_factors, Matrix<float> item_factors, Vector<float> user_memory,
            Vector<float> item_memory, Vector<const float> user_penalties, Vector<const float> item_penalties,
            const GradientRule& rule, const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require_memory(p, q, user_memory, item_memory, rule);
    const std::size_t n = users.shape(0);
    require(
        items.shape(0) == n && targets.shape(0) == n && user_penalties.shape(0) == n && item_penalties.shape(0) == n,
        "users, items, targets and penalties must have the same length");
    require_rows(span_of(users), p.n_rows, "users", "user_factors");
    require_rows(span_of(items), q.n_rows, "items", "item_factors");
    RoundSums sums;
    {
        nb::gil_scoped_release release;
        sums = table(isa).gradient.rounds({span_of(users), span_of(items)}, span_of(targets), first_round, p, q,
                                          user_memory.data(), item_memory.data(), user_penalties.data(),
                                          item_penalties.data(), rule);
    }
    return sums_of(sums);
}

void reduced(const CheckedPattern& entries, Vector<const float> values, Matrix<float> moving, Matrix<const float> fixed,
             const std::string& method, double penalty, double shrinkage, double step, int inner, int still, int bias,
             double bias_share, std::uint64_t seed, int threads, const std::string& isa) {
    const Csr ratings = entries.with(values);
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    require_factors(entries, w, x);
    require(still < w.stride && bias < w.stride, "still and bias must be columns of the rows, or -1");
    const Reduction reduction = method == "sag" ? Reduction::sag : method == "saga" ? Reduction::saga : Reduction::svrg;
    const ReducedPass pass{ratings,
                           w,
                           x,
                           reduction,
                           static_cast<float>(penalty),
                           static_cast<float>(shrinkage),
                           static_cast<float>(step),
                           inner,
                           still,
                           bias,
                           static_cast<float>(bias_share),
                           seed};
    nb::gil_scoped_release release;
    variance_reduced_pass(table(isa), pass, threads);
}

Sums gradient(const CheckedPattern& entries, Vector<const float> values, Matrix<const float> moving,
              Matrix<const float> fixed, Matrix<float> gradient, const std::string& loss, double width, double penalty,
              double shrinkage, int threads, const std::string& isa) {
    const Csr ratings = entries.with(values);
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    const auto g = factors_of(gradient, "gradient");
    require_factors(entries, w, x);
    require(g.stride == w.stride && g.n_rows == w.n_rows, "gradient must have the shape of moving");
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
               double power, double penalty, double bias_share, double period, bool nonnegative_users,
               bool nonnegative_items, int rank, bool biased) {
                new (self) GradientRule{loss_of(loss, width),
                                        step_of(step),
                                        nonnegative_users,
                                        nonnegative_items,
                                        biased,
                                        rank,
                                        static_cast<float>(rate),
                                        static_cast<float>(penalty),
                                        power,
                                        static_cast<float>(bias_share),
                                        period};
            },
            nb::kw_only(), nb::arg("loss"), nb::arg("width"), nb::arg("step"), nb::arg("rate"), nb::arg("power"),
            nb::arg("penalty"), nb::arg("bias_share"), nb::arg("period"), nb::arg("nonnegative_users"),
            nb::arg("nonnegative_items"), nb::arg("rank"), nb::arg("biased"));

    nb::class_<CheckedGrid>(m, "Grid", "Ratings in blocks, checked when they are put together.")
        .def(nb::init<Vector<const std::int32_t>, Vector<const std::int32_t>, Vector<const float>,
                      Vector<const std::int64_t>>(),
             nb::arg("users").noconvert(), nb::arg("items").noconvert(), nb::arg("values").noconvert(),
             nb::arg("start").noconvert());

    m.def("gradient_pass", &pass, nb::arg("grid"), nb::arg("strata").noconvert(), nb::arg("user_factors").noconvert(),
          nb::arg("item_factors").noconvert(), nb::arg("user_memory").noconvert(), nb::arg("item_memory").noconvert(),
          nb::arg("user_penalties").noconvert(), nb::arg("item_penalties").noconvert(),
          nb::arg("user_means").noconvert(), nb::arg("item_means").noconvert(), nb::arg("user_met").noconvert(),
          nb::arg("item_met").noconvert(), nb::arg("rule"), nb::arg("first_round"), nb::arg("threads"), nb::arg("isa"));
    m.def("variance_reduced_pass", &reduced, nb::arg("pattern"), nb::arg("values").noconvert(),
          nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(), nb::arg("method"), nb::arg("penalty"),
          nb::arg("shrinkage"), nb::arg("step"), nb::arg("inner"), nb::arg("still"), nb::arg("bias"),
          nb::arg("bias_share"), nb::arg("seed"), nb::arg("threads"), nb::arg("isa"));
    m.def("full_gradient", &gradient, nb::arg("pattern"), nb::arg("values").noconvert(), nb::arg("moving").noconvert(),
          nb::arg("fixed").noconvert(), nb::arg("gradient").noconvert(), nb::arg("loss"), nb::arg("width"),
          nb::arg("penalty"), nb::arg("shrinkage"), nb::arg("threads"), nb::arg("isa"));
    m.def("gradient_online", &online, nb::arg("users").noconvert(), nb::arg("items").noconvert(),
          nb::arg("targets").noconvert(), nb::arg("first_round"), nb::arg("user_factors").noconvert(),
          nb::arg("item_factors").noconvert(), nb::arg("user_memory").noconvert(), nb::arg("item_memory").noconvert(),
          nb::arg("user_penalties").noconvert(), nb::arg("item_penalties").noconvert(), nb::arg("rule"),
          nb::arg("isa"));
}
