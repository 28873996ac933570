// How near the pass is to what memory allows: nanoseconds an entry of reading the rows alone, of the pass in waves and
// of the pass a row at a time, on one thread, on a matrix of the shape of MovieLens 10M (two thirds of its ratings).
//
//     cmake --build build/cpp --target kernel_bound && build/cpp/cpp/tests/kernel_bound
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "rankfill/drive.hpp"

using namespace rankfill;

namespace {

constexpr int kStride = 32;

struct Matrix {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<float> values;
};

// Rows and columns with long-tailed weights; repeated pairs do not matter here.
Matrix long_tailed(std::int64_t n_rows, std::int64_t n_columns, std::int64_t n_entries, std::mt19937& generator) {
    std::lognormal_distribution<double> of_row(0.0, 1.2), of_column(0.0, 1.8);
    std::vector<double> weights(n_columns);
    for (double& weight : weights) weight = of_column(generator);
    std::discrete_distribution<std::int32_t> column(weights.begin(), weights.end());
    Matrix matrix;
    double total = 0.0, drawn = 0.0;
    std::vector<double> shares(n_rows);
    for (double& share : shares) total += share = of_row(generator);
    for (const double share : shares) {
        drawn += share;
        while (std::ssize(matrix.indices) < static_cast<std::int64_t>(drawn / total * n_entries)) {
            matrix.indices.push_back(column(generator));
            matrix.values.push_back(static_cast<float>(1 + generator() % 5));
        }
        matrix.indptr.push_back(std::ssize(matrix.indices));
    }
    return matrix;
}

// Reads every entry and every factor row it names, in order, and adds them up: no step waits for the one before.
float read_only(const Matrix& matrix, const float* factors) {
    float sums[kStride] = {};
    const std::int64_t n = std::ssize(matrix.indices), ahead = 16;
    for (std::int64_t i = 0; i < n; ++i) {
        const float* next = factors + static_cast<std::int64_t>(matrix.indices[std::min(i + ahead, n - 1)]) * kStride;
        __builtin_prefetch(next);
        __builtin_prefetch(next + 16);
        const float* row = factors + static_cast<std::int64_t>(matrix.indices[i]) * kStride;
        for (int k = 0; k < kStride; ++k) sums[k] += row[k];
    }
    float total = 0.0f;
    for (const float sum : sums) total += sum;
    return total;
}

template <class Work>
double best_of(int repetitions, std::int64_t n, const Work& work) {
    double best = INFINITY;
    for (int r = 0; r < repetitions; ++r) {
        const auto start = std::chrono::steady_clock::now();
        work();
        best =
            std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    }
    return best / static_cast<double>(n);
}

void measure(const char* name, std::int64_t n_rows, std::int64_t n_columns, std::mt19937& generator) {
    const Matrix matrix = long_tailed(n_rows, n_columns, 6'800'000, generator);
    const std::int64_t n = std::ssize(matrix.indices);
    std::vector<float> store(n_columns * kStride + 16), moving(n_rows * kStride);
    float* fixed = store.data() + (64 - reinterpret_cast<std::uintptr_t>(store.data()) % 64) % 64 / sizeof(float);
    std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
    for (std::int64_t i = 0; i < n_columns * kStride; ++i) fixed[i] = uniform(generator);
    volatile float sink = 0.0f;
    std::printf("%s\n  reading alone        %5.2f ns an entry\n", name,
                best_of(5, n, [&] { sink = read_only(matrix, fixed); }));
    for (const KernelTable* kernels : available_tables()) {
        const auto pass = [&](PassRows rows) {
            return best_of(5, n, [&] {
                passive_aggressive_pass(*kernels, rows, {matrix.indptr, matrix.indices, matrix.values},
                                        {moving.data(), n_rows, kStride}, {fixed, n_columns, kStride}, Rule{}, 1, 1);
            });
        };
        const double plain = pass(kernels->rounds.pass_rows_plainly), wave = pass(kernels->rounds.pass_rows);
        std::printf("  %-8s in waves    %5.2f ns   a row at a time %5.2f ns   ratio %.2f\n", kernels->name.data(), wave,
                    plain, wave / plain);
    }
}

}  // namespace

int main() {
    std::mt19937 generator(1);
    measure("users against items (1.4 MB of factors)", 69'878, 10'677, generator);
    measure("items against users (8.9 MB of factors)", 10'677, 69'878, generator);
}
