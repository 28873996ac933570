"""Connections that do not wait for ever: whoever begins no request, or does not end its head, is hung up on."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LATE = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"


class Impatient(HttpToolsProtocol):
    """One connection; `seconds` is how long the head of a request may take."""

    seconds = 15.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._headless = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._headless:
            self._stop_waiting()
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(self.seconds, self._give_up)

    def on_message_begin(self) -> None:
        self._headless = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._headless = False
        super().on_headers_complete()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            words = b'{"error":"the request did not arrive within %g seconds"}' % self.seconds
            self.transport.write(_LATE % (len(words), words))
            self.transport.close()
