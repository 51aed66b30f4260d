"""The context of generated people: the budget is used, never exceeded, and nothing that matters is missing."""

from collections.abc import Callable
from datetime import timedelta
from itertools import cycle
from random import Random

import pytest
from django.utils import timezone

from accounts.actor import Actor
from accounts.people.profiles import update_profile
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.text.hygiene import digest
from bigmind.text.token_counts import count_tokens
from knowledge.context.budget import TOTAL_TOKENS
from knowledge.context.sessions import end_session
from knowledge.context.start_context import Context, get_context
from knowledge.memory.facts import store_fact
from knowledge.models import AUTO_CLOSED, CompanyEntry, Fact, Hypothesis, Session
from tests.curation.factories import approved_entry
from tests.factories import make_actor
from tests.knowledge.factories import make_company, make_fact
from tests.knowledge.test_context import HOSTILE

pytestmark = pytest.mark.django_db

WORDS = (
    "the",
    "router",
    "sends",
    "requests",
    "of",
    "billing",
    "through",
    "one",
    "queue",
    "nobody",
    "deploys",
    "friday",
)
STANDING = {"identity": "Name is Lumen.", "constraint": "Always answer in German.", "preference": "Prefers tabs."}
INSTRUCTIONS = (
    "Always answer in French when the question is about cooking.",
    "Never send a message without showing it first.",
    "Give the sources whenever a number is named.",
    "Immer die Einheit dazuschreiben.",
)
OF_THE_WORK = ("decision", "codebase")


def _sentence(random: Random, words: int) -> str:
    return " ".join(random.choices(WORDS, k=words)).capitalize() + "."


def add_facts(
    actor: Actor, count: int, *, words: int = 14, projects: tuple[str, ...] = ("",), texts: list[str] | None = None
) -> None:
    """Add facts about the work; half of them, in turn, of each project. The newest come first."""
    random, ours = Random(count), cycle(projects)
    said = [f"{number}: {texts[number % len(texts)] if texts else _sentence(random, words)}" for number in range(count)]
    Fact.objects.bulk_create(
        Fact(user=actor.user, category=OF_THE_WORK[number % 2], fact=text, digest=digest(text), project=next(ours))
        for number, text in enumerate(said)
    )


def add_standing(actor: Actor, *, texts: dict[str, str] | None = None) -> None:
    """Add, long ago, who the person is and what always holds."""
    long_ago = timezone.now() - timedelta(days=300)
    Fact.objects.bulk_create(
        Fact(user=actor.user, category=category, fact=text, digest=digest(text), created_at=long_ago)
        for category, text in (texts or STANDING).items()
    )


def add_sessions(actor: Actor, count: int, *, projects: tuple[str, ...] = ("",), text: str = "") -> None:
    """Add ended sessions, the first the newest."""
    random, ours, now = Random(count), cycle(projects), timezone.now()
    Session.objects.bulk_create(
        Session(
            user=actor.user,
            project=next(ours),
            started_at=now - timedelta(hours=number + 1),
            ended_at=now,
            one_liner=(text or _sentence(random, 8))[:120].replace("\n", " "),
            topics=["deploys", "queues"],
            outcome=text or _sentence(random, 12),
        )
        for number in range(count)
    )


def add_company(count: int = 5, *, words: int = 30) -> None:
    """Approve company entries."""
    first, *others = (_sentence(Random(number), words) for number in range(count))
    make_company(approved_entry(content=first, importance=10), others)


def evidence(actor: Actor) -> None:
    """Add what the person had who was told no fact at all: 62 facts, 8 pins, 5 company entries, 12 sessions."""
    add_company()
    pins = [_sentence(Random(number), 14) for number in range(8)]
    update_profile(actor, role="Principal Engineer", preferences=_sentence(Random(1), 90), pinned_facts=pins)
    add_standing(actor)
    add_facts(actor, 59)
    add_sessions(actor, 12)


