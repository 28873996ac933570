"""Every public kernel, misused in every way that could make it read or write out of bounds; run by test_misuse.py."""

# ruff: noqa: B008

from dataclasses import replace

import numpy as np

from rankfill import kernels as k
from rankfill.kernels import neighbours as nn
from rankfill.kernels.columns import ColumnRule, DictionaryGram, broyden_columns, gradient_columns, solve_columns
from rankfill.kernels.gradients import NO_MEANS, Grid, RowMeans, gradient_pass
from rankfill.kernels.hashing import HashedKeys, KeyView, factorize
from rankfill.kernels.linear import LazyRule, LazyState
from rankfill.kernels.row_gradients import full_gradient, variance_reduced_pass

i32, i64, f32, f64 = np.int32, np.int64, np.float32, np.float64
FAR = 2**31 - 1


def ints(*numbers):
    return np.array(numbers, i32)


def longs(*numbers):
    return np.array(numbers, i64)


def ones(*shape):
    return np.ones(shape, f32)


rows = k.Rows(longs(0, 2, 3), ints(0, 4, 2), ones(3))  # 2 rows, 5 columns
P, Q = k.padded(2, 4) + f32(0.5), k.padded(5, 4) + f32(0.5)
ridge = k.Ridge(rank=4, penalty=1.0)
misuses = {}


def misuse(name, call, *arguments, **named):
    misuses[name] = lambda: call(*arguments, **named)


# Rows
misuse("indptr beyond the entries", k.Rows, longs(0, 2, 4), ints(0, 1, 2), ones(3))
misuse("indptr far beyond", k.Rows, longs(0, 2**40, 3), ints(0, 1, 2), ones(3))
misuse("indptr decreases", k.Rows, longs(0, 3, 2, 3), ints(0, 1, 2), ones(3))
misuse("indptr negative", k.Rows, longs(-1, 3), ints(0, 1, 2), ones(3))
misuse("indptr starts late", k.Rows, longs(1, 3), ints(0, 1, 2), ones(3))
misuse("indptr ends early", k.Rows, longs(0, 2), ints(0, 1, 2), ones(3))
misuse("indptr empty", k.Rows, longs(), ints(), ones(0))
misuse("index negative", k.Rows, longs(0, 3), ints(0, -1, 2), ones(3))
misuse("values too short", k.Rows, longs(0, 3), ints(0, 1, 2), ones(2))
misuse("values replaced by too few", rows._replace, values=ones(2))
misuse("indices of 64 bits", k.Rows, longs(0, 3), longs(0, 1, 2), ones(3))
misuse("transposed into too few columns", rows.transposed, 4)
misuse("transposed into a negative number of columns", rows.transposed, -1)
misuse("indices written", rows.indices.__setitem__, 0, 99)
for name, keys, n in (
    ("key beyond", ints(0, 2), 2),
    ("key far beyond", ints(0, FAR), 2),
    ("key negative", ints(0, -1), 2),
    ("no keys at all", ints(0, 1), 0),
    ("negative number of keys", ints(), -1),
):
    misuse("sort: " + name, k.sort_into_rows, keys, ints(*range(len(keys))), ones(len(keys)), n)
misuse("sort: lengths", k.sort_into_rows, ints(0, 1), ints(0), ones(2), 2)
misuse("sort: index negative", k.sort_into_rows, ints(0), ints(-1), ones(1), 1)

# Factors that move against fixed ones
short, long, narrow = k.padded(1, 4), k.padded(3, 4), ones(2, 8)
few, wide = k.padded(4, 4), k.padded(5, 20)
reduced = ("saga", 0.1, 0.1, 1.0, 1, -1, -1, 1.0, 0)
passes = {
    "passive-aggressive": lambda P, Q: k.passive_aggressive_pass(rows, P, Q, k.Rule(), 0),
    "solve": lambda P, Q: k.solve_rows(rows, P, Q, ridge),
    "errors": lambda P, Q: k.squared_errors(rows, P, Q, ridge),
    "residuals": lambda P, Q: k.residuals(rows, P, Q, 0.0),
    "multiplicative": lambda P, Q: k.multiplicative_rows(rows, P, Q, P, 0.0, 0.0),
    "reduced": lambda P, Q: variance_reduced_pass(rows, P, Q, *reduced),
    "full": lambda P, Q: full_gradient(rows, P, Q, P.copy(), "squared", 0.0, 0.1, 0.1),
    "broyden": lambda P, Q: broyden_columns(rows, ints(0), P, Q, ColumnRule(ridge), DictionaryGram.of_unknowns(4, 5)),
    "column gradients": lambda P, Q: gradient_columns(rows, ints(0), P, Q, ColumnRule(ridge)),
    "columns": lambda P, Q: solve_columns(rows, P, Q, ColumnRule(ridge)),
    "entries": lambda P, Q: k.sparse_entries(rows, P, Q),
}
for name, call in passes.items():
    call(P.copy(), Q.copy())
    misuse(name + ": a moving row short", call, short, Q)
    misuse(name + ": a moving row too many", call, long, Q)
    misuse(name + ": a fixed row short", call, P, few)
    misuse(name + ": fixed rows missing", call, P, k.padded(0, 4))
    misuse(name + ": fixed wider", call, P, wide)
    if name != "entries":
        misuse(name + ": not padded", call, narrow, ones(5, 8))
