"""Nothing that was acknowledged is lost, whatever happens to the process, the disk or the clock."""

import asyncio
import http.client
import os
import random
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import rankfill as rf
from rankfill.client import Client, ServiceError
from rankfill.service import writer as writer_module
from rankfill.service.events import Events, Refused
from rankfill.service.log import EventLog
from rankfill.service.refit import Refits
from rankfill.service.run import Service, Settings
from rankfill.service.writer import Submission

KILLS = int(os.environ.get("RANKFILL_KILLS", "6"))
"""How often a service is killed; `make test-kills` does it 300 times."""


def send_until_it_dies(address, number, acknowledged, stop):
    client, random_numbers = Client(address), random.Random(number)
    place = 0
    while not stop.is_set():
        place += 1
        event = {
            "user": f"k{random_numbers.randrange(30)}",
            "item": random_numbers.randrange(1, 30),
            "rating": random_numbers.randrange(1, 6),
            "id": f"{number}-{time.monotonic_ns()}-{place}",
        }
        try:
            acknowledged[event["id"]] = (client.rate_many([event])["sequence"], event)
        except (OSError, http.client.HTTPException, ServiceError):
            client.close()
            return
    client.close()


def everything_in(log):
    events = Events()
    for some in log.since(0):
        events.extend(some)
    return events


@contextmanager
def up(state, **settings):
    """A service in this process, without a listener."""
    service = Service(Settings(state=state, **settings))
    try:
        yield service
    finally:
        service.close()


def submit(service, *events, names=None, deed=None):
    """Hands the writer events (user, item, rating), or a deed, and waits."""
    columns = [list(column) for column in zip(*events, strict=True)] if events else [[], [], []]

    async def wait():
        submission = Submission(Events(*columns, [0] * len(events)), names or [None] * len(events), deed)
        return await service.writer.submit(submission, asyncio.get_running_loop())

    return asyncio.run(wait())


@pytest.fixture(scope="module")
def folding_file(tmp_path_factory, ratings):
    path = tmp_path_factory.mktemp("folding") / "als.rankfill"
    rf.ALS(rank=2, passes=3).fit(ratings).save(path)
    return path


def test_killed_at_any_moment_it_has_lost_nothing(tmp_path, model_file, start):
    state, acknowledged, moments = tmp_path / "state", {}, random.Random(1)
    for round_ in range(KILLS):
        running = start(state, *([model_file] if round_ == 0 else []), "--snapshot-every", 50)
        ready = running.wait()
        assert ready["sequence"] >= max((sequence for sequence, _ in acknowledged.values()), default=0)
        stop = threading.Event()
        senders = [
            threading.Thread(target=send_until_it_dies, args=(running.address, f"{round_}.{k}", acknowledged, stop))
            for k in range(4)
        ]
        for sender in senders:
            sender.start()
        time.sleep(moments.uniform(0.0, 0.5))
        running.kill()
        stop.set()
        for sender in senders:
            sender.join()
    service = Service(Settings(state=state))
    try:
        events = everything_in(service.log)
        assert len(events) == service.log.last
        for sequence, event in acknowledged.values():
            place = sequence - 1
            stored = events.users[place], events.items[place], events.ratings[place]
            assert stored == (event["user"], event["item"], event["rating"])
        replayed = rf.load(model_file).learn_many(events.users, events.items, events.ratings)
        model = service.writer.learning.model
        assert model._view()._pack(True).words == replayed._view()._pack(True).words
        for name, tensor in replayed._view()._pack(True).tensors.items():
            np.testing.assert_array_equal(model._view()._pack(True).tensors[name], tensor, err_msg=name)
    finally:
        service.close()
    assert len(acknowledged) > 0


