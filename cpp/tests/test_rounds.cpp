#include <cmath>

#include "check.hpp"
#include "problem.hpp"
#include "rankfill/drive.hpp"
#include "tables.hpp"

using namespace rankfill;

static const Rule kRules[] = {
    {Slack::linear, Root::approximate, true, 0.02, 0.0},
    {Slack::linear, Root::exact, true, 0.5, 0.1},
    {Slack::quadratic, Root::exact, true, 0.3, 0.0},
    {Slack::quadratic, Root::bisection, true, 0.3, 0.0},
    {Slack::none, Root::exact, true, 1.0, 0.25},
    {Slack::linear, Root::approximate, false, 0.05, 0.0},
    {Slack::linear, Root::approximate, true, 0.1, 0.0, 20.0f},
};

TEST(a_pass_has_the_same_bits_in_waves_and_plainly_on_every_instruction_set_and_thread_count) {
    for (const int rank : {1, 5, 16, 17, 30, 48, 64, 65})
        for (const Rule& rule : kRules) {
            std::vector<float> expected;
            double expected_loss = 0.0;
            for (const KernelTable* kernels : all_tables())
                for (const PassRows rows : {kernels->rounds.pass_rows_plainly, kernels->rounds.pass_rows})
                    for (const int threads : {1, 2, 5}) {
                        Problem problem(61, 47, rank, 3);
                        const Factors<float> moving{problem.moving.data(), problem.n_rows, problem.stride};
                        const Losses losses = passive_aggressive_pass(*kernels, rows, problem.ratings(), moving,
                                                                      problem.fixed_factors(), rule, 7, threads);
                        if (expected.empty()) {
                            expected = problem.moving;
                            expected_loss = losses.loss;
                        }
                        CHECK(problem.moving == expected);
                        CHECK(losses.loss == expected_loss);
                    }
        }
}

TEST(a_pass_moves_only_rows_with_entries_and_leaves_the_padding_zero) {
    Problem problem(20, 30, 5, 1);
    const Factors<float> moving{problem.moving.data(), problem.n_rows, problem.stride};
    for (const KernelTable* kernels : all_tables())
        passive_aggressive_pass(*kernels, kernels->rounds.pass_rows, problem.ratings(), moving, problem.fixed_factors(),
                                kRules[0], 1, 2);
    for (std::int64_t row = 0; row < problem.n_rows; ++row)
        for (int k = 0; k < problem.stride; ++k) {
            const bool may_move = k < 5 && problem.indptr[row] < problem.indptr[row + 1];
            CHECK(may_move || moving.row(row)[k] == 0.0f);
        }
}

TEST(a_pass_over_no_rows_and_over_one_entry) {
    const std::vector<std::int64_t> none{0}, one{0, 1};
    const std::vector<std::int32_t> index{0};
    const std::vector<float> value{4.0f};
    std::vector<float> w(16, 0.0f), x(16, 0.0f);
    x[0] = 2.0f;
    const Rule rule{Slack::none, Root::exact, true, 1.0, 0.0};
    for (const KernelTable* kernels : all_tables()) {
        passive_aggressive_pass(*kernels, kernels->rounds.pass_rows, {none, {}, {}}, {w.data(), 0, 16},
                                {x.data(), 1, 16}, rule, 1, 2);
        CHECK(w[0] == 0.0f);
        passive_aggressive_pass(*kernels, kernels->rounds.pass_rows, {one, index, value}, {w.data(), 1, 16},
                                {x.data(), 1, 16}, rule, 1, 2);
        CHECK(w[0] == 2.0f);
        w[0] = 0.0f;
    }
}

TEST(one_exact_round_without_slack_meets_its_target) {
    std::mt19937 generator(5);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (const KernelTable* kernels : all_tables())
        for (int trial = 0; trial < 200; ++trial) {
            double w[16] = {}, x[16] = {};
            for (int k = 0; k < 10; ++k) w[k] = uniform(generator), x[k] = uniform(generator);
            const double y = 6 * uniform(generator);
            kernels->rounds.update_double(w, x, y, {Slack::none, Root::exact, true, 1.0, 0.0}, 1);
            double product = 0;
            for (int k = 0; k < 16; ++k) product += w[k] * x[k];
            CHECK(std::abs(product - y) < 1e-12);
        }
}
