"""The targets, and the one table that a run ends in."""
import statistics

OURS = "passepartout"
SAME = 1.5          # "flat", "linear" and "the same" allow this ratio: medians of separate processes differ by that much at times


def value(results, who, measure, field="us"):
    """The median over the rounds, or None when it was not measured."""
    found = [r[field] for r in results.get((who, measure), ()) if r.get(field) is not None]
    return statistics.median(found) if found else None


def spread(results, who, measure, field="us"):
    found = [r[field] for r in results.get((who, measure), ()) if r.get(field) is not None]
    return (min(found), max(found)) if found else None


def least(*pairs):
    """The smallest of what was measured: a peer is compared at its best."""
    return min((pair for pair in pairs if pair is not None), default=None)


def number(x):
    if x is None:
        return "–"
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}" if abs(x) >= 0.1 else f"{x:.3f}"


# ---- targets -----------------------------------------------------------------------------------------------------------

def judged(results, wanted):
    """Each target as a dict: section, target, ours, against, measured, at_best, allowed, limit, unit, result.

    `measured` is what `allowed` limits, from above when `limit` is "≤", from below when it is "≥"; `at_best` is the same for
    the best round of each side, which noise disturbs least. The result is "pass" or "MISS" when both say so, "unclear" when
    they disagree, and "not measured".
    """
    out = []

    def get(who, measure, field="us"):
        """(median of the rounds, best round), or None. Best is least, except for a rate."""
        found = [r[field] for r in results.get((who, measure), ()) if r.get(field) is not None]
        return (statistics.median(found), max(found) if field == "per_s" else min(found)) if found else None

    def add(section, target, ours, against, pair, allowed, limit="≤", unit=""):
        result = "not measured"
        if pair is not None:
            met = {x <= allowed if limit == "≤" else x >= allowed for x in pair}
            result = "unclear" if len(met) > 1 else "pass" if met.pop() else "MISS"
        if section in wanted:
            out.append(dict(section=section, target=target, ours=ours and ours[0], against=against and against[0], measured=pair and pair[0],
                            at_best=pair and pair[1], allowed=allowed, limit=limit, unit=unit, result=result))

    def ratio(section, target, ours, against, allowed, limit="≤"):
        pair = None
        if ours and against:
            pair = tuple(a / b if limit == "≤" else b / a for a, b in zip(ours, against))
        add(section, target, ours, against, pair, allowed, limit, "×")

    durable, memory = get(OURS, "turn_durable"), get(OURS, "turn")
    saver = least(get("langchain", "turn_durable"), get("langchain", "turn_durable_async"))
    ratio("turn", "in memory, against llm's async tool chain (µs)", memory, get("llm", "turn_async"), 2)
    ratio("durable", "durable, against agent-framework, which persists nothing (µs)", durable, get("agent-framework", "turn"), 1)
    ratio("durable", "durable, against openai-agents in memory (µs)", durable, get("openai-agents", "turn"), 1 / 5)
    ratio("durable", "durable, against pydantic-ai in memory (µs)", durable, get("pydantic-ai", "turn"), 1 / 10)
    ratio("durable", "durable, against langchain with its SQLite saver (µs)", durable, saver, 1 / 10)
    full = get(OURS, "turn_durable", "full")
    add("durable", "synchronous=FULL commits a turn with one effect", full, None, full, 2)
    for measure, what, allowed in (("concurrent", "in memory", 1400), ("concurrent_durable", "durable", 1000)):
        per_s = get(OURS, measure, "per_s")
        add("concurrent", f"64 conversations with a 20 ms model, {what} (turns/s)", per_s, None, per_s, allowed, "≥", "/s")
    stages = sorted(int(m.split()[1]) for who, m in results if who == OURS and m.startswith("long "))
    if len(stages) > 1:
        first, last = stages[0], stages[-1]
        ratio("long", f"turn {last:,} against turn {first:,} of a durable conversation (µs)", get(OURS, f"long {last}"), get(OURS, f"long {first}"), SAME)
    else:
        ratio("long", "a late turn against turn 10 of a durable conversation (µs)", None, None, SAME)
    sizes = sorted(int(m.split()[1]) for who, m in results if who == OURS and m.startswith("memory ") )
    small, big = (sizes[0], sizes[-1]) if sizes else (1000, 1_000_000)
    for what in ("snapshot", "rollback"):
        a, b = (get(OURS, f"memory {n}", f"{what}_us") for n in (big, small))
        ratio("snapshot", f"a {what} with {big:,} objects against {small:,} (µs)", a, b, SAME)

    def over(what, base, target, allowed):
        a, b = get(OURS, what, "ms"), get(OURS, base, "ms")
        add("start", f"{target} (ms)", a, b, a and b and (a[0] - b[0], a[1] - b[1]), allowed, "≤", "ms")
    over("import", "bare", "import passepartout, over a bare interpreter", 20)
    over("version", "bare", "passepartout --version, over a bare interpreter", 60)
    over("boot", "pydantic", "boot on an empty memex, over importing pydantic with one model", 120)
    ratio("reader", "a 300-byte message, how many times as fast as sexpdata (µs)", get(OURS, "reader"), get("sexpdata", "reader"), 3, "≥")
    ratio("reader", "linear: 1 MB against 10 KB (µs per KB)", get(OURS, "reader_sized 1000000", "us_per_kb"), get(OURS, "reader_sized 10000", "us_per_kb"), SAME)
    for field, what, most in (("us", "every gate on a typical command (µs)", 150), ("long_us", "every gate on a command of 4 KB (µs)", 600)):
        taken = get(OURS, "command_chain", field)
        add("commands", what, taken, None, taken, most, "≤", "µs")
    slow = get(OURS, "command", "slowest_us")
    slow = slow and (slow[0] / 1000, slow[1] / 1000)
    add("commands", "the slowest of texts made to be slow (ms)", slow, None, slow, 50, "≤", "ms")
    fallback = get(OURS, "fallback")
    add("providers", "a provider that fails at once, over the call that answers (µs)", fallback, get("pydantic-ai", "fallback"), fallback, 60, "≤", "µs")
    bad = get(OURS, "parentheses")
    bad = bad and (bad[0] / 1000, bad[1] / 1000)
    add("reader", "a clean error for 100,000 open parentheses (ms)", bad, None, bad, 50, "≤", "ms")
    return out


