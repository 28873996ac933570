#include <cmath>

#include "check.hpp"
#include "problem.hpp"
#include "rankfill/drive_ridge.hpp"
#include "tables.hpp"

using namespace rankfill;

static std::vector<Ridge> ridges(int rank) {
    Ridge plain;
    plain.rank = rank, plain.offset = 2.5f, plain.penalty = 0.4, plain.bias_penalty = 0.8;
    Ridge users = plain, nonnegative = plain, implicit = plain, steps = plain;
    users.bias_column = rank, users.held_column = rank + 1, users.by_count = true;
    nonnegative.nonnegative = true;
    implicit.implicit = true, implicit.confidence = 0.5f;
    steps.steps = 3;
    Ridge blocks = users, implicit_blocks = implicit, implicit_steps = implicit;
    blocks.block = implicit_blocks.block = 16;
    implicit_steps.steps = 3, implicit_steps.by_count = true, implicit_steps.exponent = 0.5, implicit_steps.base = 7.0;
    return {plain, users, nonnegative, implicit, steps, blocks, implicit_blocks, implicit_steps};
}

TEST(solved_rows_have_the_same_bits_on_every_instruction_set_and_thread_count) {
    for (const int rank : {1, 5, 14, 16, 30, 33})
        for (const Ridge& ridge : ridges(rank)) {
            std::vector<float> expected, expected_gram;
            double expected_errors = 0.0;
            for (const KernelTable* kernels : all_tables())
                for (const int threads : {1, 2, 5}) {
                    Problem problem(61, 147, rank + 2, 3);
                    std::vector<float> gram(problem.stride * problem.stride);
                    gram_matrix(*kernels, problem.fixed_factors(), gram.data(), threads);
                    const RidgePass pass{problem.ratings(),
                                         {problem.moving.data(), problem.n_rows, problem.stride},
                                         problem.fixed_factors(),
                                         ridge,
                                         gram.data()};
                    solve_rows(*kernels, pass, threads);
                    const double errors = squared_errors(*kernels, pass, threads).weighted;
                    if (expected.empty()) expected = problem.moving, expected_gram = gram, expected_errors = errors;
                    CHECK(problem.moving == expected);
                    CHECK(gram == expected_gram);
                    CHECK(errors == expected_errors);
                }
        }
}

TEST(solved_rows_leave_no_gradient) {
    constexpr int rank = 9;
    for (const KernelTable* kernels : all_tables()) {
        Problem problem(40, 150, rank, 8);
        const Factors<float> moving{problem.moving.data(), problem.n_rows, problem.stride};
        const Factors<const float> fixed = problem.fixed_factors();
        solve_rows(*kernels, {problem.ratings(), moving, fixed, ridges(rank)[0], nullptr}, 2);
        for (std::int64_t row = 0; row < problem.n_rows; ++row)
            for (int k = 0; k < rank; ++k) {
                double gradient = 0.4 * moving.row(row)[k];
                for (std::int64_t t = problem.indptr[row]; t < problem.indptr[row + 1]; ++t) {
                    const float* x = fixed.row(problem.indices[t]);
                    double error = problem.values[t] - 2.5;
                    for (int j = 0; j < rank; ++j) error -= static_cast<double>(moving.row(row)[j]) * x[j];
                    gradient -= error * x[k];
                }
                CHECK(std::abs(gradient) < 1e-3);
            }
    }
}

TEST(multiplicative_rows_and_steps_of_descent_have_the_same_bits_everywhere) {
    std::vector<float> expected;
    for (const KernelTable* kernels : all_tables()) {
        Problem problem(20, 150, 20, 4);
        problem.moving.assign(problem.moving.size(), 0.5f);
        const Factors<float> moving{problem.moving.data(), problem.n_rows, problem.stride};
        const Csr ratings = problem.ratings();
        const std::vector<float> start(problem.moving.size(), 0.5f);
        kernels->descent.multiplicative_rows(ratings, moving, problem.fixed_factors(),
                                             {start.data(), problem.n_rows, problem.stride}, 0.1, 0.2, 0,
                                             problem.n_rows);
        std::vector<float> residuals(problem.values.size()), own(20, 0.0f), other(150, 0.25f);
        kernels->descent.residuals(ratings, {problem.moving.data(), 20, problem.stride}, problem.fixed_factors(), 1.0f,
                                   0, 20, residuals.data());
        FactorStep step{ratings.indptr.data(), ratings.indices.data(), residuals.data(), own.data(), other.data()};
        step.penalty = 0.5, step.by_count = true, step.sign = -1.0f;
        kernels->descent.move_rows(step, 0, 20);
        kernels->descent.shift_rows(step, 0, 20);
        std::vector<float> result = problem.moving;
        result.insert(result.end(), residuals.begin(), residuals.end());
        result.insert(result.end(), own.begin(), own.end());
        if (expected.empty()) expected = result;
        CHECK(result == expected);
    }
}