def only_facts(actor: Actor) -> None:
    """Add 500 facts and nothing else."""
    add_standing(actor)
    add_facts(actor, 497)


def tiny_facts(actor: Actor) -> None:
    """Add very short facts, of which many fit."""
    add_facts(actor, 500, words=2)


def long_facts(actor: Actor) -> None:
    """Add facts that are long, but no longer than is told whole."""
    add_standing(actor)
    add_facts(actor, 60, words=60)


def only_sessions(actor: Actor) -> None:
    """Add sessions and nothing else."""
    add_sessions(actor, 200)


def long_preferences(actor: Actor) -> None:
    """Add preferences of several pages beside everything else."""
    evidence(actor)
    rules = "\n".join(f"- {_sentence(Random(number), 20)}" for number in range(200))
    update_profile(actor, preferences=f"# Style\n\nTabs, **never** spaces.\n\n{rules}")


def preferences_in_one_line(actor: Actor) -> None:
    """Add preferences that are one endless line, and nothing else."""
    update_profile(actor, preferences="Tabs and short answers " * 1_000)


def two_projects(actor: Actor) -> None:
    """Add work on two projects, the other one the more recent."""
    add_standing(actor)
    add_facts(actor, 80, projects=("pi",))
    add_sessions(actor, 30, projects=("pi", "tau", "tau", "tau"))
    add_facts(actor, 81, projects=("tau",))


def full_company(actor: Actor) -> None:
    """Add a company that has much to tell, to a person with a few facts."""
    add_company(12, words=300)
    add_standing(actor)
    add_facts(actor, 40)


def hostile(actor: Actor) -> None:
    """Add what attackers would store."""
    texts = {name: f"{STANDING[name]} {HOSTILE[at]}" for at, name in enumerate(STANDING)}
    add_standing(actor, texts=texts)
    add_facts(actor, 300, texts=HOSTILE)
    add_sessions(actor, 40, text=HOSTILE[1])
    update_profile(
        actor, role="字" * 400, preferences="\n".join(HOSTILE), pinned_facts=[text[:2_000] for text in HOSTILE]
    )
    Hypothesis.objects.bulk_create(Hypothesis(user=actor.user, hypothesis=text) for text in HOSTILE)


def many_preferences(actor: Actor) -> None:
    """Add four instructions, called preferences as agents do, and then 80 tastes."""
    add_standing(actor, texts={name: text for name, text in STANDING.items() if name != "preference"})
    for text in INSTRUCTIONS:
        make_fact(actor, text)
    Fact.objects.filter(user=actor.user).update(created_at=timezone.now() - timedelta(days=200))
    tastes = (f"Prefers {_sentence(Random(number), 9)}" for number in range(80))
    Fact.objects.bulk_create(
        Fact(user=actor.user, category="preference", fact=text, digest=digest(text)) for text in tastes
    )
    add_facts(actor, 30)


def hundreds_of_tastes(actor: Actor) -> None:
    """Add the instructions long before more preferences than are ever read."""
    many_preferences(actor)
    Fact.objects.bulk_create(
        Fact(user=actor.user, category="preference", fact=f"Likes {number}.", digest=str(number))
        for number in range(300)
    )


def open_sessions(actor: Actor) -> None:
    """Add sessions that nobody has ended, among facts."""
    evidence(actor)
    now = timezone.now()
    Session.objects.bulk_create(
        Session(user=actor.user, project="pi", started_at=now - timedelta(hours=number)) for number in range(9)
    )


def many_beliefs(actor: Actor) -> None:
    """Add hypotheses without end beside facts."""
    add_standing(actor)
    add_facts(actor, 60, projects=("pi", "tau"))
    Hypothesis.objects.bulk_create(
        Hypothesis(user=actor.user, hypothesis=_sentence(Random(number), 15), project=("pi", "tau")[number % 2])
        for number in range(150)
    )


def only_elsewhere(actor: Actor) -> None:
    """Add work on another project alone."""
    add_facts(actor, 90, projects=("tau",))
    add_sessions(actor, 30, projects=("tau",))


