"Settings hold under anything that can stand in a file, a variable or an argument"
import os
from dataclasses import FrozenInstanceError
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings as budget, strategies as st

from conftest import examples
from passepartout.conditions import PassepartoutError
from passepartout.inifile import file_lines, read_number
from passepartout.serving.service import unit_text
from passepartout.settings import KINDS, load_settings, variable_name
from passepartout.terminal.tanglecommand import ledger_path

ROOT = Path(__file__).parents[1]
ORIGINAL = ["MEMEX_DIR", "MEMEX_ASSISTANT", "DEFAULT_ACTUATOR", "SILENT_ACTUATORS", "HEARTBEAT_INTERVAL", "MEMORY_AUTO_SAVE_INTERVAL",
            "DAEMON_SLEEP_INTERVAL", "PROVIDER_CASCADE", "CONTEXT_LOG_LIMIT", "CONTEXT_SEMANTIC_THRESHOLD", "PRIVACY_FILTER_TAGS"]


@pytest.fixture
def place(tmp_path):
    (tmp_path / ".config/passepartout").mkdir(parents=True)
    return tmp_path


def load(place, ini=None, dotenv=None, mode=0o600, environ=(), **more):
    folder = place / ".config/passepartout"
    if ini is not None:
        (folder / "settings.ini").write_bytes(ini if isinstance(ini, bytes) else ini.encode())
    if dotenv is not None:
        (folder / ".env").write_text(dotenv)
        (folder / ".env").chmod(mode)
    return load_settings(environ={"HOME": str(place), **dict(environ)}, **more)


def test_packaged_copy_is_the_documented_one():
    assert (ROOT / "settings.ini").read_text() == (ROOT / "passepartout/settings.ini").read_text()


def test_every_setting_is_documented_with_its_variable():
    text = (ROOT / "settings.ini").read_text()
    assert {variable_name(name) for name in KINDS} >= set(ORIGINAL)
    missing = [v for n in KINDS if (v := variable_name(n)) not in text and n != "config_dir"]
    assert not missing


def test_layers_from_lowest_to_highest(place):
    ini, env, var = "[clock]\nheartbeat_interval = 2", "HEARTBEAT_INTERVAL=3", {"HEARTBEAT_INTERVAL": "4"}
    assert load(place).heartbeat_interval == 60
    assert load(place, ini).heartbeat_interval == 2
    assert load(place, ini, env).heartbeat_interval == 3
    assert load(place, ini, env, environ=var).heartbeat_interval == 4
    last = load(place, ini, env, environ=var, heartbeat_interval=5)
    assert last.heartbeat_interval == 5 and last.origin["heartbeat_interval"] == "argument" and not last.warnings


@pytest.mark.parametrize("variable", ["HEARTBEAT_INTERVAL", "MEMORY_AUTO_SAVE_INTERVAL", "DAEMON_SLEEP_INTERVAL", "CONTEXT_LOG_LIMIT",
                                      "CONTEXT_SEMANTIC_THRESHOLD", "PASSEPARTOUT_MAX_DEPTH", "PASSEPARTOUT_GATE_TIMEOUT_S"])
def test_garbage_gives_the_default_and_one_warning(place, variable):
    usual = load(place)
    for garbage in ("0", "-1", "soon", "nan", "inf", "1e999", "9" * 5000, "0x10", "1 2", "None"):
        odd = load(place, environ={variable: garbage})
        assert {n: getattr(odd, n) for n in KINDS} == {n: getattr(usual, n) for n in KINDS}, garbage
        assert len(odd.warnings) == 1 and variable in odd.warnings[0], garbage


@pytest.mark.parametrize("text", ["@personal @private", "@personal;@private", ":@personal:@private:", "@personal,\t@private", "@personal, @private,"])
def test_tags_of_private_notes_are_all_read_whatever_stands_between_them(place, text):
    "A text of two tags that counted as one would leave the notes of the other open to every model."
    for made in (load(place, environ={"PRIVACY_FILTER_TAGS": text}), load(place, f"[privacy]\nprivacy_filter_tags = {text}\n")):
        assert made.privacy_filter_tags == ("@personal", "@private") and made.warnings == ()


@pytest.mark.parametrize("text", [",", " , ,", ";", ":"])
@pytest.mark.parametrize("variable", ["PRIVACY_FILTER_TAGS", "PROVIDER_CASCADE"])
def test_a_list_of_nothing_but_signs_is_garbage(place, variable, text):
    if variable == "PROVIDER_CASCADE" and "," not in text: pytest.skip("that may be the name of one")
    made, usual = load(place, environ={variable: text}), load(place)
    assert getattr(made, variable.lower()) == getattr(usual, variable.lower()) and [variable in each for each in made.warnings] == [True]


