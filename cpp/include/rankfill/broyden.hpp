// Broyden steps on columns (see ColumnRule), one after the other.
//
// C changes by a term of rank one from one inner iteration to the next, so that CᵀC and Cᵀy of the changed C follow
// from those of C_before: the entries are read once for them and once for the step. With more than half of the rows
// observed, CᵀC is that of all rows, kept up to date, less the rows that are missing. With g = 1/(penalty + ‖z‖²):
//
//     C = C_before + g e zᵀ,   e = t − C_before x,   h = C_beforeᵀ e,   s = ‖e‖²
//     CᵀC = C_beforeᵀC_before + g (h zᵀ + z hᵀ) + g² s z zᵀ      Cᵀt' = C_beforeᵀt + g (e·t) z − w g (h + g s z)
//
// Without biases t = t' = y, z = x, w = 0. With biases the rows of C are those that multiply x and its bias, (q, 1);
// the bias of a row of C is part of the target, t = y − offset − b, and moves by w g e (t' = t − w g e), w the unit of
// the ratings; z = (p, 0) and g = 1/(penalty + ‖p‖² + w).
#pragma once

#include <atomic>

#include "rankfill/columns.hpp"
#include "rankfill/least_norm.hpp"
#include "rankfill/least_squares.hpp"

namespace rankfill::RANKFILL_ISA {

inline constexpr std::int64_t kGramLasts = 1024;  // steps, after which rounding has it summed up anew
inline constexpr std::int64_t kFewRows = 256;     // of a dictionary, for which it is not worth having

// The row of a column as a direction for rows of the dictionary: (p, 0, w) or (p, w, 0) with biases.
inline void set_direction(const ColumnRule& rule, const float* row, int width, float* direction) {
    std::copy_n(row, width, direction);
    if (rule.ridge.bias_column < 0) return;
    direction[rule.ridge.bias_column] = 0.0f;
    direction[rule.ridge.held_column] = static_cast<float>(rule.unit);
}

// ‖p‖², with biases + w.
inline double squared_length(const ColumnRule& rule, const float* row) {
    double total = rule.ridge.bias_column >= 0 ? rule.unit : 0.0;
    for (int k = 0; k < rule.ridge.rank; ++k) total += static_cast<double>(row[k]) * row[k];
    return total;
}

// c ← c + step · e · direction over the observed rows; Σ e² from before.
template <int Blocks>
double move_dictionary(const ColumnPass& pass, std::int64_t column, const float* direction, float step) {
    const float* row = pass.moving.row(column);
    const int width = Blocks ? Blocks * kLanes : pass.dictionary.stride;
    double squared = 0.0;
    for (std::int64_t t = pass.columns.indptr[column]; t < pass.columns.indptr[column + 1]; ++t) {
        float* c = pass.dictionary.row(pass.columns.indices[t]);
        const float error = (pass.columns.values[t] - pass.rule.ridge.offset) - dot<Blocks>(c, row, width / kLanes);
        const float length = step * error;
        for (int at = 0; at < width; at += kWidth<float>) store(c + at, load(c + at) + length * load(direction + at));
        squared += static_cast<double>(error) * error;
    }
    return squared;
}

// A column's x with the dictionary fixed, and the state of one step.
class ColumnSolver {
 public:
    explicit ColumnSolver(const ColumnPass& pass)
        : pass_(pass),
          ridge_(pass.rule.ridge),
          order_(ridge_.order()),
          stride_(system_stride(order_)),
          width_(pass.dictionary.stride),
          biased_(ridge_.bias_column >= 0),
          weight_(biased_ ? pass.rule.unit : 0.0),
          regular_(ridge_.penalty > 0.0 && (!biased_ || ridge_.bias_penalty > 0.0)),
          rows_(kChunk * width_),
          direction_(width_),
          products_(width_ * width_),
          side_products_(width_),
          gram_(order_ * stride_),
          system_(order_ * stride_),
          side_(stride_),
          x_(stride_),
          centre_(stride_),
          gradient_(stride_),
          moved_(regular_ ? 0 : order_ * stride_),
          least_norm_(order_) {}

