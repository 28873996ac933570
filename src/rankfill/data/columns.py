"""Which column of a table is the user, the item, the rating, the timestamp."""

from collections.abc import Sequence

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
        if absent or not 2 + need_rating <= len(columns) <= 4:
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
