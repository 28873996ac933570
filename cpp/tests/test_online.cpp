#include <cmath>

#include "check.hpp"
#include "problem.hpp"
#include "tables.hpp"

using namespace rankfill;

// The entries of a problem one after the other, as events.
struct Events : Problem {
    std::vector<std::int32_t> users;

    explicit Events(int rank) : Problem(23, 31, rank, 2) {
        for (std::int32_t user = 0; user < n_rows; ++user)
            for (std::int64_t t = indptr[user]; t < indptr[user + 1]; ++t) users.push_back(user);
        moving.assign(moving.size(), 0.25f);
        for (std::int64_t row = 0; row < n_rows; ++row)
            std::fill_n(moving.begin() + row * stride + rank, stride - rank, 0.0f);
    }

    Pairs pairs() const { return {users, indices}; }
    Factors<float> user_rows() { return {moving.data(), n_rows, stride}; }
    Factors<float> item_rows() { return {fixed.data(), n_columns, stride}; }
    std::vector<float> rows() const {
        std::vector<float> all = moving;
        all.insert(all.end(), fixed.begin(), fixed.end());
        return all;
    }
};

TEST(an_online_round_is_an_update_of_each_row_against_the_other_as_it_was) {
    for (const int rank : {1, 16, 30, 65})
        for (const Slack slack : {Slack::none, Slack::linear, Slack::quadratic}) {
            const Rule user_rule{slack, Root::exact, true, 0.3, 0.1},
                item_rule{slack, Root::approximate, false, 0.2, 0.0};
            std::vector<float> expected;
            for (const KernelTable* kernels : all_tables()) {
                Events online(rank), by_hand(rank);
                kernels->rounds.online_rounds(online.pairs(), online.values, online.user_rows(), online.item_rows(),
                                              user_rule, item_rule);
                for (std::size_t k = 0; k < by_hand.users.size(); ++k) {
                    float* user = by_hand.user_rows().row(by_hand.users[k]);
                    float* item = by_hand.item_rows().row(by_hand.indices[k]);
                    const std::vector<float> before(user, user + by_hand.stride);
                    const int blocks = by_hand.stride / 16;
                    kernels->rounds.update_float(user, item, by_hand.values[k], user_rule, blocks);
                    kernels->rounds.update_float(item, before.data(), by_hand.values[k], item_rule, blocks);
                }
                CHECK(online.rows() == by_hand.rows());
                if (expected.empty()) expected = online.rows();
                CHECK(online.rows() == expected);
            }
        }
}

TEST(gradient_rounds_in_order_of_arrival_have_the_same_bits_everywhere_and_learn) {
    for (const int rank : {1, 14, 30, 65})
        for (const StepSize step : {StepSize::adagrad, StepSize::power}) {
            std::vector<float> expected;
            for (const KernelTable* kernels : all_tables()) {
                Events events(rank);
                const std::vector<float> penalties(events.users.size(), 0.01f);
                std::vector<float> user_memory(events.n_rows, 1.0f), item_memory(events.n_columns, 1.0f);
                GradientRule rule{{Loss::squared, 0.0f}, step, true, true, false, rank, 0.02f};
                double first = 0.0, last = 0.0;
                for (int pass = 0; pass < 10; ++pass) {
                    last = kernels->gradient
                               .rounds(events.pairs(), events.values, 0.0, events.user_rows(), events.item_rows(),
                                       user_memory.data(), item_memory.data(), penalties.data(), penalties.data(), rule)
                               .loss;
                    if (pass == 0) first = last;
                }
                CHECK(std::isfinite(last) && last < first);
                if (expected.empty()) expected = events.rows();
                CHECK(events.rows() == expected);
            }
        }
}
