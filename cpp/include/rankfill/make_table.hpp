// Fills the table of one instruction set; included by each file under cpp/isa/ after its target pragma.
#pragma once

#include "rankfill/block_update.hpp"
#include "rankfill/broyden_batch.hpp"
#include "rankfill/column_gradient.hpp"
#include "rankfill/conjugate_gradient.hpp"
#include "rankfill/coordinate_descent.hpp"
#include "rankfill/extents.hpp"
#include "rankfill/gaussian.hpp"
#include "rankfill/gibbs.hpp"
#include "rankfill/gradient_wave.hpp"
#include "rankfill/item_system_rows.hpp"
#include "rankfill/lazy_linear.hpp"
#include "rankfill/least_squares.hpp"
#include "rankfill/multiplicative.hpp"
#include "rankfill/neighbour_sums.hpp"
#include "rankfill/neighbour_weights.hpp"
#include "rankfill/passive_aggressive.hpp"
#include "rankfill/predict.hpp"
#include "rankfill/ridge_blocks.hpp"
#include "rankfill/ridge_rows.hpp"
#include "rankfill/similar_rows.hpp"
#include "rankfill/sparse_products.hpp"
#include "rankfill/table.hpp"
#include "rankfill/top_few.hpp"
#include "rankfill/top_n.hpp"
#include "rankfill/wave.hpp"

namespace rankfill::RANKFILL_ISA {

// Calls `body` with the number of blocks as a compile-time constant where that pays: rank up to 64.
template <class Body>
auto with_blocks(int stride, const Body& body) {
    switch (stride / kLanes) {
        case 1:
            return body.template operator()<1>();
        case 2:
            return body.template operator()<2>();
        case 3:
            return body.template operator()<3>();
        case 4:
            return body.template operator()<4>();
        default:
            return body.template operator()<0>();
    }
}

inline void squared_norms(Factors<const float> factors, std::int64_t first, std::int64_t last, float* norms) {
    with_blocks(factors.stride, [&]<int Blocks>() {
        for (std::int64_t row = first; row < last; ++row)
            norms[row] = dot<Blocks>(factors.row(row), factors.row(row), factors.stride / kLanes);
    });
}

inline void pass_rows(const Pass& pass, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
    with_blocks(pass.fixed.stride, [&]<int Blocks>() {
        pass.rule.averaged ? Wave<Blocks, true>(pass).run(order, next) : Wave<Blocks, false>(pass).run(order, next);
    });
}

// One row at a time: what the waves must equal to the bit, and be faster than.
inline void pass_rows_plainly(const Pass& pass, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
    with_blocks(pass.fixed.stride, [&]<int Blocks>() {
        for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::ssize(order);)
            pass.per_row[order[i]] = row_pass<Blocks>(pass, order[i]);
    });
}

inline Losses online(Pairs pairs, std::span<const float> values, Factors<float> users, Factors<float> items,
                     const Rule& user_rule, const Rule& item_rule) {
    return with_blocks(users.stride, [&]<int Blocks>() {
        return online_rounds<Blocks>(pairs.users, pairs.items, values, users, items, user_rule, item_rule);
    });
}

inline void predict(Pairs pairs, Factors<const float> users, Factors<const float> items, const ColdStart& cold,
                    std::span<float> predictions) {
    with_blocks(users.stride, [&]<int Blocks>() {
        predict_pairs<Blocks>(pairs.users, pairs.items, users, items, cold.user, cold.item, cold.both, predictions);
    });
}

inline void top_n_rows(Factors<const float> users, std::int64_t first, std::int64_t last, int rank,
                       Factors<const float> items, const Exclusions& excluded, const Ranked& ranked) {
    constexpr std::int64_t few_users = 2, items_for_each_wanted = 32;
    if (last - first > few_users || ranked.n > items.n_rows / items_for_each_wanted || rank > kLargestRankOfFew)
        return TopRows(users, first, last, rank, items, excluded, ranked).run(ranked);
    with_blocks(items.stride, [&]<int Blocks>() {
        for (std::int64_t user = first; user < last; ++user)
            TopOfOne(users.row(user), rank, items, user, excluded, ranked.n)
                .template run<Blocks>(ranked.items + user * ranked.n, ranked.scores + user * ranked.n);
    });
}

inline void solve_rows(const RidgePass& pass, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next) {
    const auto each_row = [&](auto solver) {
        for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::ssize(order);)
            solver.solve(order[i]);
    };
    if (pass.ridge.steps == 0 && pass.ridge.block == 0) return each_row(RowSolver(pass));
    with_blocks(pass.fixed.stride, [&]<int Blocks>() {
        pass.ridge.steps > 0 ? each_row(GradientSolver<Blocks>(pass)) : each_row(BlockSolver<Blocks>(pass));
    });
}

inline void squared_errors(const RidgePass& pass, std::int64_t first, std::int64_t last, SquaredErrors* per_row) {
    with_blocks(pass.fixed.stride, [&]<int Blocks>() {
        for (std::int64_t row = first; row < last; ++row) per_row[row] = squared_errors_of_row<Blocks>(pass, row);
    });
}

inline void residuals(const Csr& ratings, Factors<const float> moving, Factors<const float> fixed, float offset,
                      std::int64_t first, std::int64_t last, float* result) {
    with_blocks(fixed.stride, [&]<int Blocks>() {
        for (std::int64_t row = first; row < last; ++row)
            residuals_of_row<Blocks>(ratings, moving, fixed, offset, row, result);
    });
}

