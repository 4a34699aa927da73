"Handlers and restarts where asyncio, threads, generators and other people's except clauses get in the way"
import asyncio, contextlib, contextvars, copy, gc, pickle
import pytest

from passepartout.conditions import (BudgetError, GateError, LLMError, PassepartoutError, PipelineError, ProtocolError, RestartError,
                                     as_condition, compute_restarts, handler_bind, invoke_restart, restart_case, signal_condition)

names = lambda: [restart.name for restart in compute_restarts()]
give = lambda value=None: value


async def choose(name="skip", *args, after=0.0):
    await asyncio.sleep(after)
    invoke_restart(name, *args)


@pytest.fixture(autouse=True)
def nothing_leaks():
    yield
    assert names() == []


# --- errors ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("error", [LLMError("m", provider="p", cascade=["p"], attempt_count=2, signal={"a": 1}), GateError("m", gate_name="g", rejected_action="x"),
    BudgetError("m", remaining=1.0, requested=2.0), ProtocolError("m", raw_message="r"), PipelineError("m", signal=1), PassepartoutError("m"), RestartError("m")])
def test_slots_survive_pickling_and_copying(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error) and vars(again) == vars(error) and str(again) == again.message == "m"


# --- handlers ----------------------------------------------------------------------------------------------------

def test_declining_handlers_return_none_and_all_run():
    seen = []
    with handler_bind((PassepartoutError, lambda e: seen.append(1))), handler_bind((GateError, lambda e: seen.append(2)), (PipelineError, lambda e: seen.append(3))):
        assert signal_condition(GateError("x")) is None
    assert seen == [2, 3, 1]
    assert signal_condition(GateError("nobody")) is None


def test_a_handler_that_raises_comes_out_of_signal_and_leaves_the_bindings_as_they_were():
    def fail(error): raise KeyError("in handler")
    seen = []
    with handler_bind((PassepartoutError, seen.append)):
        with handler_bind((PassepartoutError, fail)):
            with pytest.raises(KeyError): signal_condition(GateError("x"))
            with pytest.raises(KeyError): signal_condition(GateError("y"))
        signal_condition(GateError("z"))
    assert [str(e) for e in seen] == ["z"]


def test_a_handler_may_bind_handlers_and_restarts_of_its_own():
    def handle(error):
        with handler_bind((GateError, lambda e: invoke_restart("inner"))), restart_case(inner=lambda: "decided") as frame:
            signal_condition(GateError("nested"))
        invoke_restart("skip", frame.value)
    with handler_bind((LLMError, handle)), restart_case(skip=give) as frame:
        signal_condition(LLMError("x"))
    assert frame.value == "decided"


def test_a_block_cannot_be_entered_twice_at_once_but_again_later():
    block = handler_bind((PassepartoutError, print))
    with block:
        with pytest.raises(PassepartoutError), block: pass
    with block: pass


# --- restarts ----------------------------------------------------------------------------------------------------

def test_nothing_invoked():
    with restart_case(skip=give) as frame: assert names() == ["skip"]
    assert frame.invoked is None and frame.value is None


def test_order_and_reports():
    def skip(): "Drop the signal."
    with restart_case(a=skip, b=give), restart_case(c=give, a=give):
        assert names() == ["c", "a", "a", "b"] and compute_restarts()[2].report == "Drop the signal."


def test_an_outer_transfer_passes_inner_frames_and_their_cleanup_runs():
    trail = []
    with restart_case(out=give) as outer:
        try:
            with restart_case(skip=give) as inner: invoke_restart("out", 7)
        finally: trail.append((inner.invoked, names()))
    assert outer.value == 7 and trail == [(None, ["out"])]


def test_a_chosen_outer_frame_can_be_named_though_an_inner_one_has_the_same_restart():
    with restart_case(skip=lambda: "outer") as outer, restart_case(skip=lambda: "inner"):
        invoke_restart(compute_restarts()[1])
    assert outer.value == "outer"


def test_restart_functions_run_after_unwinding_outside_of_their_own_frame():
    def look(): return names()
    with restart_case(out=give), restart_case(skip=look) as frame: invoke_restart("skip")
    assert frame.value == ["out"]
    with pytest.raises(ZeroDivisionError), restart_case(skip=lambda: 1 / 0): invoke_restart("skip")


def test_restarts_that_are_over_or_unknown():
    with restart_case(skip=give): old = compute_restarts()[0]
    with pytest.raises(RestartError): invoke_restart(old)
    with pytest.raises(RestartError, match="On offer: b."), restart_case(b=give): invoke_restart("a")
    with pytest.raises(RestartError, match="None is on offer"): invoke_restart("a")


