"""Many at once, slow ones and impatient ones."""

import json
import socket
import threading
import time

import pytest
import uvicorn

import rankfill as rf
from rankfill.client import Client, ServiceError
from rankfill.service.connections import Impatient
from rankfill.service.run import Service, Settings


def test_every_answer_comes_from_the_model_of_its_sequence_number(tmp_path, model_file, serving):
    films, answers, stop = [1, 5, 9], [], threading.Event()

    def read(address):
        client = Client(address)
        while not stop.is_set():
            found = client._ask("GET", "/predict", user="m001", item=films)
            answers.append((found["sequence"], [each["rating"] for each in found["predictions"]]))
        client.close()

    events = [("m001", 1 + k % 9, 1 + k % 5) for k in range(150)]
    with serving(tmp_path / "state", model_file) as running:
        reader = threading.Thread(target=read, args=(running.address,))
        reader.start()
        for first in range(0, len(events), 3):
            running.client.rate_many(
                {"user": user, "item": item, "rating": stars} for user, item, stars in events[first : first + 3]
            )
        stop.set()
        reader.join()
    model, expected = rf.load(model_file), {}
    for sequence, event in enumerate([None, *events]):
        if event is not None:
            model.learn_one(*event)
        expected[sequence] = [float(model.predict("m001", film)) for film in films]
    assert len({sequence for sequence, _ in answers}) > 3
    for sequence, predictions in answers:
        assert sequence % 3 == 0  # never in the middle of a request
        assert predictions == expected[sequence]


def test_who_sends_too_much_at_once_is_asked_to_come_back(tmp_path, model_file, serving):
    with serving(tmp_path / "state", model_file, "--queue", 5) as running:
        with pytest.raises(ServiceError, match="send them again") as refusal:
            running.client.rate_many([{"user": "m001", "item": 1, "rating": 3}] * 6)
        assert (refusal.value.status, refusal.value.retry_after) == (429, 1)
        assert running.client.rate("m001", 1, 3) == 1


def test_slow_cut_and_half_open_connections_hold_nobody_up(service, client):
    body = json.dumps({"user": "m001", "item": 1, "rating": 3}).encode()
    head = b"POST /ratings HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % len(body)
    beginnings = [b"", b"POST /rat", head, head + body[:5], b"GET /recommend/m001 HTTP/1.1\r\n", b"\x00\xff" * 50]
    before = client.status()["sequence"]
    opened = []
    for beginning in beginnings * 20:
        connection = socket.create_connection(("127.0.0.1", service.port))
        connection.sendall(beginning)
        opened.append(connection)
    began = time.monotonic()
    assert client.rate("m001", 2, 4) == before + 1
    assert time.monotonic() - began < 10
    for connection in opened[::2]:  # half of them leave without a word
        connection.close()
    assert client.rate("m001", 2, 5) == before + 2
    for connection in opened[1::2]:
        connection.close()
    assert client.status()["sequence"] == before + 2


def test_who_begins_no_request_is_hung_up_on(tmp_path, model_file, monkeypatch):
    monkeypatch.setattr(Impatient, "seconds", 0.3)
    service = Service(Settings(state=tmp_path / "state", model=model_file))
    config = uvicorn.Config(service.app, port=0, http=Impatient, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    listening = threading.Thread(target=server.run)
    listening.start()
    try:
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        for beginning in (b"", b"GET /health/live HTTP/1.1\r\nhost: local"):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(beginning)
                assert connection.recv(1000).startswith(b"HTTP/1.1 408")
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:  # a kept connection may rest
            for pause in (0.5, 0.0):
                connection.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
                assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
                time.sleep(pause)
    finally:
        server.should_exit = True
        listening.join()
        service.close()


def test_a_body_that_does_not_arrive_is_given_up(tmp_path, model_file):
    import asyncio

    from rankfill.service.app import Limits, _read
    from rankfill.service.events import Refused

    async def never():
        await asyncio.sleep(60)

    with pytest.raises(Refused, match="did not arrive within") as refusal:
        asyncio.run(_read(never, Limits(seconds=0.05)))
    assert refusal.value.status == 408


def test_many_clients_at_once_get_numbers_of_their_own(service):
    found, lock = [], threading.Lock()

    def send(number):
        client = Client(service.address)
        own = [client.rate(f"c{number}", 1 + k % 20, 4) for k in range(20)]
        client.close()
        with lock:
            found.extend(own)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert len(set(found)) == len(found) == 160
    assert max(found) - min(found) == 159