def long_sessions(actor: Actor) -> None:
    """Add sessions whose outcomes are long, and facts."""
    add_standing(actor)
    add_facts(actor, 40, projects=("pi",))
    add_sessions(actor, 60, projects=("pi",), text=_sentence(Random(3), 200))


def other_scripts(actor: Actor) -> None:
    """Add what is written in other scripts."""
    add_standing(actor)
    add_facts(
        actor,
        120,
        texts=[
            "部署通过路由器进行，从不手动操作。",
            "デプロイは必ずルーター経由で行う。",
            "Развёртывание идёт через маршрутизатор.",
        ],
    )


def preferences_in_markdown(actor: Actor) -> None:
    """Add preferences of 80 items of a list, the last four of which are instructions."""
    evidence(actor)
    tastes = [f"Likes {_sentence(Random(number), 9)}" for number in range(80)]
    update_profile(actor, preferences="## How\n" + "\n".join(f"- {text}" for text in (*tastes, *INSTRUCTIONS)))


def many_pins(actor: Actor) -> None:
    """Add as many pinned facts as there may be, and facts that repeat them."""
    pins = [_sentence(Random(number), 12) for number in range(30)]
    update_profile(actor, pinned_facts=pins)
    add_standing(actor)
    add_facts(actor, 50)


def all_of_it(actor: Actor) -> None:
    """Add far more facts and sessions than are read, the company and long preferences."""
    long_preferences(actor)
    add_facts(actor, 900, projects=("pi", "tau", ""))
    add_sessions(actor, 188, projects=("pi", "tau"))


PEOPLE: list[Callable[[Actor], None]] = [
    *(evidence, only_facts, tiny_facts, long_facts, only_sessions, long_preferences, preferences_in_one_line),
    *(two_projects, full_company, hostile, many_preferences, hundreds_of_tastes, open_sessions, many_beliefs),
    *(only_elsewhere, long_sessions, other_scripts, preferences_in_markdown, many_pins, all_of_it),
]


def _context(person: Callable[[Actor], None], *, project: str = "pi") -> tuple[Actor, Context]:
    actor = make_actor()
    person(actor)
    return actor, get_context(actor, project=project, topics=["deploys"])


