"What both benchmarks on AgentDojo share: what its tools are to an agent, the round over its suites, the command line, and an environment that has the package."
import argparse
import asyncio
import collections
import importlib.util
import subprocess
import sys
import tempfile

import environments

VERSION = "v1.2.2"
ANSWER = '(:TYPE :REQUEST :PAYLOAD (:ACTION :MESSAGE :TEXT "Done."))'
READS = ("get", "search", "list", "read", "check")                        # what a name says about a tool, and nothing else is believed
TAKES = ("delete", "remove", "cancel", "update", "reschedule")


def effects_of(name):
    "Effects by the verb of the name: what reads is read-only, and whatever does anything does it outside, because these are services of others."
    verb = name.split("_")[0]
    if name == "get_webpage": return ["read-only", "open-world"]       # an address can carry something out
    if verb in READS: return ["read-only"]
    return ["open-world", "destructive"] if verb in TAKES else ["open-world"]


def type_of(annotation):
    text = str(annotation)
    return "list" if text.startswith("list") else "any" if "|" in text or "enum" in text else {"int": "integer", "float": "number", "bool": "boolean"}.get(getattr(annotation, "__name__", ""), "string")


def plain(value):
    if hasattr(value, "model_dump"): value = value.model_dump(mode="json")
    if isinstance(value, dict) or hasattr(value, "items"): return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)): return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value if isinstance(value, (int, float, bool, type(None))) else str(value)


def body_of(world, name, names):
    def body(args): return world.call(name, {names.get(key, key): plain(value) for key, value in args.items() if value is not None})
    return body


async def every_suite(run_suite, options):
    "Run `run_suite(name, suite, options)` for all suites, or the one that was named, and print what each counted. All counts together."
    from agentdojo.task_suite.load_suites import get_suites
    total = collections.Counter()
    for name, suite in get_suites(VERSION).items():
        if options.suite not in (None, name): continue
        counts, told = await run_suite(name, suite, options)
        total += counts
        print(f"{name}: " + ", ".join(f"{n} {what}" for what, n in counts.items()), flush=True)
        if options.show: print("\n".join(told), flush=True)
    return total


def arguments(doc, show, tasks=""):
    "The options of the command line. `show`, `tasks`: what these options do; without a text for it there is no `--tasks`."
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", help="only this one: workspace, travel, banking or slack")
    if tasks: parser.add_argument("--tasks", action="store_true", help=tasks)
    parser.add_argument("--show", action="store_true", help=show)
    return parser.parse_args()


def has_agentdojo():
    "Is the package here, and not only the benchmark of its name?"
    try: return importlib.util.find_spec("agentdojo.task_suite") is not None
    except ModuleNotFoundError: return False


def launch(main, options, file):
    "Run `main(options)` here, or `file` in the environment that has the package."
    if not has_agentdojo(): sys.exit(subprocess.run([str(environments.agentdojo()), file, *sys.argv[1:]], cwd=tempfile.gettempdir()).returncode)
    asyncio.run(main(options))
