"""A memory in the formats of other programs: what goes out comes back, and what came from a program returns to it."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.template.loader import render_to_string
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Profile
from bigmind.core.errors import Invalid
from bigmind.core.signed_documents import sign
from bigmind.privacy.screening.policy import collect_notices
from curation.services.foreign_imports import import_bundle
from knowledge.memory.facts import deprecate_fact
from knowledge.models import Fact, Hypothesis, Note, Session, Summary
from knowledge.parsers.archives import FilesInMemory, bundle_of
from knowledge.transfer.import_receipts import KEPT_NAMED, MovedIn
from knowledge.transfer.left_out_columns import IN_OTHER_FORMATS
from knowledge.transfer.own_imports import Imported, import_memory
from knowledge.transfer.program_formats import export_memory, files_for, write_items
from knowledge.transfer.readers.formats import WRITTEN, format_of, read
from knowledge.transfer.readers.items import DRAFTS, FIELDS, Item
from knowledge.transfer.readers.provenance import NAME, PURPOSE
from knowledge.transfer.readers.uploads import read_files
from tests.factories import make_actor
from tests.knowledge.factories import columns_at_default, make_fact, make_note
from tests.processor_time import holds_too_long, seconds_of

from . import sources
from .passports import OWN, fields_of, fill_memory

PROGRAMS = sorted(WRITTEN)
MOMENTS = st.datetimes(datetime(2001, 1, 1), datetime(2026, 1, 1)).map(lambda at: at.isoformat() + "Z")
HARD = [
    "- a",
    "---\na: b\n---",
    "no",
    "1e3",
    "2026-01-24",
    "# A [b](c)",
    "a: b",
    "  x\n\n y ",
    "é\u2028\U0001f600\t|\r\n&*!",
    "[x] y (z) #t",
]
TEXTS = st.one_of(
    st.sampled_from(HARD),
    st.text(st.characters(categories=("L", "N", "P", "Zs")), min_size=1, max_size=300),
).filter(str.strip)
# With an alphabet, because hypothesis would try all of Unicode first.
NAMES = st.from_regex(r"[a-z0-9][a-z0-9 ./_-]{0,20}[a-z0-9]", fullmatch=True, alphabet=st.characters(max_codepoint=127))
IDS = st.uuids().map(str)
STRATEGIES = {
    "profile": {"role": NAMES, "preferences": TEXTS, "pinned_facts": st.lists(TEXTS, max_size=3)},
    "fact": {
        "fact": TEXTS,
        "category": st.sampled_from(["preference", "decision", "codebase", "constraint", "identity"]),
        "confidence": st.sampled_from([0.25, 0.5, 0.9]),
        "project": NAMES,
        "session": IDS,
        "valid_from": st.just("2000-01-01T00:00:00Z"),
        "valid_until": MOMENTS,
        "triggers": st.lists(st.sampled_from(["command: rm -rf", "path: db/*", "error: no: space"]), unique=True),
        "trigger_level": st.sampled_from(["off", "shadow", "ask", "block"]),
        "anchors": st.lists(st.sampled_from(["acme/shop#a.py:f@3f2a1bc", "a.py"]), unique=True),
        "created_at": MOMENTS,
        "updated_at": MOMENTS,
    },
    "note": {"domain": NAMES, "key": NAMES, "content": TEXTS, "project": NAMES, "expires_at": MOMENTS}
    | {"created_at": MOMENTS, "updated_at": MOMENTS},
    "hypothesis": {
        "hypothesis": TEXTS,
        "confidence": st.sampled_from([0.25, 0.5, 0.9]),
        "status": st.sampled_from(["confirmed", "refuted"]),
        "resolution": TEXTS,
        "project": NAMES,
        "session": IDS,
        "check_on": st.dates().map(str),
        "created_at": MOMENTS,
        "resolved_at": MOMENTS,
    },
}


def _item(kind: str) -> st.SearchStrategy[Item]:
    return st.fixed_dictionaries(STRATEGIES[kind]).map(lambda fields: Item(kind, fields))


ITEMS = st.lists(
    st.one_of(*map(_item, STRATEGIES)), min_size=1, max_size=6, unique_by=lambda item: (item.kind, item.text)
)


def _bundle(name: str, files: dict[str, bytes]) -> FilesInMemory:
    return FilesInMemory(name, files)


@pytest.mark.parametrize("program", PROGRAMS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(items=ITEMS)
def test_every_field_of_any_item_comes_back_from_every_format(program, items):
    written: dict[str, bytes] = {}
    write_items(WRITTEN[program], items, written, {})
    bundle = _bundle("mine", written)

    reading = read(bundle, format_of(bundle))

    assert (format_of(bundle).name, reading.refused) == (program, [])
    found = {(placed.draft.__class__, _text_of(placed.draft)): placed.draft for placed in reversed(reading.drafts)}
    for item in items:
        expected = DRAFTS[item.kind].model_validate(
            {**item.fields, **({"session": f"bigmind:{item.fields['session']}"} if "session" in item.fields else {})}
        )
        assert found[expected.__class__, _text_of(expected)] == expected


THOUSANDS = {
    "facts of one project": lambda number: Item("fact", {"fact": f"Fact {number}.", "category": "decision"}),
    "hypotheses that say the same": lambda number: Item("hypothesis", {"hypothesis": "It rains.", "session": ""}),
    "notes of nearly one name": lambda number: Item(
        "note", {"domain": "a", "key": f"a{'!' * (number % 200)}", "content": "b"}
    ),
}


@pytest.mark.parametrize("which", THOUSANDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_writing_takes_time_that_grows_with_the_number_of_items(program, which):
    def listed(number: int) -> list[Item]:
        return [THOUSANDS[which](one) for one in range(number)]

    def write(items: list[Item]) -> None:
        # What the program has listed already is compared with what is added to the list.
        listing = "".join(f"- [{one.title}](fact_{number}.md): {one.text}\n" for number, one in enumerate(items))
        write_items(WRITTEN[program], items, {"MEMORY.md": listing.encode(), "index.md": listing.encode()}, {})

    assert not holds_too_long(write, listed, sizes=(250, 500, 1_000), seconds=2.0, given_up=4.0)


def test_of_many_that_say_the_same_each_gets_a_file_of_its_own():
    items = [Item("hypothesis", {"hypothesis": "It rains."})] * 4
    written: dict[str, bytes] = {}
    write_items(WRITTEN["basic-memory"], items, written, {"elsewhere.md": 1})

    names = [path.removesuffix(".md").rpartition(" ")[2] for path in written]

    assert names[1:] == ["(2)", "(3)", "(4)"]


def test_of_many_that_say_the_same_each_gets_a_hash_of_its_own():
    written: dict[str, bytes] = {}
    write_items(WRITTEN["mcp-memory-service"], [Item("hypothesis", {"hypothesis": "It rains."})] * 4, written, {})

    memories = json.loads(written["memories.json"])["memories"]

    assert len({one["content_hash"] for one in memories}) == 4


def _text_of(draft) -> str:
    kind = next(kind for kind, one in DRAFTS.items() if one is draft.__class__)
    return Item(kind, draft.model_dump()).text


@pytest.mark.django_db
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_memory_goes_to_a_program_and_comes_back_whole(program):
    ada, bob = fill_memory(make_actor()), make_actor()
    bundle = _bundle("passport", files_for(ada, program))

    first = import_bundle(bob, bundle)
    again = import_bundle(bob, bundle)
    home = import_bundle(ada, bundle)

    before, after = fields_of(ada), fields_of(bob)
    lost = {name: (value, after.get(name)) for name, value in before.items() if after.get(name) != value}
    assert (first.format, first.refused, lost) == (program, [], {})
    assert set(after) == set(before)
    assert not any((*again.added.values(), *home.added.values()))


@pytest.mark.django_db
@pytest.mark.parametrize("copied", IN_OTHER_FORMATS, ids=lambda copied: copied.model.__name__)
def test_the_memory_that_goes_around_says_something_in_every_column(copied):
    fill_memory(make_actor())

    silent = [columns_at_default(row) & set(copied.names()) - OWN for row in copied.model.objects.all()]

    assert set() in silent


@pytest.mark.django_db
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_known_and_told_otherwise_stays_and_is_named(program):
    ada, bob = fill_memory(make_actor()), make_actor()
    theirs = _bundle("theirs", files_for(ada, program))
    import_bundle(bob, theirs)
    ours = {Fact: {"triggers": [], "confidence": 0.9}, Hypothesis: {"project": "shop"}, Note: {"content": "Later."}}
    for model, values in ours.items():
        model.objects.filter(user=bob.user, project="depot").update(**values)
    Session.objects.filter(user=bob.user, project="depot").update(importance=2)
    Summary.objects.filter(session__user=bob.user).delete()
    before = fields_of(bob)

    report = import_bundle(bob, theirs)

    session, belief = Session.objects.get(user=bob.user, importance=2), Hypothesis.objects.get(user=bob.user)
    fact = Fact.objects.get(user=bob.user, project="depot")
    assert report.kept == [
        f"session {session.handle} (importance, summary, key_facts, code_refs)",
        f"fact F{fact.number} (confidence, triggers)",
        f"hypothesis H{belief.number} (project)",
        "note email/out/dymon: packages (content)",
    ]
    assert fields_of(bob) == before


@pytest.mark.django_db
def test_a_document_names_what_is_known_and_said_otherwise_here():
    ada = fill_memory(make_actor())
    document = export_memory(ada)
    Fact.objects.filter(project="depot").update(triggers=[], confidence=0.9)
    Hypothesis.objects.update(project="shop")
    Note.objects.update(content="Later.")
    Session.objects.filter(project="depot").update(importance=2)
    Profile.objects.update(role="Chef")
    before = fields_of(ada)

    imported = import_memory(ada, document=document)

    session, belief = Session.objects.get(importance=2), Hypothesis.objects.get()
    kept = [
        "profile (role)",
        f"session {session.handle} (importance)",
        f"fact F{Fact.objects.get(project='depot').number} (confidence, triggers)",
        "note email/out/dymon: packages (content)",
        f"hypothesis H{belief.number} (project)",
    ]
    assert imported.notices == [f"Says otherwise here, and stays: {what}." for what in kept]
    assert fields_of(ada) == before


def test_however_much_else_there_is_to_notice_what_stays_is_named():
    report = MovedIn("bigmind-memory", dry_run=False, notices=["A trigger starts at advise."] * KEPT_NAMED)

    for number in range(KEPT_NAMED + 1):
        report.keep_different(f"note {number}", ["content"])
    report.keep_different("note of the same words", [])

    assert report.kept == [f"note {number} (content)" for number in range(KEPT_NAMED)]


def test_an_agent_reads_what_an_import_refused_and_what_it_left():
    imported = Imported(dry_run=False, refused=["a.md: is not UTF-8."], notices=["Says otherwise here: note a/b."])

    read = render_to_string("agent/imported.md", {"reply": imported}, using="agent")

    assert read.splitlines()[1:] == ["- Refused: a.md: is not UTF-8.", "- Says otherwise here: note a/b."]


@pytest.mark.django_db
@pytest.mark.parametrize("program", ["bigmind", "mem0"])
@pytest.mark.parametrize(("scopes", "level"), [(None, "block"), ({"read", "write"}, "advise")])
def test_an_agent_decides_no_level_of_triggers_by_an_import(program, scopes, level):
    bob = make_actor(scopes=scopes)
    document = export_memory(fill_memory(make_actor()), program=program)

    with collect_notices() as notices:
        import_memory(bob, document=document)

    fact = Fact.objects.of(bob.user).exclude(triggers=[]).get()
    assert (fact.triggers, fact.trigger_level) == (["command: git push --force"], level)
    assert any("only the user decides" in notice for notice in notices) == (level == "advise")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"triggers": ["whenever"]}, "triggers"),
        ({"trigger_level": "fatal"}, "level"),
        ({"anchors": ["/etc"]}, "anchors"),
    ],
)
def test_triggers_and_anchors_of_a_file_are_those_that_an_agent_may_send(said, field):
    fact = {"memory": "No force.", "metadata": {"bigmind": {"bigmind": "fact", "category": "constraint", **said}}}

    report = import_bundle(make_actor(), _bundle("theirs", {"mem0.json": json.dumps([fact]).encode()}))

    assert [field in line for line in report.refused] == [True]
    assert not Fact.objects.exists()


FOREIGN = {
    "mem0": {"mem0.json": json.dumps(sources.MEM0)},
    "memory-server": {"memory.jsonl": sources.MEMORY_SERVER},
    "mcp-memory-service": {"memories.json": json.dumps(sources.MCP_MEMORY_SERVICE)},
    "basic-memory": {"design/auth.md": sources.BASIC_NOTE, "todo.md": "# Todo\r\n\r\n- [ ] tests\r\n"},
    "okf": sources.OKF,
    "claude-memory": sources.CLAUDE_MEMORY,
    "codex-memory": sources.CODEX_MEMORY,
}


@pytest.mark.django_db
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_program_wrote_goes_back_to_it_as_it_was(program):
    actor, files = make_actor(), {path: text.encode() for path, text in FOREIGN[program].items()}

    report = import_bundle(actor, _bundle("theirs", files))
    written = files_for(actor, program)

    assert (report.format, report.refused) == (program, [])
    assert Fact.objects.of(actor.user).exists() or Note.objects.of(actor.user).exists()
    assert {path: _plain(path, content) for path, content in written.items() if path != NAME and path in files} == {
        path: _plain(path, content) for path, content in files.items()
    }


def _plain(path: str, content: bytes) -> object:
    """What a file says, where its program reads more than its bytes."""
    if path.endswith(".json"):
        document = json.loads(content)
        return {name: value for name, value in document.items() if name != "export_metadata"}
    return [json.loads(line) for line in content.splitlines()] if path.endswith(".jsonl") else content


@pytest.mark.django_db
def test_what_was_said_of_sources_is_believed_as_far_as_the_signature_goes(settings):
    ada, bob = make_actor(), make_actor()
    make_fact(ada, "Prefers pytest.")
    make_fact(ada, "Likes tea.")
    files = files_for(ada, "okf")
    signed = json.loads(files[NAME])
    changed = {path: content.replace(b"Likes tea", b"Likes rum") for path, content in files.items() if path != NAME}
    forged = json.dumps({**signed, "signed": {**signed["signed"], "by": "the admin"}}).encode()

    edited = import_bundle(bob, _bundle("edited", {**changed, NAME: files[NAME]}), dry_run=True)
    lied = import_bundle(bob, _bundle("forged", {**files, NAME: forged}), dry_run=True)
    whole = import_bundle(bob, _bundle("whole", files))
    settings.SECRET_KEY = "another instance"
    foreign = import_bundle(make_actor(), _bundle("foreign", files), dry_run=True)

    assert edited.notices == [
        "1 items are as this BigMind signed them; 1 were changed or added since. Nothing is approved by that."
    ]
    assert "signature does not match" in lied.notices[0]
    assert "as another BigMind (key " in foreign.notices[0]
    assert whole.notices == ["2 items are as this BigMind signed them. Nothing is approved by that."]
    assert Fact.objects.of(bob.user).first().provenance["signed"]["key"] == signed["public_key"][:16]


@pytest.mark.django_db
def test_what_was_set_aside_stays_and_an_unknown_program_is_refused(actor):
    deprecate_fact(actor, fact_id=make_fact(actor, "Lives in Rome.").pk, reason="Moved.")

    assert b"Rome" not in b"".join(files_for(actor, "mem0").values())
    with pytest.raises(Invalid, match="program"):
        files_for(actor, "notion")


@pytest.mark.django_db
def test_the_operations_take_the_files_of_a_program_out_and_in():
    ada, bob = fill_memory(make_actor()), make_actor()

    document = export_memory(ada, program="memory-server")
    rehearsed = import_memory(bob, document=document, dry_run=True)
    there = Fact.objects.of(bob.user).count()
    imported = import_memory(bob, document=document)

    assert (rehearsed.added, there) == (imported.added, 0)
    assert (imported.added["facts"], imported.refused) == (2, [])
    assert fields_of(ada) == fields_of(bob)


@pytest.mark.django_db
def test_a_large_document_is_known_as_our_own_too():
    ada, bob = make_actor(), make_actor()
    make_fact(ada, "Prefers pytest. " * 600)

    imported = import_memory(bob, document=export_memory(ada, program="okf"))

    assert (imported.added["facts"], imported.refused) == (1, [])
    assert imported.notices == ["1 items are as this BigMind signed them. Nothing is approved by that."]


def test_files_that_take_long_to_read_hold_up_nobody_else():
    tables = "a|b\n-|-\n" * 3_000

    took = seconds_of(lambda: read_files(FilesInMemory("files", {"CLAUDE.md": tables.encode()}), "markdown"))

    assert took < 0.3  # Here it would be a second and more.


def test_a_wide_table_is_refused_before_it_becomes_a_hundred_times_as_large():
    columns = 64
    table = "|" + "a|" * columns + "\n|" + "-|" * columns + "\n" + "|\n" * 2_600

    reading = read_files(FilesInMemory("files", {"CLAUDE.md": table.encode()[:8_000]}), "markdown").reading

    assert "pieces of markdown" in reading.refused[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "place", ["../../evil.md", "/etc/evil.md", ".claude/plugins/x/main.js", ".git/hooks/x.md", "C:\\x.md", "x.exe"]
)
def test_no_file_is_written_outside_its_folder_or_into_hidden_ones(tmp_path: Path, place: str):
    actor, folder = make_actor(), tmp_path / "deep" / "memory"
    Note.objects.filter(pk=make_note(actor, "Evil.", domain="x", key="y").pk).update(
        provenance={"source": "claude-memory:notes", "place": place, "text": "x"}
    )

    call_command("memory_export_to", "claude-memory", str(folder), user=actor.user.username)

    written = [path.relative_to(folder) for path in tmp_path.rglob("*") if path.is_file()]
    files = [path for path in written if path.suffix != ".json"]
    assert files
    assert all(path.suffix == ".md" and not path.parts[0].startswith(".") for path in files)


@pytest.mark.django_db
def test_links_in_the_folder_are_never_followed(tmp_path: Path):
    actor, folder, outside = make_actor(), tmp_path / "memory", tmp_path / "outside"
    make_note(actor, "Mine.", domain="work", key="deploys")
    call_command("memory_export_to", "okf", str(folder), user=actor.user.username)
    outside.mkdir()
    inside = [path for path in folder.iterdir() if path.is_dir()]
    for path in inside:
        path.rename(outside / path.name)
        path.symlink_to(outside / path.name)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    Note.objects.update(content="Ours.")

    call_command("memory_export_to", "okf", str(folder), user=actor.user.username)

    assert inside
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before


@pytest.mark.django_db
def test_the_command_never_writes_over_what_was_edited_there(tmp_path, actor):
    make_fact(actor, "Prefers pytest.")
    for _ in range(2):
        call_command("memory_export_to", "claude-memory", str(tmp_path), user=actor.user.username)
    index = tmp_path / "MEMORY.md"
    index.write_text("# Mine\n")
    make_fact(actor, "Likes tea.")

    call_command("memory_export_to", "claude-memory", str(tmp_path), user=actor.user.username)

    assert index.read_text() == "# Mine\n"
    assert len(list(tmp_path.glob("fact_*.md"))) == 2
    assert not import_bundle(actor, bundle_of(tmp_path)).refused


@pytest.mark.django_db
@pytest.mark.parametrize(
    "row", [{"memory": "x", "n": float("nan")}, {"memory": "x", "a\0": 1}, {"memory": "x", "note": "y" * 20_000}]
)
def test_what_cannot_be_kept_of_a_row_refuses_that_row_alone(row, actor):
    files = {"mem0.json": json.dumps([row, {"memory": "Likes tea."}]).encode()}

    report = import_bundle(actor, _bundle("hostile", files))

    assert (len(report.refused), report.added["facts"]) == (1, 1)


@pytest.mark.django_db
def test_own_items_that_somebody_wrote_by_hand_get_no_approval_and_break_nothing():
    ours = "bigmind: {bigmind: fact, status: approved, category: nonsense}"
    concept = f'---\ntype: Fact\nverified: {{by: "human:admin", at: 2026-01-01}}\n{ours}\n---\nx\n'
    files = {"a.md": concept.encode(), "b.md": b"---\ntype: X\ngenerated: &a {by: x}\nc: *a\n---\nText\n"}
    signed = {"format": "bigmind-provenance", "items": [{"text": 5}, "x", {"text": "y"}]}
    files[NAME] = json.dumps({"signed": signed, **sign(signed, purpose=PURPOSE)}).encode()

    report = import_bundle(make_actor(), _bundle("hostile", files), name="okf")

    assert [line.partition(":")[0] for line in report.refused] == ["a.md"]
    assert "category" in report.refused[0]
    assert not Fact.objects.exists()


def test_the_strategies_say_all_that_is_known_of_an_item():
    assert {kind: set(fields) for kind, fields in STRATEGIES.items()} == {
        kind: set(FIELDS[kind]) for kind in STRATEGIES
    }
