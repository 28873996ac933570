#include <cmath>

#include "check.hpp"
#include "problem.hpp"
#include "rankfill/parallel.hpp"
#include "tables.hpp"

using namespace rankfill;

// The entries of a problem and its transpose, values in both orders.
struct TwoWays : Problem {
    std::vector<std::int64_t> column_indptr{0};
    std::vector<std::int32_t> column_indices;
    std::vector<double> doubles, column_values;

    TwoWays() : Problem(37, 61, 5, 4), doubles(values.begin(), values.end()) {
        std::vector<std::vector<std::pair<std::int32_t, double>>> columns(n_columns);
        for (std::int32_t row = 0; row < n_rows; ++row)
            for (std::int64_t t = indptr[row]; t < indptr[row + 1]; ++t)
                columns[indices[t]].emplace_back(row, doubles[t]);
        for (const auto& column : columns) {
            for (const auto& [row, value] : column) column_indices.push_back(row), column_values.push_back(value);
            column_indptr.push_back(std::ssize(column_indices));
        }
    }

    Pattern rows() const { return {indptr, indices}; }
    Pattern columns() const { return {column_indptr, column_indices}; }
};

template <class T>
static std::vector<T> numbers(std::int64_t n) {
    std::mt19937 generator(6);
    std::normal_distribution<T> normal;
    std::vector<T> result(n);
    for (T& number : result) number = normal(generator);
    return result;
}

template <class T>
static void check_products(const SparseKernels<T> KernelTable::* member, double tolerance) {
    const TwoWays problem;
    const std::vector<T> values(problem.values.begin(), problem.values.end());
    for (const std::int64_t width : {1, 7, 16, 40, 80}) {
        const std::int64_t stride = (width + 15) / 16 * 16;
        const std::vector<T> block = numbers<T>(problem.n_columns * width);
        const std::vector<T> left = numbers<T>(problem.n_rows * stride), right = numbers<T>(problem.n_columns * stride);
        std::vector<T> expected_product, expected_entries;
        for (const KernelTable* kernels : all_tables())
            for (const int threads : {1, 4}) {
                std::vector<T> product(problem.n_rows * width), entries(values.size());
                const Block<const T> x{block.data(), problem.n_columns, width};
                const Block<const T> p{left.data(), problem.n_rows, stride}, q{right.data(), problem.n_columns, stride};
                parallel_for(problem.n_rows, threads, [&](std::int64_t row) {
                    const std::int64_t panel = threads == 1 ? width : width / 3;  // the rest is another one
                    for (const auto& [from, to] : {std::pair{std::int64_t{0}, panel}, std::pair{panel, width}})
                        (kernels->*member)
                            .times(problem.rows(), values.data(), x, row, row + 1, from, to,
                                   {product.data(), problem.n_rows, width});
                    (kernels->*member).entries(problem.rows(), p, q, row, row + 1, entries.data());
                });
                if (expected_product.empty()) expected_product = product, expected_entries = entries;
                CHECK(product == expected_product);
                CHECK(entries == expected_entries);
            }
        for (std::int64_t row = 0; row < problem.n_rows; ++row) {
            std::vector<double> sums(width);
            for (std::int64_t t = problem.indptr[row]; t < problem.indptr[row + 1]; ++t) {
                const std::int64_t column = problem.indices[t];
                for (std::int64_t c = 0; c < width; ++c)
                    sums[c] += static_cast<double>(values[t]) * block[column * width + c];
                double entry = 0.0;
                for (std::int64_t k = 0; k < stride; ++k)
                    entry += static_cast<double>(left[row * stride + k]) * right[column * stride + k];
                CHECK(std::abs(expected_entries[t] - entry) < tolerance);
            }
            for (std::int64_t c = 0; c < width; ++c)
                CHECK(std::abs(expected_product[row * width + c] - sums[c]) < tolerance);
        }
    }
}

