"""Clients of a service that send prepared requests as fast as they are answered, or at a given rate."""

import asyncio
import time

import numpy as np


class Connection(asyncio.Protocol):
    """One kept connection: a request, its answer, the next request."""

    def __init__(self, requests: list[bytes], pause: float, until: float, done: "asyncio.Future[None]") -> None:
        self._requests, self._pause, self._until, self._done = requests, pause, until, done
        self._buffer, self._needed, self._place = b"", -1, 0
        self.seconds: list[float] = []
        self.failed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._needed < 0:
            head = self._buffer.find(b"\r\n\r\n")
            if head < 0:
                return
            lowered = self._buffer[:head].lower()
            length = int(lowered.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            self._needed = head + 4 + length
        if len(self._buffer) < self._needed:
            return
        self.seconds.append(time.perf_counter() - self._sent)
        self.failed += not self._buffer.startswith(b"HTTP/1.1 200")
        self._buffer, self._needed = b"", -1
        if time.perf_counter() >= self._until:
            self._transport.close()  # type: ignore[attr-defined]
            self._done.set_result(None)
        elif self._pause:
            asyncio.get_running_loop().call_later(self._pause, self._send)
        else:
            self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._requests[self._place])  # type: ignore[attr-defined]
        self._place = (self._place + 1) % len(self._requests)


async def load(port: int, requests: list[list[bytes]], seconds: float, pause: float = 0.0) -> tuple["np.ndarray", int]:
    """Times of all answers, and how many were no 200; one connection per list of requests."""
    loop, until = asyncio.get_running_loop(), time.perf_counter() + seconds
    connections, ends = [], []
    for each in requests:
        done = loop.create_future()
        _, connection = await loop.create_connection(
            lambda e=each, d=done: Connection(e, pause, until, d), "127.0.0.1", port
        )
        connections.append(connection)
        ends.append(done)
    await asyncio.gather(*ends)
    return np.concatenate([each.seconds for each in connections]), sum(each.failed for each in connections)


def post(path: str, body: bytes) -> bytes:
    """A request with a body."""
    return b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n%b" % (path.encode(), len(body), body)


def get(path: str) -> bytes:
    """A request without."""
    return b"GET %b HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" % path.encode()
