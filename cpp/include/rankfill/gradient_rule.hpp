// What one stochastic gradient round does; the words of the Python interface as types.
#pragma once

#include <cmath>
#include <cstdint>

namespace rankfill {

enum class Loss { squared, absolute, insensitive, huber, logistic };
enum class StepSize { adagrad, constant, inverse, sqrt, power, line_search };

enum class Reduction { sag, saga, svrg };

struct LossRule {
    Loss loss = Loss::squared;
    float width = 0.0f;  // ε of insensitive, δ of huber
};

// Rows are (p, b_u, 1) and (q, 1, b_i) when `biased`: the ones are put back after every round, and a bias is held by
// `bias_share` times the penalty of its row.
struct GradientRule {
    LossRule loss;
    StepSize step = StepSize::adagrad;
    bool nonnegative_users = false, nonnegative_items = false;
    bool biased = false;
    int rank = 1;
    float rate = 0.1f;
    float penalty = 0.0f;  // of the inverse schedule; the rounds take those of their rows
    double power = 0.5;
    float bias_share = 1.0f;
    double period = 1.0;  // rounds in a pass: the schedules of step sizes count passes in fractions

    // The step of round t, counted from 0, where it does not depend on the rows.
    float scheduled(double t) const {
        const double eta = rate;
        switch (step) {
            case StepSize::inverse:
                return static_cast<float>(eta / (1.0 + eta * static_cast<double>(penalty) * t));
            case StepSize::sqrt:
                return static_cast<float>(eta / std::sqrt(1.0 + t / period));
            case StepSize::power:
                return static_cast<float>(eta * std::pow(1.0 + t / period, -power));
            default:
                return rate;
        }
    }
};

// Sums over rounds, each term taken before its round, in float64.
struct RoundSums {
    double loss = 0.0, squared = 0.0, absolute = 0.0;

    RoundSums& operator+=(const RoundSums& other) {
        loss += other.loss;
        squared += other.squared;
        absolute += other.absolute;
        return *this;
    }
};

// Entries sorted into a grid of groups × groups blocks; block (b, c) holds entries start[b · groups + c] … of users in
// group b and items in group c. Stratum s pairs user group b with item group (b + s) mod groups: its blocks share no
// row.
struct Grid {
    const std::int32_t* users;
    const std::int32_t* items;
    const float* values;
    const std::int64_t* start;
    const std::int32_t* strata;  // the order of the strata in this pass
    int groups;
};

}  // namespace rankfill