def test_except_exception_does_not_see_a_transfer_and_bare_except_only_delays_it():
    with restart_case(skip=give) as frame:
        try: invoke_restart("skip", 1)
        except Exception: pytest.fail("swallowed")
    assert frame.value == 1
    with restart_case(skip=give) as frame:
        with contextlib.suppress(BaseException): invoke_restart("skip", 2)
        reached = True
    assert frame.value == 2 and reached


def test_a_second_choice_in_flight_beats_a_swallowed_first_one():
    with restart_case(a=give, b=give) as frame:
        with contextlib.suppress(BaseException): invoke_restart("a")
        invoke_restart("b")
    assert frame.invoked == "b"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_pending_choice_never_hides_an_interruption(interruption, grouped):
    error = BaseExceptionGroup("g", [ValueError(), BaseExceptionGroup("h", [interruption()])]) if grouped else interruption()
    with pytest.raises(type(error)), restart_case(skip=give) as frame:
        with contextlib.suppress(BaseException): invoke_restart("skip")
        raise error
    assert frame.invoked is None


def test_a_pending_choice_gives_way_to_an_outer_transfer():
    with restart_case(out=give) as outer:
        with restart_case(skip=give) as inner:
            with contextlib.suppress(BaseException): invoke_restart("skip")
            invoke_restart("out")
    assert (inner.invoked, outer.invoked) == (None, "out")


def test_transfers_in_nested_groups_with_other_errors():
    with restart_case(skip=give) as frame:
        try: invoke_restart("skip", 3)
        except BaseException as transfer: raise BaseExceptionGroup("a", [ValueError("lost"), BaseExceptionGroup("b", [transfer])])      # noqa: B904
    assert frame.value == 3


# --- foreign exceptions ------------------------------------------------------------------------------------------

def test_a_foreign_exception_is_wrapped_and_signalled_once_and_stays_itself():
    seen = []
    with pytest.raises(ValueError) as caught:
        with handler_bind((PipelineError, seen.append)), restart_case(a=give), restart_case(b=give):
            raise ValueError("odd")
    assert len(seen) == 1 and seen[0].__cause__ is caught.value and seen[0].message == "ValueError: odd"


def test_as_condition_keeps_slots_and_is_idempotent():
    seen, signal = [], object()
    with handler_bind((PassepartoutError, seen.append)):
        error = OSError("disk")
        condition = as_condition(error, "The disk is full.", signal=signal)
        assert as_condition(error) is condition and condition.signal is signal and condition.__cause__ is error and str(condition) == "The disk is full."
        own = GateError("no")
        assert as_condition(own) is own and as_condition(own) is own
        signalled = GateError("before")
        signal_condition(signalled)
        as_condition(signalled)
        with pytest.raises(PipelineError), restart_case(a=give): raise condition
    assert seen == [condition, own, signalled]


def test_handlers_find_the_frames_restarts_for_what_was_raised_and_not_signalled():
    with handler_bind((PipelineError, lambda e: invoke_restart("use_fallback", f"sorry: {e}"))):
        for error in (LLMError("gone"), ValueError("odd")):
            with restart_case(use_fallback=give) as frame: raise error
            assert frame.value.startswith("sorry: ")
        with restart_case(use_fallback=give) as outer:
            with restart_case(skip=give): raise LLMError("gone")
        assert outer.value == "sorry: gone"


def test_without_handlers_nothing_is_wrapped():
    error = ValueError("odd")
    with pytest.raises(ValueError), restart_case(a=give): raise error
    assert not vars(error)


def test_a_handler_that_fails_at_the_boundary_replaces_the_error_and_leaves_no_frame():
    def fail(error): raise KeyError("handler")
    with pytest.raises(KeyError), handler_bind((PassepartoutError, fail)), restart_case(a=give): raise ValueError("odd")


def test_each_member_of_a_group_is_signalled_once():
    seen = []
    known = GateError("signalled before")
    with pytest.raises(ExceptionGroup), handler_bind((PassepartoutError, seen.append)), restart_case(a=give), restart_case(b=give):
        signal_condition(known)
        raise ExceptionGroup("g", [known, ValueError("new"), ExceptionGroup("h", [LLMError("deep")])])
    assert [str(e) for e in seen] == ["signalled before", "ValueError: new", "deep"]


# --- asyncio -----------------------------------------------------------------------------------------------------

async def test_task_group():
    with restart_case(skip=give) as frame:
        async with asyncio.TaskGroup() as group:
            group.create_task(choose("skip", 1))
            other = group.create_task(asyncio.sleep(60))
    assert frame.value == 1 and other.cancelled()


