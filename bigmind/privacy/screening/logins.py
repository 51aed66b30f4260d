"""Logins written as a pair: `login: ops / Pier9Gate`, `ops@example.com:Pier9Gate!`, a table with a column “pw”.

What names a password alone is found by `labelled_secrets`. Here the value decides first, because few words look like a
password; then what stands before it, in the same line.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .values import Secret, has_any, is_stand_in

BEFORE = 9
"""So many words before a value are looked at."""
MOST_CHARS = 64
_STEMS = (
    "login", "log in", "logon", "sign in", "sign-in", "user", "account", "cred", "pw", "pass", "benutzer", "zugang",
    "anmeld", "identifiant", "utilisateur", "usuario", "credencial", "kennwort", "@", "admin", "root", "u:",
)  # fmt: skip
_LOGIN_WORDS = """
login logins logon log logged sign signin user username users account accounts cred creds credential credentials
credential(s) u benutzer benutzername zugang zugangsdaten anmeldung anmelden identifiant identifiants utilisateur
usuario credenciales
"""
_NAMING_WORDS = """
password passwords passwd passphrase passcode pass pw pwd p kennwort passwort mdp senha contraseña wachtwoord parola
"""
_ACCOUNT_WORDS = """
admin administrator root user test tester testuser deploy deployer ops oncall svc service backup postgres guest demo
sa operator superuser ci bot
"""
_CONTEXT, _PASSWORD, _ACCOUNTS = (frozenset(words.split()) for words in (_LOGIN_WORDS, _NAMING_WORDS, _ACCOUNT_WORDS))
_CREDENTIALS = frozenset(word for word in _CONTEXT if word.startswith("cred")) | {"zugangsdaten", "identifiants"}
_BETWEEN = frozenset((":", "/", "|", "=", "-", "–", "—", "->", ",", ";", "&"))
_TOKEN = re.compile(r"[^\s|]{1,400}")
_GLUED = re.compile(r"(?P<user>[A-Za-z0-9][\w.@+-]{1,60})[:/=](?P<value>[^\s:/=][^\s]{4,64})")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}")
_NAME = re.compile(r"[A-Z]?[a-z]{2,40}\d{1,6}")
_TECHNICAL = re.compile(
    r"[\w.-]{1,60}\.[A-Za-z][A-Za-z0-9]{0,4}(?::\d{1,6})?|[A-Za-z0-9]{1,30}(?:_[a-z0-9]{1,30}){1,8}|U\+[0-9A-F]{4,6}"
)
"""Files and places in them, names of code, characters of Unicode."""
_WORD = re.compile(r"[^\W\d_]{1,20}(?:\(s\))?")
_CELL = re.compile(r"[^|\n]{1,400}")
_OF_CODE = frozenset("()[]{}<>\"'`=/\\")
_OPENING, _CLOSING = "`\"'([{<*_", "`\"')]}>*_.,;:"


class _Word(NamedTuple):
    """A word of a line: as it stands, and without the quotes and the punctuation around it."""

    whole: str
    start: int
    end: int
    text: str

    @property
    def names(self) -> set[str]:
        """The words in it, in lower case: `user/pass:` has two."""
        return {name.lower() for name in _WORD.findall(self.text[:40])}


def find_logins(text: str) -> Iterator[Secret]:
    """Find the passwords of logins that are written as a pair or in a table."""
    lowered = text.lower()
    if not has_any(lowered, _STEMS):
        return
    column, begin = -1, 0
    for line in text.split("\n"):
        if line.count("|") >= 2:
            cells = [_word_at(match, begin) for match in _CELL.finditer(line)]
            named = next((place for place, cell in enumerate(cells) if _names_password(cell)), -1)
            column = named if named >= 0 else column
            yield from _in_row(cells, column) if named < 0 else ()
        else:
            column = -1
            yield from _in_line([_word_at(match, begin) for match in _TOKEN.finditer(line)])
        begin += len(line) + 1


def _word_at(match: re.Match[str], begin: int) -> _Word:
    whole = match[0]
    left = len(whole) - len(whole.lstrip(_OPENING + " \t"))
    right = max(left, len(whole.rstrip(_CLOSING + " \t")))
    return _Word(whole.strip(), begin + match.start() + left, begin + match.start() + right, whole[left:right])


def _names_password(cell: _Word) -> bool:
    return bool(cell.names & _PASSWORD) and len(cell.text) <= 30 and not _is_chosen(cell.text)


def _in_row(cells: Sequence[_Word], column: int) -> Iterator[Secret]:
    for place, cell in enumerate(cells):
        if " " in cell.text:
            continue
        user = cells[place - 1].text if place else ""
        in_column = place == column and len(cell.text) >= 5 and _kinds(cell.text) >= 2
        beside = bool(user.lower() in _ACCOUNTS or _MAIL.fullmatch(user)) and _is_strong(cell.text)
        if (in_column and not is_stand_in(cell.text) and not cell.text.isalpha()) or beside:
            yield Secret("password", cell.start, cell.end)


def _in_line(words: Sequence[_Word]) -> Iterator[Secret]:
    for place, word in enumerate(words):
        before = words[max(0, place - BEFORE) : place]
        glued = _GLUED.fullmatch(word.text)
        if glued and _is_chosen(glued["value"]) and _is_pair(glued["user"], glued["value"], before):
            yield Secret("password", word.start + glued.start("value"), word.end)
        elif before and not glued and _is_chosen(word.text) and _ends_login(word.text, before):
            yield Secret("password", word.start, word.end)


def _ends_login(value: str, before: Sequence[_Word]) -> bool:
    """Whether a value that looks like a password stands behind its name, or behind a user and a sign between both."""
    context = set[str]().union(*(word.names for word in before))
    named = set[str]().union(*(word.names for word in before[-2:])) & _PASSWORD
    if named:
        # “pass” counts tests, and “p” is a letter: they need a user before them.
        is_clear = bool(named - {"pass", "p"}) and (before[-1].whole.endswith((":", "=")) or _has_symbol(value))
        return is_clear or bool(context & _CONTEXT) or any(_MAIL.fullmatch(word.text) for word in before)
    last = before[-1]
    if last.whole in _BETWEEN:
        return len(before) > 1 and _is_pair(before[-2].text, value, before[:-2])
    if last.whole.endswith((":", "/", ",")) and not last.names & _CONTEXT:
        return _is_pair(last.text.rstrip(":/"), value, before[:-1])
    if last.text in {"with", "mit", "avec", "con"} and len(before) > 1:
        user = before[-2].text
        return bool(_MAIL.fullmatch(user)) or (_has_symbol(value) and bool(context & _CONTEXT))
    return False


def _is_pair(user: str, value: str, before: Sequence[_Word]) -> bool:
    if _MAIL.fullmatch(user):
        return True
    context = set[str]().union(*(word.names for word in before)) & _CONTEXT
    if user.lower() in _ACCOUNTS and _is_strong(value):
        return True
    is_name = bool(_NAME.fullmatch(value)) and not context & _CREDENTIALS
    # `user:126:profile` says that a user is meant, and not which.
    return bool(context) and not is_name and user.lower() not in _CONTEXT


def _is_chosen(value: str) -> bool:
    """Whether it mixes kinds of characters as a password does, and is no address, file or placeholder."""
    # Ids have two kinds, such as the one in `span_id=4d1a8701b429d981`.
    if not 5 <= len(value) <= MOST_CHARS or _kinds(value) < 3 or not any(char.isdigit() for char in value):
        return False
    # In “Login form: LoginForm.tsx:120” a place in a file stands where a password would.
    if any(sign in _OF_CODE for sign in value) or _TECHNICAL.fullmatch(value) or _MAIL.fullmatch(value):
        return False
    return not is_stand_in(value)


def _is_strong(value: str) -> bool:
    return _is_chosen(value) and _has_symbol(value)


def _has_symbol(value: str) -> bool:
    return any(char in "!?#$%&*+@^~" for char in value)


def _kinds(value: str) -> int:
    kinds = (str.isupper, str.islower, str.isdigit, lambda char: not char.isalnum())
    return sum(any(kind(char) for char in value) for kind in kinds)
