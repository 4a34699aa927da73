"Waits for other processes end, and say what was awaited and what was said instead"
import os, signal, subprocess, sys, textwrap, time

import pytest
import waits


@pytest.fixture
def begin():
    begun = []
    def start(code):
        begun.append(subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return begun[-1]
    yield start
    waits.away(*begun)


STUCK = "import sys, threading\nprint('oh dear', file=sys.stderr, flush=True); print('one', flush=True)\nlock = threading.Lock(); lock.acquire(); lock.acquire()"


@pytest.mark.slow
def test_a_line_that_never_comes(begin):
    process = begin(STUCK)
    assert waits.next_line(process) == "one\n"
    with pytest.raises(AssertionError, match=r"(?s)A line was awaited in vain.*still ran.*threads: \w+.*one\noh dear"): waits.next_line(process, seconds=1)
    assert process.wait(60) == -9


def test_words_that_never_come(begin):
    process = begin("import sys; sys.stderr.write('a\\nlistening here\\nb\\n'); sys.exit(3)")
    assert waits.says(process, "listening") == "listening here\n"
    with pytest.raises(AssertionError, match=r"(?s)'nobody'.*listening here\nb"): waits.says(process, "nobody")
    assert waits.next_line(process) == ""


@pytest.mark.slow
@pytest.mark.parametrize("wait", [waits.status, lambda process, seconds: waits.ended(process, seconds=seconds)])
def test_an_end_that_never_comes(begin, wait):
    process = begin(STUCK)
    with pytest.raises(AssertionError, match=r"(?s)The end.*awaited in vain.*threads: \w+"): wait(process, seconds=1)
    assert process.wait(60) == -9


def test_one_that_says_more_than_a_pipe_takes_is_not_held_up(begin):
    process = begin("import sys; sys.stderr.write('x' * 1_000_000 + '\\n'); print('done', flush=True)")
    waits.heard(process.stderr)
    assert waits.next_line(process) == "done\n" and waits.status(process) == 0 and len(waits.heard(process.stderr).all(60)) == 1_000_001


@pytest.mark.slow
@pytest.mark.parametrize("seconds, told", [(0.8, "answer"), (30, "TimeoutError")])
def test_who_was_stopped_for_longer_than_an_answer_may_take_still_hears_it(seconds, told):
    "Ctrl-Z and fg: the answer lay there, and the deadline had passed. One that does not come is still given up."
    code = """
        import asyncio, time
        from passepartout.limits import in_thread, within
        async def main():
            print("ready", flush=True)
            try: print(await within(1.5, in_thread(lambda: time.sleep(SECONDS) or "answer")))
            except TimeoutError: print("TimeoutError")
        asyncio.run(main())
    """.replace("SECONDS", str(seconds))
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(child.pid, signal.SIGCONT)
        assert child.communicate(timeout=20)[0] == f"{told}\n"
    finally:
        child.kill()
        child.wait()


def test_a_thread_that_ends_before_it_begins_holds_up_nobody():
    "As where the memory is used up: whoever waited for its first word waited for ever, in the event loop."
    code = """
        import _thread, asyncio, threading
        begins = _thread.start_new_thread
        from passepartout import limits
        for room in (threading, limits):
            for name in ("_start_new_thread", "start_new_thread"):
                if hasattr(room, name): setattr(room, name, lambda function, args, *more: begins(lambda: None, ()))
        async def main():
            try: await limits.in_thread(print, "never")
            except RuntimeError as error: print(error)
        asyncio.run(main())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=20)
    assert done.stdout == "A thread could not begin; perhaps the memory is used up.\n", done
