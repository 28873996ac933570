#include "pattern.hpp"
#include "rankfill/item_losses.hpp"
#include "rankfill/parallel.hpp"

namespace {

// As many workers as threads, each with memory of its own, take what comes next.
template <class Work>
void with_workers(int threads, const Work& work) {
    std::atomic<std::int64_t> next{0};
    parallel_for(threads, threads, [&](std::int64_t) { work(next); });
}

template <class T>
Block<T> block_of(const Matrix<T>& m) {
    return {m.data(), static_cast<std::int64_t>(m.shape(0)), static_cast<std::int64_t>(m.shape(1))};
}

std::tuple<NewMatrix<std::int32_t>, NewMatrix<float>, double> few_inputs(
    const CheckedPattern& by_item, Vector<const float> item_values, const CheckedPattern& by_user,
    Vector<const float> user_values, Matrix<const float> gram, Vector<const std::int32_t> places, double penalty,
    int keep, int threads, const std::string& isa) {
    const std::int64_t n_items = by_item.n_rows();
    const Block<const float> sources_gram = block_of(gram);
    require(by_item.n_entries() == item_values.shape(0) && by_user.n_entries() == user_values.shape(0),
            "there must be one value for each entry of the rows");
    require(sources_gram.n_rows == sources_gram.width, "gram must have as many rows as columns");
    require(places.shape(0) == static_cast<std::size_t>(n_items), "there must be one place for each item");
    by_item.require_columns(by_user.n_rows(), "by_user");
    by_user.require_columns(sources_gram.n_rows, "gram");
    for (const std::int32_t place : span_of(places))
        require(place >= -1 && place < sources_gram.n_rows, "places must be numbers of sources, or -1");
    require(keep >= 1 && keep <= std::max<std::int64_t>(1, sources_gram.n_rows),
            "keep must be from 1 to the number of sources");
    require(penalty > 0.0, "penalty must be positive");
    std::vector<double> inverse_norms(sources_gram.n_rows), explained(n_items);
    for (std::int64_t i = 0; i < sources_gram.n_rows; ++i) {
        const double squared = sources_gram.row(i)[i];
        inverse_norms[i] = squared > 0.0 ? 1.0 / std::sqrt(squared) : 0.0;
    }
    auto sources = new_matrix<std::int32_t>(n_items, keep);
    auto weights = new_matrix<float>(n_items, keep);
    const ItemSystems task{by_item.spans(),
                           item_values.data(),
                           by_user.spans(),
                           user_values.data(),
                           sources_gram,
                           inverse_norms.data(),
                           places.data(),
                           penalty,
                           keep,
                           sources.data(),
                           weights.data(),
                           explained.data()};
    const KernelTable& kernels = table(isa);
    double total = 0.0;
    {
        nb::gil_scoped_release release;
        with_workers(threads, [&](auto& next) { kernels.item_systems(task, next); });
        for (const double each : explained) total += each;
    }
    return {sources, weights, total};
}

std::tuple<NewMatrix<float>, NewMatrix<float>, double> of_raters(
    const CheckedPattern& by_item, Vector<const float> targets, const CheckedPattern& by_user,
    Vector<const float> values, Matrix<const float> features, double penalty, double effect_penalty, double tolerance,
    bool logistic, bool everyone, int threads) {
    const std::int64_t n_items = by_item.n_rows();
    require(by_item.n_entries() == targets.shape(0) && by_user.n_entries() == values.shape(0),
            "there must be one value for each entry of the rows");
    by_item.require_columns(by_user.n_rows(), "by_user");
    by_user.require_columns(n_items, "by_item");
    require(static_cast<std::int64_t>(features.shape(0)) == by_user.n_rows(),
            "there must be one row of features for each user");
    require(penalty > 0.0 && effect_penalty > 0.0 && tolerance > 0.0, "penalties and the tolerance must be positive");
    auto weights = new_matrix<float>(n_items, n_items);
    auto effects = new_matrix<float>(n_items, features.shape(1));
    std::vector<double> objectives(n_items);
    const ItemLosses task{by_item.spans(),
                          targets.data(),
                          by_user.spans(),
                          values.data(),
                          block_of(features),
                          penalty,
                          effect_penalty,
                          tolerance,
                          logistic,
                          everyone,
                          {weights.data(), n_items, n_items},
                          {effects.data(), n_items, static_cast<std::int64_t>(features.shape(1))},
                          objectives.data()};
    double total = 0.0;
    {
        nb::gil_scoped_release release;
        with_workers(threads, [&](auto& next) { solve_item_losses(task, next); });
        for (const double each : objectives) total += each;
    }
    return {weights, effects, total};
}

}  // namespace

void bind_regressions(nb::module_& m) {
    m.def("few_input_regressions", &few_inputs, nb::arg("by_item"), nb::arg("item_values").noconvert(),
          nb::arg("by_user"), nb::arg("user_values").noconvert(), nb::arg("gram").noconvert(),
          nb::arg("places").noconvert(), nb::arg("penalty"), nb::arg("keep"), nb::arg("threads"), nb::arg("isa"));
    m.def("rater_regressions", &of_raters, nb::arg("by_item"), nb::arg("targets").noconvert(), nb::arg("by_user"),
          nb::arg("values").noconvert(), nb::arg("features").noconvert(), nb::arg("penalty"), nb::arg("effect_penalty"),
          nb::arg("tolerance"), nb::arg("logistic"), nb::arg("everyone"), nb::arg("threads"));
}