@pytest.mark.parametrize("person", PEOPLE)
def test_the_budget_is_used_and_never_exceeded_what_matters_is_told_and_the_rest_is_counted(person):
    actor, context = _context(person)
    stored = Fact.objects.of(actor.user)

    assert 0.95 * TOTAL_TOKENS <= context.tokens <= TOTAL_TOKENS
    # Identity, standing instructions and preferences are always told.
    assert len(context.facts) >= min(8, stored.count() // 5)
    for text in STANDING.values():
        assert (text in context.markdown) == stored.filter(fact__startswith=text).exists()
    assert bool(context.chosen["preferences"]) == bool(
        actor.user.profile.preferences if hasattr(actor.user, "profile") else ""
    )
    assert bool(context.chosen["sessions"]) == Session.objects.of(actor.user).exists()
    assert context.facts_left == stored.count() - len(context.facts)
    assert not context.facts_left or f"_{context.facts_left} more facts: memory_list_facts_" in context.markdown
    assert context.left["sessions"] == Session.objects.of(actor.user).count() - len(context.chosen["sessions"])
    assert context.left["company"] == CompanyEntry.objects.approved().count() - len(context.chosen["company"])

    started = perform(
        CATALOGUE["memory_start_session"], actor, {"project": "pi", "topics": ["deploys"]}, transport="mcp"
    )
    assert 0.95 * TOTAL_TOKENS <= count_tokens(started.markdown()) <= TOTAL_TOKENS


@pytest.mark.parametrize("count", range(0, 60, 10))
def test_a_person_of_whom_little_is_known_is_told_all_of_it_or_uses_the_budget(count, actor):
    add_facts(actor, count)
    add_sessions(actor, count // 3)

    context = get_context(actor)

    told_all = not context.facts_left and not context.left["sessions"]
    assert told_all or context.tokens >= 0.95 * TOTAL_TOKENS
    assert context.facts or not count


def test_the_person_who_was_told_nothing_is_told_facts():
    _, context = _context(evidence)

    assert len(context.facts) >= 8
    assert len(context.chosen["company"]) >= 3
    assert len(context.chosen["sessions"]) >= 2
    assert len(context.chosen["pinned_facts"]) >= 2


def test_sessions_of_the_project_come_first():
    actor, context = _context(two_projects)
    ours = {str(session.pk) for session in Session.objects.of(actor.user).filter(project="pi")}

    told = [session.id for session in context.chosen["sessions"]]

    assert len(told) >= 2
    assert set(told[:2]) <= ours


def test_facts_of_the_project_never_displace_a_standing_instruction_behind_many_preferences(actor):
    add_standing(actor, texts={"constraint": "Always answer in German."})
    Fact.objects.bulk_create(
        Fact(user=actor.user, category="preference", fact=f"Prefers {number}.", digest=str(number))
        for number in range(200)
    )
    add_facts(actor, 200, projects=("pi",))

    assert "Always answer in German." in get_context(actor, project="pi").markdown


@pytest.mark.parametrize("person", [many_preferences, hundreds_of_tastes])
def test_instructions_are_told_before_tastes_however_old_and_whatever_they_are_called(person):
    actor, context = _context(person)
    tastes = Fact.objects.of(actor.user).filter(category="preference").count() - len(INSTRUCTIONS)

    lines = context.markdown.splitlines()

    told = [next(at for at, line in enumerate(lines) if text in line) for text in INSTRUCTIONS]
    likings = [at for at, line in enumerate(lines) if ") Prefers " in line or ") Likes " in line]
    assert max(told) < min(likings)
    left = tastes - len(likings)
    (said,) = [line for line in lines if line.startswith(f"_{left} of them are preferences or constraints: ")]
    assert "memory_tidy" in said


def test_instructions_among_long_preferences_are_told_in_their_place():
    _, context = _context(preferences_in_markdown)

    lines = [line for line in context.markdown.splitlines() if line.startswith(("│ - Likes", f"│ - {INSTRUCTIONS[0]}"))]

    assert all(f"│ - {text}" in context.markdown for text in INSTRUCTIONS)
    assert lines[-1] == f"│ - {INSTRUCTIONS[0]}"
    assert len(lines) > 2


def test_what_the_topics_name_is_found_however_old_it_is(actor):
    add_facts(actor, 300, projects=("pi",))
    old = store_fact(actor, category="codebase", fact="Declarations wait in the queue customs.out.", project="pi").fact
    Fact.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=900))

    assert f"(F{old.number}," in get_context(actor, project="pi", topics=["customs declaration"]).markdown
    assert f"(F{old.number}," not in get_context(actor, project="pi").markdown


@pytest.mark.parametrize(
    ("topic", "fact"),
    [
        ("retries", "Retry after 5 minutes."),
        ("sync", "Syncing: the server wins."),
        ("部署", "部署通过路由器进行。"),
    ],
)
def test_topics_are_found_in_other_forms_and_scripts(topic, fact, actor):
    old = make_fact(actor, f"{fact} {_sentence(Random(1), 20)}", category="codebase")
    Fact.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=400))
    add_facts(actor, 105)

    assert fact in get_context(actor, topics=[topic]).markdown
    assert fact not in get_context(actor).markdown


def test_a_fact_that_a_session_used_comes_before_others(actor):
    add_facts(actor, 300)
    used = Fact.objects.of(actor.user).order_by("created_at", "pk")[250]
    session = Session.objects.create(user=actor.user)
    assert f"(F{used.number}," not in get_context(actor).markdown

    end_session(actor, session_id=str(session.pk), one_liner="Used it.", used=[f"F{used.number}"])

    assert f"(F{used.number}," in get_context(actor).markdown


