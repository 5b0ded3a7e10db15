"""The order in which shapes of a slide are read.

What belongs here: places on a slide to an order. What does not: what a shape holds (`shapes`).

A file lists shapes in the order in which they were drawn, which is mostly that of reading. So that order is
kept but where it is plainly wrong: a shape right above another, or to the left of it on the same height, is
read before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

_MOST = 300
"""Shapes that are compared one with another; more are read from top to bottom."""
_SLACK = 0.1
_SAME_HEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Box:
    """Where a shape lies, in any unit, from the upper left corner."""

    left: int
    top: int
    width: int
    height: int


def reading_order(boxes: Sequence[Box | None]) -> list[int]:
    """Places of the shapes in the order in which they are read; one without a box waits for no other."""
    if len(boxes) > _MOST:
        return sorted(range(len(boxes)), key=lambda place: _corner(boxes[place]))
    later: list[list[int]] = [[] for _ in boxes]
    waiting = [0] * len(boxes)
    for place, box in enumerate(boxes):
        for other, another in enumerate(boxes):
            if box and another and place != other and (_above(box, another) or _left_of(box, another)):
                later[place].append(other)
                waiting[other] += 1
    return _sorted(boxes, later, waiting)


def _sorted(boxes: Sequence[Box | None], later: list[list[int]], waiting: list[int]) -> list[int]:
    """First of those that wait for no other the first listed; in a ring the uppermost breaks it."""
    ready = [place for place, count in enumerate(waiting) if not count]
    heapify(ready)
    left = set(range(len(boxes)))
    order = []
    while left:
        place = heappop(ready) if ready else min(left, key=lambda one: _corner(boxes[one]))
        if place in left:
            left.remove(place)
            order.append(place)
            for other in later[place]:
                waiting[other] -= 1
                if not waiting[other]:
                    heappush(ready, other)
    return order


def _corner(box: Box | None) -> tuple[int, int]:
    return (box.top, box.left) if box else (0, 0)


def _above(box: Box, other: Box) -> bool:
    apart = box.top + box.height <= other.top + _SLACK * min(box.height, other.height)
    return apart and _overlap(box.left, box.width, other.left, other.width) > 0


def _left_of(box: Box, other: Box) -> bool:
    apart = box.left + box.width <= other.left + _SLACK * min(box.width, other.width)
    shared = _overlap(box.top, box.height, other.top, other.height)
    return apart and shared > _SAME_HEIGHT * min(box.height, other.height)


def _overlap(start: int, length: int, other: int, other_length: int) -> int:
    return min(start + length, other + other_length) - max(start, other)
