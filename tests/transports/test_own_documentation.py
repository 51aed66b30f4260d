"""BigMind's own documentation: an agent can ask BigMind about BigMind."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from bigmind.core.errors import Invalid
from bigmind.environment import Environment
from bigmind.management.own_documentation import generate
from bigmind.management.sources import GENERATORS
from bigmind.operations import CATALOGUE
from knowledge.argument_types import ReferenceKind
from knowledge.references.readers.reference_drafts import ReferenceDraft
from knowledge.references.readers.registry import Source, generator_for


@pytest.fixture(scope="module")
def own() -> list[ReferenceDraft]:
    return list(generate(Source("bigmind")).drafts)


def test_every_command_endpoint_and_setting_is_there(own):
    kinds = {kind: [draft for draft in own if draft.kind == kind] for kind in ReferenceKind}

    assert "bigmind up" in {draft.name for draft in kinds[ReferenceKind.COMMAND]}
    assert len(kinds[ReferenceKind.API]) >= len(CATALOGUE)
    assert len(kinds[ReferenceKind.SETTING]) == len(Environment.model_fields)
    assert len({draft.key for draft in own}) == len(own)


def test_a_setting_says_what_it_takes_and_its_default(own):
    port = next(draft for draft in own if draft.name == "BIGMIND_PORT")

    assert "whole number" in port.content
    assert "`7700`" in port.content


def test_no_reference_tells_the_value_of_a_setting(own, settings):
    text = "\n".join(draft.content for draft in own)

    assert settings.SECRET_KEY not in text


def test_the_command_writes_it_as_json(capsys):
    call_command("references_generate", "bigmind", "--kind", "bigmind")

    entries = json.loads(capsys.readouterr().out)["entries"]
    assert any(entry["type"] == "setting" for entry in entries)


def test_programs_and_modules_are_never_taken_by_themselves():
    for given in ("git", "package.module:name", "project.settings", "rm -rf x"):
        with pytest.raises(Invalid):
            generator_for(Source(given))


def test_a_console_is_recognised_by_its_name():
    assert generator_for(Source("DeveloperConsole.tsx")).kind == "console"


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("click", "celery.bin.celery:celery", "celery worker"),
        ("django", "shop_settings", "manage.py migrate"),
        ("help", "tar", "tar"),
    ],
)
def test_what_operators_name_is_read(kind, given, expected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "shop_settings.py").write_text("SECRET_KEY = 'x'\n")
    monkeypatch.chdir(tmp_path)

    made = GENERATORS[kind].generate(Source(given))

    assert expected in {draft.name for draft in made.drafts}


@pytest.mark.parametrize(
    ("kind", "given"),
    [("django", "no.such.settings"), ("django", "x; import os"), ("help", "'"), ("help", ""), ("click", "nothing")],
)
def test_what_cannot_be_read_is_refused(kind, given):
    with pytest.raises(Invalid):
        GENERATORS[kind].generate(Source(given))
