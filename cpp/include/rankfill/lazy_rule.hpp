// A linear model in the middle of its stochastic steps: what `lazy_linear.hpp` works on.
#pragma once

#include <cstdint>
#include <span>

#include "rankfill/sparse_pattern.hpp"

namespace rankfill {

enum class LazyMethod { kSgd, kAveraged, kSag, kSaga, kSvrg };
enum class LazyLoss { kSquared, kLogistic };  // ½(y − m)², and log(1 + exp(−y m)) for y = ±1

struct LazyRule {
    LazyMethod method;
    LazyLoss loss;
    double step;   // η; of SGD and its average η/(1 + ηλt)^power after t steps
    double decay;  // λ
    double power;
    bool intercept;
    std::uint64_t seed;
};

// What all coordinates share, and the same three numbers for the intercept.
struct LazyShared {
    double scale, sum, intercept, intercept_second;
};

struct Coordinate {
    double beta, second, last;
};

struct LazyProblem {
    Pattern rows;
    const double* values;
    const double* targets;
    std::span<Coordinate> coordinates;
    double* slopes;  // ℓ' of every row when it was last met (SAG, SAGA) or at the snapshot (SVRG); unused by others
};

}  // namespace rankfill
