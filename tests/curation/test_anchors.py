"""Entries that cite code: proposed and reviewed with their anchors, checked by CI, and labelled by what it found."""

import json
import os
import re
import subprocess
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Role
from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.proposals.proposals import promote_to_global
from curation.proposals.queue import waiting
from curation.services.anchor_client import AnchorServer
from curation.services.anchor_reports import AnchorResult, list_anchors, report_anchors
from curation.upstream.company_client import Away, CompanyWire
from knowledge.anchors.grammar import join_anchors
from knowledge.anchors.verifying import read_entries
from knowledge.capture.triggers import renew_triggers
from knowledge.kb.entries import add_entry, update_entry
from knowledge.memory.facts import correct_fact, store_fact
from knowledge.memory.trigger_levels import set_fact_triggers
from knowledge.models import CompanyEntry, Fact
from tests.curation.company import Company, answering
from tests.curation.factories import approved_entry, decide_at_latest
from tests.factories import browser_of, make_actor, make_key, make_user
from tests.knowledge.factories import make_fact

ROOT = Path(__file__).parents[2]
ANCHOR = "acme/shop#limits.py:RATE"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository whose second commit changes the rate, renames a function and breaks nothing else."""
    folder = tmp_path / "shop"
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "remote", "add", "origin", "git@git.example.com:acme/shop.git")
    _commit(folder, "RATE = 60\n\n\ndef wait():\n    return RATE * 2\n")
    _commit(folder, "RATE = 90\n\n\ndef wait():\n    return RATE * 2\n")
    return folder


@pytest.mark.django_db(transaction=True)
def test_a_commit_makes_an_entry_false_and_its_edit_puts_it_right(live_server, shop, monkeypatch):
    blocking = {"triggers": ["command: curl"], "trigger_levels": {"": "block"}}
    entry = approved_entry(title="Rate limit", content="The rate is 60 a minute.", anchors=[ANCHOR])
    CompanyEntry.objects.filter(pk=entry.pk).update(**blocking)
    reader = make_user()
    hook = Actor.of(reader, key=make_key(reader).key)
    assert '"l":"block"' in renew_triggers(hook, "")
    holds = approved_entry(title="Waiting", content="Wait twice as long.", anchors=["limits.py:wait"])
    approved_entry(title="Elsewhere", content="Web has its own.", anchors=["acme/web#limits.py:RATE"])
    reporter = make_user("ci", role=Role.MEMBER)
    monkeypatch.setenv("BIGMIND_API_KEY", make_key(reporter).text)
    anchors, summary = shop / "anchors.json", shop / "summary.md"
    server = {"server": live_server.url, "folder": shop}

    call_command("verify", **server, save=anchors)
    told = _verify(folder=shop, anchors=anchors, base="HEAD^", format="github", summary=summary)
    online = _verify(**server, base="HEAD^", json=True, submit=True, propose=True)

    assert f"::warning file=limits.py,line=1,title={entry.handle} becomes false::" in told
    assert "-The rate is 60 a minute.\n+The rate is 90 a minute." in summary.read_text()
    found = {row["handle"]: row["verdict"] for row in json.loads(online)["entries"]}
    assert found == {entry.handle: "false", holds.handle: "holds"}
    entry.refresh_from_db()
    assert entry.freshness == "stale"
    assert '"l":"advise"' in renew_triggers(hook, "")  # nobody is held back by what is false
    assert [one.pk for one in waiting("reported")] == [entry.pk]
    proposal = CompanyEntry.objects.get(status="pending")
    assert (proposal.content, proposal.proposed_by) == ("The rate is 90 a minute.", reporter)
    holds.refresh_from_db()
    head = _git(shop, "rev-parse", "HEAD")
    assert (holds.freshness, holds.anchor_states[0].held_at) == ("verified", head)
    page = _page(entry)
    assert "which the entry says" in page
    assert "An edit was proposed" not in page  # readers are told what is decided
    story = _page_at("company-entry", entry.pk, make_actor(curator=True))
    assert story.index("An edit was proposed") < story.index(f"{proposal.handle} {proposal.title}")
    assert head[:12] in page

    curator = make_actor(curator=True)
    decide_at_latest(curator, entry_id=proposal.pk, action="merge", into=entry.pk, content=proposal.content)

    entry.refresh_from_db()
    assert (entry.freshness, entry.content) == ("verified", "The rate is 90 a minute.")
    assert '"l":"block"' in renew_triggers(hook, "")
    assert str(list_anchors(curator).items[0].anchors[0]).endswith(f"@{head}")


@pytest.mark.django_db(transaction=True)
def test_code_that_comes_back_brings_the_label_back(live_server: Any, shop: Path, monkeypatch: Any) -> None:
    entry = approved_entry(title="Rate limit", content="The rate is 60 a minute.", anchors=[ANCHOR])
    before = entry.review_after
    monkeypatch.setenv("BIGMIND_API_KEY", make_key().text)
    server = {"server": live_server.url, "folder": shop}
    _verify(**server, base="HEAD^", submit=True)
    _verify(**server, base="HEAD^", submit=True)
    entry.refresh_from_db()
    assert entry.review_after == timezone.localdate() - timedelta(days=30)
    assert entry.reviews.filter(action="check").count() == 1
    _commit(shop, "RATE = 60\n\n\ndef wait():\n    return RATE * 2\n")

    _verify(**server, base="HEAD~2", submit=True)

    entry.refresh_from_db()
    assert (entry.freshness, entry.review_after) == ("verified", before)


@pytest.mark.django_db
def test_anchors_are_reviewed_like_the_rest_of_a_proposal() -> None:
    said = {"category": "standard", "title": "Rate", "content": "The rate is 60."}
    actor, curator = make_actor(), make_actor(curator=True)
    proposal = carry_out(promote_to_global, actor, {**said, "anchors": [ANCHOR, f" {ANCHOR} "]}).entry
    with pytest.raises(Invalid, match="names no file"):
        carry_out(promote_to_global, actor, {**said, "anchors": ["../../etc/passwd:root"]})

    decided = decide_at_latest(curator, entry_id=proposal.pk, action="approve", anchors=["limits.py:setting RATE=60"])

    assert proposal.anchors == [ANCHOR]
    assert decided.review.changed["anchors"] == ([ANCHOR], ["limits.py:setting RATE=60"])


@pytest.mark.django_db(transaction=True)
def test_facts_and_shared_entries_are_checked_as_company_knowledge_is(live_server, shop, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    alice, bob = make_actor(), make_actor()
    fact = _anchored_fact(alice, "The rate is 60 a minute.")
    _anchored_fact(bob, "Bob knows that the rate is 60.")
    entry = add_entry(bob, content="Clients send 60 a minute.", entry_type="fact", anchors=[ANCHOR]).entry
    monkeypatch.setenv("BIGMIND_API_KEY", make_key(alice.user).text)
    server = {"server": live_server.url, "folder": shop}

    told = json.loads(_verify(**server, base="HEAD^", json=True, submit=True, propose=True))

    assert {row["handle"]: row["verdict"] for row in told["entries"]} == {
        f"F{fact.number}": "false",
        f"entry:{entry.pk}": "false",
    }
    assert not CompanyEntry.objects.exists()  # what is private, or nobody's to decide, is proposed to nobody
    assert "stale: its code changed" in _told(alice, "memory_start_session")
    assert "— stale: its code changed" in _told(alice, "memory_list_facts")
    assert "(stale: it changed)" in _told(bob, "kb_get", id=str(entry.pk))
    assert "stale: its code changed" in _told(bob, "kb_search", query="clients send")
    assert "which the entry says" in _page_at("memory-fact", fact.pk, alice)

    head = _git(shop, "rev-parse", "HEAD")
    corrected = correct_fact(alice, fact_id=fact.pk, fact="The rate is 90 a minute.")
    update_entry(bob, id=entry.pk, content="Clients send 90 a minute.")

    assert (corrected.freshness, corrected.anchors) == ("", [ANCHOR])
    assert list_anchors(alice, kind="fact").items[0].anchors == [f"{ANCHOR}@{head}"]
    assert json.loads(_verify(**server, json=True))["counts"]["holds"] == 2


@pytest.mark.django_db(transaction=True)
def test_what_is_private_is_not_told_where_others_read_the_result(live_server, shop, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    curator = make_actor(curator=True)
    _anchored_fact(curator, "The rate is 60 a minute.")
    server = {"server": live_server.url, "folder": shop, "base": "HEAD^"}

    def facts_told(**options: Any) -> bool:
        return "becomes false" in _verify(**server, **options)

    monkeypatch.setenv("BIGMIND_API_KEY", make_key(curator.user, scopes=["read", "curate"]).text)
    assert not facts_told()
    monkeypatch.setenv("BIGMIND_API_KEY", make_key(curator.user).text)
    assert facts_told()
    assert not facts_told(format="github")
    assert not facts_told(summary=shop / "summary.md")
    monkeypatch.setenv("CI", "true")
    assert not facts_told()


@pytest.mark.django_db
def test_a_fact_rests_on_the_code_of_what_it_takes_the_place_of(actor):
    old = _anchored_fact(actor, "The rate is 60 a minute.")

    new = store_fact(actor, category="codebase", fact="We allow 90.", supersedes=[old.number]).fact

    assert new.anchors == [ANCHOR]
    assert set_fact_triggers(actor, fact_id=new.number, anchors=[]).anchors == []


@pytest.mark.django_db
def test_nobody_is_told_of_the_code_that_facts_of_others_rest_on() -> None:
    alice, bob = make_actor(), make_actor()
    fact = _anchored_fact(alice, "The rate is 60 a minute.")
    result = AnchorResult(kind="fact", id=str(fact.pk), anchor=ANCHOR, verdict="false", reason="It is 90.")
    said = {"repository": "acme/shop", "commit": "3f2a1bc4", "results": [result]}

    theirs, own = report_anchors(bob, **said), report_anchors(alice, **said)

    assert not list_anchors(bob, kind="fact").items
    assert (theirs.checked, theirs.unknown, theirs.false) == (0, 1, [])
    assert (own.checked, own.unknown, own.false) == (1, 0, [f"F{fact.number}"])


@pytest.mark.django_db
def test_an_anchor_of_the_greatest_length_is_checked_reported_and_told_again_and_again() -> None:
    actor, long = make_actor(), f"{'o' * 290}#a.py:RATE"
    entry = add_entry(actor, content="The rate is 60.", entry_type="fact", anchors=[long[-300:]]).entry
    cited = entry.anchors[0]

    for commit in ("3" * 40, "4" * 64):
        told = list_anchors(actor, kind="entry").items[0].anchors[0]
        result = {"kind": "entry", "id": str(entry.pk), "anchor": told, "verdict": "holds"}
        said = {"repository": "acme/shop", "commit": commit, "results": [result]}
        reported = perform(CATALOGUE["anchors_report"], actor, said, transport="rest").value
        assert (reported.checked, reported.unknown) == (1, 0)

    [read] = read_entries([item.model_dump() for item in list_anchors(actor, kind="entry").items])
    assert read.anchors == [f"{cited}@{'4' * 64}"]


@pytest.mark.django_db(transaction=True)
def test_what_code_holds_lets_no_report_and_no_proposal_be_refused(live_server, shop, monkeypatch):
    anchors = ["acme/shop#limits.py:RATE", "acme/shop#limits.py:API_KEY"]
    entry = approved_entry(title="Rates", content="The rate is 90 a minute, with key=1.", anchors=anchors)
    holds = approved_entry(title="Waiting", content="Wait twice as long.", anchors=["limits.py:wait"])
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY3zA5"
    _commit(shop, f"RATE = '\x1b[2J9'\nAPI_KEY = '{token}'\n\n\ndef wait():\n    return RATE * 2\n")
    _commit(shop, f"RATE = '\x1b[2J0'\nAPI_KEY = '{token[:-1]}Q'\n\n\ndef wait():\n    return RATE * 2\n")
    monkeypatch.setenv("BIGMIND_API_KEY", make_key(make_user(), scopes=("read", "write")).text)

    _verify(folder=shop, base="HEAD^", server=live_server.url, submit=True, propose=True)

    entry.refresh_from_db()
    holds.refresh_from_db()
    assert {check["verdict"] for check in entry.anchor_checks.values()} <= {"doubtful", "false"}
    assert len(entry.anchor_checks) == 2
    assert holds.anchor_checks["limits.py:wait"]["verdict"] == "holds"
    assert token[4:30] not in json.dumps(entry.anchor_checks)


@pytest.mark.django_db
@pytest.mark.parametrize("moved_to", ["::", "a.py:setting", "../a.py:RATE", "/etc/passwd"])
def test_a_report_cannot_let_an_anchor_vanish_by_moving_it_to_what_is_none(moved_to: str) -> None:
    actor, entry = make_actor(), approved_entry(anchors=[ANCHOR])
    result = {"id": str(entry.pk), "anchor": ANCHOR, "verdict": "moved", "moved_to": moved_to}

    with pytest.raises(Invalid, match="moved_to"):
        perform(
            CATALOGUE["anchors_report"],
            actor,
            {"repository": "acme/shop", "commit": "3f2a1bc4", "results": [result]},
            transport="rest",
        )

    assert list_anchors(actor).items[0].anchors == [ANCHOR]


@pytest.mark.django_db
def test_what_is_no_anchor_any_more_hinders_neither_checks_nor_merges() -> None:
    actor, stored = make_actor(), ["a.py:setting", "[removed 2026-11-23: leaked]", "b.py:()"]
    entry = approved_entry(anchors=[ANCHOR])
    CompanyEntry.objects.filter(pk=entry.pk).update(anchors=[*stored, ANCHOR])
    result = AnchorResult(id=str(entry.pk), anchor="", verdict="false", reason="It is 90.")

    reported = report_anchors(actor, repository="acme/shop", commit="3f2a1bc4", results=[result])
    told = list_anchors(actor).items[0]

    assert (reported.checked, reported.unknown) == (0, 1)
    assert ANCHOR in told.anchors
    assert join_anchors([ANCHOR, "c.py"], [*stored, ANCHOR]) == [ANCHOR, "c.py", "[removed 2026-11-23: leaked]"]


@pytest.mark.parametrize(
    ("told", "runs"),
    [
        ({"VERIFY_BASE": "0" * 40}, True),  # GitHub names it where a branch is pushed for the first time
        ({"VERIFY_BASE": "--submit", "BIGMIND_API_KEY": "bm_x"}, True),
        ({"VERIFY_BASE": "3f2a1bc4", "VERIFY_FORK": "true"}, False),
        ({"VERIFY_BASE": "3f2a1bc4", "VERIFY_FORK": "true", "BIGMIND_API_KEY": "bm_x"}, True),
    ],
)
def test_the_github_action_takes_what_github_tells_it(tmp_path: Path, told: dict[str, str], runs: bool) -> None:
    script = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-1]["run"]
    program = tmp_path / "bigmind" / "bin" / "bigmind"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    variables = dict.fromkeys(re.findall(r"\$\{?(VERIFY_\w+|BIGMIND_API_KEY)", script), "")
    given = {**variables, "VERIFY_SERVER": "https://b.example", "RUNNER_TEMP": str(tmp_path), **told}

    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env={"PATH": os.environ["PATH"], "GITHUB_STEP_SUMMARY": "s", **given},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert ("verify" in done.stdout.splitlines()) is runs
    assert "--submit" not in done.stdout.splitlines()
    assert "0" * 40 not in done.stdout


def _anchored_fact(actor: Actor, text: str) -> Fact:
    fact = make_fact(actor, text, category="codebase")
    return carry_out(set_fact_triggers, actor, {"fact_id": fact.number, "anchors": [ANCHOR]})


def _told(actor: Actor, name: str, **arguments: Any) -> str:
    """Return what an agent reads."""
    return perform(CATALOGUE[name], actor, arguments, transport="mcp").markdown()


def _page_at(route: str, key: object, actor: Actor) -> str:
    return browser_of(actor.user).get(reverse(route, args=[key])).text


def test_a_list_that_changes_while_it_is_read_is_read_once_more() -> None:
    class Growing(list[Any]):
        """Grows while its second page is read, as often as is said."""

        times = 1

        def __getitem__(self, part: Any) -> Any:
            if part.start and self.times:
                self.times -= 1
                self.append({**next(iter(self)), "id": str(len(self))})
            return super().__getitem__(part)

    with answering(Company()) as company:
        row = {"kind": "company", "handle": "C1", "title": "A", "content": "B", "category": "rule", "anchors": [ANCHOR]}
        rows = Growing({**row, "id": str(number)} for number in range(150))
        company.approved = rows
        server = AnchorServer(CompanyWire(company.url, "key"))

        read = [entry.id for entry in server.entries(own=False)]
        rows.times = 2

        assert read[:151] == [str(number) for number in range(151)]
        with pytest.raises(Away, match="changed while it was read"):
            server.entries(own=False)


def _verify(**options: Any) -> str:
    """Return what `bigmind verify` prints."""
    out = StringIO()
    # The exit code is 1 where an entry is false; what is asserted is what was printed.
    with suppress(CommandError):
        call_command("verify", stdout=out, **options)
    return out.getvalue()


def _page(entry: CompanyEntry) -> str:
    return browser_of(make_user()).get(reverse("company-entry", args=[entry.pk])).text


def _commit(folder: Path, text: str) -> None:
    (folder / "limits.py").write_text(text)
    _git(folder, "add", "limits.py")
    _git(folder, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "Change.")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
