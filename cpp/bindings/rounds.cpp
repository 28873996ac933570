#include "pattern.hpp"
#include "rankfill/drive.hpp"

namespace {

Rule rule_of(const std::string& slack, const std::string& root, bool nonnegative, double C, double epsilon,
             float averaged) {
    Rule rule;
    rule.slack = slack == "none" ? Slack::none : slack == "linear" ? Slack::linear : Slack::quadratic;
    rule.root = root == "exact"                 ? Root::exact
                : root == "bisection"           ? Root::bisection
                : root == "published-bisection" ? Root::published_bisection
                                                : Root::approximate;
    rule.nonnegative = nonnegative;
    rule.C = C;
    rule.epsilon = epsilon;
    rule.averaged = averaged;
    return rule;
}

using Sums = std::tuple<double, double>;
Sums sums_of(const Losses& losses) { return {losses.loss, losses.absolute}; }

template <class T>
T update(Vector<T> w, Vector<const T> x, T y, const Rule& rule, const std::string& isa) {
    require(w.shape(0) == x.shape(0) && w.shape(0) % 16 == 0 && w.shape(0) > 0,
            "w and x must have the same length, a multiple of 16; pad them with zeros");
    const int blocks = static_cast<int>(w.shape(0) / 16);
    if constexpr (std::is_same_v<T, float>)
        return table(isa).rounds.update_float(w.data(), x.data(), y, rule, blocks);
    else
        return table(isa).rounds.update_double(w.data(), x.data(), y, rule, blocks);
}

Sums pass(const CheckedPattern& entries, Vector<const float> values, Matrix<float> moving, Matrix<const float> fixed,
          const Rule& rule, std::uint64_t seed, bool plainly, int threads, const std::string& isa, const Sums& before) {
    const Csr ratings = entries.with(values);
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    require_factors(entries, w, x);
    const KernelTable& kernels = table(isa);
    Losses losses{std::get<0>(before), std::get<1>(before)};
    {
        nb::gil_scoped_release release;
        losses = passive_aggressive_pass(kernels, plainly ? kernels.rounds.pass_rows_plainly : kernels.rounds.pass_rows,
                                         ratings, w, x, rule, seed, threads, losses);
    }
    return sums_of(losses);
}

Sums online(Vector<const std::int32_t> users, Vector<const std::int32_t> items, Vector<const float> values,
            Matrix<float> user_factors, Matrix<float> item_factors, const Rule& user_rule, const Rule& item_rule,
            const std::string& isa) {
    require(users.shape(0) == items.shape(0) && users.shape(0) == values.shape(0),
            "users, items and values must have the same length");
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require(p.stride == q.stride, "user_factors and item_factors must have the same number of columns");
    require_rows(span_of(users), p.n_rows, "users", "user_factors");
    require_rows(span_of(items), q.n_rows, "items", "item_factors");
    const KernelTable& kernels = table(isa);
    Losses losses;
    {
        nb::gil_scoped_release release;
        losses =
            kernels.rounds.online_rounds({span_of(users), span_of(items)}, span_of(values), p, q, user_rule, item_rule);
    }
    return sums_of(losses);
}

}  // namespace

void bind_rounds(nb::module_& m) {
    nb::class_<Rule>(m, "Rule", "What one passive-aggressive round does.")
        .def(
            "__init__",
            [](Rule* self, const std::string& slack, const std::string& root, bool nonnegative, double C,
               double epsilon,
               float averaged) { new (self) Rule(rule_of(slack, root, nonnegative, C, epsilon, averaged)); },
            nb::kw_only(), nb::arg("slack"), nb::arg("root"), nb::arg("nonnegative"), nb::arg("C"), nb::arg("epsilon"),
            nb::arg("averaged"));

    m.def("update", &update<float>, nb::arg("w").noconvert(), nb::arg("x").noconvert(), nb::arg("y"), nb::arg("rule"),
          nb::arg("isa"), "One round, in place; returns the error y − w·x before it.");
    m.def("update", &update<double>, nb::arg("w").noconvert(), nb::arg("x").noconvert(), nb::arg("y"), nb::arg("rule"),
          nb::arg("isa"));
    m.def("passive_aggressive_pass", &pass, nb::arg("pattern"), nb::arg("values").noconvert(),
          nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(), nb::arg("rule"), nb::arg("seed"),
          nb::arg("plainly"), nb::arg("threads"), nb::arg("isa"), nb::arg("before") = Sums{0.0, 0.0},
          "One pass; `plainly` takes a row at a time: the same result, slower, kept to compare with. Sums go on from "
          "those "
          "of the rows before.");
    m.def("passive_aggressive_online", &online, nb::arg("users").noconvert(), nb::arg("items").noconvert(),
          nb::arg("values").noconvert(), nb::arg("user_factors").noconvert(), nb::arg("item_factors").noconvert(),
          nb::arg("user_rule"), nb::arg("item_rule"), nb::arg("isa"));
}