    // Sets the row of the column to x after `inner` alternations, the dictionary as it is before the step.
    void solve(std::int64_t column, int inner) {
        begin_ = pass_.columns.indptr[column], end_ = pass_.columns.indptr[column + 1];
        float* row = pass_.moving.row(column);
        for (int k = 0; k < order_; ++k) centre_[k] = pass_.rule.from_row ? row[column_of(k)] : 0.0f;
        few_ = !regular_ && end_ - begin_ < order_;
        if (few_) {
            solve_few(inner);
        } else {
            collect();
            for (int iteration = 0; iteration < inner; ++iteration) {
                if (iteration > 0) describe_step();
                solve_normal_equations(iteration > 0);
            }
        }
        for (int k = 0; k < order_; ++k) row[column_of(k)] = static_cast<float>(x_[k]);
    }

    // Moves the observed rows of the dictionary, and its Gram matrix with them.
    template <int Blocks>
    ColumnSums move(std::int64_t column) {
        const float* row = pass_.moving.row(column);
        for (int k = 0; k < order_; ++k) x_[k] = row[column_of(k)];
        set_direction(pass_.rule, row, width_, direction_.data());
        const double gain = 1.0 / (pass_.rule.penalty + squared_length(pass_.rule, row));
        const double squared = move_dictionary<Blocks>(pass_, column, direction_.data(), static_cast<float>(gain));
        follow_with_gram();
        return {pass_.rule.penalty * gain * squared + shrinkage_cost(), squared};
    }

    // Sums up the Gram matrix of the dictionary where a column with so many entries is to use it.
    void prepare_gram(std::int64_t n) {
        if (takes_missing_out(n) && (*pass_.gram.age < 0 || *pass_.gram.age >= kGramLasts)) sum_gram();
    }

    void sum_gram() {
        std::fill(products_.begin(), products_.end(), 0.0);
        add_gram_of_rows({pass_.dictionary.data, pass_.dictionary.n_rows, width_}, 0, pass_.dictionary.n_rows,
                         products_.data());
        extract(pass_.gram.sums);
        *pass_.gram.age = 0;
    }

 private:
    int column_of(int unknown) const { return unknown < ridge_.rank ? unknown : ridge_.bias_column; }
    bool takes_missing_out(std::int64_t n) const {
        const std::int64_t n_rows = pass_.dictionary.n_rows;
        return pass_.gram.age && n_rows >= kFewRows && 2 * n > n_rows && (regular_ || n >= order_);
    }

    float target_of(std::int64_t t, const float* c) const {
        const float target = pass_.columns.values[t] - ridge_.offset;
        return biased_ ? target - c[ridge_.held_column] : target;
    }

    // The Gram matrix of the observed rows, their products with the targets, and the targets' own.
    void collect() {
        const std::int64_t n = end_ - begin_;
        std::fill(products_.begin(), products_.end(), 0.0);
        std::fill(side_products_.begin(), side_products_.end(), 0.0);
        squared_targets_ = 0.0;
        const std::int32_t* indices = pass_.columns.indices.data() + begin_;
        const bool out = takes_missing_out(n) && *pass_.gram.age >= 0;
        if (out)
            gather_missing(indices, n);
        else
            gather(n, indices);
        for (std::int64_t from = begin_; from < end_; from += kChunk) add_sides(from, std::min(from + kChunk, end_));
        extract(gram_.data());
        if (out)
            for (int i = 0; i < order_; ++i)
                for (int j = 0; j < order_; ++j)
                    gram_[i * stride_ + j] = pass_.gram.sums[i * stride_ + j] - gram_[i * stride_ + j];
        for (int k = 0; k < order_; ++k) side_[k] = side_products_[column_of(k)];
    }

    void gather(std::int64_t n, const std::int32_t* indices) {
        for (std::int64_t from = 0; from < n; from += kChunk) {
            const int count = static_cast<int>(std::min<std::int64_t>(kChunk, n - from));
            for (int t = 0; t < count; ++t) copy_row(indices[from + t], t);
            add_gram(rows_.data(), rows_.data(), width_, count, products_.data(), width_);
        }
    }

