"""The description of the routes holds for whatever is sent: no answer is a failure of the service."""

import orjson
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

import rankfill as rf
from rankfill.service.openapi import description
from rankfill.service.run import Service, Settings


@pytest.fixture(scope="module")
def app(tmp_path_factory, ratings):
    folder = tmp_path_factory.mktemp("openapi")
    films = range(1, 31)
    kinds = {"kind": ["drama", "comedy"] * 15, "year": [1990 + film for film in films]}
    features = rf.Features.from_table(list(films), kinds)
    rf.PassiveAggressive(rank=4, passes=2).fit(ratings, item_features=features).save(folder / "m.rankfill")
    service = Service(Settings(state=folder / "state", model=folder / "m.rankfill"))
    yield service.app
    service.close()


def test_no_request_makes_the_service_fail(app):
    async def local(scope, receive, send):
        if scope["type"] == "http":
            others = [header for header in scope["headers"] if header[0] != b"host"]
            scope = scope | {"headers": [*others, (b"host", b"localhost")]}
        await app(scope, receive, send)

    operations = list(schemathesis.openapi.from_asgi("/openapi.json", local).get_all_operations())
    assert len(operations) > 15
    for operation in operations:

        @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.ok().as_strategy())
        def holds(case):
            response = case.call()
            assert response.status_code < 500, response.content
            assert response.status_code != 200 or "sequence" in orjson.loads(response.content) or "health" in case.path

        holds()


def test_every_route_is_described(app):
    described = set(description(app._rule, 10)["paths"])
    routed = {route.path.replace(":path", "") for route in app._others.routes} | {"/ratings"}
    undescribed = {"/", "/page.js", "/page.css", "/icon.svg", "/metrics", "/openapi.json"}
    assert routed - undescribed == described
