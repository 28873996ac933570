#include <cmath>
#include <random>

#include "check.hpp"
#include "rankfill/drive_gaussian.hpp"
#include "tables.hpp"

using namespace rankfill;

// Rows with no hole, with some, and with nothing but holes; Λ = I + A Aᵀ / n.
struct HoledTable {
    int n_columns, stride;
    std::int64_t n_rows;
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<double> values, precision, covariance;

    HoledTable(std::int64_t n_rows, int n_columns)
        : n_columns(n_columns),
          stride((n_columns + 15) / 16 * 16),
          n_rows(n_rows),
          values(n_rows * stride),
          precision(n_columns * stride),
          covariance(n_columns * stride) {
        std::mt19937 generator(n_columns);
        std::normal_distribution<double> normal;
        for (std::int64_t row = 0; row < n_rows; ++row) {
            const double share = row % 5 == 0 ? 0.0 : row % 5 == 1 ? 1.0 : 0.4;
            for (int column = 0; column < n_columns; ++column) {
                values[row * stride + column] = normal(generator);
                if (std::uniform_real_distribution<double>()(generator) < share) indices.push_back(column);
            }
            indptr.push_back(std::ssize(indices));
        }
        std::vector<double> a(n_columns * n_columns);
        for (double& entry : a) entry = normal(generator);
        for (int i = 0; i < n_columns; ++i)
            for (int j = 0; j < n_columns; ++j) {
                double sum = 0.0;
                for (int k = 0; k < n_columns; ++k) sum += a[i * n_columns + k] * a[j * n_columns + k];
                precision[i * stride + j] = (i == j) + sum / n_columns;
            }
    }

    void fill(const KernelTable& kernels, int threads) {
        fill_rows(kernels, {indptr, indices, {values.data(), n_rows, stride}, {precision.data(), n_columns, stride}},
                  covariance.data(), threads);
    }

    std::span<const std::int32_t> holes(std::int64_t row) const {
        return std::span(indices).subspan(indptr[row], indptr[row + 1] - indptr[row]);
    }
};

TEST(filled_rows_have_the_same_bits_on_every_instruction_set_and_thread_count) {
    for (const int n_columns : {1, 5, 16, 17, 40}) {
        std::vector<double> expected, expected_covariance;
        for (const KernelTable* kernels : all_tables())
            for (const int threads : {1, 2, 5}) {
                HoledTable table(53, n_columns);
                table.fill(*kernels, threads);
                if (expected.empty()) expected = table.values, expected_covariance = table.covariance;
                CHECK(table.values == expected);
                CHECK(table.covariance == expected_covariance);
            }
    }
}

TEST(what_is_filled_in_is_where_the_density_is_highest_and_what_was_known_stays) {
    for (const KernelTable* kernels : all_tables())
        for (const int n_columns : {1, 7, 33}) {
            HoledTable table(41, n_columns);
            const std::vector<double> before = table.values;
            table.fill(*kernels, 2);
            for (std::int64_t row = 0; row < table.n_rows; ++row) {
                std::vector<bool> unknown(n_columns);
                for (const std::int32_t hole : table.holes(row)) unknown[hole] = true;
                const double* x = table.values.data() + row * table.stride;
                for (int i = 0; i < n_columns; ++i) {
                    double gradient = 0.0;  // of ½ xᵀΛx
                    for (int j = 0; j < n_columns; ++j) gradient += table.precision[i * table.stride + j] * x[j];
                    CHECK(unknown[i] ? std::abs(gradient) < 1e-10 : x[i] == before[row * table.stride + i]);
                }
                for (int i = n_columns; i < table.stride; ++i) CHECK(x[i] == 0.0);
            }
        }
}

TEST(the_covariance_of_one_row_inverts_its_part_of_the_precision) {
    for (const KernelTable* kernels : all_tables()) {
        HoledTable table(3, 19);  // the first row is whole, the second all holes
        table.indptr.resize(4), table.indptr[3] = table.indptr[2];
        table.fill(*kernels, 1);
        for (int i = 0; i < 19; ++i)
            for (int j = 0; j < 19; ++j) {
                double product = 0.0;
                for (int k = 0; k < 19; ++k)
                    product += table.precision[i * table.stride + k] *
                               table.covariance[std::min(k, j) * table.stride + std::max(k, j)];
                CHECK(std::abs(product - (i == j)) < 1e-10);
            }
    }
}

TEST(a_table_without_rows_or_without_holes_has_nothing_to_fill) {
    for (const KernelTable* kernels : all_tables())
        for (const std::int64_t n_rows : {0, 1}) {
            HoledTable table(n_rows, 4);
            const std::vector<double> before = table.values;
            table.fill(*kernels, 3);
            CHECK(table.values == before);
            CHECK(table.covariance == std::vector<double>(4 * 16, 0.0));
        }
}
