#include <cmath>
#include <random>

#include "check.hpp"
#include "tables.hpp"

using namespace rankfill;

namespace {

struct Sparse {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<double> values, targets;
    std::int32_t n_features;

    Sparse(std::int64_t n_rows, std::int32_t n_features) : n_features(n_features) {
        std::mt19937 generator(7);
        std::normal_distribution<double> normal;
        for (std::int64_t row = 0; row < n_rows; ++row) {
            for (std::int32_t column = 0; column < n_features; ++column)
                if (generator() % 4 == 0) {
                    indices.push_back(column);
                    values.push_back(normal(generator));
                }
            indptr.push_back(std::ssize(indices));
            targets.push_back(generator() % 2 ? 1.0 : -1.0);
        }
    }
    std::int64_t n_rows() const { return std::ssize(targets); }
};

struct Run {
    std::vector<Coordinate> coordinates;
    std::vector<double> slopes;
    LazyShared shared{1, 0, 0, 0};
    std::int64_t visits = 0;

    Run(const Sparse& data, const LazyRule& rule, const KernelTable& kernels, std::int64_t steps)
        : coordinates(data.n_features), slopes(data.n_rows()) {
        const LazyProblem problem{
            {data.indptr, data.indices}, data.values.data(), data.targets.data(), coordinates, slopes.data()};
        visits = kernels.lazy_steps(problem, rule, shared, 0, steps / 3);
        visits += kernels.lazy_steps(problem, rule, shared, steps / 3, steps);
    }
};

}  // namespace

TEST(lazy_steps_are_the_same_on_every_instruction_set) {
    const Sparse data(40, 30);
    for (const LazyMethod method :
         {LazyMethod::kSgd, LazyMethod::kAveraged, LazyMethod::kSag, LazyMethod::kSaga, LazyMethod::kSvrg})
        for (const LazyLoss loss : {LazyLoss::kSquared, LazyLoss::kLogistic}) {
            const LazyRule rule{method, loss, 0.02, 0.5, method == LazyMethod::kAveraged ? 0.75 : 1.0, true, 3};
            const Run expected(data, rule, *all_tables().front(), 10000);
            CHECK(std::isfinite(expected.shared.intercept) && expected.visits >= 10000);
            for (const KernelTable* kernels : all_tables()) {
                const Run found(data, rule, *kernels, 10000);
                CHECK(found.visits == expected.visits);
                CHECK(found.shared.intercept == expected.shared.intercept);
                for (std::int32_t j = 0; j < data.n_features; ++j)
                    CHECK(found.coordinates[j].beta == expected.coordinates[j].beta);
            }
        }
}

TEST(saga_ends_where_the_gradient_is_zero) {
    const Sparse data(40, 30);
    const double decay = 0.1;
    const Run run(data, {LazyMethod::kSaga, LazyLoss::kSquared, 0.01, decay, 1.0, true, 1}, *all_tables().back(),
                  400000);
    std::vector<double> theta, gradient;
    for (const Coordinate& each : run.coordinates) {
        theta.push_back(run.shared.scale * (each.beta - each.second * (run.shared.sum - each.last)));
        gradient.push_back(decay * theta.back());
    }
    for (std::int64_t row = 0; row < data.n_rows(); ++row) {
        double slope = run.shared.intercept - data.targets[row];
        for (auto k = data.indptr[row]; k < data.indptr[row + 1]; ++k) slope += theta[data.indices[k]] * data.values[k];
        for (auto k = data.indptr[row]; k < data.indptr[row + 1]; ++k)
            gradient[data.indices[k]] += slope * data.values[k] / static_cast<double>(data.n_rows());
    }
    for (const double each : gradient) CHECK(std::abs(each) < 1e-10);
}
