"""What the service answers: learned before it is acknowledged, with reasons, and with the number of the model."""

import json
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from sklearn.base import clone

import rankfill as rf
from rankfill.client import Client, ServiceError


def test_a_rating_is_learned_when_it_is_acknowledged(model_file, tmp_path, serving):
    with serving(tmp_path / "state", model_file) as running:
        model = rf.load(model_file)
        for place, (user, item, stars) in enumerate([("m001", 3, 5), ("new", 4, 1), ("m001", 3, 2), ("new", 99, 4)]):
            assert running.client.rate(user, item, stars) == place + 1
            model.learn_one(user, item, stars)
            assert running.client.predict(user, [item, 7]) == [float(model.predict(user, each)) for each in (item, 7)]
        found = running.client.recommend("new", n=5)
        assert [each["item"] for each in found["items"]] == model.recommend("new", n=5).items[0].tolist()
        assert found["sequence"] == 4


def test_a_batch_is_one_group_and_counts_on(client):
    before = client.status()["sequence"]
    events = [{"user": "b1", "item": item, "rating": 3} for item in range(1, 6)]
    assert client.rate_many(events) == {"sequence": before + 5, "accepted": 5, "repeated": 0}
    assert client.status()["sequence"] == before + 5
    assert {each["item"] for each in client.user("b1")["events"]} == {1, 2, 3, 4, 5}


def test_an_event_with_an_id_counts_once(client):
    first = client.rate("twice", 3, 5, id="event-1")
    assert client.rate("twice", 3, 5, id="event-1") == first
    both = [{"user": "twice", "item": 4, "rating": 2, "id": "event-2"}] * 2
    assert client.rate_many(both)["accepted"] == 1
    assert len(client.user("twice")["events"]) == 2


def test_what_is_rated_is_no_longer_recommended_until_it_is_taken_back(client):
    item = client.recommend("m002", n=1)["items"][0]["item"]
    client.rate("m002", item, 1)
    assert item not in [each["item"] for each in client.recommend("m002", n=30)["items"]]
    assert item in [each["item"] for each in client.recommend("m002", n=30, exclude_seen=False)["items"]]
    client.take_back("m002", item)
    assert item in [each["item"] for each in client.recommend("m002", n=30)["items"]]


def test_unknown_people_get_bestsellers_and_are_told(client):
    found = client.recommend("nobody", n=3)
    assert found["known"] is False
    assert found["fallback"] == "popular"
    counts = [each["score"] for each in found["items"]]
    assert counts == sorted(counts, reverse=True)


def test_a_session_leaves_nothing(client, model_file):
    before = client.status()
    found = client.recommend_for({1: 5, 2: 1}, n=3)
    assert len(found["items"]) == 3
    after = client.status()
    assert (after["sequence"], after["users"]) == (before["sequence"], before["users"])


def test_reasons_and_explanations(client):
    entry = client.recommend("m003", n=2, explain=True)["items"][0]
    assert entry["reasons"][0]["name"].startswith("Film number")
    found = client.explain("m003", entry["item"])
    assert sum(part["adds"] for part in found["parts"]) == pytest.approx(found["score"], abs=1e-4)
    assert found["title"] == f"Film number {entry['item']}"


def test_similar_items_and_topics(client):
    found = client.similar(1, n=3)
    assert len(found["items"]) == 3
    assert 1 not in [each["item"] for each in found["items"]]
    assert client.topics(n=2)["topics"][0]["titles"][0].startswith("Film number")


def test_topics_are_those_of_all_ratings_where_they_are_known(tmp_path, model_file, ratings_file, ratings, serving):
    with serving(tmp_path / "state", model_file, "--ratings", ratings_file) as running:
        expected = [list(topic.items) for topic in rf.topics(ratings, n=3)]
        assert [topic["items"] for topic in running.client.topics(n=3)["topics"]] == expected
        running.client.rate("m001", 1, 5)
        assert running.client.topics(n=3)["sequence"] == 0  # kept while little has changed
        running.client.forget("m002")
        assert running.client.topics(n=3)["sequence"] == 2


