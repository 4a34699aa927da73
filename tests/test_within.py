"`limits.within` ends what `asyncio.timeout` would end, and leaves the task as that would; one timer serves all deadlines of a loop"
import asyncio
import random
import subprocess
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import pytest

from passepartout import limits
from passepartout.limits import TimeLimitExceeded, call_limited, within, _watch


class Jumping(asyncio.SelectorEventLoop):
    "A loop whose clock stands while something runs, and jumps when all wait: what comes first is the same however much the machine has to do."
    def __init__(self):
        super().__init__()
        self.now, select = 0.0, self._selector.select
        def jump(timeout):
            if (events := select(0)) or timeout is None: return events or select(timeout)
            self.now += timeout
            return events
        self._selector.select = jump

    def time(self): return self.now


@pytest.fixture
def run(monkeypatch):
    "`asyncio.run` on such a loop, whose time is that of the limits as well."
    def run(coroutine):
        with asyncio.Runner(loop_factory=Jumping) as runner:
            monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=runner.get_loop().time))
            return runner.run(coroutine)
    return run


async def library(seconds, coroutine):
    "The same by the standard library."
    async with asyncio.timeout(seconds): return await coroutine

async def quick():
    await asyncio.sleep(0.001)
    return "done"

async def slow():
    await asyncio.sleep(30)
    return "late"

async def swallows():
    "Ends at once when it is cancelled, and says nothing of it."
    try: await asyncio.sleep(30)
    except asyncio.CancelledError: return "swallowed"

async def breaks():
    try: await asyncio.sleep(30)
    finally: 1 / 0

async def cleans_up():
    try: await asyncio.sleep(30)
    finally: await asyncio.sleep(0.15)

async def cancels_itself():
    await asyncio.sleep(0.001)
    raise asyncio.CancelledError("of its own")

async def times_out_by_itself():
    async with asyncio.timeout(0.005): await asyncio.sleep(30)

BODIES = [quick, slow, swallows, breaks, cleans_up, cancels_itself, times_out_by_itself]


async def outcome(way, body, seconds, others):
    "What became of a task that runs `body` in a limit, and how many cancellations are open behind it; `others` cancel it after so many seconds."
    seen = []
    async def work():
        try: seen.append(await way(seconds, body()))
        except BaseException as error: seen.append(type(error).__name__)
        seen.append(asyncio.current_task().cancelling())
    task = asyncio.ensure_future(work())
    for after in others: asyncio.get_running_loop().call_later(after, task.cancel)
    await asyncio.wait([task], timeout=10)
    return seen


def test_it_ends_and_leaves_what_the_library_would(run):
    cases = [(body, seconds, others) for body in BODIES for seconds in (0.05, 0.4, 20) for others in ((), (0.1,), (0.1, 0.17))
             if others or seconds < 20 or body in (quick, cancels_itself, times_out_by_itself)]                     # the others would take half a minute
    async def all_of_them(way): return await asyncio.gather(*(outcome(way, *case) for case in cases))
    async def both(): return await asyncio.gather(all_of_them(within), all_of_them(library))
    ours, theirs = run(both())
    different = [(body.__name__, seconds, others, a, b) for (body, seconds, others), a, b in zip(cases, ours, theirs) if a != b]
    assert different == [] and len(cases) == 59 and len({str(each) for each in ours}) >= 8


@pytest.mark.parametrize("inner, outer", [(0.02, 20), (20, 0.02), (0.02, 0.02)])
def test_one_limit_in_another(inner, outer):
    async def nested(way): return await way(outer, way(inner, slow()))
    for way in (within, library):
        with pytest.raises(TimeoutError): asyncio.run(nested(way))


def test_a_limit_after_one_that_was_exceeded_is_a_new_one():
    async def main():
        seen = []
        for _ in range(3):
            try: await within(0.01, slow())
            except TimeoutError: seen.append("over")
            seen.append(await within(5, quick()))
        return seen, asyncio.current_task().cancelling(), len(_watch().waiting)
    assert asyncio.run(main()) == (["over", "done"] * 3, 0, 0)


