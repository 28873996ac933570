#include <cmath>
#include <cstring>

#include "check.hpp"
#include "problem.hpp"
#include "rankfill/drive_neighbours.hpp"
#include "tables.hpp"

using namespace rankfill;

// A matrix by its rows and by its columns.
struct TwoSides {
    Problem rows;
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<float> values;

    explicit TwoSides(unsigned seed) : rows(61, 43, 4, seed), indptr(44) {
        for (std::int32_t column = 0; column < 43; ++column) {
            for (std::int32_t row = 0; row < 61; ++row)
                for (std::int64_t t = rows.indptr[row]; t < rows.indptr[row + 1]; ++t)
                    if (rows.indices[t] == column) indices.push_back(row), values.push_back(rows.values[t]);
            indptr[column + 1] = std::ssize(indices);
        }
    }
    Csr by_other() const { return {indptr, indices, values}; }
};

struct Found {
    std::vector<std::int32_t> indices;
    std::vector<float> similarities, weights, sums;
    bool operator==(const Found& other) const {
        const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
        };
        return indices == other.indices && same(similarities, other.similarities) && same(weights, other.weights) &&
               same(sums, other.sums);
    }
};

static Found find(const KernelTable& kernels, const TwoSides& sides, Similarity similarity, int keep, int threads) {
    const Csr by_own = sides.rows.ratings(), by_other = sides.by_other();
    const std::int64_t n = by_own.n_rows(), n_columns = by_other.n_rows();
    std::vector<std::int32_t> all(n);
    for (std::int64_t row = 0; row < n; ++row) all[row] = static_cast<std::int32_t>(row);
    Found found{std::vector<std::int32_t>(n * keep), std::vector<float>(n * keep), std::vector<float>(n * keep),
                std::vector<float>(n * n_columns)};
    similar_rows(kernels,
                 {by_own, by_other, all, similarity, 2, 1.5, keep, found.indices.data(), found.similarities.data()},
                 threads);
    const Neighbours near{n, keep, found.indices.data(), found.similarities.data()};
    neighbour_weights(kernels, {by_own, by_other, near, 3, 2.0, found.weights.data()}, threads);
    const Neighbours heard{n, keep, found.indices.data(), found.weights.data()};
    neighbour_sums_of_all(kernels.neighbours.sums_of_rows, {heard, by_other, 3, Weighing::learned, 0.0}, by_own, all,
                          found.sums.data(), threads);
    return found;
}

TEST(neighbours_have_the_same_bits_on_every_instruction_set_and_thread_count) {
    const TwoSides sides(3);
    for (const Similarity similarity : {Similarity::cosine, Similarity::pearson, Similarity::inverse_euclidean})
        for (const int keep : {1, 7, 80}) {
            const Found expected = find(*all_tables().front(), sides, similarity, keep, 1);
            for (const KernelTable* kernels : all_tables())
                for (const int threads : {1, 2, 5}) CHECK(find(*kernels, sides, similarity, keep, threads) == expected);
        }
}

TEST(neighbours_are_others_in_falling_order_and_then_none) {
    const Found found = find(*all_tables().back(), TwoSides(5), Similarity::cosine, 80, 2);
    for (std::int64_t row = 0; row < 61; ++row)
        for (int i = 0; i < 80; ++i) {
            const std::int64_t at = row * 80 + i;
            CHECK(found.indices[at] != row);
            CHECK((found.indices[at] < 0) == (found.similarities[at] == 0.0f));
            CHECK(i == 0 || found.similarities[at] <= found.similarities[at - 1]);
        }
}