inline void multiplicative_rows(const Csr& ratings, Factors<float> moving, Factors<const float> fixed,
                                Factors<const float> start, double penalty, double shrinkage, std::int64_t first,
                                std::int64_t last) {
    with_blocks(fixed.stride, [&]<int Blocks>() {
        MultiplicativeUpdate update(ratings, moving, fixed, start, penalty, shrinkage);
        for (std::int64_t row = first; row < last; ++row) update.template move<Blocks>(row);
    });
}

template <class T>
T single_update(T* w, const T* x, T y, const Rule& rule, int blocks) {
    return update<0>(w, x, y, dot<0>(x, x, blocks), rule, blocks);
}

inline void gradient_pass(const GradientPass& pass) {
    const bool projected = pass.rule.nonnegative_users || pass.rule.nonnegative_items;
    with_blocks(pass.users.stride, [&]<int Blocks>() {
        if (pass.rule.step == StepSize::adagrad)
            projected ? GradientWave<Blocks, true, true>(pass).run() : GradientWave<Blocks, true, false>(pass).run();
        else
            projected ? GradientWave<Blocks, false, true>(pass).run() : GradientWave<Blocks, false, false>(pass).run();
    });
}

inline RoundSums gradient_online(Pairs pairs, std::span<const float> targets, double first_round, Factors<float> users,
                                 Factors<float> items, float* user_memory, float* item_memory,
                                 const float* user_penalties, const float* item_penalties, const GradientRule& rule) {
    return with_blocks(users.stride, [&]<int Blocks>() {
        return gradient_rounds<Blocks>(pairs, targets, first_round, users, items, user_memory, item_memory,
                                       user_penalties, item_penalties, rule);
    });
}

inline void reduced_rows(const ReducedPass& pass, std::span<const std::int32_t> order,
                         std::atomic<std::int64_t>& next) {
    ReducedRoom<float> room(pass.fixed.stride);
    with_blocks(pass.fixed.stride, [&]<int Blocks>() {
        for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::ssize(order);)
            variance_reduced_row<Blocks>(pass, order[i], room);
    });
}

inline void full_rows(const FullGradient& job, std::int64_t first, std::int64_t last) {
    with_blocks(job.fixed.stride, [&]<int Blocks>() {
        const auto of_row =
            job.loss.loss == Loss::squared ? full_gradient_row<Blocks, true> : full_gradient_row<Blocks, false>;
        for (std::int64_t row = first; row < last; ++row) job.per_row[row] = of_row(job, row);
    });
}

inline ColumnSums broyden_pass(const ColumnPass& pass) {
    return with_blocks(pass.dictionary.stride, [&]<int Blocks>() { return broyden_columns<Blocks>(pass); });
}

inline ColumnSums column_gradient_pass(const ColumnPass& pass) {
    return with_blocks(pass.dictionary.stride, [&]<int Blocks>() { return gradient_columns<Blocks>(pass); });
}

template <class T>
void entries_of_rows(const Pattern& pattern, Block<const T> left, Block<const T> right, std::int64_t first,
                     std::int64_t last, T* result) {
    with_blocks(static_cast<int>(left.width), [&]<int Blocks>() {
        for (std::int64_t row = first; row < last; ++row) entries_of_row<Blocks>(pattern, left, right, row, result);
    });
}

inline KernelTable make_table(std::string_view name) {
    return {
        .name = name,
        .extents = {.range_of = range_of, .never_decreases = never_decreases},
        .rounds = {.update_float = single_update<float>,
                   .update_double = single_update<double>,
                   .squared_norms = squared_norms,
                   .pass_rows = pass_rows,
                   .pass_rows_plainly = pass_rows_plainly,
                   .online_rounds = online},
        .scoring = {.predict_pairs = predict, .top_n_rows = top_n_rows},
        .least_squares = {.solve_rows = solve_rows, .squared_errors = squared_errors, .add_gram = add_gram_of_rows},
        .descent = {.residuals = residuals,
                    .shift_rows = shift_rows,
                    .move_rows = move_rows,
                    .multiplicative_rows = multiplicative_rows},
        .gradient = {.pass = gradient_pass,
                     .rounds = gradient_online,
                     .reduced_rows = reduced_rows,
                     .full_rows = full_rows},
        .block = {.rows = block_rows, .weight = block_weight},
        .sparse_float = {.entries = entries_of_rows<float>, .times = times_rows<float>, .gram = gram_rows<float>},
        .sparse_double = {.entries = entries_of_rows<double>, .times = times_rows<double>, .gram = gram_rows<double>},
        .item_systems = solve_item_systems,
        .gaussian = {.fill_rows = fill_rows},
        .gibbs = {.draw_rows = draw_rows},
        .columns = {.broyden = broyden_pass,
                    .gradient = column_gradient_pass,
                    .solve = solve_columns,
                    .sum_gram = sum_gram,
                    .set_direction = set_direction,
                    .move_batch = move_batch},
        .neighbours = {.similar_rows = similar_rows,
                       .weights = neighbour_weights,
                       .sums_of_pairs = sums_of_pairs,
                       .sums_of_rows = sums_of_rows,
                       .sums_of_columns = sums_of_columns},
        .lazy_steps = lazy_steps,
    };
}

}  // namespace rankfill::RANKFILL_ISA
