"""The answers to readers: plain objects for JSON, each with the sequence number of its model."""

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from rankfill.data import Ratings
from rankfill.data.vocabulary import Id
from rankfill.models import Explanation
from rankfill.service.events import Refused, Rule
from rankfill.service.topic_lists import TopicLists
from rankfill.service.writer import Writer

MOST_LISTED = 1000
_REASONS = 3


class Answers:
    """Questions to the model that the writer has published; each sees it as of one moment."""

    def __init__(self, writer: Writer, topics: TopicLists, titles: dict[Id, str]) -> None:
        self._writer, self._topics, self.titles = writer, topics, titles

    def recommend(self, user: Id, n: int, exclude_seen: bool, explain: bool) -> dict[str, Any]:
        """The list of a user; bestsellers for one who is not known."""
        with self._writer.turns.reading(patient=explain):
            learning = self._writer.learning
            if not learning.knows(user):
                return self._with_sequence(user=user, known=False, fallback="popular", items=self._popular(n))
            found = learning.recommend(user, n, exclude_seen)
            rated = getattr(found, "ratings", None)
            lists = self._entries(found.items[0], found.scores[0], None if rated is None else rated[0])
            if explain:
                for entry in lists:
                    entry["reasons"] = self._reasons(learning.explain(user, entry["item"]))
            return self._with_sequence(user=user, known=True, items=lists)

    def recommend_for(self, ratings: Ratings, n: int) -> dict[str, Any]:
        """A list for somebody who is described by ratings; nothing is kept of it."""
        with self._writer.turns.reading(patient=True):
            found = self._writer.learning.model.recommend(ratings, n=n)
            return self._with_sequence(items=self._entries(found.items[0], found.scores[0], None))

    def predict(self, user: Id, items: list[Id]) -> dict[str, Any]:
        """The predicted ratings of a user."""
        with self._writer.turns.reading():
            predicted = self._writer.learning.predict(user, items)
            entries = [{"item": item, "rating": value} for item, value in zip(items, predicted, strict=True)]
            return self._with_sequence(user=user, known=self._writer.learning.knows(user), predictions=entries)

    def similar(self, item: Id, n: int) -> dict[str, Any]:
        """The items most similar to one."""
        with self._writer.turns.reading(patient=True):
            model = self._writer.learning.model
            if model.items_.row_of(item) < 0:
                raise Refused(f"item {item} is not known", 404)
            found = model.similar_items(item, n=n)
            return self._with_sequence(
                item=item, title=self.titles.get(item), items=self._entries(found[0][0], found[1][0], None)
            )

    def explain(self, user: Id, item: Id) -> dict[str, Any]:
        """Why a prediction is what it is, in parts that add up to `score`."""
        with self._writer.turns.reading(patient=True):
            learning = self._writer.learning
            if not learning.knows(user):
                raise Refused(f"user {user} is not known, so there is nothing to explain", 404)
            if learning.model.items_.row_of(item) < 0:
                raise Refused(f"item {item} is not known, so there is nothing to explain", 404)
            found = learning.explain(user, item)
            parts = [
                {
                    "kind": part.kind,
                    "name": self._title_of(part.kind, part.id, part.name),
                    "adds": _plain(part.contribution),
                }
                for part in found.parts
            ]
            return self._with_sequence(
                user=user,
                item=item,
                title=self.titles.get(item),
                prediction=found.prediction,
                score=found.score,
                parts=parts,
                ratings=self._reasons(found, 10),
            )

    def topics(self, n: int) -> dict[str, Any]:
        """Finds items that go together, in all ratings or by the factors of the model."""
        try:
            sequence, found = self._topics.lists(n, self.titles.copy())
        except (TypeError, ValueError) as error:
            raise Refused(str(error), 409) from error
        listed = [
            {
                "topic": topic.factor,
                "label": topic.label,
                "share": topic.share,
                "items": list(topic.items),
                "titles": list(topic.titles),
            }
            for topic in found
        ]
        return {"sequence": sequence, "topics": listed}

    def user(self, user: Id) -> dict[str, Any]:
        """All that is known about a user: events of the log, and what was rated before there was one."""
        with self._writer.turns.reading():
            known, rated = self._writer.learning.knows(user), self._writer.learning.rated_by(user)
            answer = self._with_sequence(user=user, known=known)
        events = self._writer.log.of_user(user)
        if not known and not events:
            raise Refused(f"user {user} is not known", 404)
        for event in events:
            event["title"] = self.titles.get(event["item"])  # type: ignore[call-overload]
        return answer | {
            "rated": [{"item": item, "title": self.titles.get(item)} for item in rated],
            "events": events,
        }

    def items(self, words: str, n: int) -> dict[str, Any]:
        """Items whose title or id holds the words, most rated first."""
        with self._writer.turns.reading():
            model, answer = self._writer.learning.model, self._with_sequence()
            ids, counts = model.items_.ids().tolist(), model._item_counts.array.copy()
        wanted = words.casefold()
        found = [row for row, item in enumerate(ids) if wanted in f"{self.titles.get(item, '')} {item}".casefold()]
        found.sort(key=lambda row: -counts[row])
        listed = [
            {"item": ids[row], "title": self.titles.get(ids[row]), "ratings": int(counts[row])} for row in found[:n]
        ]
        unrated = [
            {"item": item, "title": title, "ratings": 0}
            for item, title in list(self.titles.items())  # titles come in on another thread
            if len(listed) < n and model.items_.row_of(item) < 0 and wanted in f"{title} {item}".casefold()
        ]
        return answer | {"items": (listed + unrated)[:n]}

    def users(self, words: str, n: int) -> dict[str, Any]:
        """Users whose id begins with the words."""
        with self._writer.turns.reading():
            users, answer = self._writer.learning.model.users_.frozen(), self._with_sequence()
        found = islice((user for user in users if str(user).startswith(words)), n)
        return answer | {"users": list(found)}

    def _with_sequence(self, **answer: Any) -> dict[str, Any]:
        return {"sequence": self._writer.applied, **answer}

    def _entries(self, items: Any, scores: Any, ratings: Any) -> list[dict[str, Any]]:
        return [
            {"item": item, "title": self.titles.get(item), "score": _plain(score)}
            | ({} if ratings is None else {"rating": _plain(ratings[place])})
            for place, (item, score) in enumerate(zip(items.tolist(), scores.tolist(), strict=True))
            if not math.isnan(score)
        ]

    def _popular(self, n: int) -> list[dict[str, Any]]:
        model = self._writer.learning.model
        counts = model._item_counts.array
        best = np.argsort(-counts, kind="stable")[:n]
        ids = model.items_.ids(best).tolist()
        return [
            {"item": item, "title": self.titles.get(item), "score": float(count)}
            for item, count in zip(ids, counts[best], strict=True)
            if count > 0
        ]

    def _reasons(self, explanation: Explanation, n: int = _REASONS) -> list[dict[str, Any]]:
        """The reasons for an item: the user's own ratings where their shares are known, else the largest parts."""
        own = [part for part in explanation.ratings if part.kind == "rating"]
        parts = own or [part for part in explanation.parts if part.kind in ("rating", "neighbour", "factor")]
        size = [abs(part.contribution if math.isfinite(part.contribution) else part.weight or 0.0) for part in parts]
        best = sorted(range(len(parts)), key=lambda place: -size[place])[:n]
        return [
            {
                "kind": parts[place].kind,
                "item": parts[place].id if parts[place].kind == "rating" else None,
                "name": self._title_of(parts[place].kind, parts[place].id, parts[place].name),
                "adds": _plain(parts[place].contribution),
            }
            for place in best
        ]

    def _title_of(self, kind: str, identity: Id | None, name: str) -> str:
        return self.titles.get(identity, name) if kind in ("rating", "item") and identity is not None else name


def _plain(number: float) -> float | None:
    return number if math.isfinite(number) else None


def titles_of(given: Mapping[Any, str], stored: Mapping[str, str], rule: Rule) -> dict[Id, str]:
    """Titles by id: those of a file, and over them those that were sent to the service."""
    titles: dict[Id, str] = dict(given)
    for text, title in stored.items():
        titles[text if rule.string_items else int(text)] = title
    return titles
