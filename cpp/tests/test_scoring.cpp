#include <algorithm>
#include <cmath>
#include <random>

#include "check.hpp"
#include "problem.hpp"
#include "rankfill/drive.hpp"
#include "tables.hpp"

using namespace rankfill;

TEST(the_best_items_are_those_of_a_full_sort) {
    const Problem problem(37, 53, 9, 2);  // rows of `fixed` stand for the items, their own rows for the users
    const Factors<const float> items = problem.fixed_factors(), users{problem.fixed.data(), 37, problem.stride};
    std::vector<std::uint8_t> allowed(53, 1);
    allowed[5] = allowed[52] = 0;
    for (const KernelTable* kernels : all_tables())
        for (const int n : {1, 10, 60})
            for (const int threads : {1, 3}) {
                std::vector<std::int32_t> best(37 * n);
                std::vector<float> scores(37 * n);
                top_n(*kernels, users, items, 9, {problem.indptr, problem.indices, allowed},
                      {n, best.data(), scores.data()}, threads);
                for (std::int64_t user = 0; user < 37; ++user) {
                    std::vector<std::pair<float, std::int32_t>> all;
                    for (std::int32_t item = 0; item < 53; ++item) {
                        const auto seen =
                            std::span(problem.indices)
                                .subspan(problem.indptr[user], problem.indptr[user + 1] - problem.indptr[user]);
                        if (!allowed[item] || std::ranges::count(seen, item)) continue;
                        float score = 0;
                        for (int k = 0; k < 9; ++k) score = score + users.row(user)[k] * items.row(item)[k];
                        all.emplace_back(-score, item);
                    }
                    std::sort(all.begin(), all.end());
                    for (int k = 0; k < n; ++k) {
                        const bool filled = k < std::ssize(all);
                        CHECK(best[user * n + k] == (filled ? all[k].second : -1));
                        CHECK(filled ? scores[user * n + k] == -all[k].first : std::isnan(scores[user * n + k]));
                    }
                }
            }
}

TEST(the_best_items_of_one_user_among_many_items_are_those_of_a_full_sort) {
    std::mt19937 random(3);
    for (const KernelTable* kernels : all_tables())
        for (const std::int64_t n_items : {320, 1000, 1001, 4111})
            for (const int rank : {1, 9, 16, 33, 70}) {
                const int stride = (rank + 15) / 16 * 16, n = 10;
                std::vector<float> factors((n_items + 2) * stride, 0.0f);
                for (std::int64_t row = 0; row < n_items + 2; ++row)  // few values: many scores are equal
                    for (int k = 0; k < rank; ++k)
                        factors[row * stride + k] = static_cast<int>(random() % 7) / 3.0f - 1;
                const Factors<const float> items{factors.data(), n_items, stride},
                    users{factors.data() + n_items * stride, 2, stride};
                std::vector<std::uint8_t> allowed(n_items, 1);
                for (std::int64_t item = 0; item < n_items; item += 5) allowed[item] = 0;
                const std::vector<std::int64_t> seen_indptr{0, 2, 2};
                const std::vector<std::int32_t> seen{1, 7};
                std::vector<std::int32_t> best(2 * n);
                std::vector<float> scores(2 * n);
                top_n(*kernels, users, items, rank, {seen_indptr, seen, allowed}, {n, best.data(), scores.data()}, 1);
                for (std::int64_t user = 0; user < 2; ++user) {
                    std::vector<std::pair<float, std::int32_t>> all;
                    for (std::int32_t item = 0; item < n_items; ++item) {
                        if (!allowed[item] || (user == 0 && (item == 1 || item == 7))) continue;
                        float score = 0;
                        for (int k = 0; k < rank; ++k) score = score + users.row(user)[k] * items.row(item)[k];
                        all.emplace_back(-score, item);
                    }
                    std::sort(all.begin(), all.end());
                    for (int k = 0; k < n; ++k) {
                        CHECK(best[user * n + k] == all[k].second);
                        CHECK(scores[user * n + k] == -all[k].first);
                    }
                }
            }
}

TEST(unknown_ids_take_the_default_rows) {
    const Problem problem(4, 6, 3, 9);
    const Factors<const float> items = problem.fixed_factors();
    std::vector<float> user(16, 0.0f), item(16, 0.0f), predictions(3);
    user[0] = 1.0f, item[1] = 1.0f;
    const std::vector<std::int32_t> users{-1, 2, -1}, rows{4, -1, -1};
    for (const KernelTable* kernels : available_tables()) {
        predict_pairs(*kernels, {users, rows}, items, items, {user.data(), item.data(), 3.5f}, predictions, 1);
        CHECK(predictions[0] == items.row(4)[0]);
        CHECK(predictions[1] == items.row(2)[1]);
        CHECK(predictions[2] == 3.5f);
    }
}