def test_items_are_found_by_words_and_added(client):
    assert client.items("number 17")["items"][0]["item"] == 17
    client.put_items({500: "A new one"})
    assert client.items("new ONE")["items"] == [{"item": 500, "title": "A new one", "ratings": 0}]
    client.rate("m004", 500, 5)
    assert client.items("new one")["items"][0]["ratings"] == 1


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"user": "a", "item": 1, "rating": 6}, "rating must be from 1 to 5, found 6"),
        ({"user": "a", "item": "x", "rating": 3}, "item must be a whole number"),
        ({"user": 7, "item": 1, "rating": 3}, "user must be text"),
        ({"user": "", "item": 1, "rating": 3}, "user must be text"),
        ({"user": "a\x1b[2J", "item": 1, "rating": 3}, "printable"),
        ({"user": "a", "item": 2**70, "rating": 3}, "item must be a whole number"),
        ({"user": "a", "item": 1, "rating": True}, "rating must be a number"),
        ({"user": "a", "item": 1, "rating": 3, "time": -1}, "time must be whole seconds"),
        ({"user": "a", "item": 1, "rating": 3, "id": ""}, "id must be text"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_the_rule(client, event, message):
    before = client.status()["sequence"]
    with pytest.raises(ServiceError, match=message) as refusal:
        client.rate_many([{"user": "a", "item": 1, "rating": 3}, event])
    assert refusal.value.status == 422
    assert "position 1" in str(refusal.value)
    assert client.status()["sequence"] == before


def test_a_request_that_is_no_json_or_too_large_is_refused(service, client):
    for body, status in ((b"{", 400), (b"[]", 422), (b"[" + b"0," * 2_500_000 + b"0]", 413), (b"[1]", 422)):
        request = urllib.request.Request(f"{service.address}/ratings", body, method="POST")
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(request)
        with refusal.value as answer:
            assert answer.code == status
            assert "error" in json.loads(answer.read())


def test_unknown_items_members_and_routes_are_404(client):
    for ask in (lambda: client.similar(12345), lambda: client.explain("nobody", 1), lambda: client.user("nobody")):
        with pytest.raises(ServiceError, match="not known") as refusal:
            ask()
        assert refusal.value.status == 404
    with pytest.raises(ServiceError) as refusal:
        client._ask("GET", "/../../etc/passwd")
    assert refusal.value.status == 404


def test_a_token_is_asked_for(tmp_path, model_file, serving):
    token = tmp_path / "token.txt"
    token.write_text("a-token-of-some-length\n")
    with serving(tmp_path / "state", model_file, "--token-file", token, token="a-token-of-some-length") as running:
        assert running.client.status()["sequence"] == 0
        stranger = Client(running.address, token="wrong")
        with pytest.raises(ServiceError, match="token") as refusal:
            stranger.recommend("m001")
        stranger.close()
        assert refusal.value.status == 401
        for path in ("/", "/health/live"):
            assert running.get(path)


def test_answers_carry_headers_that_protect_the_page(service):
    with urllib.request.urlopen(service.address + "/") as answer:
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_pages_of_other_sites_are_not_answered(service, client):
    body, before = b'{"user": "m001", "item": 1, "rating": 3}', client.status()["sequence"]
    for headers in ({"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Host": "elsewhere.example"}):
        request = urllib.request.Request(f"{service.address}/ratings", body, headers, method="POST")
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(request)
        with refusal.value as answer:
            assert answer.code == 403
    assert client.status()["sequence"] == before
    own = urllib.request.Request(f"{service.address}/status", headers={"Origin": service.address})
    with urllib.request.urlopen(own) as answer:
        assert answer.status == 200


def test_metrics_count_events_and_requests(service, client):
    client.rate("counted", 1, 3)
    text = service.get("/metrics")
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(figures["rankfill_events_total"]) >= 1
    assert float(figures["rankfill_sequence"]) == client.status()["sequence"]
    assert any(name.startswith('rankfill_requests_total{route="/ratings",status="200"}') for name in figures)


def test_a_model_that_cannot_learn_on_folds_in_what_it_is_told(tmp_path, ratings, ratings_file, serving):
    path = tmp_path / "als.rankfill"
    model = rf.ALS(rank=2, passes=3).fit(ratings)
    model.save(path)
    with serving(tmp_path / "state", path, "--ratings", ratings_file) as running:
        user = ratings.users.ids()[0]
        own = ratings.of_users([user])
        item = next(item for item in range(1, 31) if item not in own.items)
        running.client.rate(user, item, 1)
        told = rf.Ratings.concat([own, rf.Ratings.from_arrays([user], [item], [1.0])])
        expected = model.recommend(told, n=5)
        found = running.client.recommend(user, n=5)["items"]
        assert [each["item"] for each in found] == expected.items[0].tolist()
        np.testing.assert_allclose([each["score"] for each in found], expected.scores[0], rtol=1e-5)
        assert running.client.ready()["learns"] == "folding"


def test_a_refit_learns_everything_and_what_came_meanwhile(tmp_path, model_file, ratings_file, ratings, serving):
    with serving(tmp_path / "state", model_file, "--ratings", ratings_file) as running:
        running.client.rate("fresh", 2, 5)
        running.client.rate("m005", 31, 4)
        running.client.refit()
        running.client.rate("after", 3, 4)
        for _ in range(200):
            figures = running.get("/metrics")
            if "rankfill_refits_total 1.0" in figures and not running.client.status()["refitting"]:
                break
            time.sleep(0.05)
        # The last rating came before the refit looked at the log, or after: fitted with the others, or learned on top.
        model, films = rf.PassiveAggressive(rank=4, C=0.1, passes=5), list(range(1, 32))
        with_it = rf.Ratings.from_arrays(["fresh", "m005", "after"], [2, 31, 3], [5, 4, 4])
        expected = [
            clone(model).fit(rf.Ratings.concat([ratings, with_it])),
            clone(model)
            .fit(rf.Ratings.concat([ratings, with_it.of_users(["fresh", "m005"])]))
            .learn_one("after", 3, 4),
        ]
        people = ("fresh", "m005", "after")
        found = [running.client.predict(user, films) for user in people]
        assert found in [[[float(each.predict(u, film)) for film in films] for u in people] for each in expected]
        assert running.client.status()["sequence"] == 3


def test_beyond_this_machine_a_token_is_needed(tmp_path, model_file, serving):
    with pytest.raises(RuntimeError, match="token"), serving(tmp_path / "state", model_file, "--host", "0.0.0.0"):
        pass


def test_an_item_with_features_is_recommended_before_anybody_has_rated_it(tmp_path, ratings, ratings_file, serving):
    kinds = {film: "drama" if film % 2 else "comedy" for film in range(1, 31)}
    films = rf.Features.from_table(list(kinds), {"kind": list(kinds.values())})
    features_file = tmp_path / "films.csv"
    features_file.write_text("item,kind\n" + "".join(f"{film},{kind}\n" for film, kind in kinds.items()))
    path = tmp_path / "m.rankfill"
    model = rf.PassiveAggressive(rank=4, C=0.1, passes=5).fit(ratings, item_features=films)
    model.save(path)
    options = ("--ratings", ratings_file, "--item-features", features_file)
    with serving(tmp_path / "state", path, *options) as running:
        answer = running.client.put_items({700: "A new drama"}, {700: {"kind": "drama"}})
        assert answer["recommendable"] == 1
        model.add_features(item_features=rf.Features.from_table([700], {"kind": ["drama"]}, like=films))
        assert running.client.predict("m001", [700]) == [float(model.predict("m001", 700))]
        assert 700 in [each["item"] for each in running.client.recommend("m001", n=31)["items"]]
        running.client.rate("m001", 700, 5)
        running.client.refit()
        for _ in range(200):
            if "rankfill_refits_total 1.0" in running.get("/metrics") and not running.client.status()["refitting"]:
                break
            time.sleep(0.05)
        assert running.client.items("new drama")["items"][0]["ratings"] == 1
    with serving(tmp_path / "state") as running:
        assert 700 in [each["item"] for each in running.client.recommend("m002", n=31)["items"]]
