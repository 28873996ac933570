// The kernels that exist once for each instruction set, and the choice among them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rankfill/block_pass.hpp"
#include "rankfill/columns.hpp"
#include "rankfill/csr.hpp"
#include "rankfill/factor_step.hpp"
#include "rankfill/gradient_rule.hpp"
#include "rankfill/item_systems.hpp"
#include "rankfill/lazy_rule.hpp"
#include "rankfill/neighbours.hpp"
#include "rankfill/ridge.hpp"
#include "rankfill/row_posterior.hpp"
#include "rankfill/rule.hpp"
#include "rankfill/sparse_pattern.hpp"

namespace rankfill {

// One pass over the rows of `ratings`: what moves, what stays, where each row's losses go.
struct Pass {
    Csr ratings;
    Factors<float> moving;
    Factors<const float> fixed;
    const float* squared_norms;  // of the fixed rows
    Rule rule;
    std::uint64_t seed;
    Losses* per_row;
};

struct Pairs {
    std::span<const std::int32_t> users, items;
};

// Stand-ins for ids the model has no factors for.
struct ColdStart {
    const float* user;
    const float* item;
    float both;
};

// What must not be recommended to the row of the same number, and which items may be at all.
struct Exclusions {
    std::span<const std::int64_t> seen_indptr;
    std::span<const std::int32_t> seen_items;
    std::span<const std::uint8_t> allowed;