TEST(sparse_products_are_those_of_the_definition_with_the_same_bits_everywhere) {
    check_products<double>(&KernelTable::sparse_double, 1e-11);
    check_products<float>(&KernelTable::sparse_float, 1e-3);
}

TEST(the_gram_matrix_of_sparse_rows_up_to_the_diagonal_is_that_of_the_definition) {
    const TwoWays problem;
    const std::int64_t n = problem.n_rows;
    for (const KernelTable* kernels : all_tables()) {
        std::vector<double> gram(n * n);
        parallel_for(n, 3, [&](std::int64_t row) {
            kernels->sparse_double.gram(problem.rows(), problem.doubles.data(), problem.columns(),
                                        problem.column_values.data(), row, row + 1, {gram.data(), n, n});
        });
        for (std::int64_t a = 0; a < n; ++a)
            for (std::int64_t b = 0; b < n; ++b) {
                double sum = 0.0;  // of whole numbers: exact
                for (std::int64_t s = problem.indptr[a]; s < problem.indptr[a + 1]; ++s)
                    for (std::int64_t t = problem.indptr[b]; t < problem.indptr[b + 1]; ++t)
                        if (problem.indices[s] == problem.indices[t]) sum += problem.doubles[s] * problem.doubles[t];
                CHECK(gram[a * n + b] == (b <= a ? sum : 0.0));  // the other half is its mirror image
            }
    }
}

TEST(block_updates_have_the_same_bits_everywhere_and_their_weight_is_a_root) {
    for (const Loss loss : {Loss::squared, Loss::absolute, Loss::insensitive, Loss::huber, Loss::logistic}) {
        std::vector<double> expected;
        double expected_weight = 0.0;
        for (const KernelTable* kernels : all_tables())
            for (const int threads : {1, 4}) {
                TwoWays problem;
                const auto own = numbers<double>(problem.n_rows * kTerms);
                const auto other = numbers<double>(problem.n_columns * kOthers);
                std::vector<double> slopes(problem.n_rows), curvatures(problem.n_rows), residuals = problem.doubles;
                for (float& target : problem.values) target = target > 3 ? 1.0f : -1.0f;
                const BlockPass pass{problem.indptr.data(),
                                     problem.indices.data(),
                                     problem.values.data(),
                                     residuals.data(),
                                     own.data(),
                                     other.data(),
                                     loss,
                                     0.5,
                                     0.2,
                                     slopes.data(),
                                     curvatures.data()};
                parallel_for(problem.n_rows, threads,
                             [&](std::int64_t row) { kernels->block.rows(pass, row, row + 1); });
                double length = 0.0, shrunk = 0.0;
                for (const double slope : slopes) length += slope * slope;
                const double penalty = 0.3 * std::sqrt(length);
                const double weight = kernels->block.weight(slopes, curvatures, penalty);
                for (std::int64_t row = 0; row < problem.n_rows; ++row)
                    shrunk += std::pow(slopes[row] / (1.0 + weight * curvatures[row]), 2);
                CHECK(std::abs(std::sqrt(shrunk) / penalty - 1.0) < 1e-9);
                CHECK(kernels->block.weight(slopes, curvatures, 1.01 * std::sqrt(length)) == 0.0);
                for (const std::size_t from : {1, 2, 3}) {  // numbers may begin anywhere, not only where a vector may
                    const std::span<const double> s(slopes), c(curvatures);
                    std::vector<double> copy(s.begin() + from, s.end()), other_copy(c.begin() + from, c.end());
                    CHECK(kernels->block.weight(s.subspan(from), c.subspan(from), penalty) ==
                          kernels->block.weight(copy, other_copy, penalty));
                }
                residuals.insert(residuals.end(), slopes.begin(), slopes.end());
                residuals.insert(residuals.end(), curvatures.begin(), curvatures.end());
                if (expected.empty()) expected = residuals, expected_weight = weight;
                CHECK(residuals == expected);
                CHECK(weight == expected_weight);
            }
    }
}
