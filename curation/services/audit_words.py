"""The audit log in words: a whole sentence for each event, with the names it has."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from bigmind.core.translation import _, gettext_lazy
from bigmind.environment.listing import title_of
from bigmind.text.hygiene import echo
from curation.models import Action
from knowledge.models import CompanyEntry

EVENTS: dict[str, str] = {
    "signed_in": gettext_lazy("{by} signed in ({door})."),
    "signed_out_by_admin": gettext_lazy("{by} signed {about} out everywhere."),
    "password_reset": gettext_lazy("{by} reset the password of {about}."),
    "user_added": gettext_lazy("{by} added {about} with the role {role}."),
    "user_changed": gettext_lazy("{by} changed the account of {about}: {fields}."),
    "user_activated": gettext_lazy("{by} reactivated {about}."),
    "user_deactivated": gettext_lazy("{by} deactivated {about}."),
    "user_deleted": gettext_lazy(
        "{by} deleted {about} with everything they owned. The signed report is number {report}."
    ),
    "role_given": gettext_lazy("{by} changed the role of {about} from {before} to {role}."),
    "invited": gettext_lazy("{by} invited someone with the role {role}."),
    "invitation_revoked": gettext_lazy("{by} revoked an invitation."),
    "invitation_accepted": gettext_lazy("{about} accepted an invitation and joined."),
    "private_shown": gettext_lazy("{by} opened private rows of {about} in the admin: {rows}."),
    "key_created": gettext_lazy("{by} created the API key {begins}… for {about}."),
    "key_rotated": gettext_lazy("{by} rotated the API key {begins}… of {about}."),
    "key_revoked": gettext_lazy("{by} revoked the API key {begins}… of {about}."),
    "key_linked": gettext_lazy("{by} gave an API key without an owner to {about}."),
    "key_unlinked": gettext_lazy("{by} took an API key from {about}."),
    "erased": gettext_lazy(
        "{by} deleted content of {about} permanently ({what}). The signed report is number {report}."
    ),
    "scrub_previewed": gettext_lazy(
        "{by} looked where a text stands in the whole instance, before removing it: {places} places."
    ),
    "scrubbed": gettext_lazy("{by} removed a text from {places} places (removal {scrub})."),
    "setting_changed": gettext_lazy("{by} changed the setting “{setting}” from {before} to {value}."),
    "setting_reset": gettext_lazy("{by} set “{setting}” back to its default, {value}. Before it was {before}."),
    "connection_tested": gettext_lazy("{by} tested {what}: {result}."),
    "backup_asked": gettext_lazy("{by} asked for what the page of backups starts: {task}."),
    "webhook_added": gettext_lazy("{by} added the webhook {webhook}."),
    "webhook_changed": gettext_lazy("{by} changed the webhook {webhook}: {fields}."),
    "webhook_removed": gettext_lazy("{by} removed the webhook {webhook}."),
    "webhook_secret_rotated": gettext_lazy(
        "{by} rotated the secret of the webhook {webhook}. The old one signs until {until}."
    ),
}
"""Every event of `accounts.services.audit.audit`. A test looks for those that the code notes."""

DECISIONS: dict[str, str] = {
    Action.PROPOSE: gettext_lazy("{by} proposed {entry}."),
    Action.REVISE: gettext_lazy("{by} revised {entry}."),
    Action.WITHDRAW: gettext_lazy("{by} withdrew {entry}."),
    Action.ENDORSE: gettext_lazy("{by} endorsed {entry}, which {proposer} had proposed."),
    Action.APPROVE: gettext_lazy("{by} approved {entry}, which {proposer} had proposed."),
    Action.REJECT: gettext_lazy("{by} rejected {entry}, which {proposer} had proposed."),
    Action.REQUEST_CHANGES: gettext_lazy("{by} requested changes to {entry}, which {proposer} had proposed."),
    Action.MERGE: gettext_lazy("{by} merged {entry}, which {proposer} had proposed, into another entry."),
    Action.EDIT: gettext_lazy("{by} edited {entry}."),
    Action.VERIFY: gettext_lazy("{by} verified {entry}."),
    Action.DEPRECATE: gettext_lazy("{by} deprecated {entry}."),
    Action.SUPERSEDE: gettext_lazy("{by} replaced {entry} by another entry."),
    Action.RESTORE: gettext_lazy("{by} restored {entry}."),
    Action.REOPEN: gettext_lazy("{by} reopened {entry} for review."),
    Action.ASSIGN: gettext_lazy("{by} changed the owner of {entry}."),
    Action.KEEP: gettext_lazy("{by} kept {entry} as it was."),
    Action.CHECK: gettext_lazy("{by} checked {entry} against the code."),
    Action.SET_LEVEL: gettext_lazy("{by} decided how far the triggers of {entry} go."),
    Action.UNDO: gettext_lazy("{by} took back the last decision about {entry}."),
}
"""Every action in the history of a company entry."""

EVENT_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sign-ins": (gettext_lazy("Sign-ins and passwords"), ("signed_in", "signed_out_by_admin", "password_reset")),
    "accounts": (
        gettext_lazy("Accounts and roles"),
        (
            *("user_added", "user_changed", "user_activated", "user_deactivated", "user_deleted", "role_given"),
            *("invited", "invitation_revoked", "invitation_accepted"),
        ),
    ),
    "keys": (gettext_lazy("API keys"), ("key_created", "key_rotated", "key_revoked", "key_linked", "key_unlinked")),
    "privacy": (gettext_lazy("Private content"), ("private_shown", "erased", "scrub_previewed", "scrubbed")),
    "settings": (
        gettext_lazy("Settings and webhooks"),
        (
            *("setting_changed", "setting_reset", "connection_tested", "backup_asked"),
            *("webhook_added", "webhook_changed", "webhook_removed", "webhook_secret_rotated"),
        ),
    ),
}
"""Groups of events to filter by, each with its label."""

_DOORS = {
    "password": gettext_lazy("password"),
    "link": gettext_lazy("sign-in link"),
    "invitation": gettext_lazy("invitation"),
    "sso": gettext_lazy("single sign-on"),
}


@dataclass(frozen=True)
class AuditSubject:
    """A company entry as a sentence names it."""

    name: str
    proposer: str


class _Details(dict[str, str]):
    """What a sentence may name: a detail that a row from an earlier version lacks is said to be unknown."""

    def __missing__(self, name: str) -> str:
        return _("unknown")


def subjects_of(handles: Collection[str]) -> dict[str, AuditSubject]:
    """Return the company entries with these handles, in one query."""
    ids = {int(handle[1:]) for handle in handles if handle[1:].isdigit()}
    entries = CompanyEntry.objects.filter(pk__in=ids).select_related("proposed_by") if ids else []
    return {
        entry.handle: AuditSubject(
            f"{echo(entry.title)} ({entry.handle})",
            str(entry.proposed_by or _("a former user")),
        )
        for entry in entries
    }


def say_event(event: str, *, by: str, by_id: UUID | None, about: str, details: str) -> str:
    """Return the sentence of an event of people, keys or settings; its name for one that is not known here."""
    words = _Details({name: _in_words(name, value) for name, value in _read(details).items()})
    words["by"] = by or (_("A former user") if by_id else _("A command"))
    words["about"] = about or _("a former user")
    return EVENTS[event].format_map(words) if event in EVENTS else event


def say_decision(action: str, *, by: str, handle: str, subjects: Mapping[str, AuditSubject]) -> str:
    """Return the sentence of a step in the history of a company entry."""
    subject = subjects.get(handle, AuditSubject(handle, _("someone")))
    sentence = DECISIONS.get(action, action)
    return sentence.format(by=by or _("A former user"), entry=subject.name, proposer=subject.proposer)


def _read(details: str) -> dict[str, Any]:
    try:
        found = json.loads(details)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _in_words(name: str, value: Any) -> str:
    if name == "door":
        return _DOORS.get(str(value), str(value))
    if name == "setting":
        return title_of(str(value))
    if isinstance(value, list):
        return ", ".join(str(one).replace("_", " ") for one in value) or _("nothing")
    if isinstance(value, dict):
        return ", ".join(f"{count} {key}" for key, count in value.items())
    return _("nothing") if value in ("", None) else str(value)
