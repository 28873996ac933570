"""When rows go whole to every task, and when to those who need them; none of this asks a cluster."""

import numpy as np
import pytest

import rankfill.spark.ratings
from rankfill.data import Vocabulary
from rankfill.spark.building import Division
from rankfill.spark.ratings import ClusterRatings


def ratings_of(user_counts, item_counts, blocks):
    counts = {"user": np.array(user_counts), "item": np.array(item_counts)}
    ratings = ClusterRatings(*(Vocabulary.of_range(len(each)) for each in counts.values()), counts)
    ratings._divisions = {side: Division.of(each, np.arange(blocks)) for side, each in counts.items()}
    return ratings


def test_the_share_of_rows_that_a_block_needs_is_that_of_ratings_dealt_at_random():
    rng = np.random.default_rng(0)
    users = rng.integers(0, 400, 3000)
    counts = np.bincount(users, minlength=400)
    ratings = ratings_of(counts, np.full(100, 30), blocks=10)
    found = [
        np.mean([len(np.unique(users[rng.integers(0, 10, len(users)) == block])) / 400 for block in range(10)])
        for _ in range(50)
    ]
    assert ratings._share_needed("item") == pytest.approx(np.mean(found), rel=0.02)


def test_rows_go_to_those_who_need_them_where_that_is_fewer_than_half(monkeypatch):
    sparse = ratings_of(np.full(1000, 3), np.full(30, 100), blocks=10)
    assert not sparse._exchanges("item", 2**28)
    assert sparse._exchanges("item", 2**28 + 1)  # an item block names 27 % of the users
    assert not sparse._exchanges("user", 2**28 + 1)  # a user block names all items
    sparse._exchange = "whole"
    assert not sparse._exchanges("item", 2**40)
    sparse._exchange = "needed"
    assert sparse._exchanges("user", 1)
    one_block = ratings_of(np.full(1000, 3), np.full(30, 100), blocks=1)
    assert not one_block._exchanges("item", 2**40)


def test_blocks_that_spark_cannot_hold_in_a_value_are_refused(monkeypatch):
    monkeypatch.setattr(rankfill.spark.ratings, "LARGEST_VALUE", 10_000)
    ratings = ratings_of(np.full(1000, 3), np.full(30, 100), blocks=10)
    ratings._check_values("item", 16)
    monkeypatch.setattr(rankfill.spark.ratings, "LARGEST_VALUE", 6_000)
    with pytest.raises(ValueError, match=r"a block of 10\d users takes 6,\d+ bytes, more than .*; use more blocks"):
        ratings._check_values("user", 16)
