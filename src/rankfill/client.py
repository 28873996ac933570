"""A client of the service, with nothing but the standard library.

from rankfill.client import Client

service = Client("http://127.0.0.1:8000")
service.rate("ann", "tea", 5)
service.recommend("ann", n=3)
"""

import http.client
import json
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from rankfill.data.vocabulary import Id


class ServiceError(RuntimeError):
    """A request that the service refused: its message and the HTTP status.

    Attributes
    ----------
    status : int
        The status of the answer.
    retry_after : int or None
        Seconds to wait before another try, where the service says so.
    """

    def __init__(self, message: str, status: int, retry_after: int | None) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after


class Client:
    """Talks to one service over kept connections, one per thread.

    Parameters
    ----------
    address : str
        Where the service listens, such as ``http://127.0.0.1:8000``.
    token : str, optional
        The token it asks for.
    timeout : float, default=30.0
        Seconds to wait for an answer.
    """

    def __init__(self, address: str, token: str | None = None, timeout: float = 30.0) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the address of a service begins with http://, found {address!r}")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connect = partial(kind, parts.hostname, parts.port, timeout=timeout)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._own = threading.local()

    def rate(self, user: Id, item: Id, rating: float, *, time: int | None = None, id: str | None = None) -> int:  # noqa: A002
        """Sends one rating; when it returns, the rating is on disk and learned.

        Parameters
        ----------
        user, item : int or str
            Who rated what.
        rating : float
            How.
        time : int, optional
            When, in seconds since 1970; by default now.
        id : str, optional
            A name of the event; sent twice, it counts once.

        Returns
        -------
        int
            Its sequence number.
        """
        event = {"user": user, "item": item, "rating": rating, "time": time, "id": id}
        return int(self.rate_many([event])["sequence"])

    def rate_many(self, events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Sends several ratings in one request.

        Parameters
        ----------
        events : iterable of mappings
            Each with user, item, rating and perhaps time and id.

        Returns
        -------
        dict
            With sequence, accepted and repeated.
        """
        rows = [{name: value for name, value in event.items() if value is not None} for event in events]
        return self._ask("POST", "/ratings", rows)

    def take_back(self, user: Id, item: Id) -> dict[str, Any]:
        """Takes back what a user gave an item."""
        return self._ask("DELETE", "/ratings", {"user": user, "item": item})

    def recommend(self, user: Id, n: int = 10, *, exclude_seen: bool = True, explain: bool = False) -> dict[str, Any]:
        """The list of a user.

        Parameters
        ----------
        user : int or str
            Whose.
        n : int, default=10
            How many items.
        exclude_seen : bool, default=True
            Whether to leave out what the user has rated.
        explain : bool, default=False
            Whether to give reasons.
        """
        return self._ask("GET", f"/recommend/{_in_path(user)}", n=n, exclude_seen=exclude_seen, explain=explain)

    def recommend_for(self, ratings: Mapping[Id, float], n: int = 10) -> dict[str, Any]:
        """A list for somebody described by ratings of items; the service keeps nothing of it."""
        rows = [{"item": item, "rating": rating} for item, rating in ratings.items()]
        return self._ask("POST", "/recommend", {"ratings": rows, "n": n})

    def predict(self, user: Id, items: Iterable[Id]) -> list[float]:
        """The predicted ratings of items by a user."""
        found = self._ask("GET", "/predict", user=user, item=list(items))
        return [each["rating"] for each in found["predictions"]]

    def explain(self, user: Id, item: Id) -> dict[str, Any]:
        """Why a prediction is what it is."""
        return self._ask("GET", "/explain", user=user, item=item)

    def similar(self, item: Id, n: int = 10) -> dict[str, Any]:
        """The items most like one."""
        return self._ask("GET", f"/similar/{_in_path(item)}", n=n)

    def topics(self, n: int = 5) -> dict[str, Any]:
        """The topics of the model."""
        return self._ask("GET", "/topics", n=n)

    def user(self, user: Id) -> dict[str, Any]:
        """All that the service knows about a user."""
        return self._ask("GET", f"/users/{_in_path(user)}")

    def forget(self, user: Id) -> dict[str, Any]:
        """Has a user forgotten, everywhere."""
        return self._ask("DELETE", f"/users/{_in_path(user)}")

    def items(self, words: str = "", n: int = 20) -> dict[str, Any]:
        """Items whose title or id holds the words."""
        return self._ask("GET", "/items", q=words, n=n)

    def put_items(
        self, titles: Mapping[Id, str], features: Mapping[Id, Mapping[str, Any]] | None = None
    ) -> dict[str, Any]:
        """Adds items by their titles; with features, they can be recommended before anybody has rated them."""
        rows: list[dict[str, Any]] = [{"item": item, "title": title} for item, title in titles.items()]
        for row in rows:
            if features and row["item"] in features:
                row["features"] = dict(features[row["item"]])
        return self._ask("POST", "/items", rows)

    def refit(self) -> dict[str, Any]:
        """Has the model fitted anew in the background."""
        return self._ask("POST", "/refit")

    def status(self) -> dict[str, Any]:
        """What the service is doing."""
        return self._ask("GET", "/status")

    def ready(self) -> dict[str, Any]:
        """Whether the service is ready, and how it came up."""
        return self._ask("GET", "/health/ready")

    def close(self) -> None:
        """Closes the connection of this thread."""
        if hasattr(self._own, "connection"):
            self._own.connection.close()
            del self._own.connection

    def _ask(self, method: str, path: str, body: Any = None, **query: Any) -> dict[str, Any]:
        plain = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        address = f"{path}?{urlencode(plain, doseq=True)}" if plain else path
        content = None if body is None else json.dumps(body).encode()
        try:
            return self._exchange(method, address, content)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.close()
            if method != "GET":  # it may have been done: the caller decides, best with ids of events
                raise
            return self._exchange(method, address, content)  # a kept connection that the service has closed

    def _exchange(self, method: str, address: str, content: bytes | None) -> dict[str, Any]:
        if not hasattr(self._own, "connection"):
            self._own.connection = self._connect()
        try:
            self._own.connection.request(method, address, content, self._headers)
            response = self._own.connection.getresponse()
            answer = response.read()
        except Exception:
            self.close()
            raise
        found = json.loads(answer) if answer else {}
        if response.status >= 400:
            wait = response.headers.get("Retry-After")
            raise ServiceError(found.get("error", response.reason), response.status, int(wait) if wait else None)
        return dict(found)


def _in_path(identity: Id) -> str:
    return quote(str(identity), safe="")
