"""Places that coroutines of any event loop and thread wait for, first come first served.

What belongs here: entering and leaving. What does not: how many places there are, and why.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable


class Places:
    """So many places; `limit` is asked anew each time one may be free, since it may change."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._taken = 0
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def enter(self) -> None:
        """Take a place, and wait for it if need be. Whoever is cancelled meanwhile has none."""
        with self._lock:
            if not self._waiting and self._taken < self._limit():
                self._taken += 1
                return
            loop = asyncio.get_running_loop()
            place: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, place))
        try:
            await place  # whoever wakes it has counted it in
        except asyncio.CancelledError:
            self._give_back(place)
            raise

    def leave(self) -> None:
        """Give a place up; those who wait get what is free."""
        with self._lock:
            self._taken -= 1
            self._fill()

    def _fill(self) -> None:
        while self._waiting and self._taken < self._limit():
            loop, place = self._waiting.popleft()
            if not loop.is_closed():
                self._taken += 1
                loop.call_soon_threadsafe(_wake, place)

    def _give_back(self, place: "asyncio.Future[None]") -> None:
        """A cancelled waiter may have been given its place just before."""
        with self._lock:
            others = deque(waiter for waiter in self._waiting if waiter[1] is not place)
            was_given = len(others) == len(self._waiting)
            self._waiting = others
            self._taken -= was_given
            self._fill()


def _wake(place: "asyncio.Future[None]") -> None:
    if not place.done():
        place.set_result(None)
