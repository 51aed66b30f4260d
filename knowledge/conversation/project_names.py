"""Projects: one name for each, however it is spelled: `Freight-API` is `freight api`."""

import json
from collections.abc import Mapping
from typing import Any

from rapidfuzz import fuzz

from accounts.actor import Actor
from accounts.models import User
from bigmind.database.columns import column_names
from bigmind.database.fixed_queries import FixedQuery
from bigmind.privacy.screening.policy import add_notice
from bigmind.text.hygiene import fold_name, mention
from knowledge.kinds import KINDS
from knowledge.models import Fact, Session

EVERYWHERE = "everywhere"
"""Sent as a project, it says that a fact belongs to none, whatever its session is about."""
NEARLY = 80
"""Similarity, of 100, from which a new name may be a typo."""


def projects_of(user: User) -> list[str]:
    """Return the projects that a user's facts and sessions belong to."""
    facts = Fact.objects.of(user).exclude(project="").values_list("project")
    sessions = Session.objects.of(user).exclude(project="").values_list("project")
    return sorted(project for (project,) in facts.union(sessions))


_SESSION_OF_PROJECT = FixedQuery(
    lambda user_id, name: Session.objects.of(user_id).filter(project=name).order_by().values_list("pk")[:1]
)


def canonical_project(actor: Actor, name: str) -> str:
    """Return a project as it is spelled already where only case and separators differ; a new name as it is.

    One that is nearly that of another project is named in a notice.
    """
    if not name or _SESSION_OF_PROJECT(actor.user.pk, name):
        return name
    known = _spellings(actor.user)
    if name in known:
        return name
    folded = fold_name(name)
    same = next((one for one in known if fold_name(one) == folded), "")
    if not same:
        _mention_near(name, folded, known)
    return same or name


def spell_project(actor: Actor, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an operation with their project as it is spelled already."""
    name = arguments.get("project")
    if not isinstance(name, str) or not name or name == EVERYWHERE:
        return dict(arguments)
    return {**arguments, "project": canonical_project(actor, name)}


def _spellings(user: User) -> list[str]:
    things = [row.readable(user) for row in KINDS.values() if "project" in column_names(row.model)]
    names = [rows.exclude(project="").select_related(None).order_by().values_list("project") for rows in things]
    return sorted(name for (name,) in names[0].union(*names[1:]))


def _mention_near(name: str, folded: str, known: list[str]) -> None:
    near = [one for one in known if fuzz.ratio(folded, fold_name(one)) >= NEARLY]
    if near:
        meant = ", ".join(map(_in_ascii, near[:3]))
        add_notice(f"{_in_ascii(name)} is a new project. Did you mean {meant}?")


def _in_ascii(name: str) -> str:
    """Return a name as a header can hold it, in quotes that it cannot close."""
    return json.dumps(name.encode("ascii", "replace").decode()) if mention(name) != name else name
