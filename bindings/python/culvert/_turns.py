# SPDX-License-Identifier: MIT
"""Waits that end: in slices, so that Ctrl-C is heard, and with a bound. And who waits for whom on timelines, so that a
program that fails between a wait and its signal can still be closed."""
import threading
import time
import weakref
from typing import Any, Callable, Dict, List, Set, Tuple, TypeVar

from . import _declarations as d
from ._lib import LateError, busy, late

SECOND = 10**9
SLICE = SECOND // 20


def until(done: Callable[[], bool], timeout: int, message: Callable[[], str], call: str) -> None:
    """Asks `done` again and again, at intervals that grow with the time that has passed."""
    if done():
        return
    began = time.monotonic_ns()
    while not done():
        passed = time.monotonic_ns() - began
        if passed >= timeout:
            raise late(message(), call)
        time.sleep(min(max(passed / 20, 2e4), 5e6) / SECOND)


def check_value(value: int, name: str) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r}: a timeline's values are whole numbers")
    if not 0 <= value < 2**64:
        raise ValueError(f"{name}={value}: a timeline's values are 0 to 2^64-1")
    return value


_lock = threading.RLock()  # of all turns: what one thread reads is not destroyed by another one


class Turns:
    """What Vulkan's queue and CUDA's streams were told to wait for and to signal, by the calls of this package, in the
    order of each. A timeline is its VkSemaphore's number. `counter` reads it, and `signal` signals it from the host."""

    LIMIT = 256  # entries of a side before those that are over are dropped
    reading = False  # some thread asks for the counters; a collector that runs meanwhile destroys nothing (cuda_waits, after_reading)

    def __init__(self, counter: Callable[[int], int], signal: Callable[[int, int], None]):
        self._counter, self._signal = counter, signal
        self._sides: Dict[Any, List[Tuple[bool, int, int]]] = {}  # (is a wait, timeline, value)
        self.known: Set[int] = set()  # all timelines that are there
        _everybodys.add(self)

    def note(self, side: Any, waits: bool, timeline: int, value: int) -> None:
        with _lock:
            if timeline not in self.known:  # another thread has closed it
                return
            entries = self._sides.setdefault(side, [])
            entries.append((waits, timeline, value))
            if len(entries) > self.LIMIT:
                _reading(lambda: self._drop(entries))

    def has(self, side: Any) -> bool:
        """A side that was told to wait or to signal, also if that is over."""
        return side in self._sides

    def clear(self) -> None:
        """The device has gone."""
        with _lock:
            self._sides.clear()
            self.known.clear()

    def forget(self, timeline: int) -> None:
        """The timeline goes."""
        with _lock:
            self.known.discard(timeline)
            for entries in self._sides.values():
                entries[:] = [e for e in entries if e[1] != timeline]

    def _drop(self, entries: List[Tuple[bool, int, int]]) -> None:
        known: Dict[int, int] = {}
        over = 0
        for _, timeline, value in entries:
            if timeline not in known:
                known[timeline] = self._counter(timeline)
            if known[timeline] < value:
                break
            over += 1
        del entries[:over]

    def _reach(self) -> Tuple[Dict[Any, int], Dict[int, int]]:
        """How far each side gets with what was submitted, and the counters then."""
        timelines = {timeline for entries in self._sides.values() for _, timeline, _ in entries}
        counters = {timeline: self._counter(timeline) for timeline in timelines}
        at = dict.fromkeys(self._sides, 0)
        moved = True
        while moved:
            moved = False
            for side, entries in self._sides.items():
                for waits, timeline, value in entries[at[side]:]:
                    if waits and counters[timeline] < value:
                        break
                    counters[timeline] = max(counters[timeline], value)
                    at[side], moved = at[side] + 1, True
        return at, counters

    def stuck(self) -> List[Tuple[Any, int, int]]:
        """(side, timeline, value) of each wait that nothing which was submitted will end."""
        def look() -> List[Tuple[Any, int, int]]:
            for entries in self._sides.values():
                self._drop(entries)
            return self._stuck(self._reach()[0])

        return _reading(look)

    def _stuck(self, at: Dict[Any, int]) -> List[Tuple[Any, int, int]]:
        return [(side, entries[at[side]][1], entries[at[side]][2]) for side, entries in self._sides.items() if at[side] < len(entries)]

    def free(self, timeout: int) -> List[Tuple[Any, int, int]]:
        """Signals from the host what is waited for and nobody will signal, and returns that: (side, timeline, value)."""
        freed: List[Tuple[Any, int, int]] = []

        def look() -> Tuple[Dict[int, int], List[Tuple[Any, int, int]], List[Tuple[int, int]]]:
            at, counters = self._reach()
            return counters, self._stuck(at), [(t, v) for side, e in self._sides.items() for waits, t, v in e[at[side]:] if not waits]

        while True:
            counters, stuck, later = _reading(look)
            if not stuck:
                return freed
            # A timeline never goes back: first what no signal behind another wait comes before.
            side, timeline, value = min(stuck, key=lambda w: (any(t == w[1] and v < w[2] for t, v in later), w[2]))
            until(lambda: self._counter(timeline) >= counters[timeline], timeout,
                  lambda: f"a timeline was to become {counters[timeline]} and is {self._counter(timeline)}", "close")
            self._signal(timeline, value)
            freed.append((side, timeline, value))


_T = TypeVar("_T")


def _reading(work: Callable[[], _T]) -> _T:
    """No `with` of Python's own: a KeyboardInterrupt between its beginning and the block would leave `reading` set."""
    with _lock:
        before = Turns.reading
        Turns.reading = True
        try:
            result = work()
        finally:
            Turns.reading = before
    while _postponed and not before:
        _postponed.pop()()
    return result


_postponed: List[Callable[[], None]] = []  # the ends of contexts that a collector came to while a thread read


def after_reading(end: Callable[[], None]) -> bool:
    """Keeps the end for later, where this thread is reading: what it reads would go."""
    with _lock:
        if Turns.reading:
            _postponed.append(end)
        return Turns.reading


_everybodys: "weakref.WeakSet[Turns]" = weakref.WeakSet()


class Patience:
    """How long settle_cuda() waits for those of whose signals this package was not told, in nanoseconds."""
    CUDA = 10 * SECOND


def cuda_waits() -> List[Tuple[Any, int, int]]:
    """(stream, timeline, value) of each wait of a stream's that nothing which was submitted will end."""
    found: List[Tuple[Any, int, int]] = []
    with _lock:
        if Turns.reading:  # an object's end, while this thread reads: later
            return [(0, 0, 0)]
    for turns in list(_everybodys):
        try:
            found += [wait for wait in turns.stuck() if wait[0] != "Vulkan"]
        except RuntimeError:  # a lost device, whose timelines have no values
            pass
    return found


def settle_cuda(call: str) -> None:
    """Before a call that waits in the driver for all streams, without a bound and deaf to Ctrl-C, as CUDA does where it
    gives memory or a semaphore back."""
    waits = cuda_waits()
    if not waits:
        return
    stream, timeline, value = waits[0]
    try:
        until(lambda: not cuda_waits(), Patience.CUDA, lambda: "", call)
    except LateError:
        raise busy(f"CUDA's stream {stream:#x} waits for {value} of the timeline {timeline:#x}, which nobody was asked to signal: "
                   "signal it, or close the context, which gives up such waits", call) from None
