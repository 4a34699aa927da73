"What a walk through the commands found, one small thing each"
import asyncio, io, json, os, shutil, signal, subprocess, sys
from datetime import date
from pathlib import Path

import pytest

from passepartout.daemon import Daemon
from passepartout.indexing.index import Index
from passepartout.org import parse_org
from passepartout.reflex.lookups import Surroundings
from passepartout.reflex.grammar import exact_form, understand
from passepartout.confinement.resources import Root
from passepartout.targets import resolve_target
from test_acceptance import PATIENCE, command

SAMPLE = Path(__file__).parents[1] / "passepartout/sample/memex"


@pytest.mark.slow
def test_undo_of_several_edits_says_with_its_code_that_none_was_taken_back(tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "notes")
    for text in ("milk", "bread"): assert command(tmp_path, "ask", f"todo: {text}")[0] == 0
    (tmp_path / "notes/inbox.org").rename(tmp_path / "notes/moved.org")
    for count in ("1", "2"):
        code, told = command(tmp_path, "undo", count)
        assert code == 1 and "left alone" in told, (count, told[:300])
    (tmp_path / "notes/moved.org").rename(tmp_path / "notes/inbox.org")
    assert command(tmp_path, "undo", "2")[0] == 0 and command(tmp_path, "undo", "2")[0] == 0 and "nothing to take back" in command(tmp_path, "undo", "2")[1]


def test_a_hang_up_while_a_daemon_starts_does_not_end_it(monkeypatch):
    "`kill -HUP` means: read the settings again. They are being read just then."
    from passepartout.terminal import daemoncommand
    before, seen = signal.getsignal(signal.SIGHUP), []
    def start(*args):
        seen.append(signal.getsignal(signal.SIGHUP))
        if callable(seen[0]): signal.raise_signal(signal.SIGHUP)
        return None
    monkeypatch.setattr(daemoncommand, "trouble_of", start)
    try:
        daemoncommand.daemon(tcp=False, port=4711, log_json=False, unit=False, metrics=False, memex=None)
        assert callable(seen[0])                                     # a function and not "ignore": that would be handed on to every program the agent starts
    finally: signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_what_could_not_be_done_ends_with_1_also_when_it_was_only_a_read_or_never_began(tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "notes")
    (tmp_path / "notes/photo.org").write_bytes(b"* TODO milk\0\0")
    for text in ("note in photo.org: milk", "read photo.org"):
        code, told = command(tmp_path, "ask", text, "--json")
        assert code == 1 and json.loads(told)["status"] == "failed", (text, told[:300])
    assert command(tmp_path, "ask", "read inbox.org")[0] == 0


@pytest.mark.slow
def test_a_daemon_says_as_well_that_it_could_not_be_done(tmp_path):
    (tmp_path / "notes").mkdir(); (tmp_path / "notes/photo.org").write_bytes(b"\0")
    given = {"memex_dir": tmp_path / "notes", "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config"}
    async def asked():
        daemon = Daemon(given, stream=io.StringIO())
        await daemon.start()
        try: return await asyncio.to_thread(command, tmp_path, "ask", "note in photo.org: milk")
        finally: await daemon.stop()
    code, told = asyncio.run(asked())
    assert code == 1 and "NUL bytes" in told, (code, told[:300])


def test_a_heading_is_found_by_its_line_at_once_in_a_long_file(tmp_path):
    "For each heading the last one above the line was looked up: a quarter of an hour for 90,000, seconds for 6,000."
    (tmp_path / "long.org").write_text("".join(f"* TODO item {n}\n" for n in range(6000)))
    index = Index(Root(tmp_path))
    index.refresh()
    steps = 0
    def step():
        nonlocal steps
        steps += 1
    index.db.set_progress_handler(step, 1000)
    assert resolve_target(index, "long.org:4000").places[0].title == "item 3999" and resolve_target(index, "long.org:4000").places[0].line == 4000
    assert steps < 1000, steps                                       # each is a thousand instructions of SQLite: a hundred thousand of them before


