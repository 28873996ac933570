#include <cmath>

#include "check.hpp"
#include "problem.hpp"
#include "rankfill/gradient_drive.hpp"
#include "tables.hpp"

using namespace rankfill;

// A grid of `groups` groups: users and items go round the groups by their number.
struct Blocks {
    std::vector<std::int32_t> users, items, strata;
    std::vector<float> values;
    std::vector<std::int64_t> start{0};
    int groups;

    Blocks(const Problem& problem, int groups) : groups(groups) {
        for (int b = 0; b < groups; ++b)
            for (int c = 0; c < groups; ++c) {
                for (std::int64_t user = b; user < problem.n_rows; user += groups)
                    for (std::int64_t k = problem.indptr[user]; k < problem.indptr[user + 1]; ++k)
                        if (problem.indices[k] % groups == c) {
                            users.push_back(static_cast<std::int32_t>(user));
                            items.push_back(problem.indices[k]);
                            values.push_back(problem.values[k] - 3.0f);
                        }
                start.push_back(static_cast<std::int64_t>(users.size()));
            }
        for (int s = 0; s < groups; ++s) strata.push_back((s * 3 + 1) % groups);
        users.resize(users.size() + 4), items.resize(items.size() + 4);
    }

    Grid grid() const { return {users.data(), items.data(), values.data(), start.data(), strata.data(), groups}; }
};

TEST(a_gradient_pass_has_the_same_bits_on_every_instruction_set_and_thread_count) {
    for (const int rank : {1, 14, 30, 46, 62, 65})
        for (const StepSize step : {StepSize::adagrad, StepSize::sqrt, StepSize::line_search})
            for (const bool nonnegative : {false, true}) {
                std::vector<float> expected;
                RoundSums expected_sums;
                for (const KernelTable* kernels : all_tables())
                    for (const int threads : {1, 2, 7}) {
                        Problem problem(67, 41, rank + 2, 5);
                        const Blocks blocks(problem, 11);
                        std::vector<float> users(67 * problem.stride, 0.1f), user_memory(67, 1.0f),
                            item_memory(41, 1.0f), user_penalties(67, 0.05f), item_penalties(41, 0.07f);
                        std::vector<float> user_means(users.size()), item_means(problem.fixed.size()), user_met(67),
                            item_met(41);
                        GradientRule rule{{Loss::huber, 1.0f}, step, nonnegative, nonnegative, true, rank, 0.1f, 0.05f};
                        rule.period = 100.0;
                        const RoundSums sums = gradient_pass(
                            *kernels, blocks.grid(), {users.data(), 67, problem.stride},
                            {problem.fixed.data(), 41, problem.stride}, user_memory.data(), item_memory.data(),
                            user_penalties.data(), item_penalties.data(), rule, 0.0, threads,
                            {user_means.data(), user_met.data()}, {item_means.data(), item_met.data()});
                        users.insert(users.end(), problem.fixed.begin(), problem.fixed.end());
                        users.insert(users.end(), user_memory.begin(), user_memory.end());
                        users.insert(users.end(), user_means.begin(), user_means.end());
                        users.insert(users.end(), item_means.begin(), item_means.end());
                        if (expected.empty()) expected = users, expected_sums = sums;
                        CHECK(users == expected);
                        CHECK(sums.loss == expected_sums.loss && sums.absolute == expected_sums.absolute);
                        CHECK(std::isfinite(sums.loss) && sums.loss > 0.0);
                    }
            }
}

TEST(variance_reduced_rows_and_full_gradients_have_the_same_bits_everywhere) {
    for (const int rank : {1, 16, 33, 65})
        for (const Reduction method : {Reduction::sag, Reduction::saga, Reduction::svrg}) {
            std::vector<float> expected;
            for (const KernelTable* kernels : all_tables())
                for (const int threads : {1, 3}) {
                    Problem problem(61, 47, rank, 3);
                    std::vector<float> gradient(problem.moving.size());
                    const Factors<float> moving{problem.moving.data(), problem.n_rows, problem.stride};
                    variance_reduced_pass(*kernels,
                                          {problem.ratings(), moving, problem.fixed_factors(), method, 0.1f, 0.5f,
                                           0.25f, 2, -1, -1, 1.0f, 9},
                                          threads);
                    full_gradient(*kernels,
                                  {problem.ratings(),
                                   {problem.moving.data(), problem.n_rows, problem.stride},
                                   problem.fixed_factors(),
                                   {gradient.data(), problem.n_rows, problem.stride},
                                   {Loss::squared, 0.0f},
                                   0.1f,
                                   0.5f,
                                   nullptr},
                                  threads);
                    gradient.insert(gradient.end(), problem.moving.begin(), problem.moving.end());
                    if (expected.empty()) expected = gradient;
                    CHECK(gradient == expected);
                }
        }
}
