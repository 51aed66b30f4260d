"""Sources that a user withdraws: finds what each wrote, and hides it from agents until a curator decides."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Agent, ApiKey, Call, User
from bigmind.core.errors import Invalid, NotFound
from bigmind.core.handles import handle_of
from curation.models import Action, Notice
from curation.notifications.notices import take_words_back
from knowledge.conversation.current_sessions import own_session
from knowledge.exposures.sent_lines import forget_texts_of_things
from knowledge.exposures.withdrawals import Heard
from knowledge.models import CompanyEntry, Entry, Kind, Reference, Session, Status, Writing

from .deciding import wait_for_pairs
from .history import WAITING, entry_to_change, record

REOPENED = "What wrote this is not trusted any more: it waits for a curator again."
WHY = "what wrote it is not trusted any more."


def ids_of_approved(entries: QuerySet[CompanyEntry]) -> list[int]:
    """Return the numbers of the entries that are approved, and so reach every agent."""
    return list(entries.filter(status=Status.APPROVED).order_by("pk").values_list("pk", flat=True))


def quarantine(actor: Actor, numbers: Iterable[int]) -> None:
    """Put approved entries back into the queue. Searches and start contexts drop them; the history gains one step."""
    approved = list(numbers)
    if not approved:
        return
    wait_for_pairs()
    for number in approved:
        entry = entry_to_change(number)
        record(actor, entry, Action.REOPEN, notes=REOPENED, changes=WAITING)
    take_words_back(approved)
    forget_texts_of_things((Kind.COMPANY, str(number)) for number in approved)


def tell_owners(heard: Heard, *, why: str = WHY) -> None:
    """Notify people whose ended sessions received a withdrawn entry: one notice for each person and entry.

    Open sessions are not counted here: their agents hear it at the next call.
    """
    shared = {(person, one): count for (person, one), count in heard.by_person.items() if one.kind == Kind.COMPANY}
    known = set(User.objects.filter(pk__in={person for person, _ in shared}).values_list("pk", flat=True))
    Notice.objects.bulk_create(
        Notice(user_id=person, entry_id=int(one.source_id), text=_line(handle_of(*one), count, why))
        for (person, one), count in sorted(shared.items(), key=lambda row: (str(row[0][0]), int(row[0][1].source_id)))
        if person in known
    )


def _line(handle: str, count: int, why: str) -> str:
    one, more = "A session of yours that has ended was", f"{count:,} sessions of yours that have ended were"
    sessions = one if count == 1 else more
    return f"{sessions} told [{handle}], which was recalled: {why} Look at what was based on it."


@dataclass(frozen=True)
class Meant:
    """The source that the caller wants forgotten, as the arguments name it."""

    key: UUID | None = None
    agent: int | None = None
    session_id: str | None = None
    app: int | None = None
    source_file: str = ""
    origin: str = ""
    since: datetime | None = None

    @property
    def said(self) -> dict[str, str]:
        """The arguments that were given, for the signed report."""
        return {name: str(value) for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class WithdrawnSource:
    """The writings of one user that the source made; or shared and company entries by where they come from."""

    user: User
    writings: "QuerySet[Writing]"
    calls: "QuerySet[Call]"
    session: Session | None = None
    since: datetime | None = None
    until: datetime | None = None
    entries: "QuerySet[Entry]" = field(default_factory=Entry.objects.none)
    company: "QuerySet[CompanyEntry]" = field(default_factory=CompanyEntry.objects.none)
    references: "QuerySet[Reference]" = field(default_factory=Reference.objects.none)

    def ids(self, kind: Kind | str) -> list[str]:
        """Return the ids of the items of this kind that the source created."""
        return list(self.writings.filter(kind=str(kind), made=True).values_list("source_id", flat=True).distinct())

    def numbers(self, kind: Kind | str) -> list[int]:
        """Return the same ids as numbers."""
        return [int(id) for id in self.ids(kind)]

    def ids_touched(self, kind: Kind | str) -> list[str]:
        """Return the ids of the items of this kind that the source created, changed or decided about."""
        return list(self.writings.filter(kind=str(kind)).values_list("source_id", flat=True).distinct())

    def ids_worded_last(self, kind: Kind | str) -> list[str]:
        """Return the ids of the items of this kind whose text the source was the last to write."""
        last = self._writings_of(kind).order_by("source_id", "-at", "-pk").distinct("source_id")
        return list(self.writings.filter(pk__in=last.values("pk"), made=True).values_list("source_id", flat=True))

    def of_others_too(self, kind: Kind | str) -> list[str]:
        """Return the ids of the items that the source wrote, and that others (or itself, before `since`) wrote too."""
        others = self._writings_of(kind).exclude(pk__in=self.writings.values("pk"))
        return list(others.values_list("source_id", flat=True).distinct())

    def _writings_of(self, kind: Kind | str) -> "QuerySet[Writing]":
        """Return everything that anyone wrote on the items that the source created."""
        return Writing.objects.filter(kind=str(kind), source_id__in=self.ids(kind))

    @property
    def sessions(self) -> QuerySet[Session]:
        """Return the sessions that it started or ended (their headlines are its words), and the source itself."""
        meant = Q(pk__in=self.ids(Kind.SUMMARY))
        return Session.objects.of(self.user).filter(meant | Q(pk=self.session.pk) if self.session else meant)


def sources_of(actor: Actor, meant: Meant) -> Iterator[WithdrawnSource]:
    """Yield the sources that the arguments name, one for each user whose memory holds its writings.

    Raises:
        Invalid: the arguments name nothing, or two sources that exclude each other.
        NotFound: the source does not exist, or the actor may not manage it.
        Forbidden: only curators withdraw company knowledge by its origin.
    """
    shared = [name for name in ("source_file", "origin", "app") if getattr(meant, name)]
    own = [name for name in ("key", "agent", "session_id") if getattr(meant, name) is not None]
    if not shared and not own:
        message = "or agent, session_id, app, source_file or origin is required: what is to be forgotten"
        raise Invalid.of("key", message)
    if len(shared) > 1 or (shared and own):
        raise Invalid.of(shared[0], "is asked for alone", hint="Ask for each source by itself.")
    if meant.app is not None:
        yield from _of_app(actor, meant.app, meant.since)
    elif meant.source_file:
        entries, references = _of_file(actor, meant.source_file, meant.since)
        yield replace(_nothing_of(actor.user), entries=entries, references=references)
    elif meant.origin:
        actor.require("curate")
        rows = CompanyEntry.objects.filter(origin=meant.origin)
        rows = rows.filter(created_at__gte=meant.since) if meant.since else rows
        yield replace(_nothing_of(actor.user), company=rows)
    else:
        yield _of_writer(actor, meant)


def _nothing_of(user: User) -> WithdrawnSource:
    return WithdrawnSource(user, Writing.objects.none(), Call.objects.none())


def _of_app(actor: Actor, app: int, since: datetime | None) -> Iterator[WithdrawnSource]:
    """Yield what a connected app wrote: for admins on behalf of all users, for others on their own behalf."""
    keys = ApiKey.objects.filter(app=app).exclude(user=None)
    keys = keys if "admin" in actor.scopes else keys.filter(user=actor.user)
    if not keys.exists():
        raise NotFound(f"You have let in no app {app}.", hint="The page “Keys” shows the apps that are connected.")
    for key in keys.select_related("user").order_by("user", "created_at"):
        assert key.user is not None
        yield _since(_of_key(key, key.user), since or key.created_at, since)


def _of_file(actor: Actor, source_file: str, since: datetime | None) -> tuple[QuerySet[Entry], QuerySet[Reference]]:
    """Return what was imported from a file: for curators all of it, for others only the entries that they added."""
    entries, references = Entry.objects.filter(source_file=source_file), Reference.objects.filter(origin=source_file)
    if "curate" not in actor.scopes:
        entries, references = entries.filter(created_by=actor.user), references.none()
    if since:
        entries, references = entries.filter(created_at__gte=since), references.filter(created_at__gte=since)
    return entries, references


def _of_writer(actor: Actor, meant: Meant) -> WithdrawnSource:
    user, session = actor.user, None
    source = WithdrawnSource(user, Writing.objects.all(), Call.objects.all())
    begin: datetime | None = None
    if meant.key is not None:
        key = _key_of(actor, meant.key)
        user, begin = key.user or user, key.created_at
        source = _of_key(key, user)
    if meant.agent is not None:
        agent = Agent.objects.filter(pk__in=user.ids_of(meant.agent), user=user).first()
        if agent is None:
            raise NotFound(f"You have no agent {meant.agent}.", hint="Your profile page shows yours.")
        begin = max(begin, agent.first_seen) if begin else agent.first_seen
        source = replace(source, writings=source.writings.filter(agent=agent), calls=source.calls.filter(agent=agent))
    if meant.session_id is not None:
        session = own_session(actor, meant.session_id)
        begin, until = session.started_at, session.ended_at or timezone.now()
        within = source.writings.filter(agent=session.agent, at__gte=begin, at__lte=until)
        calls = source.calls.filter(agent=session.agent, at__gte=begin, at__lte=until)
        source = replace(source, writings=within, calls=calls, session=session, until=until)
    mine = replace(source, user=user, writings=source.writings.filter(user=user), calls=source.calls.filter(user=user))
    return _since(mine, meant.since or begin, meant.since)


def _of_key(key: ApiKey, user: User) -> WithdrawnSource:
    return WithdrawnSource(user, Writing.objects.filter(key=key, user=user), Call.objects.filter(key=key, user=user))


def _since(source: WithdrawnSource, begin: datetime | None, since: datetime | None) -> WithdrawnSource:
    """Narrow a source to what it wrote since a moment. `begin` is the earliest moment at which it can have written."""
    if since is None:
        return replace(source, since=begin)
    writings, calls = source.writings.filter(at__gte=since), source.calls.filter(at__gte=since)
    return replace(source, since=begin, writings=writings, calls=calls)


def _key_of(actor: Actor, key: UUID) -> ApiKey:
    """Return a key of the actor, or for admins any key: forgetting what it wrote does not let them read it."""
    keys = ApiKey.objects.all() if "admin" in actor.scopes else ApiKey.objects.filter(user=actor.user)
    found = keys.select_related("user").filter(pk=key).first()
    if found is None or found.user is None:
        raise NotFound(f"You have no key {key}.", hint="The page “Keys” shows yours.")
    return found
