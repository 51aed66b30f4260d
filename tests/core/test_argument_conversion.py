"""What models send where the meaning is plain is taken; what could mean something else is refused."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django.utils import timezone
from pydantic import BaseModel

from bigmind.core.argument_types import Lines, RowId, Since, Tags
from bigmind.core.errors import Invalid
from bigmind.core.handles import Handle
from bigmind.core.operations import Operation


class Reply(BaseModel):
    """A reply."""


def correct(
    actor: str,
    *,
    text: str,
    kind: Literal["preference", "company", "GET"] = "preference",
    tags: Tags | None = None,
    lines: Lines | None = None,
    metadata: dict[str, Any] | None = None,
    fact_id: Annotated[RowId, Handle("fact")] | None = None,
    entry_ids: list[Annotated[RowId, Handle("company")]] | None = None,
    session_id: Annotated[str, Handle("session")] | None = None,
    key: Annotated[UUID, Handle("entry")] | None = None,
    id: Annotated[str, Handle(kind_in="kind")] = "",
    since: Since | None = None,
) -> Reply:
    """Correct a thing."""
    return Reply()


OPERATION = Operation(
    name="correct",
    title="Correct",
    call=correct,
    shape=Reply,
    route="POST things/",
    toolset="core",
    template="x.md",
)


def _taken(**sent: Any) -> dict[str, Any]:
    taken = OPERATION.accept(OPERATION.forgive({"text": "x", **sent}))
    assert taken.pop("text") == "x"
    return taken


def test_null_is_an_argument_left_out():
    assert _taken(tags=None, kind=None, id=None, since=None) == {}


def test_null_for_what_is_required_is_told_so():
    with pytest.raises(Invalid, match="text is required"):
        OPERATION.accept(OPERATION.forgive({"text": None}))


@pytest.mark.parametrize("sent", ['["a", "b, c"]', "['a', 'b, c']", ' ["a","b, c"] ', ['["a", "b, c"]'], ["a", "b, c"]])
def test_the_json_text_of_a_list_is_the_list(sent):
    assert _taken(tags=sent, lines=sent) == {"tags": ["a", "b, c"], "lines": ["a", "b, c"]}


@pytest.mark.parametrize("sent", ["['a' 'b']", "[a, b]", '["a", "b]', "[" * 100_000 + "]"])
def test_what_only_looks_like_a_list_is_refused_and_never_cut_at_its_commas(sent):
    with pytest.raises(Invalid, match="tags looks like JSON and cannot be read as such"):
        _taken(tags=sent)


def test_a_list_in_a_query_or_a_form_is_read_like_one_of_an_agent():
    assert OPERATION.accept({"text": "x", "tags": ['["a", "b"]']})["tags"] == ["a", "b"]


def test_commas_and_lines_still_separate():
    assert _taken(tags="a, b", lines="- [ ] One\n- [x] Two") == {"tags": ["a", "b"], "lines": ["[ ] One", "[x] Two"]}


def test_the_json_text_of_an_object_is_the_object():
    assert _taken(metadata='{"a": [1, null]}') == {"metadata": {"a": [1, None]}}


@pytest.mark.parametrize("sent", ["Preference", "PREFERENCE", " preference "])
def test_the_case_of_a_choice_does_not_matter(sent):
    assert _taken(kind=sent) == {"kind": "preference"}
    assert _taken(kind="get") == {"kind": "GET"}


@pytest.mark.parametrize("sent", [12, "12", "F12", "f12", "[F12]", "`F12`", "fact:12", "FACT: 12"])
def test_a_fact_is_named_by_any_of_its_handles(sent):
    assert _taken(fact_id=sent) == {"fact_id": 12}


def test_handles_are_taken_in_lists_and_in_the_text_of_lists():
    assert _taken(entry_ids=["C3", "company:4", 5]) == {"entry_ids": [3, 4, 5]}
    assert _taken(entry_ids='["C3", 4]') == {"entry_ids": [3, 4]}


def test_sessions_and_entries_are_named_with_or_without_their_kind():
    id = "0b5f2a53-8a4c-4ad7-9a3c-1c9e7f4f8b10"

    assert _taken(session_id="session:c1234567", key=f"entry:{id}") == {"session_id": "c1234567", "key": UUID(id)}
    assert _taken(session_id="c1234567") == {"session_id": "c1234567"}
    assert _taken(session_id=f"summary:{id}") == {"session_id": id}


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"fact_id": "C12"}, "fact_id is C12, the handle of a company entry; a fact is meant"),
        ({"fact_id": "hypothesis:12"}, "fact_id is hypothesis:12, the handle of a hypothesis; a fact is meant"),
        ({"entry_ids": ["C1", "F2"]}, "entry_ids is F2, the handle of a fact; a company entry is meant"),
        ({"kind": "Company", "id": "F3"}, "id is F3, the handle of a fact; a company entry is meant"),
    ],
)
def test_a_handle_of_another_kind_is_refused(sent, says):
    with pytest.raises(Invalid, match=says):
        _taken(**sent)


@pytest.mark.parametrize("sent", [3, "3", "C3", "company:3"])
def test_an_id_beside_its_kind_is_a_handle_of_that_kind(sent):
    assert _taken(kind="company", id=sent) == {"kind": "company", "id": "3"}


@pytest.mark.parametrize(("sent", "days"), [("yesterday", 1), ("Today", 0)])
def test_a_day_is_when_it_began(sent, days):
    since: datetime = _taken(since=sent)["since"]

    expected = (timezone.localtime() - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert since == expected


def test_what_is_not_plain_is_left_for_the_refusal():
    with pytest.raises(Invalid) as refused:
        _taken(fact_id="the first", kind="gossip", unknown=None)

    assert {problem["field"] for problem in refused.value.problems} == {"fact_id", "kind", "unknown"}


def test_the_schema_says_nothing_of_it():
    assert OPERATION.input_schema["properties"]["fact_id"] == {"maximum": 2**63 - 1, "minimum": 1, "type": "integer"}
