"""Time as the adapters see it, so that tests can play it.

What belongs here: reading clocks and waiting. What does not: deciding how long.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clock in Unix seconds, a steady one that never jumps, and waiting."""

    now: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
