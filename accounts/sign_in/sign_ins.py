"""Sign-ins: in which browsers a user is signed in, and how to end that from elsewhere."""

import re
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from django.contrib.sessions.models import Session
from django.db import IntegrityError
from django.db.models import QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import SignIn, User
from accounts.services.agents import SEEN_EVERY
from bigmind.core.errors import NotFound

MOST_KNOWN = 10_000
"""Sessions of which a process knows when it last noted them."""
_noted: OrderedDict[int, datetime] = OrderedDict()

# The first that fits counts: what names itself Edge says Chrome as well, and Chrome says Safari.
_BROWSERS = {
    "Edg": "Edge",
    "OPR": "Opera",
    "Firefox": "Firefox",
    "FxiOS": "Firefox",
    "CriOS": "Chrome",
    "Chrom": "Chrome",
    "Safari": "Safari",
}
_SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


def note_sign_in(user: User, session_key: str, *, user_agent: str, address: str) -> None:
    """Note that a user uses a session: once a minute for each process, so that a page costs no write of its own."""
    # By a hash: no key stays here, and after a clash a moment is noted a minute late.
    now, session = timezone.now(), hash(session_key)
    if session in _noted and abs(now - _noted[session]) < SEEN_EVERY:
        return
    _noted[session] = now
    if len(_noted) > MOST_KNOWN:
        _noted.popitem(last=False)
    seen = SignIn(
        user=user,
        session_id=session_key,
        user_agent="".join(filter(str.isprintable, user_agent))[:300],
        address=address[:45],
        since=now,
        last_seen=now,
    )
    changing = ["user", "user_agent", "address", "last_seen"]
    # A user may be ending this session at the moment: then there is nothing to note.
    with suppress(IntegrityError):
        SignIn.objects.bulk_create([seen], update_conflicts=True, unique_fields=["session"], update_fields=changing)
    User.objects.filter(pk=user.pk).update(last_seen=now)


def list_sign_ins(actor: Actor) -> QuerySet[SignIn]:
    """Return where a user is signed in, the browser that was seen last first."""
    return SignIn.objects.filter(user=actor.user, session__expire_date__gt=timezone.now()).order_by("-last_seen", "pk")


def end_sign_in(actor: Actor, *, sign_in_id: int) -> None:
    """Sign a user out in one of their browsers.

    Raises:
        NotFound: they are not signed in there.
    """
    found = list_sign_ins(actor).filter(pk__in=actor.user.ids_of(sign_in_id)).first()
    if found is None:
        raise NotFound("You are not signed in there any more.", hint="Look at the list again.")
    Session.objects.filter(pk=found.session_id).delete()


def end_sign_ins(user: User, *, but: str | None = None) -> int:
    """Sign a user out everywhere, or everywhere `but` in the session with this key; return in how many browsers."""
    ending = Session.objects.filter(sign_in__user=user).exclude(pk=but)
    browsers = ending.count()
    ending.delete()
    return browsers


def browser_in_words(user_agent: str) -> str:
    """Name a browser as people do: “Firefox on Linux”."""
    browser = _first_of(_BROWSERS, user_agent)
    system = _first_of(_SYSTEMS, user_agent)
    if browser and system:
        return f"{browser} on {system}"
    program = re.match(r"[\w.-]+", user_agent)
    return browser or system or (program.group() if program else "A browser that does not say its name")


def _first_of(names: Mapping[str, str], user_agent: str) -> str:
    return next((name for part, name in names.items() if part in user_agent), "")