def without_rights(tmp_path, *words):
    "A command line that no right of root helps: its exit code and what it says."
    lead = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "MEMEX_DIR": str(tmp_path / "notes")}
    done = subprocess.run([*lead, sys.executable, "-m", "passepartout", *words], env=env, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere, and setpriv is not here to take that away")
def test_the_doctor_sees_that_the_record_or_the_notes_cannot_be_written(tmp_path):
    (tmp_path / "notes").mkdir()
    assert without_rights(tmp_path, "ask", "note: milk")[0] == 0
    journal = next(tmp_path.glob("state/passepartout/*/journal.sqlite"))
    (tmp_path / "notes").chmod(0o500)
    code, told = without_rights(tmp_path, "doctor")
    assert code == 0 and "notes cannot be written" in told.replace(str(tmp_path / "notes"), "notes"), told
    (tmp_path / "notes").chmod(0o700)
    for path, mode in ((journal, 0o400), (journal.parent, 0o500)): path.chmod(mode)
    code, told = without_rights(tmp_path, "doctor")
    assert code == 5 and "The record cannot be written" in told and "chmod -R" in told, told
    code, told = without_rights(tmp_path, "ask", "note: bread")
    assert code == 5 and "all that lies in it writable" in told and "Errno" not in told, told
    subprocess.run(["chmod", "-R", "u+rwX", journal.parent], check=True)          # as the doctor says: SQLite gives a log of its own the rights of the journal
    assert without_rights(tmp_path, "ask", "note: bread") == (0, "Added the note “bread” to inbox.org\n")


def test_settings_that_cannot_be_used_are_told_once(tmp_path):
    (tmp_path / "notes").mkdir(); (tmp_path / "config/passepartout/settings.ini").mkdir(parents=True)
    code, told = command(tmp_path, "ask", "what day is it")
    assert code == 5 and told.count("is not a settings file") == 1, told


def test_a_backup_into_a_folder_gets_a_name_there_and_into_no_folder_names_it(tmp_path):
    (tmp_path / "notes").mkdir()
    assert command(tmp_path, "ask", "note: milk")[0] == 0
    code, told = command(tmp_path, "backup", str(tmp_path / "nowhere" / "x"))
    assert code == 5 and f"{tmp_path / 'nowhere'}. Make the folder first" in told and ".x." not in told, told
    assert command(tmp_path, "backup", str(tmp_path / "notes" / ".."))[0] == 0 and list(tmp_path.glob("passepartout-notes-*.tar.gz"))


@pytest.mark.slow
def test_undo_of_more_than_there_is_says_how_much_it_was_with_its_code(tmp_path):
    (tmp_path / "notes").mkdir(); (tmp_path / "notes/inbox.org").write_text("* Milk\n")
    for text in ("milk", "bread"): assert command(tmp_path, "ask", f"todo: {text}")[0] == 0
    code, told = command(tmp_path, "undo", "3", "--json")
    assert code == 1 and json.loads(told)["status"] == "failed" and "That was 2 of 3" in told and (tmp_path / "notes/inbox.org").read_text() == "* Milk\n", told
    assert command(tmp_path, "undo", "3")[0] == 0                                     # nothing at all to take back: the notes are as they should be
    for text in ("milk", "bread"): assert command(tmp_path, "ask", f"todo: {text}")[0] == 0
    assert command(tmp_path, "undo", "2")[0] == 0


@pytest.mark.slow
def test_undo_that_stops_at_a_note_that_was_changed_says_so_with_its_code(tmp_path):
    (tmp_path / "notes").mkdir()
    for name in ("a", "b"): (tmp_path / f"notes/{name}.org").write_text("* Milk\n"); assert command(tmp_path, "ask", f"note in {name}.org: x")[0] == 0
    (tmp_path / "notes/a.org").write_text("* my own\n")
    code, told = command(tmp_path, "undo", "2")
    assert code == 1 and "That was 1 of 2" in told and (tmp_path / "notes/b.org").read_text() == "* Milk\n" and (tmp_path / "notes/a.org").read_text() == "* my own\n", told


def test_advice_about_a_memex_that_is_none_helps(tmp_path):
    (tmp_path / "file").write_text(""); (tmp_path / "link").symlink_to(tmp_path / "gone")
    for name, told in (("file", "is not a folder"), ("link", "a link that leads to no folder"), ("nowhere", "mkdir -p")):
        code, said = command(tmp_path, "ask", "--memex", str(tmp_path / name), "hello")
        assert code == 5 and told in said and ("mkdir" in said) == (name == "nowhere"), said


@pytest.mark.slow
def test_when_no_model_answers_the_person_hears_why_and_what_helps(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir(); (tmp_path / "config/passepartout").mkdir(parents=True)
    (tmp_path / "config/passepartout/settings.ini").write_text("[assistant]\nprovider_cascade = local\nprovider_urls = local=http://127.0.0.1:1/v1\n")
    for _ in range(4): code, told = command(tmp_path, "ask", "tell me")
    assert code == 1 and "it rests for" in told and "cascade failure" not in told and "reflex" in told, told
    (tmp_path / "config/passepartout/settings.ini").write_text("[assistant]\nprovider_cascade = local\nprovider_urls = local=http://127.0.0.1:2/v1\n")
    assert "nothing answers at http://127.0.0.1:2" in command(tmp_path, "ask", "tell me")[1]        # mended, it is asked at once


BIRTHDAY = "* TODO Ana's birthday\nDEADLINE: <2025-12-03 Wed +1y>\n* Choir, the small concert <2026-11-28 Sat>\n* Choir, the big concert <2026-12-28 Mon>\n* Bank <2026-11-02 Mon>\n"

@pytest.mark.parametrize("text, day", [("remind me in 3 working days to call Ana", "2026-11-24"), ("erinnere mich in drei Arbeitstagen an Ana", "2026-11-24"), ("remind me a week before Ana's birthday to buy a gift", "2026-11-26"),
                                       ("todo buy a gift two days before Ana's birthday", "2026-12-01"), ("erinnere mich eine Woche vor Ana's birthday an das Geschenk", "2026-11-26"), ("remind me 2 business days before the big concert to iron", "2026-12-24")])
def test_working_days_and_days_of_the_notes_are_counted_from(text, day):
    found = understand(text, date(2026, 11, 19), Surroundings(lambda: [parse_org(BIRTHDAY, "a.org")]))
    assert found["payload"]["args"]["scheduled"] == day, found


@pytest.mark.parametrize("text, told", [("remind me a week before the concert to sing", "Which of these days"), ("remind me a week before the bank to pay", "That is over"), ("todo pack a week before the submarine", "no heading called “the submarine” has a date"),])
def test_what_is_not_clear_about_days_and_questions_is_said(text, told):
    around = Surroundings(lambda: [parse_org(BIRTHDAY, "a.org")])
    assert told in understand(text, date(2026, 11, 19), around)["payload"]["text"] and exact_form(text, date(2026, 11, 19), around) is None


@pytest.mark.parametrize("text, told", [("what is due today? when is the bank?", "“Bank” (a.org:5): Monday 2 November 2026"), ("when is Ana's birthday and who is Ana?", "“Ana's birthday” (a.org:1): due Thursday 3 December 2026")])
def test_a_date_and_a_look_asked_for_in_one_line_are_both_answered(text, told):
    around = Surroundings(lambda: [parse_org(BIRTHDAY, "a.org")])
    steps = understand(text, date(2026, 11, 19), around)["payload"]["steps"]
    assert [step["be"] for step in steps if "let" in step] == [told + ", every year" * ("Ana" in text)] and {step["call"] for step in steps if "call" in step} <= {"org-agenda", "org-find"}


def test_what_is_counted_from_the_notes_is_nobodys_exact_word():
    around = Surroundings(lambda: [parse_org(BIRTHDAY, "a.org")])
    assert exact_form("remind me a week before Ana's birthday to buy a gift", date(2026, 11, 19), around) is None
    kept = exact_form("note: a week before Ana's birthday", date(2026, 11, 19), around)
    assert kept["payload"]["args"]["title"] == "a week before Ana's birthday"


@pytest.mark.slow
def test_a_yes_that_leads_to_the_next_question_says_that_the_first_was_done(tmp_path):
    (tmp_path / "notes").mkdir(); (tmp_path / "notes/house.org").write_text("* Roof\n* Gutter\n")
    call = '(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-archive" :ARGS (:PATH "house.org" :HEADING "{0}" :ARCHIVE "house.org_archive") :EXPLANATION "Put the {0} away, it is decided"))'
    (tmp_path / "script").write_text("\n---\n".join(map(call.format, ("Roof", "Gutter"))))
    (tmp_path / "config/passepartout").mkdir(parents=True)
    (tmp_path / "config/passepartout/settings.ini").write_text(f"[assistant]\nprovider_cascade = scripted\nscripted_file = {tmp_path / 'script'}\n")
    code, told = command(tmp_path, "ask", "put the roof and the gutter away", "--json")
    first, = json.loads(told)["approvals"]
    assert code == 4 and "done already" not in command(tmp_path, "approvals", "list")[1]
    (tmp_path / "script").write_text(call.format("Gutter"))                                # each process begins the script anew
    code, told = command(tmp_path, "approvals", "approve", first["id"], first["code"])
    assert code == 4 and told.startswith("Something was done already") and (tmp_path / "notes/house.org").read_text() == "* Gutter\n", told


@pytest.mark.parametrize("text", ["erinnere mich", "erinnere mich morgen", "erinner mich bitte am Freitag um 9"])
def test_a_german_reminder_without_its_matter_asks_for_it(text):
    assert understand(text, date(2026, 11, 19))["payload"]["text"].startswith("Remind you of what?")


@pytest.mark.parametrize("text, title, dates", [
    ("todo: buy milk and eggs tomorrow #shopping", "buy milk and eggs #shopping", {"scheduled": "2026-11-20"}), ("todo: buy milk #shopping #food", "buy milk #shopping #food", {}), ("todo pay invoice 2026-12-01 high priority #work", "[#A] pay invoice #work", {"scheduled": "2026-12-01"}),
    ("remember to water the ferns on Sunday evening", "water the ferns (evening)", {"scheduled": "2026-11-22"}), ("remind me sunday evening to water the ferns", "water the ferns (evening)", {"scheduled": "2026-11-22"}), ("todo call Ana tonight", "call Ana (tonight)", {"scheduled": "2026-11-19"}), ("todo call Ana on Sunday evening at 8", "call Ana", {"scheduled": "2026-11-22 20:00"}),
    ("todo: Zahnarzt anrufen am 24.11. um 10 Uhr", "Zahnarzt anrufen", {"scheduled": "2026-11-24 10:00"}), ("todo call Ana tmrw", "call Ana", {"scheduled": "2026-11-20"}), ("todo: send the parcel +2d", "send the parcel", {"scheduled": "2026-11-21"}),
    ("remind me that the rent is due on the 1st", "the rent is due", {"deadline": "2026-12-01"}), ("dentist 24/11 at 8", "dentist", {"scheduled": "2026-11-24 08:00"}), ("todo: score was 3/2 at half time", "score was 3/2 at half time", {}), ("todo: buy bread and butter tomorrow", "buy bread and butter", {"scheduled": "2026-11-20"})])
def test_nothing_that_was_typed_beside_a_date_is_lost(text, title, dates):
    args = understand(text, date(2026, 11, 19))["payload"]["args"]
    assert (args["title"], {name: args[name] for name in ("scheduled", "deadline") if name in args}) == (title, dates)


@pytest.mark.parametrize("day", ["24/11", "24.11."])
def test_a_day_among_the_words_is_asked_about(day):
    "It may be one, and may be a score; at the end of the line it is one."
    payload = understand(f"todo: score was {day} at half time", date(2026, 11, 19))["payload"]
    assert payload["action"] == "MESSAGE" and "The day of a task, with its hour, stands at the end" in payload["text"]


@pytest.mark.parametrize("text", ["todo: call back on monday or tuesday", "remind me to swim on friday and saturday", "todo Ana anrufen am Montag oder Dienstag"])
def test_two_days_are_asked_about(text):
    told = understand(text, date(2026, 11, 19))["payload"]
    assert told["text"].startswith(("Two days are named", "Several days are named")) and told["declined"]


@pytest.mark.parametrize("said, told, place", [("tag the roof project with urgent", "fits several", "projects/roof.org"), ("tag dentist with teeth", "", "health/dentist.org"), ("move dentist to thursday", "Did you mean “move dentist to 2026-12-03”", "health/dentist.org"), ("schedule haircut for 2026-12-03 at 14:30", "todo haircut on 2026-12-03 14:30", "")])
def test_what_could_be_meant_otherwise_is_not_done(tmp_path, said, told, place):
    "A heading of one file, where another file is called so; a time of today that is over."
    shutil.copytree(Path(__file__).parent.parent / "passepartout" / "sample" / "memex", tmp_path / "notes")
    dentist = tmp_path / "notes" / "health" / "dentist.org"
    dentist.write_text(dentist.read_text().replace("Thu 08:15", "Thu 00:00"))          # over, at whatever hour this runs
    code, answer = command(tmp_path, "ask", "--today", "2026-11-26", said)
    assert (told in answer and code == 7 if told else code == 0) and place in answer, (code, answer)


@pytest.mark.parametrize("words", [pytest.param(each, marks=pytest.mark.slow if each[0] != "cost" else ()) for each in (("jobs",), ("skills",), ("cost",), ("gateway",), ("sessions",), ("jobs", "news"), ("skills", "list"), ("daemon", "--unit"))])
def test_a_mistyped_memex_is_said_by_commands_that_need_no_notes(tmp_path, words):
    (tmp_path / "notes").mkdir()
    code, told = command(tmp_path, *words, "--memex", str(tmp_path / "ntoes"))
    assert code == 5 and "ntoes does not exist" in told and "--memex DIR" in told, told
    assert command(tmp_path, "ask", "note: milk")[0] == 0
    (tmp_path / "notes").rename(tmp_path / "moved")
    assert command(tmp_path, *words, "--memex", str(tmp_path / "notes"))[0] == 0           # what was done there is on record, and can be looked at


def test_a_line_after_the_end_of_a_file_is_no_heading(tmp_path):
    (tmp_path / "notes").mkdir(); (tmp_path / "notes/a.org").write_text("* TODO Milk\n* TODO Bread\n")
    code, told = command(tmp_path, "done", "a.org:99")
    assert code == 1 and "a.org has 2 lines, and no line 99" in told and (tmp_path / "notes/a.org").read_text().count("TODO") == 2, told
    assert command(tmp_path, "done", "a.org:3")[0] == 0                                   # where an editor stands behind the last line


def test_a_state_that_was_refused_is_no_success_to_a_program(tmp_path):
    (tmp_path / "notes").mkdir(); (tmp_path / "notes/a.org").write_text("* TODO Milk\n")
    code, told = command(tmp_path, "todo", "milk", "PURPLE", "--json")
    assert code == 1 and json.loads(told)["status"] == "failed", told


@pytest.mark.parametrize("words, meant", [("tomorow", "Did you mean tomorrow?"), ("nxt wek", "Did you mean next week?"), ("purple", "")])
def test_days_that_are_misspelt_are_named(words, meant):
    from passepartout.terminal.notecommands import nearly
    assert nearly(words, date(2026, 11, 19)).strip() == meant
