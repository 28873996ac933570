// The compiled module. This folder is the only place that sees nanobind: it checks dtype, shape and contiguity, drops
// the GIL and calls the kernels. One file a family.
#include "arrays.hpp"

void bind_blocks(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_data(nb::module_& m);
void bind_descent(nb::module_& m);
void bind_gaussian(nb::module_& m);
void bind_least_squares(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_rounds(nb::module_& m);
void bind_scoring(nb::module_& m);
void bind_sparse(nb::module_& m);

static std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const KernelTable* candidate : available_tables()) names.emplace_back(candidate->name);
    return names;
}

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels. Arrays are borrowed, never copied or cast; see rankfill.kernels for the words.";
    m.def("instruction_sets", &instruction_sets, "Those this machine can run, slowest first.");
    bind_blocks(m);
    bind_data(m);
    bind_gradients(m);
    bind_rounds(m);
    bind_scoring(m);
    bind_least_squares(m);
    bind_columns(m);
    bind_descent(m);
    bind_sparse(m);
    bind_gaussian(m);
}
