#include "pattern.hpp"
#include "rankfill/drive_neighbours.hpp"

namespace {

Similarity similarity_of(const std::string& word) {
    if (word == "cosine") return Similarity::cosine;
    if (word == "pearson") return Similarity::pearson;
    require(word == "inverse-euclidean", "similarity must be cosine, pearson or inverse-euclidean");
    return Similarity::inverse_euclidean;
}

Weighing weighing_of(const std::string& word) {
    if (word == "equal") return Weighing::equal;
    if (word == "similarity") return Weighing::similarity;
    require(word == "learned", "weighing must be equal, similarity or learned");
    return Weighing::learned;
}

// The two sides of one matrix, whose indices stay within each other.
void require_sides(const CheckedPattern& own, const CheckedPattern& other) {
    own.require_columns(other.n_rows(), "by_other");
    other.require_columns(own.n_rows(), "by_own");
}

Neighbours near_of(const Matrix<const std::int32_t>& indices, const Matrix<const float>& weights, std::int64_t n_rows) {
    require(indices.shape(0) == weights.shape(0) && indices.shape(1) == weights.shape(1),
            "neighbours and their weights must have the same shape");
    require(static_cast<std::int64_t>(indices.shape(0)) == n_rows, "there must be neighbours of every row");
    require_rows({indices.data(), indices.size()}, n_rows, "neighbours", "the matrix", -1);
    return {n_rows, static_cast<int>(indices.shape(1)), indices.data(), weights.data()};
}

std::tuple<NewMatrix<std::int32_t>, NewMatrix<float>> similar(
    const CheckedPattern& own, Vector<const float> own_values, const CheckedPattern& other,
    Vector<const float> other_values, Vector<const std::int32_t> rows, const std::string& similarity, int min_support,
    double shrinkage, int keep, int threads, const std::string& isa) {
    require_sides(own, other);
    require_rows(span_of(rows), own.n_rows(), "rows", "by_own");
    require(keep >= 1 && min_support >= 1 && shrinkage >= 0.0, "keep and min_support must be at least 1");
    auto indices = new_matrix<std::int32_t>(rows.shape(0), keep);
    auto similarities = new_matrix<float>(rows.shape(0), keep);
    const SimilarRows job{own.with(own_values),
                          other.with(other_values),
                          span_of(rows),
                          similarity_of(similarity),
                          min_support,
                          shrinkage,
                          keep,
                          indices.data(),
                          similarities.data()};
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        similar_rows(kernels, job, threads);
    }
    return {indices, similarities};
}

NewMatrix<float> weights(const CheckedPattern& own, Vector<const float> own_values, const CheckedPattern& other,
                         Vector<const float> other_values, Matrix<const std::int32_t> indices,
                         Matrix<const float> similarities, int k, double penalty, int threads, const std::string& isa) {
    require_sides(own, other);
    require(k >= 1 && penalty >= 0.0, "k must be at least 1 and penalty at least 0");
    const Neighbours near = near_of(indices, similarities, own.n_rows());
    auto result = new_matrix<float>(near.n_rows, near.keep);
    const NeighbourWeights job{own.with(own_values), other.with(other_values), near, k, penalty, result.data()};
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        neighbour_weights(kernels, job, threads);
    }
    return result;
}

NewVector<float> sums_of_pairs(const CheckedPattern& other, Vector<const float> other_values,
                               Matrix<const std::int32_t> indices, Matrix<const float> weights, int k,
                               const std::string& weighing, double penalty, Vector<const std::int32_t> rows,
                               Vector<const std::int32_t> columns, int threads, const std::string& isa) {
    const NeighbourSums job{near_of(indices, weights, indices.shape(0)), other.with(other_values), k,
                            weighing_of(weighing), penalty};
    other.require_columns(job.near.n_rows, "neighbours");
    require(rows.shape(0) == columns.shape(0), "rows and columns must have the same length");
    require_rows(span_of(rows), job.near.n_rows, "rows", "neighbours");
    require_rows(span_of(columns), other.n_rows(), "columns", "by_other");
    auto result = new_vector<float>(rows.shape(0));
    const KernelTable& kernels = table(isa);
    {
        nb::gil_scoped_release release;
        neighbour_sums_of_pairs(kernels, job, span_of(rows), span_of(columns), result.data(), threads);
    }
    return result;
}

NewMatrix<float> sums_of_all(const CheckedPattern& other, Vector<const float> other_values,
                             Matrix<const std::int32_t> indices, Matrix<const float> weights, int k,
                             const std::string& weighing, double penalty, const CheckedPattern& along,
                             Vector<const float> along_values, Vector<const std::int32_t> which, bool of_rows,
                             int threads, const std::string& isa) {
    const NeighbourSums job{near_of(indices, weights, indices.shape(0)), other.with(other_values), k,
                            weighing_of(weighing), penalty};
    other.require_columns(job.near.n_rows, "neighbours");
    const std::int64_t n_rows = job.near.n_rows, n_columns = other.n_rows();
    require(along.n_rows() == n_rows, "there must be one row of entries for each row of neighbours");
    require(along.n_columns() <= (of_rows ? n_columns : n_rows), "entries must stay within the matrix");
    require_rows(span_of(which), of_rows ? n_rows : n_columns, "which", "the matrix");
    auto result = new_matrix<float>(which.shape(0), of_rows ? n_columns : n_rows);
    const NeighbourKernels& kernels = table(isa).neighbours;
    const Csr entries = along.with(along_values);
    {
        nb::gil_scoped_release release;
        neighbour_sums_of_all(of_rows ? kernels.sums_of_rows : kernels.sums_of_columns, job, entries, span_of(which),
                              result.data(), threads);
    }
    return result;
}

}  // namespace

void bind_neighbours(nb::module_& m) {
    m.def("similar_rows", &similar, nb::arg("by_own"), nb::arg("own_values").noconvert(), nb::arg("by_other"),
          nb::arg("other_values").noconvert(), nb::arg("rows").noconvert(), nb::arg("similarity"),
          nb::arg("min_support"), nb::arg("shrinkage"), nb::arg("keep"), nb::arg("threads"), nb::arg("isa"));
    m.def("neighbour_weights", &weights, nb::arg("by_own"), nb::arg("own_values").noconvert(), nb::arg("by_other"),
          nb::arg("other_values").noconvert(), nb::arg("indices").noconvert(), nb::arg("similarities").noconvert(),
          nb::arg("k"), nb::arg("penalty"), nb::arg("threads"), nb::arg("isa"));
    m.def("neighbour_sums_of_pairs", &sums_of_pairs, nb::arg("by_other"), nb::arg("other_values").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("weights").noconvert(), nb::arg("k"), nb::arg("weighing"),
          nb::arg("penalty"), nb::arg("rows").noconvert(), nb::arg("columns").noconvert(), nb::arg("threads"),
          nb::arg("isa"));
    m.def("neighbour_sums_of_all", &sums_of_all, nb::arg("by_other"), nb::arg("other_values").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("weights").noconvert(), nb::arg("k"), nb::arg("weighing"),
          nb::arg("penalty"), nb::arg("along"), nb::arg("along_values").noconvert(), nb::arg("which").noconvert(),
          nb::arg("of_rows"), nb::arg("threads"), nb::arg("isa"));
}
