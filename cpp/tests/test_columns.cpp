#include <cmath>
#include <numeric>

#include "check.hpp"
#include "problem.hpp"
#include "rankfill/drive_columns.hpp"
#include "tables.hpp"

using namespace rankfill;

static std::vector<ColumnRule> rules(int rank) {
    ColumnRule plain;
    plain.ridge.rank = rank, plain.ridge.offset = 1.5f, plain.penalty = 2.0, plain.rate = 0.1;
    ColumnRule users = plain;
    users.ridge.bias_column = rank, users.ridge.held_column = rank + 1, users.unit = 0.7;
    users.ridge.penalty = 0.4, users.ridge.bias_penalty = 0.8, users.from_row = true;
    return {plain, users};
}

// Columns of all lengths, the last one full; the dictionary is large enough for its Gram matrix to be of use.
struct Columns : Problem {
    std::vector<std::int32_t> order;
    std::vector<double> gram;
    std::int64_t age = -1;

    Columns(int rank, const ColumnRule& rule) : Problem(40, 300, rank + 2, 5), order(n_rows + 1) {
        for (std::int32_t row = 0; row < 300; ++row) indices.push_back(row), values.push_back(row % 5);
        indptr.push_back(std::ssize(indices));
        moving.resize(++n_rows * stride);
        std::iota(order.rbegin(), order.rend(), 0);
        if (rule.ridge.bias_column >= 0) {
            for (std::int64_t row = 0; row < n_rows; ++row) moving[row * stride + rule.ridge.held_column] = 1.0f;
            for (std::int64_t row = 0; row < n_columns; ++row) fixed[row * stride + rule.ridge.bias_column] = 1.0f;
        } else {
            for (std::int64_t row = 0; row < n_columns; ++row)
                std::fill_n(fixed.begin() + row * stride + rank, stride - rank, 0.0f);
        }
        gram.assign(rule.ridge.order() * (rule.ridge.order() / 16 * 16 + 16), 0.0);
    }

    ColumnPass pass(const ColumnRule& rule) {
        return {ratings(),          order, {moving.data(), n_rows, stride}, {fixed.data(), n_columns, stride}, rule,
                {gram.data(), &age}};
    }
};

TEST(steps_on_columns_have_the_same_bits_on_every_instruction_set_and_thread_count) {
    for (const int rank : {1, 5, 16, 30})
        for (const ColumnRule& rule : rules(rank))
            for (const std::int64_t batch : {0, 1, 7}) {  // 0 for gradient steps
                std::vector<float> expected;
                for (const KernelTable* kernels : all_tables())
                    for (const int threads : {1, 3}) {
                        Columns columns(rank, rule);
                        const ColumnPass pass = columns.pass(rule);
                        const ColumnSums sums = batch == 0 ? kernels->columns.gradient(pass)
                                                           : broyden_columns(*kernels, pass, batch, threads);
                        CHECK(std::isfinite(sums.objective) && sums.squared > 0.0);
                        CHECK(batch != 1 || columns.age >= 0 || rule.ridge.penalty == 0.0);
                        std::vector<float> result = columns.moving;
                        result.insert(result.end(), columns.fixed.begin(), columns.fixed.end());
                        result.push_back(static_cast<float>(sums.objective));
                        if (expected.empty()) expected = result;
                        CHECK(result == expected);
                    }
            }
}

TEST(solved_columns_have_the_same_bits_and_leave_no_gradient) {
    constexpr int rank = 6;
    const ColumnRule rule = rules(rank)[0];
    std::vector<float> expected;
    for (const KernelTable* kernels : all_tables())
        for (const int threads : {1, 4}) {
            Columns columns(rank, rule);
            ColumnPass pass = columns.pass(rule);
            pass.gram = {nullptr, nullptr};
            solve_columns(*kernels, pass, threads);
            if (expected.empty()) expected = columns.moving;
            CHECK(columns.moving == expected);
        }
    Columns columns(rank, rule);
    for (std::int64_t column = 0; column < columns.n_rows; ++column)
        for (int k = 0; k < rank; ++k) {
            double gradient = 0.0;
            for (std::int64_t t = columns.indptr[column]; t < columns.indptr[column + 1]; ++t) {
                const float* c = columns.fixed.data() + static_cast<std::int64_t>(columns.indices[t]) * columns.stride;
                double error = columns.values[t] - 1.5;
                for (int j = 0; j < rank; ++j)
                    error -= static_cast<double>(expected[column * columns.stride + j]) * c[j];
                gradient += error * c[k];
            }
            CHECK(std::abs(gradient) < 2e-3);
        }
}