    // Marks first: jumping over the observed rows would surprise the branch predictor at every other one.
    void gather_missing(const std::int32_t* indices, std::int64_t n) {
        const std::int64_t n_rows = pass_.dictionary.n_rows;
        observed_.resize(n_rows);
        missing_.resize(n_rows + 1);
        for (std::int64_t k = 0; k < n; ++k) observed_[indices[k]] = 1;
        std::int64_t count = 0;
        for (std::int64_t row = 0; row < n_rows; ++row) {
            missing_[count] = static_cast<std::int32_t>(row);
            count += observed_[row] == 0;
        }
        for (std::int64_t k = 0; k < n; ++k) observed_[indices[k]] = 0;
        gather(count, missing_.data());
    }

    void copy_row(std::int64_t row, int place) {
        const float* c = pass_.dictionary.row(row);
        float* target = rows_.data() + place * width_;
        for (int at = 0; at < width_; at += kWidth<float>) store(target + at, load(c + at));
    }

    void add_sides(std::int64_t from, std::int64_t to) {
        float targets[kChunk];
        for (std::int64_t t = from; t < to; ++t) {
            const float target = targets[t - from] = target_of(t, pass_.dictionary.row(pass_.columns.indices[t]));
            squared_targets_ += static_cast<double>(target) * target;
        }
        for (int column = 0; column < width_; column += kLanes) {
            Register<float> sums[kParts<float>] = {};
            for (std::int64_t t = from; t < to; ++t) {
                const float* c = pass_.dictionary.row(pass_.columns.indices[t]) + column;
                for (int p = 0; p < kParts<float>; ++p)
                    sums[p] = sums[p] + targets[t - from] * load(c + p * kWidth<float>);
            }
            float lanes[kLanes];
            for (int p = 0; p < kParts<float>; ++p) store(lanes + p * kWidth<float>, sums[p]);
            for (int l = 0; l < kLanes; ++l) side_products_[column + l] += lanes[l];
        }
    }

    // The unknowns' part of the sums over whole rows, both triangles.
    void extract(double* gram) const {
        for (int i = 0; i < order_; ++i)
            for (int j = i; j < order_; ++j)
                gram[i * stride_ + j] = gram[j * stride_ + i] = products_[column_of(i) * width_ + column_of(j)];
    }

    // h, s, e·t and g of the step with the present x.
    void describe_step() {
        double along = 0.0, left = 0.0;
        for (int k = 0; k < order_; ++k) {
            gradient_[k] = side_[k] - dot<0>(gram_.data() + k * stride_, x_.data(), stride_ / kLanes);
            along += x_[k] * side_[k];
            left += x_[k] * gradient_[k];
        }
        error_by_target_ = squared_targets_ - along;
        squared_error_ = std::max(error_by_target_ - left, 0.0);
        gain_ = gain_of_x();
    }

    double gain_of_x() const {
        double total = weight_;
        for (int k = 0; k < ridge_.rank; ++k) total += x_[k] * x_[k];
        return 1.0 / (pass_.rule.penalty + total);
    }

    double z_of(int k) const { return k < ridge_.rank ? x_[k] : 0.0; }

    // (CᵀC + shrinkage) (x − x̄) = Cᵀt − CᵀC x̄, with C before the step, or after the step with the present x.
    void solve_normal_equations(bool after) {
        for (int i = 0; i < order_; ++i) {
            double* row = system_.data() + i * stride_;
            std::copy_n(gram_.data() + i * stride_, order_, row);
            row[order_] = 0.0;
            double side = side_[i];
            if (after) {
                for (int j = 0; j < order_; ++j) row[j] += change_of_gram(i, j);
                side += gain_ * error_by_target_ * z_of(i);
                side -= weight_ * gain_ * (gradient_[i] + gain_ * squared_error_ * z_of(i));
            }
            row[order_] = side - dot<0>(row, centre_.data(), stride_ / kLanes);
        }
        for (int i = 0; i < order_; ++i)
            system_[i * stride_ + i] += i < ridge_.rank ? ridge_.penalty : ridge_.bias_penalty;
        const double* change = least_norm_.solve(system_.data(), order_, stride_);
        for (int k = 0; k < order_; ++k) x_[k] = centre_[k] + change[k];
    }