for rank, bias, held in (
    (0, -1, -1),
    (17, -1, -1),
    (FAR, -1, -1),
    (-3, -1, -1),
    (15, 15, 16),
    (4, 16, 4),
    (4, 4, 99),
    (4, 4, -1),
    (FAR - 1, 0, 1),
):
    bad = k.Ridge(rank=rank, penalty=1.0, bias_column=bias, held_column=held)
    misuse(f"solve: {bad}", k.solve_rows, rows, P, Q, bad)
    misuse(f"errors: {bad}", k.squared_errors, rows, P, Q, bad)
    misuse(f"columns: {bad}", solve_columns, rows, P, Q, ColumnRule(bad))
    misuse(f"column gradients: {bad}", gradient_columns, rows, ints(0), P, Q, ColumnRule(bad))
misuse("multiplicative: start", k.multiplicative_rows, rows, P, Q, short, 0.0, 0.0)
for still, bias in ((16, -1), (-1, 16), (FAR, FAR)):
    misuse(
        f"reduced: {still}, {bias}", variance_reduced_pass, rows, P, Q, "saga", 0.1, 0.1, 1.0, 1, still, bias, 1.0, 0
    )
misuse("full: gradient", full_gradient, rows, P, Q, short, "squared", 0.0, 0.1, 0.1)
misuse("full: wide gradient", full_gradient, rows, P, Q, k.padded(2, 20), "squared", 0.0, 0.1, 0.1)
for name, order in (("beyond", ints(2)), ("negative", ints(-1)), ("far", ints(FAR))):
    gram = DictionaryGram.of_unknowns(4, 5)
    misuse("broyden: order " + name, broyden_columns, rows, order, P, Q, ColumnRule(ridge), gram)
    misuse("broyden: batch, order " + name, broyden_columns, rows, order, P, Q, ColumnRule(ridge), gram, 2)
    misuse("column gradients: order " + name, gradient_columns, rows, order, P, Q, ColumnRule(ridge))
misuse("broyden: gram", broyden_columns, rows, ints(0), P, Q, ColumnRule(ridge), DictionaryGram.of_unknowns(3, 5))

# One number a row
for name, residuals, own, other in (
    ("residuals", ones(2), ones(2), ones(5)),
    ("own", ones(3), ones(1), ones(5)),
    ("long own", ones(3), ones(3), ones(5)),
    ("other", ones(3), ones(2), ones(4)),
):
    misuse("move: " + name, k.move_factor, rows, residuals, own, other, 0.1, by_count=True, nonnegative=False)
    misuse("shift: " + name, k.shift_residuals, rows, residuals, own, other, 1.0)


def doubles(*shape):
    return np.ones(shape)


for name, arguments in {
    "residuals": (doubles(2), doubles(2, 2), doubles(5, 4)),
    "own": (doubles(3), doubles(1, 2), doubles(5, 4)),
    "other": (doubles(3), doubles(2, 2), doubles(4, 4)),
    "own columns": (doubles(3), doubles(2, 1), doubles(5, 4)),
    "other columns": (doubles(3), doubles(2, 2), doubles(5, 3)),
}.items():
    misuse("block: " + name, k.block_pass, rows, *arguments, "squared", 0.0)
misuse("block weight", k.block_weight, doubles(3), doubles(2), 1.0)
for real in (f32, f64):
    misuse(f"times: values, {real.__name__}", k.sparse_times, rows, np.ones(2, real), np.ones((5, 3), real))
    misuse(f"times: block, {real.__name__}", k.sparse_times, rows, np.ones(3, real), np.ones((4, 3), real))