async def test_task_group_with_a_failing_sibling_and_two_choices():
    async def fail(): raise ValueError("beside it")
    with restart_case(skip=give) as frame:
        async with asyncio.TaskGroup() as group:
            for coroutine in (choose("skip", 1), fail(), choose("skip", 2)): group.create_task(coroutine)
    assert frame.value == 1


async def test_nested_task_groups():
    async def nest():
        async with asyncio.TaskGroup() as group: group.create_task(choose())
    with restart_case(skip=lambda: "found") as frame:
        async with asyncio.TaskGroup() as group: group.create_task(nest())
    assert frame.value == "found"


async def test_gather_and_its_siblings_that_outlive_the_frame():
    late = []
    async def sibling():
        await asyncio.sleep(0.01)
        late.append(names())
        try: invoke_restart("skip")
        except RestartError as error: late.append(error.message)
    with restart_case(skip=give) as frame:
        task = asyncio.create_task(sibling())
        await asyncio.gather(choose(), task)
    assert frame.invoked == "skip"
    await task
    assert late[0] == [] and "no restart skip" in late[1]


async def test_gather_with_return_exceptions_only_delays():
    with restart_case(skip=give, other=give) as frame:
        results = await asyncio.gather(choose("skip", 1), choose("other", 2), return_exceptions=True)
        assert len(results) == 2 and names() == ["skip", "other"]
    assert (frame.invoked, frame.value) == ("skip", 1)


async def test_wait_leaves_the_choice_in_a_task_that_nobody_asks():
    with restart_case(skip=give) as frame:
        done, _ = await asyncio.wait([asyncio.create_task(choose())])
    assert frame.invoked == "skip" and [t.exception() for t in done]


@pytest.mark.parametrize("wait", [lambda c: asyncio.wait_for(c, 1), lambda c: asyncio.shield(c), lambda c: asyncio.create_task(c)])
async def test_waiting_in_all_its_forms(wait):
    with restart_case(skip=give) as frame: await wait(choose("skip", 5))
    assert frame.value == 5


async def test_timeouts_are_signalled_at_the_frame_and_can_be_skipped():
    with handler_bind((PipelineError, lambda e: invoke_restart("use_fallback", type(e.__cause__).__name__))):
        with restart_case(use_fallback=give) as frame: await asyncio.wait_for(asyncio.sleep(60), 0.001)
        assert frame.value == "TimeoutError"
        with restart_case(use_fallback=give) as frame:
            async with asyncio.timeout(0.001): await asyncio.sleep(60)
        assert frame.value == "TimeoutError"


async def test_handlers_are_inherited_by_child_tasks_and_run_there():
    async def child():
        signal_condition(LLMError("from a child"))
        pytest.fail("not reached")
    with handler_bind((LLMError, lambda e: invoke_restart("use_fallback", str(e)))), restart_case(use_fallback=give) as frame:
        async with asyncio.TaskGroup() as group: group.create_task(child())
    assert frame.value == "from a child"


async def test_a_child_that_outlives_handlers_does_not_call_them():
    seen = []
    async def child():
        await asyncio.sleep(0.005)
        signal_condition(LLMError("late"))
    with handler_bind((LLMError, seen.append)): task = asyncio.create_task(child())
    await task
    assert seen == []


async def test_siblings_see_none_of_each_others_restarts():
    started, release, stolen = asyncio.Event(), asyncio.Event(), []
    async def owner():
        with restart_case(mine=give) as frame:
            stolen.append(compute_restarts()[0])
            started.set()
            await release.wait()
        return frame.invoked
    async def thief():
        await started.wait()
        seen = names()
        with pytest.raises(RestartError): invoke_restart("mine")
        with pytest.raises(RestartError): invoke_restart(stolen[0])
        release.set()
        return seen
    assert await asyncio.gather(owner(), thief()) == [None, []]


async def test_many_concurrent_frames_keep_their_own_choice():
    async def turn(i):
        def decide(error): invoke_restart("use_fallback", error.signal)
        with handler_bind((PipelineError, decide)), restart_case(use_fallback=give, skip=give) as frame:
            await asyncio.sleep(0.0001 * (i % 7))
            async with asyncio.TaskGroup() as group:
                group.create_task(step(i))
        return frame.value
    async def step(i):
        await asyncio.sleep(0.0001 * (i % 5))
        signal_condition(PipelineError("x", signal=i))
    assert await asyncio.gather(*map(turn, range(200))) == list(range(200))


async def test_a_background_task_starts_empty():
    async def background(): return names()
    with restart_case(skip=give):
        assert await asyncio.create_task(background(), context=contextvars.Context()) == []
        assert await asyncio.create_task(background()) == ["skip"]


