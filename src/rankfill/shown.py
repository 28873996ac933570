"""Values as messages and screens show them: on one line, at a length one can read, without steering a terminal."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

_LONGEST = 60
_MOST = 12
_MOST_DIGITS = 40


def shown(value: Any) -> str:
    """A value as one would type it; a long one loses its middle, a NumPy number its type.

    >>> import numpy as np
    >>> shown(np.int64(7)), shown("tea")
    ('7', "'tea'")
    >>> shown("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
    >>> shown(10**100)
    'a number of about 100 digits'
    """
    value = value.item() if getattr(value, "shape", None) == () else value
    if isinstance(value, int) and abs(value) >= 10**_MOST_DIGITS:  # Python refuses to print the longest
        return f"a number of about {value.bit_length() * 0.30103:.0f} digits"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a value whose own description fails must not hide what is wrong with it
        text = f"a {type(value).__name__}"
    return shorten(text)


def shown_names(names: Iterable[str]) -> str:
    """Names with commas between; of many the first dozen.

    >>> shown_names(["user", "item"])
    'user, item'
    >>> shown_names(str(k) for k in range(100))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 88 more'
    """
    texts = [shorten(printable(name)) for name in names]
    more = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + more


def printable(text: str) -> str:
    """The text with everything written out that a terminal would obey instead of showing it.

    >>> printable("tea \\x1b[31m red")
    'tea \\\\x1b[31m red'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def shorten(text: str, longest: int = _LONGEST) -> str:
    """The text without its middle where it is longer than that."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def html_table(rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """A table for notebooks; where there is no header, the first cell of a row is its name.

    >>> html_table([["1", "<tea>"]], header=["place", "item"])
    '<table><tr><th>place</th><th>item</th></tr><tr><td>1</td><td>&lt;tea&gt;</td></tr></table>'
    """
    lines = [[("th", text) for text in header]] if header else []
    lines += [[("td" if at or header else "th", text) for at, text in enumerate(row)] for row in rows]
    cells = ("".join(f"<{tag}>{html.escape(text)}</{tag}>" for tag, text in line) for line in lines)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"