def test_a_damaged_snapshot_is_passed_over_and_told(tmp_path, model_file, serving):
    state = tmp_path / "state"
    with serving(state, model_file) as running:
        running.client.rate("m001", 1, 5)
    with serving(state) as running:
        running.client.rate("m001", 2, 4)
        expected = running.client.predict("m001", [1, 2, 3])
    newest = max((state / "snapshots").iterdir())
    content = bytearray(newest.read_bytes())
    content[len(content) // 2 :] = b""
    newest.write_bytes(content)
    with serving(state) as running:
        ready = running.client.ready()
        assert newest.name in ready["troubles"][0]
        assert ready["replayed"] == 1
        assert running.client.predict("m001", [1, 2, 3]) == expected


def test_a_second_service_on_the_same_folder_is_refused(tmp_path, model_file, serving, start):
    state = tmp_path / "state"
    with serving(state, model_file):
        second = start(state, model_file)
        assert "another service is working in" in second.process.communicate(timeout=60)[1]
        assert second.process.returncode == 2


def test_a_folder_without_a_model_says_what_it_needs(tmp_path):
    with pytest.raises(ValueError, match="holds no model yet; give a model file"):
        Service(Settings(state=tmp_path / "state"))


def test_forgotten_people_are_nowhere(tmp_path, model_file, ratings_file, serving):
    state = tmp_path / "state"
    with serving(state, model_file, "--ratings", ratings_file) as running:
        running.client.rate("forget-me", 1, 5)
        running.client.rate("m001", 1, 5)
        running.client.rate("forget-me", 2, 4)
        running.client.forget("forget-me")
        running.client.forget("m002")
        assert running.client.recommend("forget-me")["known"] is False
        with pytest.raises(ServiceError, match="not known"):
            running.client.user("forget-me")
        running.client.refit()
        for _ in range(200):
            if not running.client.status()["refitting"]:
                break
            time.sleep(0.05)
        assert running.client.recommend("m002")["known"] is False
        assert running.client.recommend("m001")["known"] is True
    for path in state.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"forget-me" not in content, path
            assert b"m002" not in content, path
    with serving(state) as running:
        assert running.client.status()["sequence"] == 5
        assert len(running.client.user("m001")["events"]) == 1


def test_a_clock_that_goes_back_does_not_turn_the_order_around(tmp_path, model_file, monkeypatch):
    service = Service(Settings(state=tmp_path / "state", model=model_file))
    try:
        for now, expected in ((1000.0, 1000), (500.0, 1000), (1001.5, 1001)):
            monkeypatch.setattr(writer_module.time, "time", lambda now=now: now)
            assert service.writer.now() == expected
    finally:
        service.close()


def test_a_log_is_read_from_any_place(tmp_path):
    log = EventLog(tmp_path / "events.sqlite")
    for first in range(0, 30, 3):
        log.append(Events([f"u{k}" for k in range(first, first + 3)], [1, 2, 3], [5.0, None, 1.0], [0, 0, 0]))
    for sequence in range(31):
        found = [user for events in log.since(sequence) for user in events.users]
        assert found == [f"u{k}" for k in range(sequence, 30)]
    assert [event["sequence"] for event in log.of_user("u7")] == [8]
    log.close()


def test_a_file_that_is_no_log_is_refused(tmp_path, model_file):
    (tmp_path / "events.sqlite").write_bytes(b"something else" * 1000)
    with pytest.raises(ValueError, match="is no log of this service"):
        Service(Settings(state=tmp_path, model=model_file))


def test_a_log_that_was_damaged_is_refused_in_words_wherever_it_is_met(tmp_path):
    path = tmp_path / "events.sqlite"
    log = EventLog(path)
    log.append(Events(["ann"], [1], [5.0], [0]), titles={"1": "Tea"})
    log.forget("ann")
    log.close()
    whole, refused = path.read_bytes(), 0
    for page in range(4096, len(whole), 4096):
        path.write_bytes(whole[:page] + b"\xff" * 8 + whole[page + 8 :])
        try:
            damaged = EventLog(path)
        except ValueError as error:
            refused += "is no log of this service" in str(error)
            continue
        for read in (lambda log: list(log.since(0)), EventLog.items, lambda log: log.is_forgotten(["ann"])):
            try:
                read(damaged)
            except ValueError as error:
                refused += "cannot be read: database disk image is malformed; put back a copy" in str(error)
        damaged.close()
    assert refused >= 4


def test_a_full_disk_is_told_and_nothing_acknowledged_is_lost(tmp_path, model_file, serving):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", small], capture_output=True)
    if os.geteuid() != 0 or mounted.returncode:
        pytest.skip("needs a small file system, which only root can mount")
    try:
        taken = 0
        with serving(small / "state", model_file, "--snapshot-every", 10_000_000) as running:
            batch, status = [{"user": f"user {k}", "item": 1 + k % 29, "rating": 3} for k in range(200)], 0
            while not status:
                try:
                    taken = running.client.rate_many(batch)["sequence"]
                except ServiceError as refusal:
                    status = refusal.status
            assert status == 507
            assert taken > 0
            assert running.client.status()["sequence"] == taken
        for snapshot in Path(small, "state", "snapshots").glob("*.rankfill"):
            if int(snapshot.stem) == 0:
                continue
            snapshot.unlink()
        with up(small / "state") as service:
            assert service.log.last == taken
    finally:
        subprocess.run(["umount", "-l", small], check=False)


def test_many_events_are_replayed(tmp_path, model_file):
    log_path = tmp_path / "state" / "events.sqlite"
    log_path.parent.mkdir()
    log, random_numbers = EventLog(log_path), np.random.default_rng(0)
    for _ in range(20):
        users = [f"u{k}" for k in random_numbers.integers(0, 500, 1000)]
        items, stars = random_numbers.integers(1, 30, 1000).tolist(), random_numbers.integers(1, 6, 1000).tolist()
        log.append(Events(users, items, stars, [0] * 1000))
    log.close()
    service = Service(Settings(state=log_path.parent, model=model_file))
    try:
        assert service.readiness["replayed"] == 20_000
        assert service.writer.learning.model.n_ratings_ == 600 + 20_000
    finally:
        service.close()


def test_a_model_that_folds_in_remembers_what_came_before_its_snapshot(tmp_path, folding_file, ratings):
    with up(tmp_path / "state", model=folding_file, ratings=ratings) as service:
        submit(service, ("somebody", 3, 5.0), ("somebody", 4, 1.0), ("m001", 7, 2.0))
        expected = service.writer.learning.predict("somebody", [1, 2, 3])
    with up(tmp_path / "state", ratings=ratings) as service:
        learning = service.writer.learning
        assert learning.rated_by("somebody") == [3, 4]
        assert learning.predict("somebody", [1, 2, 3]) == expected
        assert 7 in learning.rated_by("m001")


def test_who_was_forgotten_comes_back_as_a_stranger(tmp_path, folding_file, ratings):
    with up(tmp_path / "state", model=folding_file, ratings=ratings) as service:
        submit(service, deed=lambda: service.writer.forget("m001"))
    with up(tmp_path / "state", ratings=ratings) as service:
        assert not service.writer.learning.knows("m001")
        submit(service, ("m001", 3, 5.0))
        assert service.writer.learning.rated_by("m001") == [3]
    with up(tmp_path / "state", ratings=ratings) as service:
        assert service.writer.learning.rated_by("m001") == [3]


def test_forgetting_is_ended_by_the_next_start(tmp_path, model_file, monkeypatch):
    state = tmp_path / "state"
    with up(state, model=model_file) as service:
        submit(service, ("forget-me", 1, 5.0), ("m001", 1, 5.0))
    with monkeypatch.context() as patched, up(state) as service:
        patched.setattr(service.writer, "save", lambda: None)  # it ends in the middle
        submit(service, deed=lambda: service.writer.forget("forget-me"))
    assert any(b"forget-me" in path.read_bytes() for path in (state / "snapshots").iterdir())
    with up(state) as service:
        assert not service.writer.learning.knows("forget-me")
        assert service.writer.learning.knows("m001")
        assert service.writer.applied == 3
    assert not any(b"forget-me" in path.read_bytes() for path in state.rglob("*") if path.is_file())


def test_who_is_forgotten_during_a_refit_does_not_come_back_with_it(tmp_path, model_file, ratings, monkeypatch):
    with up(tmp_path / "state", model=model_file, ratings=ratings) as service:
        submit(service, ("forget-me", 1, 5.0), ("stays", 1, 4.0))
        refits = Refits(service.writer, ratings, after=0, every=0.0)

        def meanwhile(learning, sequence):
            assert learning.knows("m001")
            for user in ("forget-me", "m001"):
                submit(service, deed=lambda user=user: service.writer.forget(user))
            submit(service, ("m001", 2, 3.0))

        monkeypatch.setattr(refits, "_describe_items", meanwhile)

        async def refit():
            done = asyncio.Event()
            loop = asyncio.get_running_loop()
            refits.start(loop, lambda: loop.call_soon_threadsafe(done.set))
            await done.wait()

        asyncio.run(refit())
        submit(service, ("last", 1, 3.0))
        learning = service.writer.learning
        assert not refits.troubles
        assert service.writer.metrics.refits._value.get() == 1
        assert (learning.knows("forget-me"), learning.knows("stays")) == (False, True)
        assert learning.rated_by("m001") == [2]


def test_features_that_cannot_be_read_are_refused_before_they_are_written(tmp_path, ratings):
    films = list(range(1, 31))
    features = rf.Features.from_table(films, {"year": [1990 + film for film in films]})
    path, state = tmp_path / "m.rankfill", tmp_path / "state"
    rf.PassiveAggressive(rank=4, passes=3).fit(ratings, item_features=features).save(path)
    with up(state, model=path) as service:
        with pytest.raises(Refused, match="year must be a finite number") as refusal:
            submit(service, deed=lambda: service.writer.put_items({700: "A film"}, {700: {"year": "long ago"}}))
        assert refusal.value.status == 422
        assert (service.log.last, service.log.items()) == (0, {})
        submit(service, ("m001", 1, 5.0))
        assert service.writer.applied == service.log.last == 1
    with up(state) as service:
        assert service.writer.applied == 1


def test_what_cannot_be_learned_ends_learning_but_not_the_answers(tmp_path, model_file, monkeypatch):
    with up(tmp_path / "state", model=model_file) as service:
        with monkeypatch.context() as patched:
            patched.setattr(service.writer.learning, "learn", lambda events: [][1])
            for _ in range(2):
                with pytest.raises(Refused, match="cannot go on learning") as refusal:
                    submit(service, ("m001", 1, 5.0))
                assert refusal.value.status == 503
        assert (service.writer.applied, service.log.last) == (0, 1)
    with up(tmp_path / "state") as service:
        assert service.writer.applied == 1


def test_names_of_events_are_not_kept_in_words(tmp_path, model_file):
    with up(tmp_path / "state", model=model_file) as service:
        submit(service, ("m001", 1, 5.0), names=["m001-at-noon"])
        assert submit(service, ("m001", 1, 5.0), names=["m001-at-noon"])["repeated"] == 1
    assert b"m001-at-noon" not in (tmp_path / "state" / "events.sqlite").read_bytes()


def test_a_log_of_another_version_is_refused(tmp_path, model_file):
    log = EventLog(tmp_path / "events.sqlite")
    log._database.execute("PRAGMA user_version = 99")
    log.close()
    with pytest.raises(ValueError, match="has format 99"):
        Service(Settings(state=tmp_path, model=model_file))
