"A workspace beside the notes: what is called from there (../code/x) is judged as what is called from the top, by every gate, by rules, and while it runs."
import re

import needs
import pytest

from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.messages import Rejected, Signal
from passepartout.verify import judge

WAYS = ("../{}", "./../{}", "../notes/../{}", "projects/../../{}")
LINES = ["cat {}/x", "cat {}/secret/k.txt", "cat < {}/secret/k.txt", "wc -l {}/x", "rg s {}", "grep -r s {}", "ls {}", "ls {}/secret", "find {} -name k.txt", "find {} -type f -exec cat '{{}}' +",
         "git -C {} log", "cat {}/.env", "cat {}/id_rsa", "cd {} && cat x", "cd {} && cat secret/k.txt", "cd {} && rg s", "awk 1 {}/x", "xargs cat < {}/x", "rm {}/x", "rm -rf {}", "cp a.org {}/new",
         "mv a.org {}/", "tee {}/x", "sed -i s/a/b/ {}/x", "sed -n 1p {}/x", "tar -cf - {}/secret", "echo x > {}/y", "cat {}/secret/../x", "cat {}/x {}/secret/k.txt", "sort -o {}/x a.org"]
RULE = "[no-code]\ntier = deny\ntool = *\npath = {0}/\nmatches = read-file path={0}/k.txt\nnot = read-file path=inbox.org\n"


@pytest.fixture
async def agent(tmp_path):
    for folder in ("notes/projects", "code/secret", "config"): (tmp_path / folder).mkdir(parents=True)
    for name, text in {"notes/a.org": "* A\n", "code/x": "s: an ordinary line\n", "code/secret/k.txt": "s: kept away\n", "code/.env": "s: hidden\n", "code/id_rsa": "s: key\n"}.items(): (tmp_path / name).write_text(text)
    (tmp_path / "config" / "rules.ini").write_text(RULE.format(tmp_path / "code" / "secret"))
    (tmp_path / "config" / "rules.ini").chmod(0o600)
    agent = await Agent.boot(memex_dir=tmp_path / "notes", workspaces=(str(tmp_path / "code"),), state_dir=tmp_path / "state", config_dir=tmp_path / "config", provider_cascade=("model",))
    yield agent
    await agent.close()


def said(agent, tool, **args):
    "Who decides how about a call; the names of places taken out of what is said."
    signal = Signal.of({"payload": {"sensor": "user-input", "text": "look at the code"}})
    judgement = judge(agent, {"target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": "The person wants to see what is there."}}, signal)
    verdict = judgement.verdict
    text = verdict.text if isinstance(verdict, Rejected) else getattr(verdict, "reason", "")
    judgement.close()
    text = text.partition(" It would run: ")[0]                # what stands behind it is cut where the reason is long enough, and shown apart
    return type(verdict).__name__, getattr(verdict, "gate", None), re.sub(r"[^\s:]*code\b", "CODE", text)


@pytest.mark.parametrize("line", LINES)
def test_a_command_is_judged_alike_whatever_its_place_is_called(agent, tmp_path, line):
    top = said(agent, "shell", command=line.format(*[tmp_path / "code"] * 2))
    for way in WAYS[:2]: assert said(agent, "shell", command=line.format(*[way.format("code")] * 2)) == top, way
    strictness = ("Allowed", "ApprovalRequired", "Rejected").index
    for way in WAYS[2:]: assert strictness(said(agent, "shell", command=line.format(*[way.format("code")] * 2))[0]) >= strictness(top[0]), way


@pytest.mark.parametrize("tool, name, place", [("read-file", "path", "{}/x"), ("read-file", "path", "{}/secret/k.txt"), ("read-file", "path", "{}/.env"), ("list-files", "folder", "{}"), ("list-files", "folder", "{}/secret"),
                                               ("write-file", "path", "{}/new"), ("write-file", "path", "{}/secret/new"), ("replace-string", "path", "{}/x"), ("replace-string", "path", "{}/secret/k.txt"), ("search", "folder", "{}"), ("search", "folder", "{}/secret")])
def test_a_tool_is_judged_alike(agent, tmp_path, tool, name, place):
    more = {"write-file": {"text": "x"}, "replace-string": {"old": "s", "new": "t"}, "search": {"pattern": "s"}}.get(tool, {})
    top = said(agent, tool, **{name: place.format(tmp_path / "code")}, **more)
    assert top[1] != "normaliser"
    for way in WAYS[:2]: assert said(agent, tool, **{name: place.format(way.format("code"))}, **more) == top, way


@needs.sandbox
@pytest.mark.parametrize("line", ["cat ../code/x", "cd ../code && cat x", "awk 1 ../code/x", "find ../code -name x"])
async def test_what_runs_finds_its_place(agent, line):
    proposals = iter([f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "shell" :ARGS (:COMMAND "{line}") :EXPLANATION "The person wants to see what is there."))'])
    seen = []
    def model(prompt, system_prompt):
        seen.append(prompt)
        return next(proposals, "Done.")
    register_backend(agent, "model", model)
    assert await agent.handle("show me the code") == "Done."
    assert ("code/x" if "find" in line else "an ordinary line") in seen[-1], seen[-1]


@needs.sandbox
async def test_a_whole_folder_is_read_without_what_is_hidden_in_it(agent, tmp_path):
    "The rule is taken away, so that the search runs; hidden files and keys are covered there as they are when the folder is called from the top."
    (tmp_path / "config" / "rules.ini").unlink()
    other = await Agent.boot(memex_dir=tmp_path / "notes", workspaces=(str(tmp_path / "code"),), state_dir=tmp_path / "other", config_dir=tmp_path / "config", provider_cascade=("model",))
    shown = {}
    for place in ("../code", str(tmp_path / "code")):
        proposals, seen = iter([f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "shell" :ARGS (:COMMAND "grep -rs s: {place}") :EXPLANATION "The person wants to see what is there."))']), []
        def model(prompt, system_prompt): seen.append(prompt); return next(proposals, "Done.")
        register_backend(other, "model", model)
        shown[place] = await other.handle("show me the code"), seen[-1]
    await other.close()
    assert not any(word in seen for _, seen in shown.values() for word in ("hidden", "s: key")), shown
    assert len({reply for reply, _ in shown.values()}) == 1, shown
