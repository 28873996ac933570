// What neighbours say: sums over the k nearest that have an entry in a column, and weights that make them say it best.
#pragma once

#include "rankfill/isa.hpp"
#include "rankfill/neighbours.hpp"

namespace rankfill::RANKFILL_ISA {

// The entries of one column at hand by row.
class OpenColumn {
 public:
    OpenColumn(const Csr& by_other, std::int64_t n_rows) : by_other_(by_other), entries_(n_rows), filled_(n_rows) {}

    void open(std::int32_t column) {
        if (column == column_) return;
        fill(0);
        column_ = column;
        fill(1);
    }
    bool has(std::int32_t row) const { return filled_[row]; }
    float operator[](std::int32_t row) const { return entries_[row]; }

 private:
    void fill(std::uint8_t flag) {
        if (column_ < 0) return;
        for (std::int64_t t = by_other_.indptr[column_]; t < by_other_.indptr[column_ + 1]; ++t) {
            entries_[by_other_.indices[t]] = by_other_.values[t];
            filled_[by_other_.indices[t]] = flag;
        }
    }

    const Csr& by_other_;
    std::vector<float> entries_;
    std::vector<std::uint8_t> filled_;
    std::int32_t column_ = -1;
};

// A weighted sum that grows neighbour by neighbour.
struct Said {
    double sum = 0.0, weights = 0.0;
    int n = 0;

    void add(double weight, double entry) { sum += weight * entry, weights += weight, ++n; }
    // NaN where no neighbour says anything.
    float value(const NeighbourSums& job) const {
        if (n == 0) return std::numeric_limits<float>::quiet_NaN();
        const double total = job.weighing == Weighing::learned ? 1.0 : job.penalty + weights;
        return static_cast<float>(sum / total);
    }
};

inline Said said_of(const NeighbourSums& job, std::int64_t row, const OpenColumn& column) {
    const std::int32_t* indices = job.near.indices_of(row);
    const float* weights = job.near.weights_of(row);
    Said said;
    for (int i = 0; i < job.near.keep && indices[i] >= 0 && said.n < job.k; ++i)
        if (column.has(indices[i])) said.add(job.weighing == Weighing::equal ? 1.0 : weights[i], column[indices[i]]);
    return said;
}

// The sums of pairs of row and column, in the order of columns.
inline void sums_of_pairs(const NeighbourSums& job, std::span<const std::int32_t> rows,
                          std::span<const std::int32_t> columns, float* result) {
    OpenColumn column(job.by_other, job.near.n_rows);
    for (std::size_t t = 0; t < rows.size(); ++t) {
        column.open(columns[t]);
        result[t] = said_of(job, rows[t], column).value(job);
    }
}

// The sums of every row in one column: each entry of the column speaks to the rows that have it among their neighbours
// (`speaks_to`, by neighbour); a row to which more than k speak is asked for its k nearest.
inline void sums_of_column(const NeighbourSums& job, const Csr& speaks_to, std::int32_t number, OpenColumn& column,
                           std::vector<Said>& said, float* result) {
    column.open(number);
    std::fill(said.begin(), said.end(), Said{});
    for (std::int64_t t = job.by_other.indptr[number]; t < job.by_other.indptr[number + 1]; ++t) {
        const std::int32_t speaker = job.by_other.indices[t];
        const double entry = job.by_other.values[t];
        for (std::int64_t s = speaks_to.indptr[speaker]; s < speaks_to.indptr[speaker + 1]; ++s)
            said[speaks_to.indices[s]].add(job.weighing == Weighing::equal ? 1.0 : speaks_to.values[s], entry);
    }
    for (std::int64_t row = 0; row < job.near.n_rows; ++row)
        result[row] = (said[row].n > job.k ? said_of(job, row, column) : said[row]).value(job);
}

inline void sums_of_columns(const NeighbourSums& job, const Csr& speaks_to, std::span<const std::int32_t> columns,
                            std::int64_t first, std::int64_t last, float* result) {
    OpenColumn column(job.by_other, job.near.n_rows);
    std::vector<Said> said(job.near.n_rows);
    for (std::int64_t i = first; i < last; ++i)
        sums_of_column(job, speaks_to, columns[i], column, said, result + i * job.near.n_rows);
}

// The sums of every column for one row: neighbours speak in their order, so that the k nearest of a column come first.
inline void sums_of_row(const NeighbourSums& job, const Csr& by_own, std::int64_t row, std::vector<Said>& said,
                        float* result) {
    std::fill(said.begin(), said.end(), Said{});
    const std::int32_t* indices = job.near.indices_of(row);
    const float* weights = job.near.weights_of(row);
    for (int i = 0; i < job.near.keep && indices[i] >= 0; ++i)
        for (std::int64_t t = by_own.indptr[indices[i]]; t < by_own.indptr[indices[i] + 1]; ++t) {
            Said& column = said[by_own.indices[t]];
            if (column.n < job.k) column.add(job.weighing == Weighing::equal ? 1.0 : weights[i], by_own.values[t]);
        }
    for (std::size_t column = 0; column < said.size(); ++column) result[column] = said[column].value(job);
}

inline void sums_of_rows(const NeighbourSums& job, const Csr& by_own, std::span<const std::int32_t> rows,
                         std::int64_t first, std::int64_t last, float* result) {
    const std::int64_t n_columns = job.by_other.n_rows();
    std::vector<Said> said(n_columns);
    for (std::int64_t i = first; i < last; ++i) sums_of_row(job, by_own, rows[i], said, result + i * n_columns);
}

}  // namespace rankfill::RANKFILL_ISA
