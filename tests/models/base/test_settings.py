"""Every number has a range, and what is outside is refused in one line."""

from typing import Literal

import numpy as np
import pytest

import rankfill as rf
from rankfill.models.base.settings import check_no_negative, check_positive, check_seed, check_whole, check_word
from rankfill.shown import shown


@pytest.mark.parametrize("good", [1, 7, np.int32(3), np.uint8(9), 2**31 - 1])
def test_whole_numbers_within_the_range_pass(good):
    check_whole("inner", good, 1)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (0, "inner must be a whole number of at least 1, found 0"),
        (np.int64(-5), "inner must be a whole number of at least 1, found -5"),
        (True, "inner must be a whole number of at least 1, found True"),
        (2.0, r"inner must be a whole number of at least 1, found 2\.0"),
        (2**31, "inner must be a whole number of at most 2147483647, found 2147483648"),
        (10**100, "inner must be a whole number of at most 2147483647, found a number of about 100 digits"),
        pytest.param(
            1 << 50_000,
            "inner must be a whole number of at most 2147483647, found a number of about 15052 digits",
            id="huge",
        ),
    ],
)
def test_other_whole_numbers_are_refused(bad, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        check_whole("inner", bad, 1)


def test_a_seed_may_have_63_bits():
    check_seed(2**63 - 1)
    with pytest.raises(ValueError, match="seed must be a whole number of at most 9223372036854775807"):
        check_seed(2**63)


@pytest.mark.parametrize("good", [1, 0.5, np.float32(2), np.int8(1), 1e30, 1e-30])
def test_positive_numbers_within_the_range_pass(good):
    check_positive("rate", good)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (0, "rate must be a positive number, found 0"),
        (-1.5, r"rate must be a positive number, found -1\.5"),
        (np.float64("nan"), "rate must be a positive number, found nan"),
        (float("inf"), "rate must be a positive number, found inf"),
        (10**400, "rate must be a positive number, found a number of about 400 digits"),
        (True, "rate must be a positive number, found True"),
        ("fast", "rate must be a positive number, found 'fast'"),
        (1j, "rate must be a positive number, found 1j"),
        (2**64, r"rate must have a decimal point where it is beyond 64 bits, found \d+; write 1\.84467e\+19"),
        (1e308, r"rate must be from 1e-30 to 1e\+30, found 1e\+308"),
        (1e-40, r"rate must be from 1e-30 to 1e\+30, found 1e-40"),
    ],
)
def test_other_positive_numbers_are_refused(bad, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        check_positive("rate", bad)


def test_zero_passes_where_it_is_allowed():
    check_positive("penalty", 0.0, or_zero=True)
    with pytest.raises(ValueError, match=r"penalty must be zero or from 1e-30 to 1e\+30, found 1e-40"):
        check_positive("penalty", 1e-40, or_zero=True)


@pytest.mark.parametrize("value", ["x" * 1000, "a\nb" * 500, np.zeros((50, 50)), ["line\n"] * 300, object()])
def test_messages_stay_one_short_line(value):
    for check in (lambda: check_whole("rank", value, 1), lambda: check_word("side", value, Literal["users", "items"])):
        with pytest.raises(ValueError, match="must be") as caught:
            check()
        assert len(str(caught.value).splitlines()) == 1
        assert len(str(caught.value)) < 200


def test_a_value_whose_description_fails_is_named_by_its_kind():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert shown(Broken()) == "a Broken"


def test_ids_are_shown_as_a_user_knows_them():
    ratings = rf.Ratings.from_arrays([5, 5, 6], [1, 2, 1], [1.0, -2.0, 3.0])
    with pytest.raises(ValueError, match=r"needs ratings >= 0, found -2 of user 5 for item 2; shift them"):
        check_no_negative(ratings, "this", "shift them")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (rf.CoordinateDescent(inner=10**30), "inner must be a whole number of at most"),
        (rf.ALS(seed=10**30), "seed must be a whole number of at most"),
        (rf.ALS(penalty=1e308), "penalty must be zero or from"),
        (rf.ALS(feedback="implicit", confidence=np.inf), "confidence must be a positive number"),
        (rf.PassiveAggressive(C=1e308), "C must be from"),
        (rf.PassiveAggressive(passes=10**30), "passes must be a whole number of at most"),
        (rf.Bias(shrinkage=np.inf), "shrinkage must be zero or a positive number"),
    ],
)
def test_models_refuse_at_once_what_would_hang_or_overflow(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(rf.Ratings.from_arrays([1, 1, 2], [1, 2, 1], [1.0, 2.0, 3.0]))