# ---- the table ---------------------------------------------------------------------------------------------------------

ROWS = {    # section: (measure, what it is, field, unit); the rows are filled for every participant that has the measure
    "turn": [("turn", "in memory", "us", "µs"), ("turn_async", "in memory, async", "us", "µs"),
             ("turn_fresh", "in memory, other words in each turn", "us", "µs"), ("turn", "in memory, all of the processor's time by the turns", "cpu_us", "µs")],
    "durable": [("turn_durable", "on disk", "us", "µs"), ("turn_durable_async", "on disk, async", "us", "µs")],
    "concurrent": [("concurrent", "64 conversations, in memory", "per_s", "turns/s"), ("concurrent_durable", "64 conversations, on disk", "per_s", "turns/s")],
    "start": [(m + s, m + s, "ms", "ms") for s in ("", ", no byte code") for m in ("bare", "import", "version", "pydantic", "import agent", "boot")],
    "reader": [("reader", "read a message of about 300 bytes", "us", "µs"), ("reader_json", "the same with json (its C parser)", "us", "µs"),
               ("writer", "print the message", "us", "µs"), ("parentheses", "100,000 open parentheses", "us", "µs")],
    "providers": [("fallback", "a provider that fails at once, over the call that answers", "us", "µs"), ("fallback", "the call that answers", "call_us", "µs")],
    "commands": [("command", "parse a typical command (ours: and judge it)", "us", "µs"), ("command_chain", "every gate on a typical command", "us", "µs"), ("command_chain", "every gate on a command of 4 KB", "long_us", "µs")],
}
ORDER = (OURS, "agent-framework", "openai-agents", "pydantic-ai", "langchain", "llm", "sexpdata", "bashlex", "a plain dict", "the disk itself")


def rows(section, results):
    known = list(ROWS.get(section, ()))
    if section == "long":
        known = [(f"long {n}", f"turn {n:,} of a conversation", "us", "µs") for n in (10, 100, 1000, 10_000)]
    if section == "snapshot":
        sizes = sorted({int(m.split()[1]) for _, m in results if m.split()[0] in ("memory", "dict")})
        known = [(f"{m} {n}", f"{what}, {n:,} objects", field, "µs") for n in sizes for m, what, field in
                 (("memory", "snapshot", "snapshot_us"), ("memory", "rollback", "rollback_us"), ("memory", "letting go of what it left", "left_us"),
                  ("dict", "dict.copy", "copy_us"), ("dict", "copy.deepcopy", "deepcopy_us"))]
        known += [(f"memory_build {n}", f"build {n:,} objects", "seconds", "s") for n in sizes]
    if section == "reader":
        known += [(f"reader_sized {n}", f"read {n // 1000:,} KB, for each KB", "us_per_kb", "µs") for n in (1000, 10_000, 100_000, 1_000_000)]
    for measure, what, field, unit in known:
        for who in ORDER:
            if value(results, who, measure, field) is not None:
                yield who, measure, what, field, unit


def table(heads, lines):
    """A Markdown table whose columns are padded, so that it reads well in a terminal too."""
    cells = [heads, *lines]
    width = [max(len(str(line[i])) for line in cells) for i in range(len(heads))]
    pad = lambda line: "| " + " | ".join(str(c).ljust(w) if i < 2 else str(c).rjust(w) for i, (c, w) in enumerate(zip(line, width))) + " |"
    return "\n".join([pad(heads), "|" + "|".join("-" * (w + 2) for w in width) + "|", *map(pad, lines)])


DURABLE = {"turn_durable": "durable", "turn_durable_async": "durable", "concurrent_durable": "concurrent"}
STORED = (OURS, "openai-agents", "langchain", "llm")


