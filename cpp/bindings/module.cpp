// The compiled module. This folder is the only place that sees nanobind: it checks dtype, shape, contiguity and
// every index that a kernel will follow, drops the GIL and calls the kernels. One file per family.
#include "pattern.hpp"

void bind_blocks(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_descent(nb::module_& m);
void bind_gaussian(nb::module_& m);
void bind_least_squares(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_gibbs(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_hashing(nb::module_& m);
void bind_neighbours(nb::module_& m);
void bind_regressions(nb::module_& m);
void bind_rounds(nb::module_& m);
void bind_scoring(nb::module_& m);
void bind_sorting(nb::module_& m);
void bind_sparse(nb::module_& m);

static std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const KernelTable* candidate : available_tables()) names.emplace_back(candidate->name);
    return names;
}

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);  // a vocabulary in a global variable outlives the module, and that is fine
    m.doc() = "Compiled kernels. Arrays are borrowed, never copied or cast; see rankfill.kernels for the words.";
    m.def("instruction_sets", &instruction_sets, "Those this machine can run, slowest first.");
    nb::class_<CheckedPattern>(m, "Pattern", "Where the entries of a sparse matrix are, checked when it is made.")
        .def(nb::init<Vector<const std::int64_t>, Vector<const std::int32_t>>(), nb::arg("indptr").noconvert(),
             nb::arg("indices").noconvert())
        .def_static(
            "trusted",
            [](Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices, std::int64_t n_columns) {
                return CheckedPattern(indptr, indices, n_columns);
            },
            nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("n_columns"),
            "Without a check: for what the kernels made themselves.")
        .def_prop_ro("n_columns", &CheckedPattern::n_columns);
    bind_blocks(m);
    bind_hashing(m);
    bind_sorting(m);
    bind_gradients(m);
    bind_rounds(m);
    bind_scoring(m);
    bind_least_squares(m);
    bind_columns(m);
    bind_descent(m);
    bind_sparse(m);
    bind_regressions(m);
    bind_gaussian(m);
    bind_neighbours(m);
    bind_linear(m);
    bind_gibbs(m);
}