columns = rows.transposed(5)
misuse("gram: values", k.sparse_gram, rows, doubles(2), columns, doubles(3))
misuse("gram: column values", k.sparse_gram, rows, doubles(3), columns, doubles(2))
misuse(
    "gram: columns missing", k.sparse_gram, rows, doubles(3), k.Rows(longs(0, 3), ints(0, 0, 1), ones(3)), doubles(3)
)
misuse(
    "gram: rows beyond",
    k.sparse_gram,
    rows,
    doubles(3),
    k.Rows(longs(0, 1, 1, 2, 2, 3), ints(0, 1, 9), ones(3)),
    doubles(3),
)
for name, changed in {
    "gram": {2: ones(4, 5)},
    "sources missing": {2: ones(4, 4)},
    "users missing": {1: k.Rows(longs(0, 3), ints(0, 4, 2), ones(3))},
    "place beyond": {3: ints(0, 1, 2, 3, 5)},
    "place below": {3: ints(0, 1, 2, 3, -2)},
    "places": {3: ints(0, 1, 2)},
    "keep": {5: 6},
    "keep nothing": {5: 0},
}.items():
    right = [columns, rows, ones(5, 5), ints(0, 1, 2, 3, 4), 1.0, 2]
    misuse("neighbours: " + name, k.few_input_regressions, *(changed.get(i, each) for i, each in enumerate(right)))
for name, changed in {
    "users missing": {1: k.Rows(longs(0, 3), ints(0, 4, 2), ones(3))},
    "items missing": {1: k.Rows(longs(0, 2, 3), ints(0, 5, 2), ones(3))},
    "features": {2: ones(1, 1)},
    "penalty": {3: 0.0},
}.items():
    right = [columns, rows, ones(2, 1), 1.0, 1.0]
    wrong = [changed.get(i, each) for i, each in enumerate(right)]
    misuse("logistic: " + name, lambda *a: k.rater_regressions(*a, logistic=True, everyone=True), *wrong)
table = np.array([[1.0, np.nan], [np.nan, 2.0]])
misuse("table: precision", k.HoledTable(table).fill, np.eye(1))
misuse("table: wide precision", k.HoledTable(table).fill, np.eye(20))
misuse("table: flat precision", k.HoledTable(table).fill, np.ones((1, 2)))


# Rounds in order of arrival, predictions, best items
def online(users, items, P=P, Q=Q):
    return k.passive_aggressive_online(users, items, ones(len(users)), P, Q, k.Rule(), k.Rule())


def gradients(users, items, P=P, Q=Q, rank=4, memory=(2, 5)):
    held = ones(len(users))
    rule = k.GradientRule(rank=rank, biased=False)
    return k.gradient_online(users, items, held, 0, P, Q, ones(memory[0]), ones(memory[1]), held, held, rule)


def predict(users, items, P=P, Q=Q):
    return k.predict_pairs(users, items, P, Q, ones(16), ones(16), 0.0)


for name, call in {"online": online, "gradient rounds": gradients, "predict": predict}.items():
    call(ints(0, 1), ints(4, 0))
    for wrong in ((2, 0), (0, 5), (FAR, 0), (0, FAR)) + (() if name == "predict" else ((-1, 0), (0, -1), (-FAR, 0))):
        misuse(f"{name}: {wrong}", call, ints(0, wrong[0]), ints(1, wrong[1]))
    misuse(name + ": lengths", call, ints(0, 1), ints(0))
    misuse(name + ": widths", call, ints(0), ints(0), P, wide)
    misuse(name + ": no users", call, ints(0), ints(0), k.padded(0, 4))
for rank in (17, FAR, 0, -1):
    misuse(f"gradient rounds: rank {rank}", gradients, ints(0), ints(0), rank=rank)
misuse("gradient rounds: user memory", gradients, ints(0), ints(0), memory=(1, 5))
misuse("gradient rounds: item memory", gradients, ints(0), ints(0), memory=(2, 4))
misuse("update: lengths", k.passive_aggressive_update, doubles(3), doubles(4), 1.0)


def best(indptr=longs(0, 0, 0), seen=ints(), rank=4, n=2, allowed=np.ones(5, bool), P=P, Q=Q):
    return k.top_n(P, Q, rank, n, indptr, seen, allowed)


best()
for name, wrong in {
    "rank": {"rank": 17},
    "rank 0": {"rank": 0},
    "rank below": {"rank": -1},
    "n": {"n": 0},
    "n below": {"n": -5},
    "allowed": {"allowed": np.ones(4, bool)},
    "rows": {"indptr": longs(0, 0)},
    "beyond": {"indptr": longs(0, 1, 2)},
    "decreases": {"indptr": longs(0, 5, 1), "seen": ints(0)},
    "negative": {"indptr": longs(-4, 0, 0)},
    "far": {"indptr": longs(0, 2**40, 2**40)},
    "none": {"indptr": longs()},
    "widths": {"Q": wide},
}.items():
    misuse("best: " + name, best, **wrong)