    bool seen(std::int64_t row, std::int32_t item) const {
        const auto begin = seen_items.begin();
        return std::binary_search(begin + seen_indptr[row], begin + seen_indptr[row + 1], item);
    }
};

struct Ranked {
    int n;
    std::int32_t* items;
    float* scores;
};

struct RoundKernels {
    float (*update_float)(float* w, const float* x, float y, const Rule&, int blocks);
    double (*update_double)(double* w, const double* x, double y, const Rule&, int blocks);
    void (*squared_norms)(Factors<const float>, std::int64_t first, std::int64_t last, float* norms);
    void (*pass_rows)(const Pass&, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next);
    void (*pass_rows_plainly)(const Pass&, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next);
    Losses (*online_rounds)(Pairs, std::span<const float> values, Factors<float> users, Factors<float> items,
                            const Rule& user_rule, const Rule& item_rule);
};

struct ScoringKernels {
    void (*predict_pairs)(Pairs, Factors<const float> users, Factors<const float> items, const ColdStart&,
                          std::span<float> predictions);
    void (*top_n_rows)(Factors<const float> users, std::int64_t first, std::int64_t last, int rank,
                       Factors<const float> items, const Exclusions&, const Ranked&);
};

struct LeastSquaresKernels {
    void (*solve_rows)(const RidgePass&, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next);
    void (*squared_errors)(const RidgePass&, std::int64_t first, std::int64_t last, SquaredErrors* per_row);
    void (*add_gram)(Factors<const float>, std::int64_t first, std::int64_t last, double* sums);
};

struct DescentKernels {
    void (*residuals)(const Csr&, Factors<const float> moving, Factors<const float> fixed, float offset,
                      std::int64_t first, std::int64_t last, float* residuals);
    void (*shift_rows)(const FactorStep&, std::int64_t first, std::int64_t last);
    void (*move_rows)(const FactorStep&, std::int64_t first, std::int64_t last);
    void (*multiplicative_rows)(const Csr&, Factors<float> moving, Factors<const float> fixed,
                                Factors<const float> start, double penalty, double shrinkage, std::int64_t first,
                                std::int64_t last);
};

// Where the mean of each row over its rounds stands, and over how many it is; nowhere where none is wanted.
struct RowMeans {
    float* rows = nullptr;
    float* met = nullptr;
};

// One pass of gradient rounds: the blocks, the rows and their sums of squared gradients, what is done and what it cost.
// The arrays of the grid go on for four entries past the last block, so that a wave may look ahead.
struct GradientPass {
    Grid grid;
    Factors<float> users, items;
    float* user_memory;
    float* item_memory;
    const float* user_penalties;
    const float* item_penalties;
    RowMeans user_means, item_means;
    GradientRule rule;
    double first_round;
    const std::int64_t* rounds_before;  // of each block, in the order of the strata
    std::atomic<std::int64_t>* next;
    std::atomic<std::int64_t>* users_done;
    std::atomic<std::int64_t>* items_done;
    RoundSums* per_block;
};

// One pass of variance-reduced rounds over the rows of `ratings`, the other side fixed.
struct ReducedPass {
    Csr ratings;
    Factors<float> moving;
    Factors<const float> fixed;
    Reduction method;
    float penalty, shrinkage;  // a row of n entries is held by penalty · n + shrinkage
    float step;                // the step is step / L, L the largest ‖x‖² + penalty + shrinkage / n of the row
    int inner;
    int still;         // a column of the moving rows that stays 1, or −1
    int bias;          // a column that is held by `bias_share` of the penalty, or −1
    float bias_share;  // from 0 to 1
    std::uint64_t seed;
};

// The full gradient of every row, and each row's losses.
struct FullGradient {
    Csr ratings;
    Factors<const float> moving, fixed;
    Factors<float> gradient;
    LossRule loss;
    float penalty, shrinkage;
    RoundSums* per_row;
};

struct GradientKernels {
    void (*pass)(const GradientPass&);
    RoundSums (*rounds)(Pairs, std::span<const float> targets, double first_round, Factors<float> users,
                        Factors<float> items, float* user_memory, float* item_memory, const float* user_penalties,
                        const float* item_penalties, const GradientRule&);
    void (*reduced_rows)(const ReducedPass&, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next);
    void (*full_rows)(const FullGradient&, std::int64_t first, std::int64_t last);
};

struct BlockKernels {
    void (*rows)(const BlockPass&, std::int64_t first, std::int64_t last);
    double (*weight)(std::span<const double> slopes, std::span<const double> curvatures, double penalty);
};

template <class T>
struct SparseKernels {
    void (*entries)(const Pattern&, Block<const T> left, Block<const T> right, std::int64_t first, std::int64_t last,
                    T* result);
    void (*times)(const Pattern&, const T* values, Block<const T>, std::int64_t first, std::int64_t last,
                  std::int64_t from, std::int64_t to, Block<T> result);
    void (*gram)(const Pattern& rows, const T* values, const Pattern& columns, const T* column_values,
                 std::int64_t first, std::int64_t last, Block<T> result);
};

// A table with unknown entries at `indices`, less its mean, and the precision matrix of its columns.
struct GaussianTable {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;
    Factors<double> values;
    Factors<const double> precision;
};

struct GaussianKernels {
    void (*fill_rows)(const GaussianTable&, std::int64_t first, std::int64_t last, double* covariance);
};

struct GibbsKernels {
    void (*draw_rows)(const RowPosterior&, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next);
};

struct ColumnKernels {
    ColumnSums (*broyden)(const ColumnPass&);
    ColumnSums (*gradient)(const ColumnPass&);
    void (*solve)(const ColumnPass&, std::atomic<std::int64_t>& next);
    void (*sum_gram)(const ColumnPass&);
    void (*set_direction)(const ColumnRule&, const float* row, int width, float* direction);
    void (*move_batch)(const ColumnPass&, const BatchRows&, std::int64_t first, std::int64_t last, ColumnSums* per_row);
};

struct NeighbourKernels {
    void (*similar_rows)(const SimilarRows&, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next);
    void (*weights)(const NeighbourWeights&, std::span<const std::int32_t> order, std::atomic<std::int64_t>& next);
    void (*sums_of_pairs)(const NeighbourSums&, std::span<const std::int32_t> rows,
                          std::span<const std::int32_t> columns, float* result);
    void (*sums_of_rows)(const NeighbourSums&, const Csr& by_own, std::span<const std::int32_t> rows,
                         std::int64_t first, std::int64_t last, float* result);
    void (*sums_of_columns)(const NeighbourSums&, const Csr& speaks_to, std::span<const std::int32_t> columns,
                            std::int64_t first, std::int64_t last, float* result);
};

struct IndexRange {
    std::int32_t smallest, largest;  // −1 is the largest of none
};

struct ExtentKernels {
    IndexRange (*range_of)(std::span<const std::int32_t> indices);
    bool (*never_decreases)(std::span<const std::int64_t> offsets);
};

struct KernelTable {
    std::string_view name;
    ExtentKernels extents;
    RoundKernels rounds;
    ScoringKernels scoring;
    LeastSquaresKernels least_squares;
    DescentKernels descent;
    GradientKernels gradient;
    BlockKernels block;
    SparseKernels<float> sparse_float;
    SparseKernels<double> sparse_double;
    void (*item_systems)(const ItemSystems&, std::atomic<std::int64_t>& next);
    GaussianKernels gaussian;
    GibbsKernels gibbs;
    ColumnKernels columns;
    NeighbourKernels neighbours;
    std::int64_t (*lazy_steps)(const LazyProblem&, const LazyRule&, LazyShared&, std::int64_t first, std::int64_t last);
};

// Those this machine can run, slowest first.
std::vector<const KernelTable*> available_tables();

}  // namespace rankfill