    // Fewer entries than unknowns and no shrinkage: x = x̄ + Cᵀ (C Cᵀ)⁺ (t − C x̄), C changed in a copy.
    void solve_few(int inner) {
        const int n = static_cast<int>(end_ - begin_), blocks = stride_ / kLanes;
        double *before = gram_.data(), *errors = gradient_.data();
        std::fill(gram_.begin(), gram_.end(), 0.0);
        for (int t = 0; t < n; ++t) {
            const float* c = pass_.dictionary.row(pass_.columns.indices[begin_ + t]);
            for (int k = 0; k < order_; ++k) before[t * stride_ + k] = c[column_of(k)];
            side_[t] = target_of(begin_ + t, c);
        }
        for (int iteration = 0; iteration < inner; ++iteration) {
            const double gain = iteration == 0 ? 0.0 : gain_of_x();
            for (int t = 0; t < n; ++t) {
                const double error = side_[t] - dot<0>(before + t * stride_, x_.data(), blocks);
                errors[t] = iteration == 0 ? 0.0 : gain * error;
                for (int k = 0; k < order_; ++k)
                    moved_[t * stride_ + k] = before[t * stride_ + k] + errors[t] * z_of(k);
            }
            for (int i = 0; i < n; ++i) {
                double* row = system_.data() + i * stride_;
                std::fill(row, row + stride_, 0.0);
                for (int j = 0; j < n; ++j) row[j] = dot<0>(&moved_[i * stride_], &moved_[j * stride_], blocks);
                row[n] = side_[i] - weight_ * errors[i] - dot<0>(&moved_[i * stride_], centre_.data(), blocks);
            }
            const double* weights = least_norm_.solve(system_.data(), n, stride_);
            for (int k = 0; k < order_; ++k) x_[k] = centre_[k];
            for (int t = 0; t < n; ++t)
                for (int k = 0; k < order_; ++k) x_[k] += weights[t] * moved_[t * stride_ + k];
        }
    }

    void follow_with_gram() {
        if (!pass_.gram.age || *pass_.gram.age < 0) return;
        if (few_) {
            *pass_.gram.age = -1;
            return;
        }
        describe_step();
        for (int i = 0; i < order_; ++i)
            for (int j = 0; j < order_; ++j) pass_.gram.sums[i * stride_ + j] += change_of_gram(i, j);
        ++*pass_.gram.age;
    }

    double change_of_gram(int i, int j) const {
        const double both = gain_ * (gradient_[i] + gain_ * squared_error_ * z_of(i));
        return both * z_of(j) + gain_ * z_of(i) * gradient_[j];
    }

    double shrinkage_cost() const {
        double total = 0.0;
        for (int k = 0; k < order_; ++k) {
            const double change = x_[k] - centre_[k];
            total += (k < ridge_.rank ? ridge_.penalty : ridge_.bias_penalty) * change * change;
        }
        return total;
    }

    const ColumnPass& pass_;
    const Ridge& ridge_;
    int order_, stride_, width_;
    bool biased_;
    double weight_;
    bool regular_, few_ = false;
    std::int64_t begin_ = 0, end_ = 0;
    double squared_targets_ = 0.0, error_by_target_ = 0.0, squared_error_ = 0.0, gain_ = 0.0;
    std::vector<float> rows_, direction_;
    std::vector<std::uint8_t> observed_;
    std::vector<std::int32_t> missing_;
    std::vector<double> products_, side_products_, gram_, system_, side_, x_, centre_, gradient_, moved_;
    LeastNorm least_norm_;
};

template <int Blocks>
ColumnSums broyden_columns(const ColumnPass& pass) {
    ColumnSolver solver(pass);
    ColumnSums sums;
    for (const std::int32_t column : pass.order) {
        const std::int64_t n = pass.columns.indptr[column + 1] - pass.columns.indptr[column];
        if (n == 0) continue;
        solver.prepare_gram(n);
        solver.solve(column, pass.rule.inner);
        sums += solver.template move<Blocks>(column);
    }
    return sums;
}

inline void solve_columns(const ColumnPass& pass, std::atomic<std::int64_t>& next) {
    ColumnSolver solver(pass);
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < std::ssize(pass.order);) {
        const std::int32_t column = pass.order[i];
        if (pass.columns.indptr[column + 1] > pass.columns.indptr[column]) solver.solve(column, 1);
    }
}

}  // namespace rankfill::RANKFILL_ISA
