#include "arrays.hpp"
#include "rankfill/parallel.hpp"

namespace {

constexpr std::int64_t kRowsAtOnce = 64;

Loss loss_of(const std::string& loss) {
    if (loss == "squared") return Loss::squared;
    if (loss == "absolute") return Loss::absolute;
    if (loss == "huber") return Loss::huber;
    require(loss == "logistic", "loss must be squared, absolute, huber or logistic");
    return Loss::logistic;
}

std::tuple<NewVector<double>, NewVector<double>> block_pass(Vector<const std::int64_t> indptr,
                                                            Vector<const std::int32_t> indices,
                                                            Vector<const float> targets, Vector<double> residuals,
                                                            Matrix<const double> own, Matrix<const double> other,
                                                            const std::string& loss, double width, int threads,
                                                            const std::string& isa) {
    const std::int64_t n_rows = static_cast<std::int64_t>(indptr.shape(0)) - 1;
    require(indices.shape(0) == residuals.shape(0) && indices.shape(0) == targets.shape(0),
            "there must be one target and one residual for each entry");
    require(static_cast<std::int64_t>(own.shape(0)) == n_rows && own.shape(1) == kTerms,
            "own must have one row of 2 numbers for each row");
    require(other.shape(1) == kOthers, "other must have rows of 4 numbers");
    auto slopes = new_vector<double>(n_rows), curvatures = new_vector<double>(n_rows);
    const BlockPass pass{indptr.data(), indices.data(), targets.data(), residuals.data(), own.data(),
                         other.data(),  loss_of(loss),  width,          slopes.data(),    curvatures.data()};
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
    m.def("block_pass", &block_pass, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("targets").noconvert(), nb::arg("residuals").noconvert(), nb::arg("own").noconvert(),
          nb::arg("other").noconvert(), nb::arg("loss"), nb::arg("width"), nb::arg("threads"), nb::arg("isa"));
    m.def("block_weight", &weight, nb::arg("slopes").noconvert(), nb::arg("curvatures").noconvert(), nb::arg("penalty"),
          nb::arg("isa"));
}
