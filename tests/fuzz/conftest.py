"""Accidents that happen to files, and what may come of reading them."""

import struct

import pytest
from hypothesis import strategies as st

DEFINED = (ValueError, OSError, TypeError)
HOSTILE = [b"", b"\0", b"\r", b"\n", b'"', b",", b"\xff", b"\xed\xa0\x80", b"nan", b"-1", b"1e400"]
HOSTILE += [b"9" * 30, b"x" * 3000, *(struct.pack("<q", number) for number in (-1, 2**62, 2**31, 0))]


@st.composite
def _damaged(draw, seeds):
    name = draw(st.sampled_from(sorted(seeds)))
    content = seeds[name]
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 16))
        piece = content[place : place + length]
        match draw(st.sampled_from(["flip", "put", "drop", "double", "cut", "random"])):
            case "flip" if place < len(content):
                bit = 1 << draw(st.integers(0, 7))
                content = content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]
            case "put":
                content = content[:place] + draw(st.sampled_from(HOSTILE)) + content[place + length :]
            case "drop":
                content = content[:place] + content[place + length :]
            case "double":
                content = content[:place] + piece * draw(st.integers(1, 50)) + content[place:]
            case "cut":
                content = content[:place]
            case "random":
                content = content[:place] + draw(st.binary(max_size=16)) + content[place + length :]
    return name, content


@pytest.fixture(scope="session")
def damaged():
    """A strategy for the bytes of one of some files after one to four accidents, and its name."""
    return _damaged


def _answers(call, *arguments, **options):
    try:
        return call(*arguments, **options)
    except DEFINED as error:
        text = str(error)
    assert text
    assert len(text.splitlines()) == 1, text
    assert len(text) < 2000, text[:2000]
    return None


@pytest.fixture(scope="session")
def answers():
    """Calls; a result, or None after an error of the kinds that are defined, told in one line that one can read."""
    return _answers


@pytest.fixture
def place(tmp_path):
    return tmp_path / "f"
