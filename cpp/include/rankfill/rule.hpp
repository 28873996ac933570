// What one passive-aggressive round does; the words of the Python interface as types.
#pragma once

namespace rankfill {

enum class Slack { none, linear, quadratic };  // NN-PA, NN-PA-I, NN-PA-II
enum class Root { exact, bisection, published_bisection, approximate };

struct Rule {
    Slack slack = Slack::linear;
    Root root = Root::approximate;
    bool nonnegative = true;  // of the row that moves
    double C = 0.01;
    double epsilon = 0.0;
    // Where a pass leaves a row: 0 where its last round left it; otherwise at the mean of where its rounds left it and
    // where it began, the beginning counted this many times.
    float averaged = 0.0f;
};

// Bisection stops at |f| ≤ tolerance · (|y| + ε).
inline constexpr double kBisectionTolerance = 1e-5;

// Sums over the rounds of a pass, each taken before its update.
struct Losses {
    double loss = 0.0;      // Σ ℓ, or Σ ℓ² under quadratic slack, with ℓ = max(|y − ŷ| − ε, 0)
    double absolute = 0.0;  // Σ |y − ŷ|

    Losses& operator+=(const Losses& other) {
        loss += other.loss;
        absolute += other.absolute;
        return *this;
    }
};

}  // namespace rankfill
