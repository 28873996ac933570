"""Which column of a table is the user, the item, the rating, the timestamp."""

from collections.abc import Sequence
from dataclasses import replace

from rankfill.data.tables import Table, TextTable, is_number, whole_numbers

ROLES = ("user", "item", "rating", "timestamp")

_USUAL_NAMES = {
    "user": {"user", "userid", "users", "uid", "member", "customer", "reviewerid"},
    "item": {
        "item",
        "itemid",
        "items",
        "iid",
        "movie",
        "movieid",
        "film",
        "product",
        "productid",
        "track",
        "song",
        "asin",
    },
    "rating": {"rating", "ratings", "value", "score", "stars", "overall"},
    "timestamp": {"timestamp", "timestamps", "time", "date", "unixreviewtime"},
}


def usual_role(name: str) -> str | None:
    """The role a column of that name usually has, or None."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return next((role for role, names in _USUAL_NAMES.items() if plain in names), None)


def match_columns(available: Sequence[str], columns: Sequence[str] | None, *, need_rating: bool = True) -> list[str]:
    """The names of the columns of users, items, ratings and perhaps timestamps, in this order."""
    if columns is not None:
        absent = [name for name in columns if name not in available]
        if absent or len(set(columns)) < len(columns) or not 2 + need_rating <= len(columns) <= 4:
            raise ValueError(
                f"columns must name the user, item, rating and perhaps timestamp column among "
                f"{', '.join(available)}; found {', '.join(columns)}"
            )
        return list(columns)
    found = {role: name for name in reversed(available) if (role := usual_role(name)) is not None}
    missing = [role for role in ROLES[: 2 + need_rating] if role not in found]
    if missing:
        raise ValueError(
            f"no column looks like the {' or the '.join(missing)} among {', '.join(available)}; "
            'name them: columns=("user", "item", "rating")'
        )
    return [found[role] for role in ROLES if role in found]


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
        return table, {role: table.names.index(name) for role, name in zip(ROLES, chosen, strict=False)}
    n_columns, needed = len(table.names), ROLES[: 2 + need_rating]
    words = list(ROLES[: max(min(n_columns, 4), len(needed))] if columns is None else columns)
    missing = [role for role in needed if words.count(role) != 1]
    if missing:
        raise ValueError(
            f"{table.path.name} has no header, so columns must say once where the {' and the '.join(missing)} stands, "
            f'such as columns=("user", "item", "rating"); found {", ".join(words)}'
        )
    if len(words) > n_columns:
        raise ValueError(
            f"the first line of {table.path.name} has {n_columns} columns, needs {', '.join(words)}; "
            "add what is missing, or say by columns= what stands where"
        )
    return table, {role: words.index(role) for role in ROLES if role in words}


def _has_header(table: TextTable, columns: Sequence[str] | None, need_rating: bool) -> bool:
    """Ratings: the first line has no number. Mere pairs: it has known names, or no numbers where the rest has."""
    first = table.names
    if columns is not None and set(columns) <= set(first):
        return True
    if need_rating:
        value = columns.index("rating") if columns is not None and "rating" in columns else 2
        return value < len(first) and not any(map(is_number, [*first[:2], first[value]]))
    following = [fields[:2] for _, fields in table.sample[1:]]
    known = {"user", "item"} <= {usual_role(name) for name in first}
    unlike = bool(following) and all(map(whole_numbers, following)) and not any(map(is_number, first[:2]))
    return known or unlike