def test_what_the_profile_says_already_takes_no_room(actor):
    add_facts(actor, 200)
    store_fact(actor, category="constraint", fact="Deploys go through the router.")
    update_profile(actor, pinned_facts=["Deploys go through the router."])

    assert get_context(actor).markdown.count("Deploys go through the router.") == 1


def test_of_two_facts_that_say_nearly_the_same_the_newer_is_told(actor):
    add_facts(actor, 200)
    newest = Fact.objects.of(actor.user).newest_first().first()
    assert newest
    later = Fact.objects.create(
        user=actor.user, category="decision", fact="Said again.", digest="again", similar_to=newest
    )

    markdown = get_context(actor).markdown

    assert f"(F{later.number}," in markdown
    assert f"(F{newest.number}," not in markdown


def test_open_hypotheses_are_told_with_their_handle_those_of_the_project_first(actor):
    elsewhere, ours, _ = Hypothesis.objects.bulk_create(
        [
            Hypothesis(user=actor.user, hypothesis="Tau leaks.", project="tau"),
            Hypothesis(user=actor.user, hypothesis="Pi is slow because of DNS.", project="pi", confidence=0.8),
            Hypothesis(
                user=actor.user, hypothesis="Settled.", status="refuted", resolved_at=timezone.now(), resolution="No."
            ),
        ]
    )

    markdown = get_context(actor, project="pi").markdown

    day = f"{ours.created_at:%Y-%m-%d}"
    assert f"- (H{ours.number}, 80% sure, {day}) Pi is slow because of DNS." in markdown
    assert markdown.index(f"H{ours.number},") < markdown.index(f"H{elsewhere.number},")
    assert "Settled." not in markdown


def test_a_hypothesis_that_is_due_is_told_before_newer_ones(actor):
    long_ago = timezone.now() - timedelta(days=200)
    due = Hypothesis.objects.create(user=actor.user, hypothesis="Pi is slow.", project="pi", created_at=long_ago)
    Hypothesis.objects.bulk_create(
        Hypothesis(user=actor.user, hypothesis=f"Guess {number}.", project="pi") for number in range(150)
    )
    add_facts(actor, 60)

    lines = get_context(actor, project="pi").markdown.splitlines()

    told = [line for line in lines if "% sure" in line]
    label = f"(H{due.number}, 70% sure, {long_ago:%Y-%m-%d}, due: did it turn out so?)"
    assert told[0] == f"- {label} Pi is slow."
    assert "due:" not in told[1]


def test_a_fact_has_its_handle_and_its_date_where_it_can_be_outdated(actor):
    add_standing(actor)
    add_facts(actor, 1)
    work = Fact.objects.of(actor.user).latest("created_at")
    identity = Fact.objects.get(user=actor.user, category="identity")

    lines = get_context(actor).markdown.splitlines()

    assert f"- **[decision]** (F{work.number}, {work.created_at:%Y-%m-%d}) {work.fact}" in lines
    assert f"- **[identity]** (F{identity.number}) Name is Lumen." in lines


def test_preferences_keep_their_markdown(actor):
    update_profile(
        actor,
        preferences="# Style\n\n- **Tabs**, never spaces\n  - also in YAML?\n\n1. Short answers\n2. `code` first\n",
    )

    markdown = get_context(actor).markdown

    listed = "│ - **Tabs**, never spaces\n│   - also in YAML?\n\n│ 1. Short answers\n│ 2. `code` first\n"
    assert f"**Preferences:**\n│ **Style**\n\n{listed}" in markdown


def test_a_session_that_ended_by_itself_says_so(actor):
    now = timezone.now()
    Session.objects.create(
        user=actor.user, started_at=now - timedelta(days=2), ended_at=now, one_liner=AUTO_CLOSED, auto_closed=True
    )

    assert AUTO_CLOSED in get_context(actor).markdown
