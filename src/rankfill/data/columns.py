"""Finds the columns of users, items, ratings and timestamps in a table."""

from collections.abc import Sequence
from dataclasses import replace

from rankfill.data.tables import Table, TextTable, is_number, whole_numbers
from rankfill.shown import shown_names

ROLES = ("user", "item", "rating", "timestamp")

_USUAL_NAMES = {
    "user": "user userid users uid username member memberid customer customerid visitor visitorid reviewerid",
    "item": "item itemid items iid movie movieid film filmid product productid track trackid song songid book bookid "
    "artist artistid isbn asin sku",
    "rating": "rating ratings value score stars overall",
    "timestamp": "timestamp timestamps time date datetime unixreviewtime",
}
_COUNTS = (
    "count counts plays playcount listens listencount clicks clickcount views viewcount visits purchases quantity qty "
    "frequency weight"
)
_ROLES = {name: role for role, names in (*_USUAL_NAMES.items(), ("rating", _COUNTS)) for name in names.split()}


def usual_role(name: str) -> str | None:
    """The role a column of that name usually has, or None."""
    return _ROLES.get(_plain(name))


def match_columns(
    available: Sequence[str], columns: Sequence[str] | None, *, need_rating: bool = True
) -> dict[str, str]:
    """The names of the columns of users, items and, where there are any, ratings and timestamps, by role.

    Without a rating every row is a positive. That must be plain: from columns that name user and item alone, or from a
    table that has nothing else, for otherwise the rating may have an unusual name. Mere pairs skip all other columns.
    """
    if columns is not None:
        absent = [name for name in columns if name not in available]
        if absent or len(set(columns)) < len(columns) or not 2 <= len(columns) <= 4:
            raise ValueError(
                f"columns must name the user, item and perhaps rating and timestamp column among "
                f"{shown_names(available)}; found {shown_names(columns)}"
            )
        events = len(columns) == 3 and usual_role(columns[2]) == "timestamp"
        return dict(zip(("user", "item", "timestamp") if events else ROLES, columns, strict=False))
    # A count is a rating only where there is no better one, and the first column of several wins.
    by_rank = sorted(available, key=lambda name: _plain(name) in _COUNTS.split())
    found = {role: name for name in reversed(by_rank) if (role := usual_role(name)) is not None}
    only_events = not set(available) - set(found.values())
    missing = [role for role in ROLES[: 2 + (need_rating and not only_events)] if role not in found]
    if missing:
        remedy = 'name them: columns=("user", "item", "rating")'
        if missing == ["rating"]:
            remedy = f'{remedy}, or columns=("{found["user"]}", "{found["item"]}") if each row is a positive'
        raise ValueError(
            f"no column looks like the {' or the '.join(missing)} among {shown_names(available)}; {remedy}"
        )
    return {role: found[role] for role in ROLES if role in found}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def locate_columns(
    table: Table, columns: Sequence[str] | None, *, need_rating: bool = True
) -> tuple[Table, dict[str, int]]:
    """The table with its header recognised, and the position of the column of each role.

    With a header `columns` are names; without one they are role words by position, other words being skipped.
    """
    if isinstance(table, TextTable):
        table = replace(table, header=_has_header(table, columns, need_rating))
    if table.header:
        chosen = match_columns(table.names, columns, need_rating=need_rating)
        return table, {role: table.names.index(name) for role, name in chosen.items()}
    n_columns = len(table.names)
    words = list(ROLES[: min(n_columns, 4)] if columns is None else columns)
    missing = [role for role in ("user", "item") if words.count(role) != 1]
    missing += [role for role in ("rating", "timestamp") if words.count(role) > 1]
    if missing:
        raise ValueError(
            f"{table.name} has no header, so columns must say once where the {' and the '.join(missing)} stands, "
            f'such as columns=("user", "item", "rating"); found {shown_names(words)}'
        )
    if len(words) > n_columns:
        raise ValueError(
            f"the first line of {table.name} has {n_columns} columns, needs {shown_names(words)}; "
            "add what is missing, or say by columns= what stands where"
        )
    return table, {role: words.index(role) for role in ROLES if role in words}


def _has_header(table: TextTable, columns: Sequence[str] | None, need_rating: bool) -> bool:
    """Ratings: the first line has no number. Two columns: it has known names, or no numbers where the rest has."""
    first = table.names
    if columns is not None and set(columns) <= set(first):
        return True
    if need_rating and len(first) > 2:
        value = columns.index("rating") if columns is not None and "rating" in columns else 2
        return value < len(first) and not any(map(is_number, [*first[:2], first[value]]))
    following = [fields[:2] for _, fields in table.sample[1:]]
    known = {"user", "item"} <= {usual_role(name) for name in first}
    unlike = bool(following) and all(map(whole_numbers, following)) and not any(map(is_number, first[:2]))
    return known or unlike
