"""Hygiene for every text that is stored or shown to an agent: what is refused, what is flagged, what is defused."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

CLEAN_TEXTS_KEPT = 10_000
"""About a megabyte."""
HIDDEN = {
    "NUL character": "\0",
    "control character": "\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f",
    "lone surrogate": "\ud800-\udfff",
    "bidirectional control": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "variation selector": "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef",
    "tag character": "\U000e0000-\U000e007f",
    "zero-width character": "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff",
}
"""The characters that a reader does not see, by kind: what Unicode says may be ignored in display, and controls."""
EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
JOINED = "\u0600-\u061b\u061d-\u17b3\u17b6-\u180a\u1810-\u1cff"
"""Scripts whose spelling needs joiners: Arabic and Persian, those of India, Khmer, Mongolian."""
# Where a hidden character is part of ordinary spelling. One selector and one joiner each, so that no message fits in.
SPELLED = (
    f"(?<=[#*0-9{EMOJI}])[\ufe0e\ufe0f]"
    f"|(?<=[\ufe0f{EMOJI}])\u200d(?=[{EMOJI}])"
    f"|(?<=[{JOINED}])[\u200c\u200d](?=[{JOINED}])"
    # The flags of England, Scotland and Wales: the only emoji that are spelled with tags.
    "|(?<=\U0001f3f4)\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
SPELLED_OR_HIDDEN = re.compile(f"{SPELLED}|(?P<hidden>[{''.join(HIDDEN.values())}])")
KINDS = {kind: re.compile(f"[{characters}]") for kind, characters in HIDDEN.items()}
# No text may have these: nobody means to store them, and they break databases, JSON and terminals.
REFUSED = re.compile(f"[{HIDDEN['NUL character']}{HIDDEN['control character']}{HIDDEN['lone surrogate']}]")
LINE_BREAK = re.compile("[\n\r\t\u2028\u2029]")
FOLDED_CHARS = 200
LONG_TICKS = re.compile("`{100,}")
MARKDOWN_OPENER = re.compile(r"^(\d{1,9}(?=[.)](?:\s|$))|(?=[#>[<]|[-+*](?:\s|$)|-{2}|[*_]{3}|`{3}|~{3}|=+$))")
_SIGN = "!-\\[\\]-{}~¡-¬®-\u024f\u0370-\u052f‘-‟–—…"
HARMLESS = re.compile(f"(?:(?:[A-Za-zÀ-\u024f\u0370-\u052f“(]|[0-9]++(?![.)]))[{_SIGN}]*(?: [{_SIGN}]+)*)?")
"""A line that begins with a letter or a number that numbers no list, has single spaces and neither bars nor
backslashes, as nearly all have; or an empty one."""
LIST_ITEM = re.compile(r"[-*+]\s+(?=\S)|\d{1,9}[.)]\s+(?=\S)")
HEADING = re.compile(r"#{1,6}\s+(?=\S)")
NESTED_SPACES = 6
# From the first of a row on, and all or none: else a long row of backslashes takes a time that grows with its square.
LAST_BACKSLASHES = re.compile(r"(?<!\\)(\\++)(?=\||\Z)")


_WORD = re.compile(r"[\w.@+/:—–-]{1,60}")
"""One word, such as a name, an address or a path: it cannot pass for a statement."""
_FILLERS = str.maketrans("", "", " -_")
INNER_QUOTES = str.maketrans("“”`", "‘’'")
ECHOED_CHARS = 200
"""Of a name that an error repeats: no name that is stored is longer."""


class Told(str):
    """A text as agents may read it: made by the server, or made harmless by `inline`, `quote` or `fence`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class HiddenCharacter:
    """One character that a reader does not see, and how often a text has it."""

    codepoint: str
    """Such as `U+200B`."""
    name: str
    """Such as `ZERO WIDTH SPACE`; empty where Unicode gives none."""
    kind: str
    count: int
    position: int
    """Of the first one, counted from 1."""

    def __str__(self) -> str:
        named = " ".join(part for part in (self.codepoint, self.name) if part)
        return f"{self.kind} ({named})" if self.codepoint != "U+0000" else self.kind


def find_hidden_characters(text: str) -> list[HiddenCharacter]:
    """Return the hidden characters of a text, each once, in the order in which they first appear.

    Joiners and variation selectors do not count where emoji, Persian or the scripts of India are spelled with them.
    """
    counts, positions = Counter[str](), dict[str, int]()
    for found in _find_hidden(text):
        counts[found[0]] += 1
        positions.setdefault(found[0], found.start() + 1)
    return [_describe(character, counts[character], position) for character, position in positions.items()]


