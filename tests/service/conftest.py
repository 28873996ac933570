"""Services in processes of their own, as people run them."""

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest

import rankfill as rf
from rankfill.client import Client, ServiceError

N_MEMBERS, N_FILMS = 40, 30


def made_up_ratings():
    random = np.random.default_rng(3)
    taste = random.normal(size=(N_MEMBERS, 2)) @ random.normal(size=(2, N_FILMS))
    users, films = np.divmod(random.permutation(N_MEMBERS * N_FILMS)[:600], N_FILMS)
    stars = np.clip(np.round(3 + taste[users, films]), 1, 5).astype(np.float32)
    return rf.Ratings.from_arrays(np.array([f"m{user:03}" for user in users], object), films + 1, stars)


@pytest.fixture(scope="session")
def ratings():
    return made_up_ratings()


@pytest.fixture(scope="session")
def model_file(tmp_path_factory, ratings):
    path = tmp_path_factory.mktemp("service") / "m.rankfill"
    rf.PassiveAggressive(rank=4, C=0.1, passes=5).fit(ratings).save(path)
    return path


@pytest.fixture(scope="session")
def ratings_file(tmp_path_factory, ratings):
    path = tmp_path_factory.mktemp("service") / "ratings.csv"
    rows = zip(ratings.users.ids(ratings.user_indices), ratings.item_indices + 1, ratings.values, strict=True)
    path.write_text("user,item,rating\n" + "".join(f"{user},{film},{stars:g}\n" for user, film, stars in rows))
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Running:
    """A service in a process of its own."""

    def __init__(self, state, *arguments, token=None):
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.client = Client(self.address, token=token)
        run = "from rankfill.cli import main; main()"
        where = ["--state", state, "--port", self.port, "--threads", 1]
        command = [sys.executable, "-c", run, "serve", *where, *arguments]
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def wait(self, seconds=60.0):
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.client.ready()
            except ServiceError as refusal:
                if refusal.status == 401:
                    return {}
                raise
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(self.process.communicate()[1]) from None
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def get(self, path):
        with urllib.request.urlopen(self.address + path) as answer:
            return answer.read().decode()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()
        self.client.close()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.client.close()
        return self.process.communicate(timeout=60)[1]


@contextmanager
def started(state, *arguments, token=None):
    running = Running(state, *arguments, token=token)
    try:
        running.wait()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def serving():
    """Starts a service: with serving(state, *options) as running: …"""
    return started


@pytest.fixture(scope="session")
def start():
    """Starts a service and leaves it to the test: running = start(state, *options)."""
    return Running


@pytest.fixture(scope="module")
def service(tmp_path_factory, model_file, titles_file):
    with started(tmp_path_factory.mktemp("state") / "state", model_file, "--titles", titles_file) as running:
        yield running


@pytest.fixture(scope="session")
def titles_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("service") / "titles.csv"
    path.write_text("item,title\n" + "".join(f"{film},Film number {film}\n" for film in range(1, N_FILMS + 1)))
    return path


@pytest.fixture
def client(service):
    return service.client