for pair in ((2, 0), (0, 5), (FAR, 0)):
    misuse(f"predict one: {pair}", k.predict_one, *pair, P, Q, ones(16), ones(16), 0.0)
misuse("predict one: default", k.predict_one, 0, 0, P, Q, ones(8), ones(16), 0.0)

# Blocks of ratings
five = ints(0, 1, 0, 0, 0), ints(0, 4, 0, 0, 0)


def grid(users=five[0], items=five[1], values=ones(1), start=longs(0, 1)):
    return Grid(users, items, values, start)


for name, wrong in {
    "start": {"start": longs(0, 2)},
    "start below": {"start": longs(-1, 1)},
    "no start": {"start": longs()},
    "no square": {"start": longs(0, 0, 1)},
    "user": {"users": ints(-1, 0, 0, 0, 0)},
    "item": {"items": ints(-9, 0, 0, 0, 0)},
    "nothing beyond": {"users": ints(0), "items": ints(0)},
}.items():
    misuse("grid: " + name, grid, **wrong)


def blocks(strata=ints(0), P=P, Q=Q, memory=(2, 5), held=(2, 5), rank=4, grid=grid(), means=(NO_MEANS, NO_MEANS)):
    rule = k.GradientRule(rank=rank, biased=False)
    return gradient_pass(
        grid, strata, P, Q, ones(memory[0]), ones(memory[1]), ones(held[0]), ones(held[1]), rule, 0, means
    )


blocks()
blocks(means=(RowMeans.of(P), RowMeans.of(Q)))
for name, wrong in {
    "users": {"P": k.padded(1, 4), "memory": (1, 5), "held": (1, 5)},
    "items": {"Q": few, "memory": (2, 4), "held": (2, 4)},
    "memory": {"memory": (2, 4)},
    "penalties": {"held": (1, 5)},
    "strata": {"strata": ints(1)},
    "no strata": {"strata": ints()},
    "strata below": {"strata": ints(-1)},
    "too many strata": {"strata": ints(0, 1)},
    "rank": {"rank": 17},
    "means": {"means": (RowMeans.of(few), RowMeans.of(Q))},
    "means of one side": {"means": (RowMeans.of(P), NO_MEANS)},
    "rounds": {"means": (RowMeans(k.padded(2, 4), ones(3)), RowMeans.of(Q))},
}.items():
    misuse("blocks: " + name, blocks, **wrong)

# Keys
text = np.frombuffer(b"annbob", np.uint8)
for name, data, offsets in (
    ("beyond", text, longs(0, 3, 7)),
    ("short of the end", text, longs(0, 3, 5)),
    ("decrease", text, longs(0, 6, 3, 6)),
    ("negative", text, longs(-3, 3, 6)),
    ("late", text, longs(1, 3, 6)),
    ("none", text, longs()),
    ("huge", text, longs(0, 2**62, 6)),
    ("no bytes", text[:0], longs(0, 3, 6)),
    ("not UTF-8", np.frombuffer(b"\xff\xfe", np.uint8), longs(0, 2)),
    ("inside a character", np.frombuffer("é".encode(), np.uint8), longs(0, 1, 2)),
):
    misuse("keys: offsets " + name, HashedKeys, (data, offsets))
    if "UTF" not in name and "inside" not in name:
        misuse("factorize: offsets " + name, factorize, (data, offsets))
        misuse("find: offsets " + name, HashedKeys((text, longs(0, 3, 6))).view.find, (data, offsets))
        misuse("add: offsets " + name, HashedKeys((text, longs(0, 3, 6))).add, (data, offsets))
misuse("keys: repeated", HashedKeys, (longs(1, 2, 1),))
full = KeyView(np.zeros(4, i32), (longs(7),))  # every slot taken: must not hang
assert full.find((longs(1, 7, 8),)).tolist() == [-1, 0, -1]
misuse("slots: fewer than keys", KeyView, np.zeros(2, i32), (longs(1, 2, 3),))
misuse("slots: no power of two", KeyView, np.zeros(6, i32), (longs(1, 2),))
misuse("slots: none", KeyView, np.zeros(0, i32), (longs(),))