def find_hidden_spans(text: str) -> list[tuple[str, int, int]]:
    """Return each run of hidden characters of one kind: the kind, where it starts and where it ends."""
    places: list[tuple[str, int, int]] = []
    for found in _find_hidden(text):
        kind = _kind_of(found[0])
        if places and places[-1][0] == kind and places[-1][2] == found.start():
            places[-1] = (kind, places[-1][1], found.end())
        else:
            places.append((kind, found.start(), found.end()))
    return places


def _find_hidden(text: str) -> Iterator[re.Match[str]]:
    # Of ASCII only controls are hidden, and looking for those alone takes a tenth of the time.
    if not text.isascii() or REFUSED.search(text):
        yield from (found for found in SPELLED_OR_HIDDEN.finditer(text) if found["hidden"])


@cache
def _kind_of(character: str) -> str:
    return next(kind for kind, members in KINDS.items() if members.match(character))


def _describe(character: str, count: int, position: int) -> HiddenCharacter:
    name = unicodedata.name(character, "")
    return HiddenCharacter(_codepoint(character), name, _kind_of(character), count, position)


def _codepoint(character: str) -> str:
    return f"U+{ord(character):04X}"


def clean_name(text: str) -> str:
    """Return a name, key, title or tag as it is stored: one line, NFC, without white space around it.

    Raises:
        ValueError: it has a hidden character, or a line break or tab inside; the message says which, and where.
    """
    if hidden := find_hidden_characters(text):
        raise ValueError(f"has a {hidden[0]} at position {hidden[0].position}")
    begins, ends = len(text) - len(text.lstrip()), len(text.rstrip())
    if broken := LINE_BREAK.search(text, begins, ends):
        raise ValueError(f"has a line break or a tab at position {broken.start() + 1}")
    return unicodedata.normalize("NFC", text[begins:ends])


def check_content(text: str) -> str:
    """Return a text unchanged, byte for byte.

    Raises:
        ValueError: it has a NUL, a control character that is not a tab or line break, or half a surrogate pair;
            the message says which, and where.
    """
    if refused := REFUSED.search(text):
        hidden = _describe(refused[0], 1, refused.start() + 1)
        raise ValueError(f"has a {hidden} at position {hidden.position}")
    return text


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, the names of its fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)


def show_hidden(text: str) -> str:
    """Return the text with a visible mark, such as ⟦U+200B⟧, in place of each hidden character."""
    if text.isascii() and text.isprintable():
        return text
    return SPELLED_OR_HIDDEN.sub(lambda found: f"⟦{_codepoint(found[0])}⟧" if found["hidden"] else found[0], text)


def split_to_bytes(text: str, limit: int) -> list[str]:
    """Return the parts of a text, of at most so many bytes each, cut between words where there are any.

    Joined they are the text. One with half a surrogate pair has no bytes, and stays whole.
    """
    if REFUSED.search(text):
        return [text]
    parts: list[str] = []
    raw, begin = text.encode(), 0
    while len(raw) - begin > limit:
        # A character that the limit cuts in two goes to the next part.
        part = raw[begin : begin + limit].decode(errors="ignore")
        end = max(part.rfind("\n"), part.rfind(" ")) + 1 or len(part)
        parts.append(part[:end])
        begin += len(part[:end].encode())
    return [*parts, raw[begin:].decode()]


def one_line(text: str) -> str:
    """Return the text with every run of white space, line breaks included, as one space."""
    line = " ".join(text.split())
    return text if line == text else line  # The same text again would be held a second time.