async def test_a_fire_and_forget_child_decides_for_a_frame_that_waits():
    with restart_case(skip=give) as frame:
        task = asyncio.create_task(choose())
        await asyncio.sleep(0.002)
    assert frame.invoked == "skip" and task.exception()


@pytest.mark.parametrize("swallowed_first", [False, True])
async def test_cancellation_wins(swallowed_first):
    frames = []
    async def turn():
        with restart_case(skip=give) as frame:
            frames.append(frame)
            if swallowed_first: await asyncio.gather(choose(), return_exceptions=True)
            await asyncio.sleep(60)
    task = asyncio.create_task(turn())
    await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError): await task
    assert frames[0].invoked is None and not frames[0].alive


async def test_cancellation_passes_a_group_inside_a_frame():
    async def child(): await asyncio.sleep(60)
    async def turn():
        with restart_case(skip=give):
            async with asyncio.TaskGroup() as group: group.create_task(child())
    task = asyncio.create_task(turn())
    await asyncio.sleep(0.002)
    task.cancel()
    with pytest.raises(asyncio.CancelledError): await task


async def test_a_frame_inside_a_group_is_over_when_its_child_decides():
    with pytest.raises(BaseExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group:
            with restart_case(skip=give): group.create_task(choose())
    assert caught.group_contains(RestartError)


async def test_a_transfer_whose_frame_was_cancelled_away_is_an_error_at_the_next_frame():
    with pytest.raises(RestartError, match="nothing was done"), restart_case(out=give) as outer:
        async with asyncio.TaskGroup() as group:
            with restart_case(skip=give):
                group.create_task(choose())
                await asyncio.sleep(60)      # cancelled by the group, which then raises what the child chose
    assert outer.invoked is None


async def test_threads_take_the_context_along():
    with restart_case(skip=give) as frame: await asyncio.to_thread(invoke_restart, "skip", "from a thread")
    assert frame.value == "from a thread"


async def test_a_callback_of_the_loop_decides_although_the_loop_swallows_it():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: None)
    with restart_case(skip=give) as frame:
        loop.call_soon(invoke_restart, "skip")
        await asyncio.sleep(0.001)
    assert frame.invoked == "skip"


def test_successive_loops():
    async def turn():
        with restart_case(skip=give) as frame: await choose("skip", 1)
        return frame.value
    with restart_case(skip=give) as outer:
        assert [asyncio.run(turn()) for _ in range(2)] == [1, 1]
        asyncio.run(choose("skip", 2))
    assert outer.value == 2


# --- generators --------------------------------------------------------------------------------------------------

def test_a_context_manager_may_offer_restarts():
    @contextlib.contextmanager
    def offering():
        with restart_case(skip=give) as frame: yield frame
    with offering() as frame: invoke_restart("skip", 4)
    assert frame.value == 4


async def test_an_async_context_manager_may_offer_restarts():
    @contextlib.asynccontextmanager
    async def offering():
        with restart_case(skip=give) as frame: yield frame
    async with offering() as frame: await choose("skip", 4)
    assert frame.value == 4


def test_a_suspended_generator_lends_its_restarts_but_choosing_one_is_an_error():
    def lending():
        with restart_case(lent=give): yield names()
    generator = lending()
    with pytest.raises(RestartError, match="suspended"), restart_case(own=give) as own:
        assert next(generator) == ["lent", "own"] == names()
        invoke_restart("lent")
    generator.close()
    assert own.invoked is None


def test_interleaved_generators_do_not_lose_the_consumers_frame():
    def lending():
        with restart_case(lent=give): yield
        yield
    generator = lending()
    next(generator)
    with restart_case(own=give) as own:
        next(generator)                      # the outer-in-chain frame ends while the inner one lives
        assert names() == ["own"]
        invoke_restart("own", 1)
    assert own.value == 1 and names() == []


def test_a_generator_collected_elsewhere_does_no_harm():
    def lending():
        with restart_case(lent=give), handler_bind((PassepartoutError, print)): yield
    def start():
        generator = lending()
        next(generator)
        return generator
    context = contextvars.copy_context()
    generator = context.run(start)
    with restart_case(own=give) as own:
        generator.close()
        del generator
        gc.collect()
        assert names() == ["own"] and context.run(names) == []
        invoke_restart("own")
    assert own.invoked == "own"


async def test_an_async_generator_closed_by_the_loop():
    async def lending():
        with restart_case(lent=give):
            while True: yield names()
    async def consume():
        async for seen in lending(): return seen
    assert await asyncio.create_task(consume()) == ["lent"]
    gc.collect()
    await asyncio.sleep(0)
    assert names() == []