# Neighbours: a matrix of 2 rows and 5 columns, by either side
turned = rows.transposed(5)
found = {"similarity": "cosine", "min_support": 1, "shrinkage": 0.0, "keep": 2}
near = nn.Near(np.array([[1, -1], [0, -1]], i32), ones(2, 2))
voices = nn.Voices(2, "similarity", 0.0)
pair = ints(0), ints(4)
misuse("neighbours: rows", nn.similar_rows, rows, turned, ints(2), **found)
misuse("neighbours: negative rows", nn.similar_rows, rows, turned, ints(-1), **found)
misuse("neighbours: columns missing", nn.similar_rows, rows, k.Rows(longs(0, 1), ints(0), ones(1)), ints(0), **found)
misuse("neighbours: wrong word", nn.similar_rows, rows, turned, ints(0), **found | {"similarity": "near"})
misuse("neighbours: none kept", nn.similar_rows, rows, turned, ints(0), **found | {"keep": 0})
misuse("neighbours: no support", nn.similar_rows, rows, turned, ints(0), **found | {"min_support": 0})
for name, bad in (
    ("too few", nn.Near(near.indices[:1], ones(1, 2))),
    ("beyond", nn.Near(np.array([[2, -1], [0, -1]], i32), ones(2, 2))),
    ("below", nn.Near(np.array([[-2, -1], [0, -1]], i32), ones(2, 2))),
    ("narrow weights", nn.Near(near.indices, ones(2, 1))),
):
    misuse("neighbours, weights: " + name, nn.neighbour_weights, rows, turned, bad, 2, 1.0)
    misuse("neighbours, pairs: " + name, nn.neighbour_sums, turned, bad, voices, *pair)
    misuse("neighbours, rows: " + name, nn.neighbour_sums_of_rows, turned, bad, voices, rows, ints(0))
misuse("neighbours: no k", nn.neighbour_weights, rows, turned, near, 0, 1.0)
misuse("neighbours: pairs beyond the rows", nn.neighbour_sums, turned, near, voices, ints(2), ints(0))
misuse("neighbours: pairs beyond the columns", nn.neighbour_sums, turned, near, voices, ints(0), ints(5))
misuse("neighbours: pairs of two lengths", nn.neighbour_sums, turned, near, voices, ints(0, 1), ints(0))
misuse("neighbours: wrong weights", nn.neighbour_sums, turned, near, nn.Voices(2, "loud", 0.0), *pair)
misuse("neighbours: rows asked for", nn.neighbour_sums_of_rows, turned, near, voices, rows, ints(2))
misuse("neighbours: entries of too few", nn.neighbour_sums_of_rows, turned, near, voices, turned, ints(0))
misuse("neighbours: columns asked for", nn.neighbour_sums_of_columns, turned, near, voices, rows, ints(5))
wide = k.Rows(longs(0, 1, 1), ints(2), ones(1))
misuse("neighbours: speaks to nobody", nn.neighbour_sums_of_columns, turned, near, voices, wide, ints(0))
# lazy steps
rule = LazyRule("saga", "squared", 0.1, 0.1)


def lazy(n_rows, n_features, *arguments, n_steps=3, rule=rule):
    LazyState(n_rows, n_features).run(*arguments, rule, n_steps)


misuse("lazy: values too few", lazy, 2, 5, rows, doubles(2), doubles(2))
misuse("lazy: targets too few", lazy, 2, 5, rows, doubles(3), doubles(1))
misuse("lazy: slopes too few", lazy, 1, 5, rows, doubles(3), doubles(2))
misuse("lazy: features too few", lazy, 2, 4, rows, doubles(3), doubles(2))
misuse("lazy: steps backwards", lazy, 2, 5, rows, doubles(3), doubles(2), n_steps=-1)
misuse("lazy: no rows", lazy, 0, 5, k.Rows(longs(0), ints(), ones(0)), doubles(0), doubles(0))
misuse("lazy: method", lazy, 2, 5, rows, doubles(3), doubles(2), rule=replace(rule, method="adam"))
misuse("lazy: loss", lazy, 2, 5, rows, doubles(3), doubles(2), rule=replace(rule, loss="hinge"))
misuse("lazy: decay", lazy, 2, 5, rows, doubles(3), doubles(2), rule=replace(rule, decay=10.0))
misuse("lazy: step", lazy, 2, 5, rows, doubles(3), doubles(2), rule=replace(rule, step=float("nan")))

for name, call in misuses.items():
    print(name, end=" ... ", flush=True)
    try:
        call()
    except ValueError as refusal:
        if len(str(refusal)) > 200 or "\n" in str(refusal):
            raise SystemExit(f"refused at length: {refusal}") from refusal
        print("refused", flush=True)
    else:
        raise SystemExit("went through")
print(len(misuses), "misuses")
