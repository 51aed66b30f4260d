"""Insights: use added up by tool, agent, day and outcome, what start contexts saved, and whose figures are whose."""

from datetime import timedelta
from time import process_time

import pytest
from django.db import connection
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Call
from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.context.sessions import end_session, start_session
from knowledge.exposures.insights import look_at_knowledge, look_at_use
from knowledge.kb.company import search_global
from knowledge.models import Fact
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_fact

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]

MANY_CALLS = """
INSERT INTO accounts_call (user_id, agent_id, operation, door, outcome, milliseconds, tokens, request_id, at)
SELECT (%s::uuid[])[1 + number %% 5], %s, 'operation_' || number %% 60, 'mcp',
    CASE WHEN number %% 20 = 0 THEN 'invalid' ELSE 'ok' END,
    number %% 500, number %% 900, '', now() - interval '1 second' * (number * 20)
FROM generate_series(1, %s) AS number
"""


def _called(actor: Actor, operation: str = "memory_list_facts", *, outcome: str = "ok", took: float = 10, **said):
    return Call.objects.create(
        user=actor.user,
        agent=actor.agent,
        operation=operation,
        transport="mcp",
        outcome=outcome,
        milliseconds=took,
        **said,
    )


def _agent(name: str = "claude-code") -> Actor:
    return make_agent(make_user(), name)


def test_what_a_program_fetches_is_not_counted():
    perform(CATALOGUE["memory_list_facts"], _agent(), {}, transport="rest")

    assert Call.objects.get().tokens is None


def test_use_is_added_up_by_tool():
    agent = _agent()
    for took in (10, 20, 90):
        _called(agent, took=took, tokens=100)
    _called(agent, "memory_store_fact", outcome="invalid")

    use = look_at_use(agent)

    listed, stored = use.tools
    assert (listed.name, listed.calls, listed.refused, listed.tokens) == ("memory_list_facts", 3, 0, 300)
    assert (listed.half_within, listed.most_within) == (20, pytest.approx(83))
    assert (stored.name, stored.calls, stored.refused, stored.tokens) == ("memory_store_fact", 1, 1, 0)
    assert (use.calls, use.refused, use.tokens) == (4, 1, 300)
    assert use.outcomes == [("ok", 3), ("invalid", 1)]


def test_days_without_a_call_are_days_too_and_what_is_older_than_the_range_is_left_out():
    agent = _agent()
    for days in (0, 2, 8):
        Call.objects.filter(pk=_called(agent).pk).update(at=timezone.now() - timedelta(days=days))

    use = look_at_use(agent, days=7)

    assert [day.calls for day in use.daily] == [0, 0, 0, 0, 1, 0, 1]
    assert use.daily[-1].day == timezone.localdate()
    assert (use.calls, look_at_use(agent, days=30).calls) == (2, 3)


def test_one_sees_ones_own_and_everybodys_added_up():
    agent = _agent()
    for caller in (agent, _agent(), _agent(), _agent()):
        _called(caller)

    assert look_at_use(agent).calls == 1
    assert look_at_use(agent, whose="everybody").calls == 4


def test_what_fewer_than_three_others_did_is_in_no_figure_about_everybody():
    agent, others = _agent(), [_agent() for _ in range(3)]
    for caller in (agent, *others):
        _called(caller, tokens=5)
    for caller in (agent, *others[:2]):
        _called(caller, "kb_search", tokens=1000, outcome="invalid")
        Call.objects.filter(pk=_called(caller).pk).update(at=timezone.now() - timedelta(days=1))

    use = look_at_use(agent, days=7, whose="everybody")

    assert [day.is_withheld for day in use.daily] == [True] * 6 + [False]
    assert [(tool.name, tool.calls) for tool in use.tools] == [("memory_list_facts", 4)]
    assert use.outcomes == [("ok", 4)]
    # Nobody but the reader worked with others on it, and without any of these calls the answer is the same.
    Call.objects.filter(user=others[0].user, at__lt=timezone.now() - timedelta(hours=12)).delete()
    assert look_at_use(agent, days=7, whose="everybody") == use


def test_alone_or_with_two_others_everybodys_figures_are_nobodys():
    agent = _agent()
    for caller in (agent, _agent(), _agent()):
        _called(caller)
        start_session(caller)
        search_global(caller, query="How do we rotate the Kafka certificates?")

    use, known = look_at_use(agent, whose="everybody"), look_at_knowledge(agent, whose="everybody")

    assert (use.calls, use.tokens, use.starts.begun, use.tools, use.outcomes) == (0, 0, 0, [], [])
    assert {number for _, number in known.unanswered} == {None}


