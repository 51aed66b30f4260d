"""Sample content: a small memory that a newcomer can look at before having one, added and removed in one click.

An agent of its own writes it into a project of its own, and every text says that it is a sample: so agents can tell it
from real content, and it can be removed without a trace.
"""

from dataclasses import replace

from django.db import transaction
from django.utils import timezone

from accounts.actor import Actor, acts
from accounts.models import Agent, User
from bigmind.core.errors import Conflict
from curation.decisions.forgetting import forget_source
from knowledge.argument_types import CategoryName
from knowledge.context.sessions import end_session
from knowledge.conversation.current_sessions import begin_session
from knowledge.memory.facts import store_fact
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.memory.notes import set_note
from knowledge.models import Writing
from knowledge.people.first_steps import SAMPLES

FACTS: tuple[tuple[CategoryName, str], ...] = (
    ("decision", "Sample: We chose PostgreSQL for the orders service, because refunds must be atomic with payments."),
    ("codebase", "Sample: The nightly export runs from `jobs/export.py` and writes to the bucket `reports`."),
    ("constraint", "Sample: Refunds over 500 euros need two approvals, also in the sandbox."),
    ("preference", "Sample: Pull requests stay under 300 lines, with tests in the same commit."),
    ("decision", "Sample: Deploys run every weekday at 10:00, and never on a Friday afternoon."),
)
SESSIONS = (
    ("Sample: Moved webhooks to an outbox", ["webhooks", "outbox"], "Replaying a webhook is safe now."),
    ("Sample: Found why exports were empty", ["exports"], "The bucket had moved; the path is in the settings now."),
)
BELIEF = "Sample: The timeouts on Mondays come from the report that runs at nine."
NOTE = ("samples", "on-call", "Sample: Look at the queue first, then at the connections of the database.")


def has_samples(user: User) -> bool:
    """Whether the sample content is in this memory."""
    return Agent.objects.filter(user=user, client_name=SAMPLES).exists()


@transaction.atomic
def add_samples(actor: Actor) -> None:
    """Add the sample content to the actor's memory.

    Raises:
        Conflict: it is there already.
    """
    agent, is_new = Agent.objects.get_or_create(
        user=actor.user, client_name=SAMPLES, host="", defaults={"last_seen": timezone.now()}
    )
    if not is_new:
        raise Conflict("The sample content is in your memory already.", hint="Remove it first.")
    author = replace(actor, agent=agent)
    with acts(author):
        for headline, topics, outcome in SESSIONS:
            session = begin_session(author, project=SAMPLES, topics=topics)
            end_session(author, one_liner=headline, outcome=outcome, session_id=str(session.pk))
        # Without a conversation these do not interfere with the person's agents.
        for category, fact in FACTS:
            store_fact(author, category=category, fact=fact, project=SAMPLES)
        add_hypothesis(author, hypothesis=BELIEF, project=SAMPLES)
        domain, key, content = NOTE
        set_note(author, domain=domain, key=key, content=content, project=SAMPLES)


@transaction.atomic
def remove_samples(actor: Actor) -> None:
    """Erase the sample content, and nothing else. There may be none."""
    for agent in Agent.objects.filter(user=actor.user, client_name=SAMPLES):
        forget_source(actor, agent=agent.pk, dry_run=False)
        Writing.objects.filter(user=actor.user, agent=agent).delete()
        agent.delete()