def test_many_deadlines_are_kept_in_order_by_one_timer_and_none_is_early(run):
    async def one(seconds, stays):
        began = asyncio.get_running_loop().time()
        try: await within(seconds, asyncio.sleep(30 if stays else 0.02))
        except TimeoutError: return stays and asyncio.get_running_loop().time() - began >= seconds
        return not stays
    async def main():
        chance, timers = random.Random(7), []
        loop = asyncio.get_running_loop()
        tasks = [asyncio.ensure_future(one(chance.uniform(0.3, 0.8), chance.random() < 0.5)) for _ in range(600)]
        await asyncio.sleep(0.03)
        timers = [each for each in loop._scheduled if not each.cancelled() and "ring" in repr(each._callback)]
        ends = await asyncio.gather(*tasks)
        return len(timers), all(ends), len(_watch().waiting)
    assert run(main()) == (1, True, 0)


def test_a_deadline_is_met_though_a_later_one_was_there_first():
    async def main():
        long = asyncio.ensure_future(within(60, slow()))
        await asyncio.sleep(0.01)
        began = time.monotonic()
        with pytest.raises(TimeoutError): await within(0.05, slow())
        long.cancel()
        return time.monotonic() - began
    assert 0.05 <= asyncio.run(main()) < 5


def test_loops_in_turn_and_in_two_threads_have_watches_of_their_own():
    async def main():
        try: await within(0.05, slow())
        except TimeoutError: return id(_watch())
    ends = []
    threads = [threading.Thread(target=lambda: ends.append(asyncio.run(main()))) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join(10)
    assert None not in [*ends, asyncio.run(main()), asyncio.run(main())] and len(ends) == 3


@pytest.mark.parametrize("again_s, rounds", [(limits._AGAIN_S, 40), pytest.param(1e-6, 10, marks=pytest.mark.slow)])
def test_a_limit_that_runs_out_while_a_weak_reference_goes_is_not_printed_and_lost(monkeypatch, again_s, rounds):
    "Python prints what is raised there, and goes on. On a busy machine the time for which the clock is put off is over before the lines are left that wind it."
    lost, before = [], sys.unraisablehook
    class Short: pass
    def churn():
        kept = weakref.WeakSet()
        while True: kept.add(Short())
    monkeypatch.setattr(limits, "_AGAIN_S", again_s)
    sys.unraisablehook = lost.append
    try:
        for _ in range(rounds):
            with pytest.raises(TimeLimitExceeded): call_limited(0.005, "it", churn)
    finally: sys.unraisablehook = before
    assert lost == []


LOOKED_ON = """
import sys, threading
from passepartout.limits import call_limited
thread = threading.Thread(target=call_limited, args=(60, "it", int))
thread.start(); thread.join()
def looked_at(): return "seen"
sys.settrace(lambda frame, event, argument: None)
print(looked_at())
"""

def test_a_debugger_may_look_on_after_a_limit_in_a_thread():
    "Python 3.11 calls the same function over and over when it is traced, and an exception from outside was taken back before it came."
    assert subprocess.run([sys.executable, "-c", LOOKED_ON], capture_output=True, text=True, timeout=60).stdout == "seen\n"


@pytest.mark.slow
def test_a_clock_that_rings_at_the_very_end_ends_this_block_or_nothing():
    came, before = [], sys.getswitchinterval()
    def counts(up_to):
        for _ in range(up_to): pass
    def rounds():
        for n in range(400):
            try:
                try:
                    call_limited(0.0005, "it", counts, n % 40 * 3000)
                    came.append("in time")
                except TimeLimitExceeded: came.append("stopped")
            except BaseException as error: came.append(error)
    thread = threading.Thread(target=rounds)
    sys.setswitchinterval(1e-4)                              # the clock's thread gets its turn soon, also where nothing else is to be done
    try: thread.start(); thread.join()
    finally: sys.setswitchinterval(before)
    assert len(came) == 400 and set(came) == {"in time", "stopped"}