def notes(results, who, measure):
    """What belongs beside a figure: commits and the disk's fsync for everything durable, bytes kept, what an error says."""
    last, out = results[who, measure][-1], []
    section = "long" if measure.startswith("long ") and who in STORED else DURABLE.get(measure)
    if section:
        counted = next((r for m in (measure, measure.replace("concurrent", "turn") + "_async", "turn_durable")
                        for r in results.get((who, m), ()) if "commits" in r), None)
        if counted:
            out.append(f"{counted['commits']:.3g} commits a turn, {counted['full']:.3g} FULL")
            if "told" in counted and list(counted["told"]) != [counted["commits"], counted["full"]]:
                out.append(f"but its journal says {counted['told'][0]:g} and {counted['told'][1]:g}")
        if fsync := value(results, "the disk itself", f"probe {section}"):
            out.append(f"fsync {number(fsync)} µs")
    if (size := value(results, who, measure, "bytes")) is not None and section == "long":
        out.append(f"{size / 1000:,.1f} KB a turn")
    if last.get("what"):
        out.append(last["what"])
    if "ideal_per_s" in last:
        out.append(f"ideal {last['ideal_per_s']:,.0f}")
    return "; ".join(out)


def text(facts, environments, results, errors, wanted):
    """Everything that a run has to say."""
    said = [f"Measured {facts['date']} on {facts['cores']} cores ({facts['cpu']}), {facts['system']}, Python {facts['python']}, SQLite {facts['sqlite']}, "
            f"commit {facts['commit']}; {'quick, ' if facts['quick'] else ''}{facts['seconds']} s; load at start {facts['load'][0]}, "
            f"time taken by other machines {facts['stolen_percent']} %. Byte code {facts['byte_code']}."]
    for section in wanted:
        measure = f"probe {section}"
        if disk := value(results, "the disk itself", measure):
            low, high = spread(results, "the disk itself", measure)
            said.append(f"The disk during {section}: fsync of 4 KiB {number(disk)} µs (rounds {number(low)} to {number(high)}), one FULL commit of SQLite "
                        f"{number(value(results, 'the disk itself', measure, 'commit_us'))} µs. On a slower disk add the difference for each FULL commit.")
    own, full, disk = (value(results, *key) for key in ((OURS, "turn_durable"), (OURS, "turn_durable", "full"), ("the disk itself", "probe durable")))
    if own and full and disk and "durable" in wanted:
        other = value(results, "agent-framework", "turn")
        said.append(f"Of our {number(own)} µs a durable turn, {full:g} × {number(disk)} = {number(full * disk)} µs are the disk's own fsync"
                    + (f"; that alone is {full * disk / other:.2f} times agent-framework's turn, which persists nothing." if other else "."))
    if (first := value(results, OURS, "turn")) and (fresh := value(results, OURS, "turn_fresh")):
        said.append(f"The turns of one measurement have the same words, as with all participants. What we know of a text helps the next turn then: with other words in each turn ours takes {number(fresh)} instead of {number(first)} µs in memory.")
    said.append("Participants: " + "; ".join(f"{e.name} {e.version}" + (f" ({e.note})" if e.note else "") if e.python else f"{e.name}: NOT MEASURED, {e.problem}"
                                             for e in environments.values()) + ".")
    lines = []
    for t in judged(results, wanted):
        measured, best = (number(t[key]) + t["unit"] if t[key] is not None else "–" for key in ("measured", "at_best"))
        lines.append((t["section"], t["target"], number(t["ours"]), number(t["against"]), measured, best, f"{t['limit']} {number(t['allowed'])}", t["result"]))
    said.append("## Targets\n\n" + table(("section", "target", "ours", "against", "measured", "best rounds", "allowed", "result"), lines))
    if any(line[-1] == "unclear" for line in lines):
        said.append("Unclear: the medians and the best rounds fall on different sides of what is allowed. Run again on a quieter machine.")
    lines = []
    base = {}
    for section in wanted:
        for who, measure, what, field, unit in rows(section, results):
            x, (low, high) = value(results, who, measure, field), spread(results, who, measure, field)
            if who == OURS:
                base[what] = x
            ours = base.get(what) or (base.get("in memory") if section == "turn" else base.get("on disk") if section == "durable" else None)
            against = f"{x / ours:.2f}×" if ours and who != OURS and section in ("turn", "durable", "concurrent", "long", "reader", "commands") else ""
            lines.append((section, f"{what}: {who}", number(x), unit, f"{number(low)} to {number(high)}", against, notes(results, who, measure)))
    said.append("## Everything measured (median of the rounds, least and greatest round, times ours)\n\n" +
                table(("section", "what", "median", "unit", "rounds", "to ours", "notes"), lines))
    if errors:
        said.append("## What did not run\n\n" + "\n".join(f"- {who}, {measure}: {error}" for (who, measure), error in errors.items()))
    return "\n\n".join(said) + "\n"


MARKS = "<!-- the last run that was kept: begin -->", "<!-- end -->"


def keep(path, run_text):
    """Put the head and the targets of a run between the marks of the README at `path`: the one dated table it holds."""
    begin, end = MARKS
    before, rest = path.read_text().split(begin)
    head = run_text.split("## Everything measured")[0].replace("## Targets\n\n", "").strip()
    path.write_text(f"{before}{begin}\n{head}\n{end}{rest.split(end)[1]}")