def test_saving_at_shutdown_can_be_switched_off(place):
    assert load(place).save_at_shutdown is True
    assert load(place, environ={"PASSEPARTOUT_SAVE_AT_SHUTDOWN": "no"}).save_at_shutdown is False
    assert load(place, save_at_shutdown=False).save_at_shutdown is False


def test_empty_means_not_set_in_variables_and_nothing_in_files(place):
    assert load(place, environ={"PRIVACY_FILTER_TAGS": " ", "HEARTBEAT_INTERVAL": ""}).warnings == ()
    assert load(place, environ={"PRIVACY_FILTER_TAGS": ""}).privacy_filter_tags == ("@personal", "@private")
    assert load(place, "privacy_filter_tags =").privacy_filter_tags == ()


def test_dotenv_that_others_can_read_is_ignored(place):
    for mode in (0o640, 0o604, 0o620, 0o666):
        some = load(place, dotenv="HEARTBEAT_INTERVAL=3\nKEY=secret", mode=mode)
        assert some.heartbeat_interval == 60 and not some.secrets and "chmod 600" in some.warnings[0]


def test_dotenv_is_read_from_the_configuration_only(place, monkeypatch):
    notes = place / "notes"
    notes.mkdir()
    for folder in (notes, place, notes / "passepartout"):
        folder.mkdir(exist_ok=True)
        (folder / ".env").write_text("HEARTBEAT_INTERVAL=3")
        (folder / ".env").chmod(0o600)
        (folder / "settings.ini").write_text("heartbeat_interval = 3")
    monkeypatch.chdir(notes)
    assert load(place, memex=notes).heartbeat_interval == 60


def test_dotenv_forms(place):
    some = load(place, dotenv='export A_KEY="x y # z"\n# note\nB=1 # comment\nbroken\n2x=3\nPASSEPARTOUT_MAXDEPTH=3\n')
    assert dict(some.secrets) == {"A_KEY": "x y # z", "B": "1", "PASSEPARTOUT_MAXDEPTH": "3"}
    assert len(some.warnings) == 3 and "PASSEPARTOUT_MAX_DEPTH" in some.warnings[-1]
    assert "x y" not in repr(some) + str(some)


def test_unknown_names_are_reported_with_the_nearest(place):
    some = load(place, "[clock]\nheartbeat_intervall = 3\nnonsense\nzzzz = 1", environ={"PASSEPARTOUT_MAX_DEPT": "3"})
    assert some.heartbeat_interval == 60
    assert ["heartbeat_interval" in some.warnings[0], "nonsense" in some.warnings[1], "did you" not in some.warnings[2],
            "PASSEPARTOUT_MAX_DEPTH" in some.warnings[3]] == [True] * 4


@pytest.mark.parametrize("wrong", [{"memex_dri": "x"}, {"heartbeat_interval": 0}, {"max_depth": "deep"}, {"memex_dir": ""}, {"memex_dir": 3},
                                   {"memex_dir": "a\0b"}, {"today": "soon"}, {"permissions": {"a": "maybe"}}, {"warnings": ()}, {"secrets": {}},
                                   {"save_at_shutdown": "maybe"}, {"workspaces": [3]}, {"provider_cascade": 3}, {"assistant": "a\nb"}, {"memex": "~root/x"}])
def test_wrong_arguments_raise_a_sentence(place, wrong):
    with pytest.raises(PassepartoutError) as caught:
        load(place, **wrong)
    assert next(iter(wrong)) in caught.value.message or "memex_dir" in caught.value.message or "argument" in caught.value.message


def test_typed_arguments(place):
    some = load(place, memex=place / "notes", workspaces=[place, "x"], today=date(2026, 3, 14), permissions={"ORG_CAPTURE": "allow"},
                provider_cascade=(":Scripted", "reflex"), max_depth=None, silent_actuators=[])
    assert some.workspaces == (place, Path.cwd() / "x") and some.today == date(2026, 3, 14) and some.max_depth == 10
    assert some.permission("org-capture") == "allow" and some.permission("org-find") == "allow" and some.permission("no-such-tool") == "ask"
    assert some.provider_cascade == ("scripted", "reflex") and some.silent_actuators == ()
    choose = lambda context: ["reflex"]
    assert load(place, provider_cascade=choose).provider_cascade is choose


