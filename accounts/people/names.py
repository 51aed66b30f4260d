"""Names: what nobody may call themselves, because agents and curators would take it for someone else.

A user name is the identity of a person; a display name stands beside it. Both are compared without case and accents,
and letters of other scripts as what they look like. What looks like a word of BigMind's own is refused more strictly.
"""

import re
import unicodedata

from accounts.models import Role, User
from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo

RESERVED = (
    *Role.values,
    *(
        "administrator",
        "admins",
        "curators",
        "cur",
        "moderator",
        "operator",
        "official",
        "root",
        "support",
        "me",
        "you",
    ),
    *(
        "bigmind",
        "megamind",
        "system",
        "agent",
        "assistant",
        "default",
        "everybody",
        "everyone",
        "nobody",
        "company",
        "you",
    ),
    *("approved", "approve", "rejected", "pending", "deprecated", "verified"),
)
"""Roles and BigMind's own words: as a name they would say who decided, or that nobody had to."""
ALSO_WITHIN = ("bigmind", "admin", "administrator", "curator", "approved", "verified", "system")
"""Those that no word of a longer name may be either: “Ada (admin)”."""
_LOOKS_LIKE = str.maketrans(
    {
        **dict(zip("авекмнорстухіјѕԁԛԝһӏґ", "abekmhopctyxijsdqwhlr", strict=True)),
        **dict(zip("αβεζηικνορτυχγω", "abezniknoptuxyw", strict=True)),
        **dict(zip("օսոհց", "ounhg", strict=True)),
        **dict(zip("ıłøđðɡɑ", "iloddga", strict=True)),
    }
)
"""Letters of other scripts, and Latin ones that are no accented letter, by what they look like."""
_DRAWN_ALIKE = str.maketrans({"0": "o", "1": "l", "3": "e", "5": "s", "i": "l", "|": "l", "$": "s", "@": "a"})


def plain_form(name: str) -> str:
    """Return a name as it is compared with those of others: two names of one form are taken for each other."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(char for char in folded if not unicodedata.combining(char)).translate(_LOOKS_LIKE)


def is_reserved(name: str) -> bool:
    """Whether a name is a word of BigMind's own, looks like one, or has one of the weightiest as a word."""
    words = re.split(r"[^\w@$|]|_", plain_form(name))
    return _outline(name) in _RESERVED or any(_outline(word) in _WITHIN for word in words)


def require_own_name(name: str, *, field: str, user: User | None = None) -> None:
    """Refuse a name that is reserved, or that looks like the user name of someone else.

    Args:
        user: Whose name it is to be; None for someone new. The name that they have already stays theirs.

    Raises:
        Invalid: with the name of the field.
    """
    if not name or (user and name in {user.username, user.display_name}):
        return
    if is_reserved(name):
        raise Invalid.of(field, f"{echo(name)} is a word of BigMind's own", hint="Choose a name that is yours alone.")
    form, others = plain_form(name), User.objects.exclude(pk=user.pk) if user else User.objects.all()
    if any(plain_form(other) == form for other in others.values_list("username", flat=True)):
        taken = f"{echo(name)} looks like another user name"
        raise Invalid.of(field, taken, hint="Add your surname, or a number.")


def _outline(text: str) -> str:
    """Return what a word looks like at a glance: I, l and 1 are drawn alike, and “rn” like “m”; signs do not count."""
    drawn = plain_form(text).translate(_DRAWN_ALIKE)
    return "".join(char for char in drawn if char.isalnum()).replace("rn", "m").replace("vv", "w")


_RESERVED = frozenset(map(_outline, RESERVED))
_WITHIN = frozenset(map(_outline, ALSO_WITHIN))
