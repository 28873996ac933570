"""Ratings as callers send them, checked once and for all: after this nothing is doubted."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rankfill.data.vocabulary import Id
from rankfill.shown import shown

LONGEST_ID = 256
"""Characters of an id."""

LONGEST_TITLE, MOST_FEATURES = 1000, 1000


class Refused(ValueError):  # noqa: N818
    """Something a caller sent that cannot be taken: what was found, the rule, and the status that says so."""

    def __init__(self, message: str, status: int = 422, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after


@dataclass(frozen=True)
class Events:
    """Columns of events in their order.

    A rating of None takes back what the user gave. Without a user, an event with an item describes that item by the
    features in place of the rating, and one without is what is left of a user who was forgotten.
    """

    users: list[Any] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    ratings: list[Any] = field(default_factory=list)
    times: list[Any] = field(default_factory=list)

    @property
    def columns(self) -> list[list[Any]]:
        """The columns as JSON holds them."""
        return [self.users, self.items, self.ratings, self.times]

    def __len__(self) -> int:
        return len(self.users)

    def part(self, first: int, last: int | None = None) -> "Events":
        """The events at places first … last − 1."""
        return Events(*(column[first:last] for column in self.columns))

    def extend(self, more: "Events") -> None:
        """Appends other events."""
        for column, others in zip(self.columns, more.columns, strict=True):
            column.extend(others)


class Rule(NamedTuple):
    """The rules for ids and ratings: the kind of the ids, and the scale of the ratings."""

    string_users: bool
    string_items: bool
    lowest: float
    highest: float

    def user(self, value: Any) -> Id:
        """A user's id, as it came in JSON."""
        return _identity("user", value, self.string_users)

    def item(self, value: Any) -> Id:
        """An item's id, as it came in JSON."""
        return _identity("item", value, self.string_items)

    def user_in_path(self, text: str) -> Id:
        """A user's id, as it stands in an address."""
        return self.user(_from_path("user", text, self.string_users))

    def item_in_path(self, text: str) -> Id:
        """An item's id, as it stands in an address."""
        return self.item(_from_path("item", text, self.string_items))

    def rating(self, value: Any) -> float:
        """A rating on the scale."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Refused(f"rating must be a number, found {shown(value)}")
        if not self.lowest <= value <= self.highest:
            raise Refused(f"rating must be from {self.lowest:g} to {self.highest:g}, found {value:g}")
        return float(value)


def read_events(body: Any, rule: Rule, now: int, most: int) -> tuple[Events, list[str | None]]:
    """The events of a request's JSON, one or a list, with the ids that the caller gave them.

    Parameters
    ----------
    body : object, or list of objects
        Each with user, item, rating, and perhaps time (seconds since 1970) and id (any text that names the event).
    rule : Rule
        What ids and ratings have to be.
    now : int
        The time of events that tell none.
    most : int
        How many events are taken at once.
    """
    rows = body if isinstance(body, list) else [body]
    if not 0 < len(rows) <= most:
        raise Refused(f"a request holds 1 to {most:,} ratings, found {len(rows):,}; send several", 413 if rows else 422)
    events, names = Events(), []
    for place, row in enumerate(rows):
        try:
            if not isinstance(row, dict):
                raise Refused(f"a rating is an object with user, item and rating, found {shown(row)}")
            time, name = row.get("time"), row.get("id")
            if not (name is None or (isinstance(name, str) and 0 < len(name) <= LONGEST_ID)):
                raise Refused(f"id must be text of 1 to {LONGEST_ID} characters, found {shown(name)}")
            if not (time is None or (type(time) is int and 0 <= time < 2**53)):
                raise Refused(f"time must be whole seconds since 1970, found {shown(time)}")
            events.users.append(rule.user(row.get("user")))
            events.items.append(rule.item(row.get("item")))
            events.ratings.append(rule.rating(row.get("rating")))
            events.times.append(now if time is None else time)
            names.append(name)
        except Refused as refusal:
            raise Refused(f"{refusal} (at position {place})" if isinstance(body, list) else str(refusal)) from None
    return events, names


def read_items(body: Any, rule: Rule, most: int) -> tuple[dict[Id, str], dict[Id, dict[str, Any]]]:
    """Titles and features by id, of one item or a list of them."""
    rows = body if isinstance(body, list) else [body]
    if not 0 < len(rows) <= most:
        raise Refused(f"a request holds 1 to {most:,} items, found {len(rows):,}; send several", 413 if rows else 422)
    titles: dict[Id, str] = {}
    features: dict[Id, dict[str, Any]] = {}
    for row in rows:
        title = row.get("title") if isinstance(row, dict) else None
        if not isinstance(title, str) or not 0 < len(title) <= LONGEST_TITLE:
            raise Refused(f"an item is an object with item and title, found {shown(row)}")
        item, known = rule.item(row.get("item")), row.get("features")
        titles[item] = title
        if known is not None:
            features[item] = _checked_features(known)
    return titles, features


def _checked_features(known: Any) -> dict[str, Any]:
    if not isinstance(known, dict) or len(known) > MOST_FEATURES:
        raise Refused(f"features are an object of at most {MOST_FEATURES} names and values, found {shown(known)}")
    for name, value in known.items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e30
        if not (value is None or number or (isinstance(value, str) and len(value) <= LONGEST_TITLE)):
            raise Refused(f"the feature {shown(name)} must be a number or text, found {shown(value)}")
    return known


def _identity(what: str, value: Any, of_strings: bool) -> Id:
    if of_strings:
        if isinstance(value, str) and 0 < len(value) <= LONGEST_ID and value.isprintable():
            return value
        raise Refused(f"{what} must be text of 1 to {LONGEST_ID} printable characters, found {shown(value)}")
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    raise Refused(f"{what} must be a whole number, found {shown(value)}")


def _from_path(what: str, text: str, of_strings: bool) -> Any:
    if of_strings:
        return text
    try:
        return int(text)
    except ValueError:
        raise Refused(f"{what} must be a whole number, found {shown(text)}") from None
