"""Handles: the short names of things in what agents read (`F12`, `C3`, `H2`, `chunk:7`), and the ids they stand for."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from bigmind.core.private_row_numbers import ROWS_IN_BLOCK

LETTERS: dict[str, str] = {}
_LETTER_OF: dict[str, str] = {}
_HEXADECIMAL: set[str] = set()
"""Kinds whose ids may begin with a letter and go on with digits: `c1234567` is a session."""
_OTHER_NAMES: dict[str, str] = {}
"""A summary has the id of its session."""
_IN_WORDS = {"company": "a company entry", "entry": "a shared entry"}
_LETTER = re.compile(r"([A-Za-z])[-# ]?(\d{1,19})")
_KIND = re.compile(r"([A-Za-z_]{1,20})[:#] ?([0-9A-Fa-f-]{1,36})")
_NUMBERED = re.compile(r"([A-Za-z_]{2,20})[:# ] ?([A-Za-z]?)(\d{1,19})")
UUID_DIGITS = 8
"""So many digits of a UUID, or more, name it."""
_UUID = re.compile(f"[0-9A-Fa-f-]{{{UUID_DIGITS},36}}")
_AROUND = " []()`…#\"'"


@dataclass(frozen=True)
class Handle:
    """Marks an argument as an id of this kind, or of the kind that another argument names.

    `fact_id: Annotated[int, Handle("fact")]` may be sent as 12, `12`, `F12` or `fact:12`, and not as `C12`.
    """

    kind: str = ""
    kind_in: str = ""
    defaults_to_ours: bool = False
    """Whether leaving it out means that of this conversation."""


def take_handles(kind: str, *, letter: str = "", other_name: str = "", is_hexadecimal: bool = False) -> None:
    """Read handles of a kind from now on. The registry of kinds says which there are: the core knows none.

    Args:
        letter: What its handles begin with; empty: with its name.
        other_name: What it may be called besides.
        is_hexadecimal: Whether its ids are UUIDs.
    """
    if letter:
        LETTERS[letter] = kind
        _LETTER_OF[kind] = letter
    if other_name:
        _OTHER_NAMES[other_name] = kind
    if is_hexadecimal:
        _HEXADECIMAL.update(name for name in (kind, other_name) if name)


def id_in(text: str, kind: str) -> str:
    """Return the id that a handle of this kind names; any other text without the brackets and spaces around it.

    Raises:
        ValueError: the handle is of another kind; the message names it.
    """
    named, id = read_handle(text) or ("", text)
    shown = text.strip(_AROUND)
    if not named or (kind in _HEXADECIMAL and _UUID.fullmatch(shown)):
        return shown
    if _OTHER_NAMES.get(named, named) != _OTHER_NAMES.get(kind, kind):
        raise ValueError(f"is {shown[:40]}, the handle of {_in_words(named)}; {_in_words(kind)} is meant")
    return id


def read_handle(text: str) -> tuple[str, str] | None:
    """Return the kind and the id that a handle names; None for anything else, such as a bare number."""
    shown = text.strip(_AROUND)
    if (found := _LETTER.fullmatch(shown)) and found[1].upper() in LETTERS:
        return LETTERS[found[1].upper()], found[2]
    # `fact 12`, `fact:F12`, `session 7`: with or without its letter. More digits may be the beginning of a UUID.
    if found := _NUMBERED.fullmatch(shown):
        kind, is_number = found[1].lower(), len(found[3]) < UUID_DIGITS
        plain = _OTHER_NAMES.get(kind, kind)
        if LETTERS.get(found[2].upper(), plain) == plain and (is_number or kind not in _HEXADECIMAL):
            return kind, found[3]
        if kind not in _HEXADECIMAL:
            return None
    if found := _KIND.fullmatch(shown):
        return found[1].lower(), found[2].lower()
    return None


def name_among(kind: str, names: Collection[str]) -> str:
    """Return what a kind is called in a list of names: in some of them a session is a summary."""
    plain = kind.strip().casefold()
    own = _OTHER_NAMES.get(plain, plain)
    return kind if plain in names else next((name for name in names if _OTHER_NAMES.get(name, name) == own), kind)


def handle_of(kind: str, id: str) -> str:
    """Return the short name of a thing, as agents read it: `F12`, `C3`, `H2`; of other kinds `note:7`."""
    if not (id.isascii() and id.isdecimal()):
        return f"{kind}:{id}"  # A session has a number beside its id, which the id does not say.
    return f"{_LETTER_OF.get(kind, f'{kind}:')}{int(id) % ROWS_IN_BLOCK}"


def _in_words(kind: str) -> str:
    return _IN_WORDS.get(kind, f"a {kind}")