def test_a_pending_choice_does_not_make_a_generator_ignore_its_closing():
    def lending():
        with restart_case(lent=give):
            with contextlib.suppress(BaseException): invoke_restart("lent")
            yield
        yield "went on"
    generator = lending()
    next(generator)
    generator.close()


# --- cost --------------------------------------------------------------------------------------------------------

def test_chains_do_not_grow():
    def unused():
        with restart_case(skip=give, use_fallback=give, abort=give, retry=give), handler_bind((PassepartoutError, give)): pass
    with restart_case(skip=give) as frame:
        for _ in range(1000): unused()
        with restart_case(deep=give) as inner: assert inner.parent is frame


def test_a_frame_lets_go_of_its_functions():
    class Big: pass
    import weakref
    big = Big()
    reference = weakref.ref(big)
    with restart_case(skip=lambda big=big: None) as _left: pass
    with restart_case(skip=lambda big=big: None) as _used: invoke_restart("skip")
    del big
    gc.collect()
    assert reference() is None


# --- conditions that nothing else told apart ---------------------------------------------------------------------

def test_a_handler_is_called_for_its_kinds_only():
    seen = []
    with handler_bind((LLMError, seen.append), (KeyError, seen.append), (GateError, seen.append)):
        signal_condition(error := GateError("x"))
    assert seen == [error]


def test_what_a_handler_signals_goes_to_those_around_it():
    seen = []
    def handle(error):
        seen.append(str(error))
        if len(seen) < 5: signal_condition(GateError("again"))
    with handler_bind((GateError, lambda e: seen.append("outer"))), handler_bind((GateError, handle)): signal_condition(GateError("x"))
    assert seen == ["x", "outer", "outer"]


async def test_a_block_that_is_over_neither_handles_nor_offers_for_a_child_that_lives_on():
    "The child made blocks of its own while those around it were there; they are in its chain for ever."
    seen, made, over = [], asyncio.Event(), asyncio.Event()
    async def child():
        with handler_bind((GateError, lambda e: seen.append("own"))), restart_case(mine=give):
            made.set()
            await over.wait()
            signal_condition(GateError("x"))
            return names()
    with handler_bind((GateError, lambda e: seen.append("over"))), restart_case(theirs=give):
        task = asyncio.create_task(child())
        await made.wait()
    over.set()
    assert await task == ["mine"] and seen == ["own"]


def test_an_exception_that_was_signalled_as_it_is_is_not_signalled_again_wrapped():
    seen = []
    with handler_bind((BaseException, seen.append)):
        with pytest.raises(ValueError), restart_case(skip=give):
            signal_condition(error := ValueError("x"))
            raise error
    assert seen == [error]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_an_interruption_is_nobodys_condition(interruption):
    seen = []
    with handler_bind((BaseException, seen.append)):
        with pytest.raises(interruption), restart_case(skip=give): raise interruption
    assert not seen


def test_a_transfer_is_nobodys_condition_on_its_way_out():
    seen = []
    with handler_bind((BaseException, seen.append)), restart_case(out=give) as frame:
        with restart_case(inner=give): invoke_restart("out", 1)
    assert frame.value == 1 and not seen


def test_what_is_raised_after_a_choice_was_made_is_not_offered_for_another_one():
    seen = []
    with handler_bind((ValueError, seen.append), (PipelineError, seen.append)), restart_case(skip=give) as frame:
        try: invoke_restart("skip", 1)
        finally: raise ValueError("while it unwinds")
    assert frame.value == 1 and not seen


def test_a_choice_at_the_boundary_leaves_by_that_choice_and_not_by_the_error():
    "Between the two blocks somebody catches errors; what was decided passes them."
    caught = []
    with handler_bind((PipelineError, lambda e: invoke_restart("out", 1))), restart_case(out=give) as frame:
        try:
            with restart_case(inner=give): raise ValueError("x")
        except Exception as error: caught.append(error)
        caught.append("went on")
    assert frame.value == 1 and not caught


def test_one_of_two_restarts_of_a_block_can_be_chosen_as_an_object():
    with restart_case(first=lambda: "first", second=lambda: "second") as frame: invoke_restart(compute_restarts()[1])
    assert frame.value == "second"


def test_a_transfer_that_is_raised_once_more_after_its_block_is_over_is_an_error_at_the_next():
    kept = []
    with restart_case(skip=give):
        try: invoke_restart("skip")
        except BaseException as transfer: kept.append(transfer); raise
    with pytest.raises(RestartError, match="over or suspended"), restart_case(other=give): raise kept[0]
