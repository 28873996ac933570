"""Routes, limits and tokens. `POST /ratings`, the busiest route, goes the short way; the others through Starlette."""

import asyncio
import hmac
import re
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from rankfill.data import Ratings
from rankfill.service.answers import MOST_LISTED, Answers
from rankfill.service.events import LONGEST_ID, Refused, Rule, read_events, read_items
from rankfill.service.metrics import Metrics
from rankfill.service.openapi import description
from rankfill.service.refit import Refits
from rankfill.service.writer import Submission, Writer
from rankfill.shown import shown

_JSON = (b"content-type", b"application/json")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"),
    (b"cache-control", b"no-store"),
]
_OWN_HOST = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_OPEN = ("/", "/health/live", "/page.js", "/page.css", "/icon.svg")
"""Paths that need no token: the page, which asks for one, and the sign of life."""

_PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


class Limits:
    """The limits of the size and the time of a request."""

    def __init__(self, body: int = 4_000_000, batch: int = 10_000, seconds: float = 15.0) -> None:
        self.body, self.batch, self.seconds = body, batch, seconds


class App:
    """The service as an ASGI application."""

    def __init__(
        self,
        writer: Writer,
        answers: Answers,
        rule: Rule,
        metrics: Metrics,
        refits: Refits,
        readiness: dict[str, Any],
        *,
        token: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._writer, self._answers, self._rule, self._metrics = writer, answers, rule, metrics
        self._refits, self._readiness, self._limits = refits, readiness, limits or Limits()
        self._token = None if token is None else f"Bearer {token}".encode()
        self._others = Starlette(
            routes=self._routes(),
            exception_handlers={Refused: _refusal_response, HTTPException: _http_error, ClientDisconnect: _gone},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        started, answer, path = time.perf_counter(), _Counted(send), scope["path"]
        if refusal := self._stranger(scope, path):
            await _reply(answer.send, refusal.status, {"error": str(refusal)})
        elif path == "/ratings" and scope["method"] == "POST":
            await self._take_ratings(scope, receive, answer.send)
        else:
            await self._others(scope, receive, answer.send)
        route = path if path == "/ratings" else getattr(scope.get("endpoint"), "__name__", "other")
        self._metrics.requests.labels(route, str(answer.status)).inc()
        self._metrics.seconds.labels(route).observe(time.perf_counter() - started)

    def _stranger(self, scope: Scope, path: str) -> Refused | None:
        """Why a caller is not let in: pages of other sites never are, even where no token is asked for."""
        headers = dict(scope["headers"])
        host, origin = headers.get(b"host", b""), headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            return Refused("pages of other sites cannot call this service", 403)
        if self._token is not None:
            if path in _OPEN or hmac.compare_digest(headers.get(b"authorization", b""), self._token):
                return None
            return Refused("give the token: Authorization: Bearer …", 401)
        if host and not _OWN_HOST.fullmatch(host):  # a name that a stranger has pointed at this machine
            return Refused("without a token the service is reached as localhost or 127.0.0.1 only", 403)
        return None

    async def _take_ratings(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _read(receive, self._limits)
            events, names = read_events(_parse(body), self._rule, self._writer.now(), self._limits.batch)
            answer = await self._submit(Submission(events, names))
        except Refused as refusal:
            await _reply(send, refusal.status, {"error": str(refusal)}, _retry(refusal))
        except ClientDisconnect:
            return
        else:
            await _reply(send, 200, answer)

    def _submit(self, submission: Submission) -> "asyncio.Future[Any]":
        return self._writer.submit(submission, asyncio.get_running_loop())

    def _routes(self) -> list[Route]:
        return [
            Route("/ratings", self.take_back, methods=["DELETE"]),
            Route("/users", self.users),
            Route("/users/{user:path}", self.user, methods=["GET", "DELETE"]),
            Route("/predict", self.predict),
            Route("/recommend", self.recommend_for, methods=["POST"]),
            Route("/recommend/{user:path}", self.recommend),
            Route("/similar/{item:path}", self.similar),
            Route("/explain", self.explain),
            Route("/topics", self.topics),
            Route("/items", self.items, methods=["GET", "POST"]),
            Route("/refit", self.refit, methods=["POST"]),
            Route("/status", self.status),
            Route("/health/live", self.live),
            Route("/health/ready", self.ready),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi),
            *(Route(path, _page(*file)) for path, file in _PAGE.items()),
        ]

    async def take_back(self, request: Request) -> Response:
        body = _parse(await _read(request.receive, self._limits))
        if not isinstance(body, dict):
            raise Refused(f"say which rating: an object with user and item, found {shown(body)}")
        user, item = self._rule.user(body.get("user")), self._rule.item(body.get("item"))
        return _json(await self._submit(Submission(deed=lambda: self._writer.take_back(user, item))))

    async def user(self, request: Request) -> Response:
        user = self._rule.user_in_path(request.path_params["user"])
        if request.method == "DELETE":
            return _json(await self._submit(Submission(deed=lambda: self._writer.forget(user))))
        return _json(await run_in_threadpool(self._answers.user, user))

    async def users(self, request: Request) -> Response:
        return _json(await run_in_threadpool(self._answers.users, _words(request), _count(request, 20)))

    async def predict(self, request: Request) -> Response:
        items = [self._rule.item_in_path(text) for text in request.query_params.getlist("item")]
        if not 0 < len(items) <= MOST_LISTED:
            raise Refused(f"name 1 to {MOST_LISTED} items: ?user=…&item=…&item=…")
        return _json(self._answers.predict(self._rule.user_in_path(_required(request, "user")), items))

    async def recommend(self, request: Request) -> Response:
        user = self._rule.user_in_path(request.path_params["user"])
        seen, explain = _flag(request, "exclude_seen", True), _flag(request, "explain", False)
        if explain:
            return _json(await run_in_threadpool(self._answers.recommend, user, _count(request), seen, True))
        return _json(self._answers.recommend(user, _count(request), seen, False))

    async def recommend_for(self, request: Request) -> Response:
        body = _parse(await _read(request.receive, self._limits))
        rows = body.get("ratings") if isinstance(body, dict) else None
        if not isinstance(rows, list):
            raise Refused('describe a person: {"ratings": [{"item": …, "rating": …}, …], "n": 10}')
        n = body.get("n", 10)
        if type(n) is not int or not 0 < n <= MOST_LISTED:
            raise Refused(f"n must be from 1 to {MOST_LISTED}, found {shown(n)}")
        somebody = "somebody" if self._rule.string_users else 0
        events, _ = read_events(
            [row | {"user": somebody} if isinstance(row, dict) else row for row in rows], self._rule, 0, MOST_LISTED
        )
        ratings = Ratings.from_arrays(events.users, events.items, events.ratings, duplicates="last")
        return _json(await run_in_threadpool(self._answers.recommend_for, ratings, n))

    async def similar(self, request: Request) -> Response:
        item = self._rule.item_in_path(request.path_params["item"])
        return _json(await run_in_threadpool(self._answers.similar, item, _count(request)))

    async def explain(self, request: Request) -> Response:
        user = self._rule.user_in_path(_required(request, "user"))
        item = self._rule.item_in_path(_required(request, "item"))
        return _json(await run_in_threadpool(self._answers.explain, user, item))

    async def topics(self, request: Request) -> Response:
        return _json(await run_in_threadpool(self._answers.topics, _count(request, 5)))

    async def items(self, request: Request) -> Response:
        if request.method == "GET":
            return _json(await run_in_threadpool(self._answers.items, _words(request), _count(request, 20)))
        body = _parse(await _read(request.receive, self._limits))
        titles, features = read_items(body, self._rule, self._limits.batch)
        answer = await self._submit(Submission(deed=lambda: self._writer.put_items(titles, features)))
        self._answers.titles.update(titles)
        taken = self._writer.learning.takes_features()
        return _json(answer | {"items": len(titles), "recommendable": len(features) if taken else 0})

    async def refit(self, request: Request) -> Response:
        started = self._refits.start(asyncio.get_running_loop())
        if not started:
            raise Refused("a refit is on its way already", 409)
        return _json({"sequence": self._writer.applied, "started": True}, 202)

    async def status(self, request: Request) -> Response:
        model = self._writer.learning.model
        return _json(
            {
                "sequence": self._writer.applied,
                "model": type(model).__name__,
                "users": len(model.users_),
                "items": len(model.items_),
                "ratings": model.n_ratings_,
                "scale": [self._rule.lowest, self._rule.highest],
                "string_users": self._rule.string_users,
                "string_items": self._rule.string_items,
                "events_per_second": self._metrics.rate(),
                "learning_curve": list(self._metrics.curve),
                "refitting": self._refits.running(),
            }
        )

    async def live(self, request: Request) -> Response:
        alive = self._writer.is_alive()
        return _json({"sequence": self._writer.applied, "alive": alive}, 200 if alive else 503)

    async def ready(self, request: Request) -> Response:
        ready = self._writer.is_alive() and self._writer.failure is None
        about = self._readiness | {"sequence": self._writer.applied, "troubles": self._readiness["troubles"]}
        about["troubles"] = [*about["troubles"], *self._refits.troubles, *self._writer.troubles]
        if self._writer.failure is not None:
            about["troubles"].append(self._writer.failure)
        return _json({"ready": ready, **about}, 200 if ready else 503)

    async def metrics(self, request: Request) -> Response:
        text = self._metrics.text(self._writer.applied, self._writer.waiting())
        return Response(text, media_type="text/plain; version=0.0.4")

    async def openapi(self, request: Request) -> Response:
        return _json(description(self._rule, self._limits.batch))


class _Counted:
    """Remembers the status of an answer, and adds the headers that all answers have."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await self._send(message)


def _page(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = (files("rankfill.service") / "page" / name).read_bytes()

    async def page(request: Request) -> Response:
        return Response(content, media_type=kind)

    return page


async def _read(receive: Receive, limits: Limits) -> bytes:
    """The body of a request, if it is short enough and comes in time."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                part = message.get("body", b"")
                size += len(part)
                if size > limits.body:
                    raise Refused(f"a request may hold {limits.body:,} bytes; send less at a time", 413)
                parts.append(part)
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        raise Refused(f"the request did not arrive within {limits.seconds:g} seconds", 408) from None


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(f"the request is not JSON: {error}", 400) from None


def _required(request: Request, name: str) -> str:
    value = request.query_params.get(name)
    if not value:
        raise Refused(f"say which {name}: ?{name}=…")
    return value


def _words(request: Request) -> str:
    words = request.query_params.get("q", "")
    if len(words) > LONGEST_ID:
        raise Refused(f"q may have {LONGEST_ID} characters, found {len(words)}")
    return words


def _count(request: Request, default: int = 10) -> int:
    text = request.query_params.get("n", str(default))
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MOST_LISTED):
        raise Refused(f"n must be from 1 to {MOST_LISTED}, found {shown(text)}")
    return int(text)


def _flag(request: Request, name: str, default: bool) -> bool:
    text = request.query_params.get(name, str(default)).lower()
    if text not in ("true", "false", "1", "0"):
        raise Refused(f"{name} must be true or false, found {shown(text)}")
    return text in ("true", "1")


def _json(answer: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(answer), status, media_type="application/json")


def _retry(refusal: Refused) -> list[tuple[bytes, bytes]]:
    return [] if refusal.retry_after is None else [(b"retry-after", str(refusal.retry_after).encode())]


async def _reply(send: Send, status: int, answer: Any, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = orjson.dumps(answer)
    all_headers = [_JSON, (b"content-length", str(len(body)).encode()), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


async def _refusal_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    response = _json({"error": str(error)}, error.status)
    response.raw_headers.extend(_retry(error))
    return response


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _json({"error": error.detail}, error.status_code)
    response.headers.update(error.headers or {})
    return response


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)


__all__ = ["App", "Limits"]
