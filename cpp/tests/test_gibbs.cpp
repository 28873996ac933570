#include "check.hpp"
#include "problem.hpp"
#include "rankfill/drive_gibbs.hpp"
#include "tables.hpp"

using namespace rankfill;

TEST(drawn_rows_have_the_same_bits_on_every_instruction_set_and_thread_count) {
    for (const int rank : {1, 14, 16, 33})
        for (const bool with_third : {false, true}) {
            const int stride = (rank + 16) / 16 * 16;
            std::vector<double> precision((rank + 1) * stride);
            for (int k = 0; k <= rank; ++k) precision[k * stride + k] = 1.5;
            const std::vector<float> prior(stride, 0.25f);
            std::vector<float> expected;
            for (const KernelTable* kernels : all_tables())
                for (const int threads : {1, 2, 8}) {
                    Problem problem(41, 147, rank + 2, 3);
                    std::vector<float> means(problem.moving.size());
                    std::vector<std::int32_t> third(problem.indices.size());
                    for (std::size_t t = 0; t < third.size(); ++t) third[t] = static_cast<std::int32_t>(t % 147);
                    const auto ratings = problem.ratings();
                    RowPosterior pass{ratings,
                                      {problem.moving.data(), problem.n_rows, problem.stride},
                                      {ratings.indices, problem.fixed_factors(), rank + 1},
                                      {},
                                      rank,
                                      rank,
                                      0.7,
                                      {precision.data(), rank + 1, stride},
                                      {prior.data(), 1, stride},
                                      99,
                                      {means.data(), problem.n_rows, problem.stride},
                                      {}};
                    if (with_third) pass.second = {third, problem.fixed_factors(), rank};
                    draw_rows(*kernels, pass, threads);
                    means.insert(means.end(), problem.moving.begin(), problem.moving.end());
                    if (expected.empty()) expected = means;
                    CHECK(means == expected);
                }
        }
}

TEST(normal_numbers_do_not_depend_on_threads) {
    std::vector<float> one(1000 * 5), many(1000 * 5);
    normal_rows(7, 1000, 5, one.data(), 1);
    normal_rows(7, 1000, 5, many.data(), 3);
    CHECK(one == many);
}