def test_in_personal_mode_everybody_is_oneself(settings):
    settings.BIGMIND_MODE = "personal"
    agent = _agent()
    _called(agent)

    assert look_at_use(agent, whose="everybody") == look_at_use(agent)


def test_growth_counts_ones_own_and_what_everybody_may_read():
    agent, other = _agent(), _agent()
    make_fact(agent, "Prefers pytest.")
    old = make_fact(agent, "Prefers tea.")
    Fact.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=400))
    make_fact(other, "Prefers coffee.")
    approved_entry()

    mine, shared = look_at_knowledge(agent, days=7), look_at_knowledge(agent, days=7, whose="everybody")

    assert [day.numbers["Facts"] for day in mine.growth] == [1] * 6 + [2]
    assert [day.numbers["Company knowledge"] for day in shared.growth] == [0] * 6 + [1]
    assert "Facts" not in shared.growth[-1].numbers


def test_agents_of_others_are_shown_to_admins_only():
    agent, other, admin = _agent(), _agent("cursor-vscode"), make_actor(admin=True)
    _called(agent)
    _called(other)

    seen = {who: [one.name for one in look_at_use(who, whose="everybody").agents] for who in (agent, admin)}

    assert seen[agent] == ["claude-code 1.0 on laptop"]
    assert sorted(seen[admin]) == ["claude-code 1.0 on laptop", "cursor-vscode 1.0 on laptop"]


def test_a_start_that_told_something_saves_one_look_up_however_much_it_told():
    agent = _agent()
    start_session(agent)
    for _ in range(3):
        make_fact(agent)
    start_session(agent)

    starts = look_at_use(agent).starts

    # The second start told three facts and the first session.
    assert (starts.begun, starts.saved) == (2, 1)


def test_sessions_that_cited_something_are_counted_apart():
    agent, entry = _agent(), approved_entry()
    start_session(agent)
    end_session(agent, one_liner="Done", used=[entry.handle])
    start_session(agent)
    end_session(agent, one_liner="Done", used=[])

    starts, items = look_at_use(agent).starts, look_at_knowledge(agent).items

    assert (starts.begun, starts.saved, starts.proven) == (2, 2, 1)
    assert [(item.entry, item.served, item.cited, item.misled) for item in items] == [(entry, 2, 1, 0)]


def test_what_one_or_two_colleagues_said_of_an_entry_is_neither_counted_nor_ranked():
    ignored, entry = approved_entry(importance=1), approved_entry(importance=9)
    reader, *others = [_agent() for _ in range(6)]
    for agent in (reader, *others):
        start_session(agent)

    def figures() -> list[tuple[int, int, int, int]]:
        items = look_at_knowledge(reader, whose="everybody").items
        return [(item.entry.pk, item.served, item.cited, item.misled) for item in items]

    untold = figures()
    for agent in others[:2]:
        end_session(agent, one_liner="Done", used=[ignored.handle], misleading=[entry.handle])
    of_two = figures()
    end_session(others[2], one_liner="Done", used=[ignored.handle], misleading=[entry.handle])

    assert of_two == untold
    assert figures() == [(entry.pk, 6, 0, 3), (ignored.pk, 6, 3, 0)]


def test_what_misled_comes_first():
    agent, entry, wrong = _agent(), approved_entry(importance=9), approved_entry(importance=1)
    start_session(agent)
    session = start_session(agent).session

    end_session(agent, session_id=str(session.pk), one_liner="Done", misleading=[wrong.handle])

    assert [item.entry for item in look_at_knowledge(agent).items] == [wrong, entry]


def test_what_others_were_told_is_not_among_ones_own():
    approved_entry()
    for _ in range(3):
        start_session(_agent())

    agent = _agent()

    assert look_at_knowledge(agent).items == []
    assert len(look_at_knowledge(agent, whose="everybody").items) == 1


@pytest.mark.parametrize("asked", [{"days": 0}, {"days": 91}, {"whose": "ada"}])
def test_other_ranges_are_refused_by_name(asked):
    with pytest.raises(Invalid) as refused:
        carry_out(look_at_use, make_actor(), asked)

    assert [problem["field"] for problem in refused.value.problems] == list(asked)


@pytest.mark.parametrize("calls", [10_000, pytest.param(100_000, marks=pytest.mark.torture)])
def test_many_calls_are_added_up_quickly(calls):
    admin, agent = make_actor(admin=True), _agent()
    with connection.cursor() as cursor:
        cursor.execute(MANY_CALLS, [[agent.user.pk, *(make_user().pk for _ in range(4))], agent.agent.pk, calls])
        cursor.execute("ANALYZE accounts_call")

    started = process_time()
    use = look_at_use(admin, days=90, whose="everybody")
    took = process_time() - started

    assert use.calls == calls
    assert took < 3