def cut(text: str, limit: int) -> str:
    """Return the text, or its beginning up to a limit of characters: whole words, and a mark that there was more."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    at = max(kept.rfind(" "), kept.rfind("\n"))
    return f"{kept[:at] if at > limit // 2 else kept}…".strip()


def inline(text: str) -> str:
    """Return a stored text as it may stand in a line, a bullet or a table cell of markdown that agents read.

    It cannot open a heading, quotation, list, rule, code block or `[C142]` of its own, nor end the cell or the line.
    """
    return text if HARMLESS.fullmatch(text) else _defuse(text)


def inline_each(texts: Iterable[str]) -> list[str]:
    """Return each of several texts so."""
    return [text if HARMLESS.fullmatch(text) else _defuse(text) for text in texts]


def _defuse(text: str) -> str:
    line = MARKDOWN_OPENER.sub(r"\1\\", one_line(show_hidden(text)))
    # A backslash that already stands before a bar, or before whatever follows the text, would undo the escape.
    return (LAST_BACKSLASHES.sub(r"\1\1", line) if "\\" in line else line).replace("|", r"\|")


def quote(text: str) -> str:
    """Return a stored text as it may stand among words of the server's, in quotes that it cannot close.

    One word needs none: it cannot pass for a statement. Everything else could read as if the server said it, such as a
    source that is called “approved by the board”.
    """
    line = text if HARMLESS.fullmatch(text) else _defuse(text)
    return line if not line or _WORD.fullmatch(line) else f"“{line.translate(INNER_QUOTES)}”"


def echo(text: object, *, limit: int = ECHOED_CHARS) -> str:
    """Return a name or value as an error, a hint or a next step may repeat it: in quotes that it cannot close.

    For texts that are not markdown yet: a template that prints them escapes bars and openers by itself. It is one line,
    hidden characters are visible, and what is longer than the limit is cut.
    """
    line = one_line(show_hidden(str(text)))
    shown = line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
    return f"“{shown.translate(INNER_QUOTES)}”"


def mention(text: object, *, limit: int = ECHOED_CHARS) -> str:
    """Return the same; a single word stands without quotes, as with `quote`."""
    word = str(text)
    return word if _WORD.fullmatch(word) else echo(word, limit=limit)


def mention_all(texts: Iterable[object]) -> str:
    """Return several names so, with commas between them."""
    return ", ".join(mention(text) for text in texts)


def echo_code(text: object, *, limit: int = ECHOED_CHARS) -> str:
    """Return what `echo` does, as code: for options, values and paths, whose every sign matters."""
    line = one_line(show_hidden(str(text))).replace("`", "'")
    return f"`{line if len(line) <= limit else f'{line[: limit - 1]}…'}`"


def markdown_lines(text: str) -> list[str]:
    """Return the lines of a stored markdown text as they may stand in markdown that agents read.

    Lists, emphasis and the empty lines between paragraphs stay, the latter at the beginning of the line that follows;
    headings become bold. Whatever else could open a block of its own is made harmless, as `inline` does.
    """
    lines, gap = [], ""
    for line in text.splitlines():
        if line.strip():
            lines.append(gap + _markdown_line(line))
        gap = "\n" if lines and not line.strip() else ""
    return lines


def _markdown_line(line: str) -> str:
    shown = line.lstrip()
    if heading := HEADING.match(shown):
        return f"**{inline(shown[heading.end() :].rstrip('# '))}**"
    bullet = LIST_ITEM.match(shown)
    if bullet is None:
        return inline(shown)
    indent = min(len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip()), NESTED_SPACES)
    return f"{' ' * indent}{bullet[0].rstrip()} {inline(shown[bullet.end() :])}"


def fence(text: str, *, label: str) -> str:
    """Return a stored text as a quoted block of markdown that it cannot leave, hidden characters made visible.

    The label stands after the opening fence: who said it, when, and whether anyone approved it.
    """
    # A fence of thousands of ticks would be longer than what it holds, and stand again in each part of a long reply.
    shown = LONG_TICKS.sub(lambda ticks: f"[{len(ticks[0])} backticks]", show_hidden(text))
    longest = max((len(ticks) for ticks in re.findall("`+", shown)), default=0)
    ticks = "`" * max(3, longest + 1)
    heading = one_line(show_hidden(label)).replace("`", "'")
    return f"{ticks}{heading}\n{shown}\n{ticks}"


def without_accents(text: str) -> str:
    """Return a text in small letters without accents, to compare it with others."""
    spelt = unicodedata.normalize("NFKD", text.casefold())
    return spelt if spelt.isascii() else "".join([char for char in spelt if not unicodedata.combining(char)])


def normalise(text: str) -> str:
    """Return what makes two texts the same fact: NFC, white space collapsed, case kept."""
    return one_line(unicodedata.normalize("NFC", text))


def fold_name(name: str) -> str:
    """Return what a name is looked up by: case, spaces, hyphens and underscores do not matter, other signs do."""
    folded = one_line(unicodedata.normalize("NFKC", name)).casefold()
    # Some characters become eighteen: what is looked up must not outgrow what a name may be.
    return (folded.translate(_FILLERS) or folded)[:FOLDED_CHARS]


def digest(text: str) -> str:
    """Return the SHA-256 of the normalised text in hexadecimal, by which the same fact is found again."""
    return hashlib.sha256(normalise(text).encode()).hexdigest()


class CleanTexts:
    """Remembers, by digests, for which texts a check returned an empty list: no text that someone erases stays here.

    A page that is read ahead, opened and decided on would check them each time.
    """

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def unless_known(self, check: Callable[..., list[Any]], *texts: str) -> list[Any]:
        """Return what the check finds in these texts, without running it if it found nothing in them before."""
        digest = hashlib.blake2b("\0".join(texts).encode(errors="surrogatepass"), digest_size=16).digest()
        if digest in self._known:
            return []
        if not (found := check(*texts)):
            if len(self._known) >= CLEAN_TEXTS_KEPT:
                self._known.clear()
            self._known.add(digest)
        return found
