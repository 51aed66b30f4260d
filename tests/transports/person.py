"""Somebody with one of everything, and what to send to each operation about it."""

import socket
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.test import override_settings

from accounts.actor import Actor
from accounts.keys import NewKey
from accounts.models import SCOPES, Role
from accounts.people.profiles import update_profile
from accounts.services.agents import note_agent
from bigmind import __version__
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.operations import Operation
from bigmind.management.commands.op import CLIENT
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.examples import example_arguments
from curation.decisions.golden_questions import pin_golden_question
from curation.proposals.proposals import promote_to_global
from knowledge.app_maps.learning import learn_app
from knowledge.context.sessions import end_session, start_session
from knowledge.conversation.chunks import append_chunk
from knowledge.kb.entries import add_entry
from knowledge.memory.facts import deprecate_fact, store_fact
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.memory.notes import set_note
from knowledge.models import Conversation
from knowledge.people.instances import register_instance
from tests.curation.factories import approved_entry
from tests.factories import make_key, make_user
from tests.knowledge.factories import make_reference


@dataclass(frozen=True)
class Person:
    """Somebody with one of everything, so that every operation has something to work on."""

    key: NewKey
    actor: Actor
    ids: dict[str, Any]


def make_person() -> Person:
    user = make_user(role=Role.ADMIN)
    key = make_key(user, scopes=SCOPES)
    agent = note_agent(user, client_name=CLIENT, client_version=__version__, host=socket.gethostname())
    actor = Actor.of(user, key=key.key, agent=agent)
    update_profile(actor, role="Engineer", preferences="Short answers.", pinned_facts=["Lives in Berlin."])
    past = start_session(actor, project="billing").session
    end_session(actor, session_id=str(past.pk), one_liner="Chose blue-green deploys", topics=["deploys"])
    session = start_session(actor, project="billing").session
    chunk = append_chunk(actor, role="user", content="The connections time out.", session_id=str(session.pk))
    belief = add_hypothesis(actor, hypothesis="I believe it is the pool.")
    fact = store_fact(actor, category="identity", fact="Is called Ada.").fact
    aside = store_fact(actor, category="identity", fact="Is called Eve.").fact
    deprecate_fact(actor, fact_id=aside.pk, reason="She is not.")
    set_note(actor, domain="email", key="dymon-packages", content="Ask about the package at the storage unit.")
    summary = add_entry(actor, content="STORY-007: routing.", entry_type="summary").entry
    entry = add_entry(actor, content="Routes are ordered.", entry_type="fact", parent_id=summary.pk).entry
    reference = make_reference(name="helios gw users list", title="List users")
    learn_app(actor, **validate_arguments(learn_app, example_arguments(CATALOGUE["app_learn"])))
    with override_settings(BIGMIND_MODE="team"):
        proposal = promote_to_global(actor, category="standard", title="Health", content="Answer /healthz.").entry
    guide = approved_entry(title="Roll back", content="Roll back with the button of the deploy.")
    golden = pin_golden_question(actor, question="How do we roll back a deploy?", kind="company", id=str(guide.pk))
    instance = register_instance(actor, instance_id=uuid4(), name="laptop").instance
    conversation = Conversation.objects.create(user=actor.user, client="claude-code", client_id="1", digest="1")
    ids = {
        "conversation_id": conversation.pk,
        "instance_id": str(instance.identity),
        "entry_id": str(entry.pk),
        "reference_id": str(reference.pk),
        "company_id": proposal.pk,
        "golden_id": golden.pk,
        "approved_id": str(guide.pk),
        "session_id": str(session.pk),
        "chunk_id": chunk.pk,
        "hypothesis_id": belief.pk,
        "fact_id": fact.pk,
    }
    return Person(key, actor, {**ids, "fact": str(fact.pk), "aside": str(aside.pk)})


def arguments_for(operation: Operation, person: Person) -> dict[str, Any]:
    """The example's arguments, about things that this person has."""
    arguments = example_arguments(operation)
    known = {name: person.ids[name] for name in arguments if name in person.ids and name.endswith("_id")}
    if "id" in arguments:
        aside_or_fact = person.ids["aside" if operation.name == "memory_restore" else "fact"]
        known["id"] = person.ids["entry_id"] if operation.toolset == "kb" else aside_or_fact
    if operation.name == "golden_pin":
        known["id"] = person.ids["approved_id"]
    if operation.toolset == "company" and "entry_id" in arguments:
        known["entry_id"] = person.ids["company_id"]
    if "used" in arguments:
        known["used"] = [f"fact:{person.ids['fact_id']}"]
    if "entry_ids" in arguments:
        known["entry_ids"] = [person.ids["company_id"]]
        known["revisions"] = {str(person.ids["company_id"]): 1}
    return {**arguments, **known}