def test_permissions_fail_closed(place):
    some = load(place, "[permissions]\norg-find = denny\nread-file =\ndefault = whatever\n")
    assert [some.permission(t) for t in ("org-find", "read-file", "unheard-of", "org-agenda")] == ["deny", "deny", "deny", "allow"]
    assert len(some.warnings) == 3


def test_a_settings_file_that_cannot_be_read_stops_the_start(place):
    (place / ".config/passepartout/settings.ini").mkdir()
    with pytest.raises(PassepartoutError, match="Move it away"):
        load(place)


def test_binary_settings_file_warns_line_by_line(place):
    some = load(place, b"\xff\xfe\x00\x01\n[permissions]\norg-find = deny\n")
    assert some.permission("org-find") == "deny" and (len(some.warnings), len(some.unsure)) == (0, 1)


def test_a_pipe_does_not_hold_up_the_start(place):
    os.mkfifo(place / ".config/passepartout/.env")
    assert "not a regular file" in load(place).warnings[0]


def test_xdg_directories(place):
    some = load(place, environ={"XDG_STATE_HOME": str(place / "s"), "XDG_CACHE_HOME": "relative", "XDG_CONFIG_HOME": str(place / "c")})
    assert (some.state_dir, some.cache_dir, some.config_dir) == (place / "s", place / ".cache", place / "c")
    assert load(place, state_dir=place / "t").journal_dir.parent == place / "t/passepartout"
    assert load(place, "state_dir = st").state_dir == place / "st"


def test_a_relative_folder_of_the_record_would_be_another_one_in_every_folder(place, monkeypatch):
    monkeypatch.chdir(place)
    some = load(place, environ={"PASSEPARTOUT_STATE_DIR": "./st "})
    assert some.state_dir == place / ".local/state" and f"it meant {place / 'st'};" in some.unsure[0] and len(some.unsure) == 1
    for said, where in ((str(place / "st"), "st"), ("~/st", "st"), (" ", ".local/state")):
        some = load(place, environ={"PASSEPARTOUT_STATE_DIR": said})
        assert (some.state_dir, some.unsure) == (place / where, ())
    some = load(place, environ={"PASSEPARTOUT_STATE_DIR": "st"}, state_dir=place / "t")
    assert (some.state_dir, some.unsure) == (place / "t", ())
    (place / ".config/passepartout/.env").write_text("PASSEPARTOUT_STATE_DIR=st\n")
    (place / ".config/passepartout/.env").chmod(0o600)
    monkeypatch.chdir("/")
    assert load(place).state_dir == place / "st"                       # in a file it begins at home, wherever the program starts


def test_a_base_directory_that_does_not_count_is_told(place):
    some = load(place, environ={"XDG_STATE_HOME": "st", "XDG_CACHE_HOME": str(place / "c"), "XDG_CONFIG_HOME": "~/.c"})
    assert (some.state_dir, some.config_dir) == (place / ".local/state", place / ".config")
    assert [warning.split()[1] for warning in some.warnings] == ["XDG_CONFIG_HOME:", "XDG_STATE_HOME:"]


def test_a_unit_takes_the_folders_of_its_terminal_along():
    said = {"PASSEPARTOUT_STATE_DIR": "/srv/state", "PASSEPARTOUT_CACHE_DIR": "~/c", "XDG_STATE_HOME": "here", "XDG_CONFIG_HOME": "/srv/c"}
    lines = [line for line in unit_text(Path("/notes"), environ=said).splitlines() if line.startswith("Env")]
    assert lines == [f'Environment="{name}={said[name]}"' for name in ("XDG_CONFIG_HOME", "PASSEPARTOUT_STATE_DIR", "PASSEPARTOUT_CACHE_DIR")]


@pytest.mark.parametrize("said, where", [("here", ".local/state"), ("", ".local/state"), ("{}/s", "s")])
def test_what_tangle_wrote_is_remembered_in_one_place(place, monkeypatch, said, where):
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("XDG_STATE_HOME", said.format(place))
    assert ledger_path() == place / where / "passepartout/tangled.json"


def test_one_memex_has_one_journal_however_it_is_reached(place):
    (place / "notes").mkdir()
    (place / "link").symlink_to(place / "notes")
    one, two = load(place, memex=place / "notes"), load(place, memex=place / "link")
    assert one.journal_dir == two.journal_dir


def test_frozen(place):
    with pytest.raises(FrozenInstanceError):
        load(place).max_depth = 99


