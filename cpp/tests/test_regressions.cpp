#include <cmath>

#include "check.hpp"
#include "problem.hpp"
#include "rankfill/item_losses.hpp"
#include "rankfill/parallel.hpp"
#include "tables.hpp"

using namespace rankfill;

namespace {

constexpr std::int64_t kItems = 40, kUsers = 60;

// Items by user; with every item a source, X is both.
struct Choices {
    Problem by_item{kItems, kUsers, 1, 5};
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices, places;
    std::vector<float> values, dense = std::vector<float>(kItems * kUsers), gram = std::vector<float>(kItems * kItems);
    std::vector<double> inverse_norms = std::vector<double>(kItems);

    Choices() {
        for (std::int64_t item = 0; item < kItems; ++item) {
            places.push_back(static_cast<std::int32_t>(item));
            for (std::int64_t t = by_item.indptr[item]; t < by_item.indptr[item + 1]; ++t)
                dense[item * kUsers + by_item.indices[t]] = by_item.values[t];
        }
        for (std::int64_t user = 0; user < kUsers; ++user) {
            for (std::int64_t item = 0; item < kItems; ++item)
                if (const float value = dense[item * kUsers + user]; value != 0.0f)
                    indices.push_back(static_cast<std::int32_t>(item)), values.push_back(value);
            indptr.push_back(std::ssize(indices));
        }
        for (std::int64_t a = 0; a < kItems; ++a) {
            for (std::int64_t b = 0; b <= a; ++b) gram[a * kItems + b] = product(a, b);
            inverse_norms[a] = gram[a * kItems + a] > 0.0f ? 1.0 / std::sqrt(gram[a * kItems + a]) : 0.0;
        }
    }

    float product(std::int64_t a, std::int64_t b) const {  // of whole numbers: exact
        float sum = 0.0f;
        for (std::int64_t user = 0; user < kUsers; ++user) sum += dense[a * kUsers + user] * dense[b * kUsers + user];
        return sum;
    }

    Pattern items() const { return {by_item.indptr, by_item.indices}; }
    Pattern users() const { return {indptr, indices}; }
};

template <class Work>
void with_workers(int threads, const Work& work) {
    std::atomic<std::int64_t> next{0};
    parallel_for(threads, threads, [&](std::int64_t) { work(next); });
}

}  // namespace

TEST(regressions_on_neighbours_solve_their_normal_equations_with_the_same_bits_everywhere) {
    const Choices problem;
    constexpr double penalty = 3.0;
    for (const int keep : {1, 6, 40}) {
        std::vector<float> expected;
        for (const KernelTable* kernels : all_tables())
            for (const int threads : {1, 3}) {
                std::vector<std::int32_t> sources(kItems * keep);
                std::vector<float> weights(kItems * keep);
                std::vector<double> explained(kItems);
                const ItemSystems task{problem.items(),
                                       problem.by_item.values.data(),
                                       problem.users(),
                                       problem.values.data(),
                                       {problem.gram.data(), kItems, kItems},
                                       problem.inverse_norms.data(),
                                       problem.places.data(),
                                       penalty,
                                       keep,
                                       sources.data(),
                                       weights.data(),
                                       explained.data()};
                with_workers(threads, [&](auto& next) { kernels->item_systems(task, next); });
                if (expected.empty()) expected = weights;
                CHECK(weights == expected);
                for (std::int64_t item = 0; item < kItems; ++item)
                    for (int a = 0; a < keep && weights[item * keep + a] != 0.0f; ++a) {
                        const std::int32_t own = sources[item * keep + a];
                        CHECK(own != item);
                        double left = penalty * weights[item * keep + a] - problem.product(own, item);
                        for (int b = 0; b < keep && weights[item * keep + b] != 0.0f; ++b)
                            left += problem.product(own, sources[item * keep + b]) * weights[item * keep + b];
                        CHECK(std::abs(left) < 1e-3);
                    }
            }
    }
}

TEST(logistic_regressions_have_no_gradient_left_and_the_same_bits_on_any_number_of_threads) {
    Choices problem;
    for (float& target : problem.by_item.values) target = target > 3 ? 1.0f : -1.0f;
    const std::vector<float> features(kUsers, 1.0f);
    constexpr double penalty = 2.0, effect_penalty = 0.5;
    for (const bool everyone : {false, true}) {
        std::vector<float> expected;
        for (const int threads : {1, 3}) {
            std::vector<float> weights(kItems * kItems), effects(kItems);
            std::vector<double> objectives(kItems);
            const ItemLosses task{problem.items(),
                                  problem.by_item.values.data(),
                                  problem.users(),
                                  problem.values.data(),
                                  {features.data(), kUsers, 1},
                                  penalty,
                                  effect_penalty,
                                  1e-8,
                                  true,
                                  everyone,
                                  {weights.data(), kItems, kItems},
                                  {effects.data(), kItems, 1},
                                  objectives.data()};
            with_workers(threads, [&](auto& next) { solve_item_losses(task, next); });
            if (expected.empty()) expected = weights;
            CHECK(weights == expected);
            for (std::int64_t item = 0; item < kItems; ++item) {
                std::vector<double> targets(kUsers, everyone ? -1.0 : 0.0), gradient(kItems);
                for (std::int64_t t = problem.by_item.indptr[item]; t < problem.by_item.indptr[item + 1]; ++t)
                    targets[problem.by_item.indices[t]] = problem.by_item.values[t];
                double slope = effect_penalty * effects[item];
                for (std::int64_t i = 0; i < kItems; ++i) gradient[i] = penalty * weights[i * kItems + item];
                for (std::int64_t user = 0; user < kUsers; ++user) {
                    double margin = effects[item];
                    for (std::int64_t i = 0; i < kItems; ++i)
                        margin += problem.dense[i * kUsers + user] * weights[i * kItems + item];
                    const double pull = -targets[user] / (1.0 + std::exp(targets[user] * margin));
                    slope += pull;
                    for (std::int64_t i = 0; i < kItems; ++i) gradient[i] += pull * problem.dense[i * kUsers + user];
                }
                CHECK(std::abs(slope) < 1e-4);
                for (std::int64_t i = 0; i < kItems; ++i)
                    CHECK(i == item ? weights[i * kItems + item] == 0.0f : std::abs(gradient[i]) < 1e-4);
            }
        }
    }
}
