#include "pattern.hpp"
#include "rankfill/parallel.hpp"

namespace {

constexpr std::int64_t kRowsAtOnce = 64;

Loss loss_of(const std::string& loss) {
    if (loss == "squared") return Loss::squared;
    if (loss == "absolute") return Loss::absolute;
    if (loss == "epsilon-insensitive") return Loss::insensitive;
    if (loss == "huber") return Loss::huber;
    require(loss == "logistic", "loss must be squared, absolute, epsilon-insensitive, huber or logistic");
    return Loss::logistic;
}

std::tuple<NewVector<double>, NewVector<double>> block_pass(const CheckedPattern& entries, Vector<const float> targets,
                                                            Vector<double> residuals, Matrix<const double> own,
                                                            Matrix<const double> other, const std::string& loss,
                                                            double width, double tube, int threads,
                                                            const std::string& isa) {
    const std::int64_t n_rows = entries.n_rows();
    require(entries.n_entries() == residuals.shape(0) && entries.n_entries() == targets.shape(0),
            "there must be one target and one residual for each entry");
    entries.require_table(own.shape(0), other.shape(0), "own", "other");
    require(own.shape(1) == kTerms, "own must have one row of 2 numbers for each row");
    require(other.shape(1) == kOthers, "other must have rows of 4 numbers");
    auto slopes = new_vector<double>(n_rows), curvatures = new_vector<double>(n_rows);
    const BlockPass pass{entries.indptr(),
                         entries.indices(),
                         targets.data(),
                         residuals.data(),
                         own.data(),
                         other.data(),
                         loss_of(loss),
                         width,
                         tube,
                         slopes.data(),
                         curvatures.data()};
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        parallel_for((n_rows + kRowsAtOnce - 1) / kRowsAtOnce, threads, [&](std::int64_t i) {
            kernels.block.rows(pass, i * kRowsAtOnce, std::min(n_rows, (i + 1) * kRowsAtOnce));
        });
    }
    return {slopes, curvatures};
}

double weight(Vector<const double> slopes, Vector<const double> curvatures, double penalty, const std::string& isa) {
    require(slopes.shape(0) == curvatures.shape(0), "slopes and curvatures must have the same length");
    const KernelTable& kernels = table(isa);
    nb::gil_scoped_release release;
    return kernels.block.weight(span_of(slopes), span_of(curvatures), penalty);
}

}  // namespace

void bind_blocks(nb::module_& m) {
    m.def("block_pass", &block_pass, nb::arg("pattern"), nb::arg("targets").noconvert(),
          nb::arg("residuals").noconvert(), nb::arg("own").noconvert(), nb::arg("other").noconvert(), nb::arg("loss"),
          nb::arg("width"), nb::arg("tube"), nb::arg("threads"), nb::arg("isa"));
    m.def("block_weight", &weight, nb::arg("slopes").noconvert(), nb::arg("curvatures").noconvert(), nb::arg("penalty"),
          nb::arg("isa"));
}
