#include "extents.hpp"
#include "rankfill/drive.hpp"

namespace {

constexpr std::int64_t kAnyIndex = std::numeric_limits<std::int32_t>::min();  // below 0: without factors

void require_defaults(const Factors<const float>& users, const Factors<const float>& items,
                      const Vector<const float>& default_user, const Vector<const float>& default_item) {
    const auto width = static_cast<std::size_t>(users.stride);
    require(users.stride == items.stride && default_user.shape(0) == width && default_item.shape(0) == width,
            "factors and default rows must have the same number of columns");
}

NewVector<float> predict(Vector<const std::int32_t> users, Vector<const std::int32_t> items,
                         Matrix<const float> user_factors, Matrix<const float> item_factors,
                         Vector<const float> default_user, Vector<const float> default_item, float both_unknown,
                         int threads, const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require(users.shape(0) == items.shape(0), "users and items must have the same length");
    require_defaults(p, q, default_user, default_item);
    require_rows(span_of(users), p.n_rows, "users", "user_factors", kAnyIndex);
    require_rows(span_of(items), q.n_rows, "items", "item_factors", kAnyIndex);
    auto predictions = new_vector<float>(users.shape(0));
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        predict_pairs(kernels, {span_of(users), span_of(items)}, p, q,
                      {default_user.data(), default_item.data(), both_unknown}, span_of(predictions), threads);
    }
    return predictions;
}

float predict_one(std::int32_t user, std::int32_t item, Matrix<const float> user_factors,
                  Matrix<const float> item_factors, Vector<const float> default_user, Vector<const float> default_item,
                  float both_unknown, const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require_defaults(p, q, default_user, default_item);
    if (user >= p.n_rows) require_rows({&user, 1}, p.n_rows, "user", "user_factors", kAnyIndex);
    if (item >= q.n_rows) require_rows({&item, 1}, q.n_rows, "item", "item_factors", kAnyIndex);
    float prediction;
    table(isa).scoring.predict_pairs({{&user, 1}, {&item, 1}}, p, q,
                                     {default_user.data(), default_item.data(), both_unknown}, {&prediction, 1});
    return prediction;
}

std::tuple<NewMatrix<std::int32_t>, NewMatrix<float>> best_items(Matrix<const float> user_factors,
                                                                 Matrix<const float> item_factors, int rank, int n,
                                                                 Vector<const std::int64_t> seen_indptr,
                                                                 Vector<const std::int32_t> seen_items,
                                                                 Vector<const std::uint8_t> allowed, int threads,
                                                                 const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require(p.stride == q.stride, "user_factors and item_factors must have the same number of columns");
    require(rank >= 1 && rank <= p.stride, "rank must be at least 1 and at most the number of columns of the factors");
    require(n >= 1, "n must be at least 1");
    require(static_cast<std::int64_t>(seen_indptr.shape(0)) == p.n_rows + 1, "seen must have one row for each user");
    require_offsets(span_of(seen_indptr), seen_items.shape(0), "seen_indptr", "seen_items");
    require(static_cast<std::int64_t>(allowed.shape(0)) == q.n_rows, "allowed must have one flag for each item");
    auto items = new_matrix<std::int32_t>(p.n_rows, n);
    auto scores = new_matrix<float>(p.n_rows, n);
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        top_n(kernels, p, q, rank, {span_of(seen_indptr), span_of(seen_items), span_of(allowed)},
              {n, items.data(), scores.data()}, threads);
    }
    return {items, scores};
}

}  // namespace

void bind_scoring(nb::module_& m) {
    m.def("predict_pairs", &predict, nb::arg("users").noconvert(), nb::arg("items").noconvert(),
          nb::arg("user_factors").noconvert(), nb::arg("item_factors").noconvert(), nb::arg("default_user").noconvert(),
          nb::arg("default_item").noconvert(), nb::arg("both_unknown"), nb::arg("threads"), nb::arg("isa"));
    m.def("predict_one", &predict_one, nb::arg("user"), nb::arg("item"), nb::arg("user_factors").noconvert(),
          nb::arg("item_factors").noconvert(), nb::arg("default_user").noconvert(), nb::arg("default_item").noconvert(),
          nb::arg("both_unknown"), nb::arg("isa"));
    m.def("top_n", &best_items, nb::arg("user_factors").noconvert(), nb::arg("item_factors").noconvert(),
          nb::arg("rank"), nb::arg("n"), nb::arg("seen_indptr").noconvert(), nb::arg("seen_items").noconvert(),
          nb::arg("allowed").noconvert(), nb::arg("threads"), nb::arg("isa"));
}
