#include "rankfill/hashing.hpp"

#include "extents.hpp"
#include "rankfill/utf8.hpp"

namespace {

using Integers = Vector<const std::int64_t>;
using Bytes = Vector<const std::uint8_t>;
using Offsets = Vector<const std::int64_t>;

IntegerKeys keys_of(const Integers& keys) { return {span_of(keys)}; }

StringKeys keys_of(const Bytes& bytes, const Offsets& offsets) {
    return {{reinterpret_cast<const char*>(bytes.data()), bytes.shape(0)}, span_of(offsets)};
}

// Of strings that came from outside: every key lies within the bytes.
StringKeys checked_keys(const Bytes& bytes, const Offsets& offsets) {
    require_offsets(span_of(offsets), bytes.shape(0), "offsets", "bytes");
    return keys_of(bytes, offsets);
}

void check_strings(Bytes bytes, Offsets offsets) {
    const StringKeys keys = checked_keys(bytes, offsets);
    nb::gil_scoped_release release;
    const std::int64_t bad = first_that_is_no_utf8(keys);
    if (bad >= 0) refuse("bytes must be UTF-8, those of key " + std::to_string(bad) + " are not");
}

template <class Keys>
std::tuple<NewVector<std::int32_t>, NewVector<std::int64_t>> factorize(const Keys& queries) {
    require(queries.size() <= std::numeric_limits<std::int32_t>::max(), "there must be fewer than 2^31 keys");
    auto codes = new_vector<std::int32_t>(queries.size());
    std::vector<std::int64_t> first_seen;
    {
        nb::gil_scoped_release release;
        first_seen = hash_factorize(queries, span_of(codes));
    }
    return {codes, take(std::move(first_seen))};
}

// A hash table and the keys that belong to it, as they were when the view was taken: keys that are added later to the
// same table are not found by it. So one thread may add keys while others look some up.
template <class Keys, class... Arrays>
class KeyView {
 public:
    KeyView(Vector<std::int32_t> slots, Arrays... arrays)
        : slots_(std::move(slots)), arrays_(std::move(arrays)...), keys_(keys_of_all()) {
        require(slots_.shape(0) > 0 && std::has_single_bit(slots_.shape(0)), "slots must be a power of two in number");
        require(keys_.size() >= 0 && static_cast<std::size_t>(keys_.size()) < slots_.shape(0),
                "there must be more slots than keys");
    }

    std::int64_t size() const { return keys_.size(); }

    // Enters keys from `first` on; returns the first of them that was there already, −1 if all are new.
    std::int64_t enter(std::int64_t first) const {
        require(first >= 0, "first must be zero or a positive number");
        nb::gil_scoped_release release;
        return hash_insert(span_of(slots_), keys_, first);
    }

    NewVector<std::int32_t> find(const Keys& queries) const {
        auto indices = new_vector<std::int32_t>(queries.size());
        nb::gil_scoped_release release;
        hash_find(slots(), keys_, queries, span_of(indices));
        return indices;
    }

    template <class Key>
    std::int32_t find_one(const Key& key) const {
        return hash_find_one(slots(), keys_, key);
    }

 private:
    std::span<const std::int32_t> slots() const { return {slots_.data(), slots_.shape(0)}; }
    Keys keys_of_all() const {
        return std::apply([](const Arrays&... arrays) { return keys_of(arrays...); }, arrays_);
    }

    Vector<std::int32_t> slots_;
    std::tuple<Arrays...> arrays_;
    Keys keys_;
};

using IntegerView = KeyView<IntegerKeys, Integers>;
using StringView = KeyView<StringKeys, Bytes, Offsets>;

std::string_view text_of(nb::handle item) {
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(item.ptr(), &size);
    if (!text) throw nb::python_error();
    return {text, static_cast<std::size_t>(size)};
}

// A sequence of str as UTF-8 bytes and offsets.
std::tuple<NewVector<std::uint8_t>, NewVector<std::int64_t>> encode(nb::typed<nb::sequence, nb::str> strings) {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};
    for (nb::handle item : strings) {
        if (!PyUnicode_Check(item.ptr())) throw nb::type_error("every id must be a str");
        const std::string_view text = text_of(item);
        bytes.insert(bytes.end(), text.begin(), text.end());
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
    return {take(std::move(bytes)), take(std::move(offsets))};
}

template <class View, class... Arrays>
auto bind_view(nb::module_& m, const char* name) {
    return nb::class_<View>(m, name, "A hash table and the keys that were in it when the view was taken.")
        .def("__len__", &View::size)
        .def("enter", &View::enter, nb::arg("first"),
             "Enters keys from `first` on; returns the first that was there already, -1 if all are new.");
}

}  // namespace

void bind_hashing(nb::module_& m) {
    m.def("slots_for", &slots_for, nb::arg("n_keys"));
    m.def("encode", &encode, nb::arg("strings"));
    m.def("check_strings", &check_strings, nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert());
    m.def("factorize_integers", [](Integers ids) { return factorize(keys_of(ids)); }, nb::arg("ids").noconvert());
    m.def(
        "factorize_strings", [](Bytes bytes, Offsets offsets) { return factorize(checked_keys(bytes, offsets)); },
        nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert());

    bind_view<IntegerView>(m, "IntegerView")
        .def(nb::init<Vector<std::int32_t>, Integers>(), nb::arg("slots").noconvert(), nb::arg("keys").noconvert())
        .def(
            "find", [](const IntegerView& view, Integers queries) { return view.find(keys_of(queries)); },
            nb::arg("queries").noconvert())
        .def(
            "find_one", [](const IntegerView& view, std::int64_t key) { return view.find_one(key); },
            nb::arg("key").noconvert());
    bind_view<StringView>(m, "StringView")
        .def(nb::init<Vector<std::int32_t>, Bytes, Offsets>(), nb::arg("slots").noconvert(),
             nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert())
        .def(
            "find",
            [](const StringView& view, Bytes bytes, Offsets offsets) {
                return view.find(checked_keys(bytes, offsets));
            },
            nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert())
        .def(
            "find_one", [](const StringView& view, nb::str key) { return view.find_one(text_of(key)); },
            nb::arg("key"));
}
