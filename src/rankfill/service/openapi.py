"""The description of the service in OpenAPI 3.1."""

from importlib.metadata import version
from typing import Any

from rankfill.service.answers import MOST_LISTED
from rankfill.service.events import LONGEST_ID, Rule

_SEQUENCE = {"type": "integer", "minimum": 0, "description": "Sequence number of the model that answers."}
_ANSWER = {"type": "object", "required": ["sequence"], "properties": {"sequence": _SEQUENCE}}
_WRITES = (429, 503, 507)
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}


def description(rule: Rule, batch: int) -> dict[str, Any]:
    """The whole description, with the kinds of ids and the scale of this service's model."""
    user, item = _identity(rule.string_users), _identity(rule.string_items)
    rating = {"type": "number", "minimum": rule.lowest, "maximum": rule.highest}
    event = {
        "type": "object",
        "required": ["user", "item", "rating"],
        "properties": {
            "user": user,
            "item": item,
            "rating": rating,
            "time": {"type": ["integer", "null"], "minimum": 0, "maximum": 2**53 - 1},
            "id": {"type": ["string", "null"], "minLength": 1, "maxLength": LONGEST_ID},
        },
    }
    pair = {"type": "object", "required": ["user", "item"], "properties": {"user": user, "item": item}}
    person = {
        "type": "object",
        "required": ["ratings"],
        "properties": {
            "ratings": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_LISTED,
                "items": {
                    "type": "object",
                    "required": ["item", "rating"],
                    "properties": {"item": item, "rating": rating},
                },
            },
            "n": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED},
        },
    }
    titled = {
        "type": "object",
        "required": ["item", "title"],
        "properties": {
            "item": item,
            "title": {"type": "string", "minLength": 1, "maxLength": 1000},
            "features": {
                "type": "object",
                "maxProperties": 1000,
                "additionalProperties": {"type": ["string", "number", "null"], "maxLength": 1000},
            },
        },
    }
    n, words = (
        _query("n", {"type": "integer", "minimum": 1, "maximum": MOST_LISTED}),
        _query("q", {"type": "string", "maxLength": LONGEST_ID}),
    )
    events = {"oneOf": [event, {"type": "array", "minItems": 1, "maxItems": batch, "items": event}]}
    titles = {"oneOf": [titled, {"type": "array", "minItems": 1, "maxItems": batch, "items": titled}]}
    items = {"type": "array", "minItems": 1, "maxItems": MOST_LISTED, "items": item}
    one_pair = [_query("user", user, True), _query("item", item, True)]
    flags = [_query(name, {"type": "boolean"}) for name in ("exclude_seen", "explain")]
    paths = {
        "/ratings": {
            "post": _operation("Takes ratings: on disk and learned when it answers.", body=events, more=_WRITES),
            "delete": _operation("Takes back a rating: it no longer counts as given.", body=pair, more=_WRITES),
        },
        "/users": {"get": _operation("Users whose id begins with q.", [words, n])},
        "/users/{user}": {
            "get": _operation("All that is known about a user.", [_in_path("user", user)], more=(404,)),
            "delete": _operation("Forgets a user, everywhere.", [_in_path("user", user)], more=(409, *_WRITES)),
        },
        "/predict": {"get": _operation("Predicts ratings.", [_query("user", user, True), _query("item", items, True)])},
        "/recommend": {"post": _operation("A list for a person described by ratings; nothing is stored.", body=person)},
        "/recommend/{user}": {"get": _operation("The list of a user.", [_in_path("user", user), n, *flags])},
        "/similar/{item}": {"get": _operation("Items like one.", [_in_path("item", item), n], more=(404,))},
        "/explain": {"get": _operation("Why a prediction is what it is.", one_pair, more=(404,))},
        "/topics": {"get": _operation("The items that go together.", [n], more=(409,))},
        "/items": {
            "get": _operation("Items whose title or id holds q.", [words, n]),
            "post": _operation("Adds items, with titles and perhaps features.", body=titles, more=_WRITES),
        },
        "/refit": {"post": _operation("Fits the model anew in the background.", more=(202, 409,))},
        "/status": {"get": _operation("What the service is doing.")},
        "/health/live": {"get": _operation("Whether the service lives.", answer={"type": "object"})},
        "/health/ready": {"get": _operation("Whether it is ready, and how it came up.", answer={"type": "object"})},
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "rankfill", "version": version("rankfill")},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
        "paths": paths,
    }


def _identity(of_strings: bool) -> dict[str, Any]:
    if of_strings:
        return {"type": "string", "minLength": 1, "maxLength": LONGEST_ID, "pattern": r"^[^\x00-\x1f\x7f]+$"}
    return {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}


def _query(name: str, schema: dict[str, Any], required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def _in_path(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(
    summary: str,
    parameters: list[dict[str, Any]] | None = None,
    *,
    body: dict[str, Any] | None = None,
    answer: dict[str, Any] = _ANSWER,
    more: tuple[int, ...] = (),
) -> dict[str, Any]:
    refusals = {
        400: "Not understood",
        401: "Token needed",
        403: "A page of another site",
        404: "Not known",
        408: "Too slow",
        409: "Not now",
    }
    refusals |= {413: "Too large", 422: "Against a rule, which is told", 429: "Too busy"}
    refusals |= {503: "Learning has ended", 507: "Disk full"}
    wanted = {400, 401, 403, 408, 413, 422, *more}
    responses = {
        str(status): {
            "description": refusals.get(status, "Begun"),
            "content": _json(_ERROR if status >= 400 else answer),
        }
        for status in sorted(wanted)
    }
    operation: dict[str, Any] = {
        "summary": summary,
        "parameters": parameters or [],
        "responses": {"200": {"description": "Done", "content": _json(answer)}} | responses,
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
    return operation


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
