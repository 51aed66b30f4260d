"""Tokens: finds keys that can be recognised by their form alone, without the text around them."""

import re
from collections.abc import Iterator

from bigmind.core.key_text import KEY_CHARS, PREFIX, is_well_formed

from .formats import ALNUM, FORMATS
from .found import Secret
from .values import entropy, is_mixed, is_placeholder, is_plain

# After a letter or digit a prefix is the middle of a longer word, unless that letter ends an escape such as `\\n`.
_BOUNDARY = r"(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrt]{prefix})|(?<=%[0-9A-F][0-9A-F]{prefix}))"


def _compile(prefix: str, body: str) -> re.Pattern[str]:
    literal = re.escape(prefix)
    return re.compile(f"{literal}{_BOUNDARY.format(prefix=literal)}(?P<body>{body})(?![A-Za-z0-9])")


_PATTERNS = [(each.kind, prefix, _compile(prefix, each.body)) for each in FORMATS for prefix in each.prefixes.split()]
# Tokens that are recognised by their middle or their structure. Each pattern begins with a rare literal, which is
# searched for first: a pattern that could begin anywhere would take quadratic time on a hostile text.
_OTHERS = [
    (kind, needle, re.compile(pattern))
    for kind, needle, pattern in (
        (
            "JSON Web Token",
            "eyJ",
            r"eyJ(?<![\w-]eyJ)[\w-]{8,2000}+\.[\w-]{8,4000}+\.[\w-]{0,1000}+(?:\.[\w-]{1,1000}+){0,2}",
        ),
        ("Azure client secret", "Q~", r"(?<=[\w.~]{3}\d)Q~[\w.~-]{31,36}(?![A-Za-z0-9])"),
        ("Azure key", "AzFu", r"AzFu[\w+/-]{4,12}={0,2}(?![A-Za-z0-9])"),
        ("Azure key", "AzSe", r"AzSe[\w+/-]{4,12}={0,2}(?![A-Za-z0-9])"),
        ("Azure key", "ACDb", r"ACDb[\w+/-]{4,12}={0,2}(?![A-Za-z0-9])"),
        ("Azure key", "+ASt", r"\+ASt[\w+/-]{4,12}={0,2}(?![A-Za-z0-9])"),
        ("Azure DevOps token", "AZDO", r"(?<=[A-Za-z0-9]{40})AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
        ("Terraform token", ".atlasv1.", r"\.atlasv1\.[\w-]{40,100}"),
        ("Telegram bot token", ":AA", r"(?<=\d{8}):AA[\w-]{32,35}(?![\w-])"),
        ("Mailchimp key", "-us", r"(?<=[0-9a-f]{32})-us\d{1,2}(?![A-Za-z0-9])"),
        ("OpenAI key", "T3BlbkFJ", r"(?<=[A-Za-z0-9]{20})T3BlbkFJ[A-Za-z0-9]{20,80}"),
        ("New Relic key", "NRAL", r"(?<=[0-9a-f]{36})NRAL(?![A-Za-z0-9])"),
        ("Discord bot token", ".", r"\.(?<=[A-Za-z0-9_-]{23}\.)[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
        ("Vault token", "s.", r"s\.(?<![\w.]s\.)[A-Za-z0-9]{24}(?![\w.])"),
        (
            "API token",
            "_",
            r"_(?<=[a-z0-9]_)(?:live|test|prod|secret|sk|pat|token|key|api|priv|tok|pk)[_-][\w-]{20,200}",
        ),
    )
]
# Most services mark their tokens with a word and `_`, and new ones will too. Digests may look alike, but use one case.
_MARKED = re.compile(r"_(?<=[a-z]_)[A-Za-z0-9]{32,200}(?![\w-])")
# No token is shorter, and most texts have no word this long: then the hundreds of prefixes need not be tried.
_LONG = re.compile(r"\S{16}")
_BEFORE = re.compile(r"[\w.~+/-]{0,100}\Z")


def find_tokens(text: str) -> Iterator[Secret]:
    """Yield the keys and tokens that can be recognised by their prefix or structure. They may overlap."""
    if not _LONG.search(text):
        return
    yield from _own_keys(text)
    for kind, prefix, pattern in _PATTERNS:
        if prefix in text:
            for match in pattern.finditer(text):
                if _is_real(match["body"]):
                    yield Secret(kind, match.start(), match.end())
    for kind, needle, pattern in _OTHERS:
        if needle in text:
            for match in pattern.finditer(text):
                start = _where_it_begins(text, match.start())
                if _is_strictly_random(text[start : match.end()]):
                    yield Secret(kind, start, match.end())
    for match in _MARKED.finditer(text):
        if is_mixed(match[0]):
            yield Secret("API token", _where_it_begins(text, match.start()), match.end())


def _own_keys(text: str) -> Iterator[Secret]:
    for match in OWN_KEY.finditer(text):
        if is_well_formed(match[0]):
            yield Secret("BigMind key", match.start(), match.end())


OWN_KEY = re.compile(f"{PREFIX}{ALNUM}{{{KEY_CHARS - len(PREFIX)}}}")


def _where_it_begins(text: str, middle: int) -> int:
    found = _BEFORE.search(text, max(0, middle - 100), middle)
    return found.start() if found else middle


def _is_real(body: str) -> bool:
    if is_placeholder(body):
        return False
    return not is_plain(body) or (body.isalnum() and not body.islower() and entropy(body) >= 2.8)


def _is_strictly_random(token: str) -> bool:
    """Whether it mixes letters and digits at random and contains no words."""
    return not is_placeholder(token) and not is_plain(token) and entropy(token) >= 3.0
