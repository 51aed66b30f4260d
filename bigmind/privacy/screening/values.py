"""Secrets: where one was found, and how its value is distinguished from words, placeholders and references."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log2
from typing import NamedTuple

_FILLERS = (
    r"example|placeholder|change[-_ ]?(?:me|it|this)|replace[-_ ]?(?:me|with|this)|your[-_ ]?|insert[-_ ]|dummy|sample"
    r"|redacted|removed|hidden|masked|omitted|todo|fixme|foobar|lorem|not[-_]?a?[-_]?real|x{4,}|\*{3,}|\.{3}|…|•{2,}"
    r"|_here\b|<[^<>]{1,60}>|-goes-here|deadbeef|0{8,}|secret removed"
)
PLACEHOLDER = re.compile(_FILLERS, re.IGNORECASE)
_OF_DOCUMENTATION = re.compile(r"EXAMPLE(?:KEY)?\Z")
"""AWS ends the keys in its documentation so."""
_WORDS = """
password passwd pass pwd passw passphrase secret secrets token key apikey user username root admin guest test tests
testing postgres mysql mongo mongodb redis rabbitmq default none null nil true false undefined empty string str text
value foo bar baz qux hunter abc xyz xxx pw pass1 password1 p w x y z a b db database api changeme example localhost
abc123 required optional unset disabled enabled bearer basic
"""
_HABITUAL = frozenset(_WORDS.split())
REFERENCE = re.compile(
    r"[$%@&]?\{|\$[A-Za-z_(]|%[(A-Z_]|<|#\{|!(?:Ref|Sub|vault|secret)\b"
    r"|[\w.]+\(|[A-Za-z_]\w*\[|\w+\$\d|\$\d\w?\$|[a-z][a-z0-9+]{1,20}:/|(?:sha\d{1,3}|md5)[-:]"
    r"|(?:arn|vault|env|file|ssm|op|sops|enc|keyring|projects|valueFrom|secretRef)[:/\[]",
    re.IGNORECASE,
)
"""A value that says where the secret is: a variable, a call, an address; or a digest, which cannot be turned back."""
_CHAIN = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_NAME_OF_ONE = re.compile(
    r"(?:[A-Za-z]{1,20}_|[a-z]{1,20}(?=[A-Z]))*(?:my|your|the|db|user|admin|root|app|new|old)?(?i:password|passwd|token"
    r"|secret|key|credential|pass)(?:_[A-Za-z]{1,20}|[A-Z][a-z]{1,20})*\d?"
)
_TECHNICAL = re.compile(
    r"v?\d{1,4}|\d{1,4}[a-z]{1,3}|(?:sha|md|rs|es|ps|hs|aes|rsa|utf|base|oauth|http|ed|x|argon|pbkdf|k|s|ec|p|tls|ipv?"
    r"|pkcs|blake|scrypt|bcrypt|hmac|cp|iso|rfc|h|py|node|sec|saml|u|web|log|i|l|b)v?\d{1,5}[a-z]{0,2}",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"[!@#$%^&*+=?~]")


class Secret(NamedTuple):
    """One secret in a text: what it is, in words such as “AWS access key”, and where it stands."""

    kind: str
    start: int
    end: int


def has_any(text: str, parts: Sequence[str]) -> bool:
    """Return whether a text has any of these parts. A plain loop: every text that is stored pays for it."""
    for part in parts:  # noqa: SIM110
        if part in text:
            return True
    return False


def merge_overlaps(candidates: Iterable[Secret]) -> list[Secret]:
    """Return the secrets in the order of the text, those that overlap as one. The kind found first names it."""
    ranked = sorted(enumerate(candidates), key=lambda each: (each[1].start, each[0]))
    kept: list[tuple[int, Secret]] = []
    for rank, secret in ranked:
        if kept and secret.start < kept[-1][1].end:
            best, last = kept[-1]
            kind = secret.kind if rank < best else last.kind
            kept[-1] = (min(rank, best), Secret(kind, last.start, max(last.end, secret.end)))
        else:
            kept.append((rank, secret))
    return [secret for _, secret in kept]


def is_placeholder(value: str) -> bool:
    """Whether this stands for a secret in documentation: `<your-api-key>`, `changeme`, `xxxx`, `…`."""
    if value.strip("-_*.").lower() in _HABITUAL or _repeats(value):
        return True
    rest, found = PLACEHOLDER.subn(" ", value)
    # A word of documentation beside a secret, as in `todo-` and a password, hides none.
    return found > 0 and not (_is_chosen(rest.strip("-_*.: ")) and not _OF_DOCUMENTATION.search(value))


def has_placeholder(value: str) -> bool:
    """Whether a word of documentation is anywhere in a value that nothing but its own form calls a secret."""
    return bool(PLACEHOLDER.search(value)) or is_placeholder(value)


def _repeats(value: str) -> bool:
    """Whether it repeats one short piece, as `0000` and `1234567890123456789012` do."""
    return len(set(value)) <= 2 or any(value[n:] == value[:-n] for n in range(1, min(10, len(value) // 2) + 1))


def entropy(value: str) -> float:
    """Return the Shannon entropy of the characters, in bits for each."""
    counts = Counter(value).values()
    return -sum(count / len(value) * log2(count / len(value)) for count in counts)


def is_plain(value: str) -> bool:
    """Whether it consists of words, short numbers and names such as `sha256`, like `base64-encoded`."""
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", value) if part]
    return all(part.isalpha() or bool(_TECHNICAL.fullmatch(part)) for part in parts) and not _is_jumbled(value)


def _is_jumbled(value: str) -> bool:
    """Whether upper and lower case alternate more often than in any name."""
    letters = "".join(filter(str.isalpha, value))
    changes = sum(one.islower() and two.isupper() for one, two in pairwise(letters))
    return len(letters) >= 16 and changes * 5 >= len(letters)


def is_reference(value: str) -> bool:
    """Whether the value is an expression or a name, and the secret is elsewhere."""
    return bool(REFERENCE.match(value) or _CHAIN.fullmatch(value) or _CONSTANT.fullmatch(value))


def is_sequence(value: str) -> bool:
    """Whether it follows the order of the alphabet or of the digits, like `abcdef123456`."""
    steps = sum(ord(two) - ord(one) == 1 for one, two in pairwise(value))
    return steps * 10 >= (len(value) - 1) * 7


def is_stand_in(value: str) -> bool:
    """Whether the value only says that there is a secret: a placeholder, a reference, or its own name."""
    return is_placeholder(value) or is_sequence(value) or is_reference(value) or bool(_NAME_OF_ONE.fullmatch(value))


def is_token(value: str, *, at_least: int = 12) -> bool:
    """Whether this can be a key or a token: a machine made it, of letters and digits or both cases, in no order."""
    # The cheap checks come first: a hostile text may name a secret ten thousand times.
    if len(value) < at_least or is_plain(value):
        return False
    # The most that a text of n characters can reach is log2(n) bits, so short ones get a bound in proportion.
    return entropy(value) >= min(3.0, 0.75 * log2(len(value))) and not is_stand_in(value)


def is_mixed(token: str) -> bool:
    """Whether it mixes capitals, small letters and digits at random, which neither names nor digests do."""
    kinds = (str.isupper, str.islower, str.isdigit)
    if (
        not all(sum(kind(char) for char in token) >= 2 for kind in kinds)
        or PLACEHOLDER.search(token)
        or _repeats(token)
    ):
        return False
    return entropy(token) >= 3.8 and not is_plain(token) and token.count("/") <= 3


def is_password(value: str, *, spoken: bool = False) -> bool:
    """Whether this could be a password. In a sentence (`spoken`) the bar is higher: most values there are words."""
    if len(value) < 6 or value.startswith(("/", "./", "../", "~/")) or is_stand_in(value):
        return False
    if value.isdigit():
        return not spoken
    if spoken and not is_plain(value) and _is_numbered_words(value):
        return False
    return _is_chosen(value)


def _is_chosen(value: str) -> bool:
    """Whether letters, and digits or signs among them, make up more than words and numbers."""
    if len(value) < 6 or not any(char.isalpha() for char in value):
        return False
    # Within the value: signs around it are quotes and brackets, as in `redis://:<password>@localhost`.
    return not is_plain(value) or (len(value) >= 8 and bool(_SYMBOL.search(value[1:-1])))


def _is_numbered_words(value: str) -> bool:
    """Whether it looks like `step2-of-flow`: common in sentences, never chosen as a password."""
    return bool(re.fullmatch(r"(?:[a-z]+\d{0,2}[-_/.])+[a-z]+\d{0,2}|\d+(?:\.\d+)*[a-z]{1,4}|[A-Z]{2,}-\d+", value))
