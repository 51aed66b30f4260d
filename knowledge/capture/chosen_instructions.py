"""Which rules an agent reads: those of its user's choice, of its key, and of whether hooks work for it."""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.agent_rules import AgentRules
from knowledge.conversation.write_modes import writing_of
from knowledge.models import Conversation

HOOKS_SEEN_WITHIN = timedelta(days=14)


@dataclass(frozen=True)
class Guide:
    """The guide for agents."""

    text: str


def get_instructions(actor: Actor) -> Guide:
    """Read the guide: when to start, store, recall and end, and what each group of tools is for.

    Call this if you are unsure what to do. Returns markdown.
    """
    rules = rules_for(actor)
    context = {"url": settings.PUBLIC_URL, "rules": str(rules), "writes": rules.writes}
    return Guide(render_to_string("agent/instructions.md", context, using="agent"))


def rules_for(actor: Actor) -> AgentRules:
    """Return the rules that hold for an agent now."""
    return AgentRules(has_hooks=_has_hooks(actor), writing=writing_of(actor))


def _has_hooks(actor: Actor) -> bool:
    """Whether hooks opened a session of this client of the user lately, or of this very conversation."""
    of_this = Q(session__agent__client_name=actor.agent.client_name) if actor.agent else Q(pk=None)
    if actor.conversation:
        of_this |= Q(digest=actor.conversation)
    lately = timezone.now() - HOOKS_SEEN_WITHIN
    return Conversation.objects.filter(of_this, user=actor.user, last_at__gt=lately).exists()