def test_a_deleted_working_directory(place, monkeypatch):
    gone = place / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert load(place).memex_dir == place / "memex"
    with pytest.raises(PassepartoutError, match="memex_dir.*relative.*gone"): load(place, memex="notes")
    assert load(place, memex=place / "notes").memex_dir == place / "notes"


def test_no_variable_is_read_from_the_home_directory_because_the_working_directory_is_gone(place, monkeypatch):
    gone = place / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    some = load_settings(environ={"HOME": str(place), "MEMEX_DIR": "notes"})
    assert some.memex_dir == place / "memex" and any("gone" in warning for warning in some.warnings)


@given(st.text(max_size=300))
@budget(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_settings_file_breaks_the_start(place, text):
    some = load(place, text.encode("utf-8", "replace"))
    assert some.permission("nothing-of-that-name") in ("ask", "deny") or "default" in text.lower()
    assert all(w.isprintable() or "\n" not in w for w in some.warnings)


@given(st.dictionaries(st.sampled_from([variable_name(n) for n in KINDS]), st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=30)))
@budget(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_variable_breaks_the_start(place, environ):
    some = load(place, environ=environ)
    assert all(isinstance(getattr(some, n), float) and getattr(some, n) > 0 for n in KINDS if KINDS[n] is float)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.booleans()))
def test_a_number_is_of_use_or_refused(raw):
    for whole in (True, False):
        try:
            assert 0 < read_number(raw, whole) <= 1e9
        except ValueError:
            pass


@given(st.text())
def test_lines_are_found_in_any_text(text):
    assert all(isinstance(part, str) for _, *parts in file_lines(text) for part in parts)


UNSURE = {"without its sign": "[permissions]\nshell deny\n", "with another sign": "[permissions]\nshell: deny\n", "below a heading with a slip": "[permissons]\nshell = deny\n", "below no heading": "shell = deny\n", "a heading without its end": "[permissions\nshell = deny\n",
          "noughts": b"\0" * 500, "no letters": b"\xff\xfe[\0p\0e\0r\0m\0"}

@pytest.mark.parametrize("what", UNSURE)
async def test_a_line_that_may_have_forbidden_something_and_cannot_be_read_opens_nothing(tmp_path, what):
    "What cannot be read would otherwise leave the layer below it, which may allow what the person forbade."
    from passepartout.agent import Agent
    (tmp_path / "memex").mkdir()
    (folder := tmp_path / "config" / "passepartout").mkdir(parents=True)
    given = {"memex_dir": tmp_path / "memex", **{f"{kind}_dir": tmp_path / kind for kind in ("state", "cache", "config")}}
    async def say(text):
        agent = await Agent.boot(load_settings(given, environ={}))
        try: return await agent.handle(text, source="cli")
        finally: await agent.close()
    (folder / "settings.ini").write_bytes(text.encode() if isinstance(text := UNSURE[what], str) else text)
    reply = await say("$ touch made")
    assert "cannot be trusted" in reply and "settings.ini line" in reply and not (tmp_path / "memex" / "made").exists()
    assert "cannot be trusted" not in await say("list my notes")
    (folder / "settings.ini").write_text("[permissions]\nshell = ask\n\n[jobs]\nnonsense\ncolour = red\n")
    await say("$ touch made")
    assert (tmp_path / "memex" / "made").exists()


async def test_a_slip_in_the_name_of_a_tool_is_told(tmp_path):
    from passepartout.agent import Agent
    (tmp_path / "memex").mkdir()
    async def told(**permissions):
        agent = await Agent.boot(load_settings({"memex_dir": tmp_path / "memex", **{f"{kind}_dir": tmp_path / kind for kind in ("state", "cache", "config")}, "permissions": permissions}, environ={}))
        await agent.close()
        return [str(each) for each in agent.diagnostics if "[permissions]" in str(each)]
    assert await told(default="ask") == await told(shell="deny", telegraph="ask") == []
    assert "did you mean shell?" in (await told(shel="deny"))[0]


def test_a_doubt_about_a_line_hides_what_is_said_of_that_line_and_nothing_else(tmp_path):
    "Also where the name of the folder looks like the beginning of a sentence."
    file = tmp_path / "a: b" / "passepartout" / "settings.ini"
    file.parent.mkdir(parents=True)
    file.write_text("colour = red\n[permissions]\nshell deny\n")
    some = load_settings(environ={"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "a: b")})
    assert len(some.unsure) == 1 and "line 3" in some.unsure[0] and [each for each in some.warnings if "colour" in each] and not [each for each in some.warnings if "line 3" in each]
