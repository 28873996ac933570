// The only place that sees nanobind: checks dtype, shape and contiguity, drops the GIL, calls the kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

#include "rankfill/counting_sort.hpp"
#include "rankfill/drive.hpp"
#include "rankfill/hashing.hpp"

namespace nb = nanobind;
using namespace rankfill;

namespace {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using NewMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
std::span<T> span_of(const Vector<T>& v) {
    return {v.data(), v.shape(0)};
}

template <class T>
Factors<T> factors_of(const Matrix<T>& m, const char* name) {
    if (m.shape(1) == 0 || m.shape(1) % 16 != 0)
        throw std::invalid_argument(std::string(name) + " must have a multiple of 16 columns, has " +
                                    std::to_string(m.shape(1)) + "; pad the rows with zeros");
    return {m.data(), static_cast<std::int64_t>(m.shape(0)), static_cast<int>(m.shape(1))};
}

void require(bool condition, const char* rule) {
    if (!condition) throw std::invalid_argument(rule);
}

template <class T>
NewVector<T> take(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NewVector<T>(kept->data(), {kept->size()}, owner);
}

template <class T>
NewVector<T> new_vector(std::size_t n) {
    T* data = new T[n];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return NewVector<T>(data, {n}, owner);
}

template <class T>
NewMatrix<T> new_matrix(std::size_t rows, std::size_t columns) {
    T* data = new T[rows * columns];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return NewMatrix<T>(data, {rows, columns}, owner);
}

template <class T>
std::span<T> span_of(const NewVector<T>& v) {
    return {v.data(), v.shape(0)};
}

const KernelTable& table(const std::string& isa) {
    for (const KernelTable* candidate : available_tables())
        if (candidate->name == isa) return *candidate;
    throw std::invalid_argument("instruction set \"" + isa + "\" is not available on this machine");
}

Rule rule_of(const std::string& slack, const std::string& root, bool nonnegative, double C, double epsilon) {
    Rule rule;
    rule.slack = slack == "none" ? Slack::none : slack == "linear" ? Slack::linear : Slack::quadratic;
    rule.root = root == "exact" ? Root::exact : root == "bisection" ? Root::bisection : Root::approximate;
    rule.nonnegative = nonnegative;
    rule.C = C;
    rule.epsilon = epsilon;
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
        return table(isa).update_float(w.data(), x.data(), y, rule, blocks);
    else
        return table(isa).update_double(w.data(), x.data(), y, rule, blocks);
}

Sums pass(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, Vector<const float> values,
          Matrix<float> moving, Matrix<const float> fixed, const Rule& rule, std::uint64_t seed, bool plainly,
          int threads, const std::string& isa) {
    const Csr ratings{span_of(indptr), span_of(indices), span_of(values)};
    const auto w = factors_of(moving, "moving");
    const auto x = factors_of(fixed, "fixed");
    require(w.stride == x.stride, "moving and fixed must have the same number of columns");
    require(w.n_rows == ratings.n_rows(), "moving must have one row for each row of the ratings");
    require(indices.shape(0) == values.shape(0), "indices and values must have the same length");
    const KernelTable& kernels = table(isa);
    Losses losses;
    {
        nb::gil_scoped_release release;
        losses = passive_aggressive_pass(kernels, plainly ? kernels.pass_rows_plainly : kernels.pass_rows, ratings, w,
                                         x, rule, seed, threads);
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
    const KernelTable& kernels = table(isa);
    Losses losses;
    {
        nb::gil_scoped_release release;
        losses = kernels.online_rounds({span_of(users), span_of(items)}, span_of(values), p, q, user_rule, item_rule);
    }
    return sums_of(losses);
}

NewVector<float> predict(Vector<const std::int32_t> users, Vector<const std::int32_t> items,
                         Matrix<const float> user_factors, Matrix<const float> item_factors,
                         Vector<const float> default_user, Vector<const float> default_item, float both_unknown,
                         int threads, const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require(users.shape(0) == items.shape(0), "users and items must have the same length");
    require(p.stride == q.stride && default_user.shape(0) == static_cast<std::size_t>(p.stride) &&
                default_item.shape(0) == static_cast<std::size_t>(p.stride),
            "factors and default rows must have the same number of columns");
    auto predictions = new_vector<float>(users.shape(0));
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        predict_pairs(kernels, {span_of(users), span_of(items)}, p, q,
                      {default_user.data(), default_item.data(), both_unknown}, span_of(predictions), threads);
    }
    return predictions;
}

std::tuple<NewMatrix<std::int32_t>, NewMatrix<float>> best_items(Matrix<const float> user_factors,
                                                                 Matrix<const float> item_factors, int rank, int n,
                                                                 Vector<const std::int64_t> seen_indptr,
                                                                 Vector<const std::int32_t> seen_items,
                                                                 Vector<const std::uint8_t> allowed, int threads,
                                                                 const std::string& isa) {
    const auto p = factors_of(user_factors, "user_factors");
    const auto q = factors_of(item_factors, "item_factors");
    require(p.stride == q.stride && rank <= p.stride, "user_factors and item_factors must have the same columns");
    require(static_cast<std::int64_t>(seen_indptr.shape(0)) == p.n_rows + 1, "seen must have one row for each user");
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

std::tuple<NewVector<std::int64_t>, NewVector<std::int32_t>, NewVector<float>, NewVector<std::int64_t>> sort_rows(
    Vector<const std::int32_t> keys, Vector<const std::int32_t> indices, Vector<const float> values,
    std::int64_t n_keys, bool with_order, int threads) {
    const std::size_t n = keys.shape(0);
    require(indices.shape(0) == n && values.shape(0) == n, "keys, indices and values must have the same length");
    auto indptr = new_vector<std::int64_t>(n_keys + 1);
    auto sorted_indices = new_vector<std::int32_t>(n);
    auto sorted_values = new_vector<float>(n);
    auto order = new_vector<std::int64_t>(with_order ? n : 0);
    {
        nb::gil_scoped_release release;
        counting_sort(span_of(keys), span_of(indices), span_of(values),
                      {span_of(indptr), span_of(sorted_indices), span_of(sorted_values), span_of(order)}, threads);
    }
    return {indptr, sorted_indices, sorted_values, order};
}

template <class Keys>
std::tuple<NewVector<std::int32_t>, NewVector<std::int64_t>> factorize(const Keys& queries) {
    auto codes = new_vector<std::int32_t>(queries.size());
    std::vector<std::int64_t> first_seen;
    {
        nb::gil_scoped_release release;
        first_seen = hash_factorize(queries, span_of(codes));
    }
    return {codes, take(std::move(first_seen))};
}

template <class Keys>
NewVector<std::int32_t> find(Vector<const std::int32_t> slots, const Keys& keys, const Keys& queries) {
    auto indices = new_vector<std::int32_t>(queries.size());
    nb::gil_scoped_release release;
    hash_find(span_of(slots), keys, queries, span_of(indices));
    return indices;
}

IntegerKeys integer_keys(const Vector<const std::int64_t>& keys) { return {span_of(keys)}; }

StringKeys string_keys(const Vector<const std::uint8_t>& bytes, const Vector<const std::int64_t>& offsets) {
    return {{reinterpret_cast<const char*>(bytes.data()), bytes.shape(0)}, span_of(offsets)};
}

// A sequence of str as UTF-8 bytes and offsets.
std::tuple<NewVector<std::uint8_t>, NewVector<std::int64_t>> encode(nb::typed<nb::sequence, nb::str> strings) {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};
    for (nb::handle item : strings) {
        if (!PyUnicode_Check(item.ptr())) throw nb::type_error("every id must be a str");
        Py_ssize_t size;
        const char* text = PyUnicode_AsUTF8AndSize(item.ptr(), &size);
        if (!text) throw nb::python_error();
        bytes.insert(bytes.end(), text, text + size);
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
    return {take(std::move(bytes)), take(std::move(offsets))};
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const KernelTable* candidate : available_tables()) names.emplace_back(candidate->name);
    return names;
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels. Arrays are borrowed, never copied or cast; see rankfill.kernels for the words.";

    nb::class_<Rule>(m, "Rule", "What one passive-aggressive round does.")
        .def(
            "__init__",
            [](Rule* self, const std::string& slack, const std::string& root, bool nonnegative, double C,
               double epsilon) { new (self) Rule(rule_of(slack, root, nonnegative, C, epsilon)); },
            nb::kw_only(), nb::arg("slack"), nb::arg("root"), nb::arg("nonnegative"), nb::arg("C"), nb::arg("epsilon"));

    m.def("instruction_sets", &instruction_sets, "Those this machine can run, slowest first.");
    m.def("update", &update<float>, nb::arg("w").noconvert(), nb::arg("x").noconvert(), nb::arg("y"), nb::arg("rule"),
          nb::arg("isa"), "One round, in place; returns the error y − w·x before it.");
    m.def("update", &update<double>, nb::arg("w").noconvert(), nb::arg("x").noconvert(), nb::arg("y"), nb::arg("rule"),
          nb::arg("isa"));
    m.def("passive_aggressive_pass", &pass, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("moving").noconvert(), nb::arg("fixed").noconvert(), nb::arg("rule"),
          nb::arg("seed"), nb::arg("plainly"), nb::arg("threads"), nb::arg("isa"),
          "One pass; `plainly` takes a row at a time: the same result, slower, kept to compare with.");
    m.def("passive_aggressive_online", &online, nb::arg("users").noconvert(), nb::arg("items").noconvert(),
          nb::arg("values").noconvert(), nb::arg("user_factors").noconvert(), nb::arg("item_factors").noconvert(),
          nb::arg("user_rule"), nb::arg("item_rule"), nb::arg("isa"));
    m.def("predict_pairs", &predict, nb::arg("users").noconvert(), nb::arg("items").noconvert(),
          nb::arg("user_factors").noconvert(), nb::arg("item_factors").noconvert(), nb::arg("default_user").noconvert(),
          nb::arg("default_item").noconvert(), nb::arg("both_unknown"), nb::arg("threads"), nb::arg("isa"));
    m.def("top_n", &best_items, nb::arg("user_factors").noconvert(), nb::arg("item_factors").noconvert(),
          nb::arg("rank"), nb::arg("n"), nb::arg("seen_indptr").noconvert(), nb::arg("seen_items").noconvert(),
          nb::arg("allowed").noconvert(), nb::arg("threads"), nb::arg("isa"));
    m.def("counting_sort", &sort_rows, nb::arg("keys").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("n_keys"), nb::arg("with_order"), nb::arg("threads"));

    m.def("slots_for", &slots_for, nb::arg("n_keys"));
    m.def("encode", &encode, nb::arg("strings"));
    m.def(
        "factorize_integers", [](Vector<const std::int64_t> ids) { return factorize(integer_keys(ids)); },
        nb::arg("ids").noconvert());
    m.def(
        "factorize_strings",
        [](Vector<const std::uint8_t> bytes, Vector<const std::int64_t> offsets) {
            return factorize(string_keys(bytes, offsets));
        },
        nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert());
    m.def(
        "insert_integers",
        [](Vector<std::int32_t> slots, std::int64_t first, Vector<const std::int64_t> keys) {
            hash_insert(span_of(slots), integer_keys(keys), first);
        },
        nb::arg("slots").noconvert(), nb::arg("first"), nb::arg("keys").noconvert());
    m.def(
        "insert_strings",
        [](Vector<std::int32_t> slots, std::int64_t first, Vector<const std::uint8_t> bytes,
           Vector<const std::int64_t> offsets) { hash_insert(span_of(slots), string_keys(bytes, offsets), first); },
        nb::arg("slots").noconvert(), nb::arg("first"), nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert());
    m.def(
        "find_integers",
        [](Vector<const std::int32_t> slots, Vector<const std::int64_t> keys, Vector<const std::int64_t> queries) {
            return find(slots, integer_keys(keys), integer_keys(queries));
        },
        nb::arg("slots").noconvert(), nb::arg("keys").noconvert(), nb::arg("queries").noconvert());
    m.def(
        "find_strings",
        [](Vector<const std::int32_t> slots, Vector<const std::uint8_t> bytes, Vector<const std::int64_t> offsets,
           Vector<const std::uint8_t> query_bytes, Vector<const std::int64_t> query_offsets) {
            return find(slots, string_keys(bytes, offsets), string_keys(query_bytes, query_offsets));
        },
        nb::arg("slots").noconvert(), nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("query_bytes").noconvert(), nb::arg("query_offsets").noconvert());
}
