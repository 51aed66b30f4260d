"""Clauses: a text as short statements, with the signs by which two statements are compared.

Words without endings, who alone may do something, days, numbers in one unit, and whether it is denied. Nothing here
knows grammar: each sign is a word of a list, and every step takes time in proportion to the text.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise

MOST_CLAUSES = 40
MOST_WORDS = 60
QUOTED_CHARS = 90
KEPT_CHARS = 40
"""Of a word whose stem is kept."""

# A number, a word with what follows its apostrophe, a percent sign, or what ends a clause: no two match the same.
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_][^\W_]*(?:['’][^\W\d_]+)?|[%.,;!?\n]")
_ENDS = frozenset(".;!?\n")


def word_set(listed: str) -> frozenset[str]:
    """Return the words of a list that is written as one line."""
    return frozenset(listed.split())


_NEGATIONS = word_set(
    "not no never none nothing nobody without cannot nor neither avoid deny denied disallow disallowed forbid "
    "forbidden forbids prohibit prohibited ban banned stopped ceased longer nicht kein keine keinen nie ohne verboten"
)
OBLIGING = word_set("must required require requires mandatory shall always has have needed needs need")
LEAVING_FREE = word_set("may optional optionally can could recommended")
PERMITTING = word_set("may can could must should shall allowed permitted granted fine")
EVERYONE = word_set("everyone everybody anyone anybody everywhere all any every each")
ALONE = word_set("only exclusively solely just reserved restricted")
_BUT = word_set("but except")
UNLESS = word_set("except unless excluding besides") | _BUT
_SPLITS_AFTER_COMMA = _NEGATIONS | word_set("but do don't doesn't")
CHOOSING = word_set("use uses using prefer prefers")

_LIGHT = word_set(
    "a an the of in on at by for from with and or is are be been being was were it its that this these those we "
    "they them our your their as into onto than then so also both there will would where when while if who which to do "
    "does did out up down off least most about after before stay stays keep kept keeps happen happens themselves "
    "himself itself such own other others allow allows allowed permit permits permitted accept enable enabled fine ok "
    "okay should am get gets too well still already now too just anymore any more"
)
_STRUCTURE = _LIGHT | _NEGATIONS | OBLIGING | LEAVING_FREE | PERMITTING | EVERYONE | ALONE | UNLESS | CHOOSING

_SAME_WORD = {
    **dict.fromkeys(("i", "me", "my", "mine", "myself", "users"), "user"),
    "called": "name",
    "named": "name",
    "postgres": "postgresql",
    "k8s": "kubernetes",
    "kept": "keep",
    "left": "leave",
    "sent": "send",
    "ran": "run",
    "chose": "choose",
    "chosen": "choose",
    "wrote": "write",
    "written": "write",
    "began": "begin",
    "held": "hold",
    "met": "meet",
    "paid": "pay",
    "led": "lead",
    "drawn": "draw",
    "built": "build",
    "done": "finished",
    "lives": "live",
    "favorite": "favourite",
    "color": "colour",
    "license": "licence",
}

_NUMERALS = {"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_NUMERALS |= {"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "once": "1", "twice": "2"}
_SECONDS = {
    **dict.fromkeys(("second", "sec", "s"), 1),
    **dict.fromkeys(("minute", "min"), 60),
    **dict.fromkeys(("hour", "h"), 3600),
    "day": 86400,
    "week": 7 * 86400,
    "month": 30 * 86400,
    "year": 365 * 86400,
}
_BYTES = {"kb": 1, "kib": 1, "mb": 10**3, "mib": 10**3, "gb": 10**6, "gib": 10**6, "tb": 10**9, "tib": 10**9}
_LASTING = word_set("last lasts lasted take takes within for after")
_MONTHS = word_set("january february march april june july august september october november december")
_ORDINAL = word_set("st nd rd th")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEVERAL_DAYS = {"weekday": _DAYS[:5], "workday": _DAYS[:5], "weekend": _DAYS[5:]}
_UNTIL = frozenset({"to", "until", "through"})


def stem(word: str) -> str:
    """Return a word without its English ending: enough to know “deploys”, “deployed” and “deploying” for one."""
    # Long words rarely recur, and hostile texts could fill the cache with them.
    return _usual_stem(word) if len(word) <= KEPT_CHARS else _stem_of(word)


def _stem_of(word: str) -> str:
    word = word.removesuffix("'s")
    word = _SAME_WORD.get(word, word)
    # “pass” and “dismiss” keep their ends.
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeious":
        word = word[:-1]
    return f"{word[:-1]}i" if word.endswith("y") else word.removesuffix("e")


_usual_stem = lru_cache(maxsize=10_000)(_stem_of)

_MEASURES = frozenset(map(stem, (*_SECONDS, *_BYTES, *_DAYS, *_SEVERAL_DAYS)))


@dataclass(frozen=True)
class Clause:
    """One statement: its words, its subject without the sole holder of a right, that holder, and the signs in it."""

    words: list[str]
    about: frozenset[str]
    holder: frozenset[str]
    days: frozenset[str]
    numbers: dict[str, frozenset[str]]
    is_denied: bool
    """Whether it says that something is not so. Two negations are none."""

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All of its words."""
        return frozenset(self.words)

    @cached_property
    def stems(self) -> list[str]:
        """All of its words without their endings, in their order."""
        return [stem(word) for word in self.words]

    @cached_property
    def content(self) -> list[int]:
        """The places of the words that say what it is about."""
        return [place for place, word in enumerate(self.words) if _is_content(word)]

    @cached_property
    def values(self) -> frozenset[str]:
        """All its numbers."""
        return frozenset(chain.from_iterable(self.numbers.values()))

    def has(self, signs: frozenset[str]) -> bool:
        """Return whether it has one of these words."""
        return not signs.isdisjoint(self.vocabulary)

    @property
    def is_statement(self) -> bool:
        """Whether it states something by itself: a heading only names what the text is about."""
        return self.is_denied or bool(self.holder) or self.has(OBLIGING | PERMITTING | CHOOSING)

    @property
    def quoted(self) -> str:
        """Its words in quotation marks, cut after `QUOTED_CHARS`."""
        text = " ".join(self.words)
        return f"“{text if len(text) <= QUOTED_CHARS else text[: QUOTED_CHARS - 1] + '…'}”"


def days_meet(one: Clause, other: Clause) -> bool:
    """Return whether two statements may hold on the same day: one names none, or both name it."""
    return not (one.days and other.days) or bool(one.days & other.days)


def read_clauses(text: str) -> list[Clause]:
    """Return the statements of a text.

    Its first line counts as a title when others follow: of that only what states something by itself is returned.
    """
    title, _, rest = text.strip().partition("\n")
    heading = [clause for clause in _clauses_of(title) if clause.is_statement or not rest]
    return [*heading, *_clauses_of(rest)][:MOST_CLAUSES]


def _clauses_of(text: str) -> list[Clause]:
    words: list[str] = []
    found: list[Clause] = []
    parts = (match[0].casefold().replace("’", "'") for match in _TOKEN.finditer(text))
    for part, following in pairwise(chain(parts, ["\n", ""])):
        if part not in _ENDS and not (part == "," and following in _SPLITS_AFTER_COMMA):
            words += [part] if part != "," and len(words) < MOST_WORDS else []
        elif words:
            found.append(_read(words))
            words = []
        if len(found) == MOST_CLAUSES:
            break
    return found


def _read(words: list[str]) -> Clause:
    words = _join_dates(["manually" if pair == ("by", "hand") else pair[0] for pair in pairwise([*words, ""])])
    holder, rest = _who_alone(words)
    return Clause(
        words=words,
        about=content_stems(rest),
        holder=content_stems(holder),
        days=_days_in(words),
        numbers=_numbers_in(words),
        # “Without VPN it is not reachable” agrees with “with VPN it is reachable”.
        is_denied=sum(_denies(words, place) for place in range(len(words))) % 2 == 1,
    )


def _join_dates(words: list[str]) -> list[str]:
    """Return the words with each date as one of them: “15 december”, “october 2025”; and numbers without “th”."""
    plain = [word for at, word in enumerate(words) if not (word in _ORDINAL and at and words[at - 1].isdecimal())]
    joined: list[str] = []
    for at, word in enumerate(plain):
        is_year = word.isdecimal() and len(word) == 4
        if joined and joined[-1][0].isdigit() and joined[-1].isdecimal() and _is_month(plain, at):
            joined[-1] = f"{joined[-1]} {word}"
        elif word.isdecimal() and at and _is_month(plain, at - 1) and joined[-1] == plain[at - 1]:
            joined[-1] = f"{word} {joined[-1]}"
        elif is_year and joined and " " in joined[-1]:
            joined[-1] = f"{joined[-1]} {word}"
        else:
            joined.append(word)
    return joined


def _is_month(words: list[str], at: int) -> bool:
    """Whether a word names a month. “May” does so only at the end, or before a year."""
    following = words[at + 1] if at + 1 < len(words) else ""
    return words[at] in _MONTHS or (words[at] == "may" and (not following or following.isdecimal()))


def _denies(words: list[str], place: int) -> bool:
    """Whether the word at a position negates: one of the two does in “no longer”, neither in “no longer than a day”."""
    word, before = words[place], words[place - 1] if place else ""
    if word == "longer" and before in _NEGATIONS:
        return place + 1 < len(words) and words[place + 1] == "than"
    return word in _NEGATIONS or word.endswith("n't")


def _is_content(word: str) -> bool:
    # A unit is none: “2 GB” and “512 MB” are about the same cache.
    is_word = word not in _STRUCTURE and not word.endswith("n't") and word not in _NUMERALS and word[0].isalpha()
    return is_word and stem(word) not in _MEASURES


def content_stems(words: list[str]) -> frozenset[str]:
    """Return the words that say what it is about, without their endings, and without numbers and days."""
    return frozenset(stem(word) for word in words if _is_content(word))


def _who_alone(words: list[str]) -> tuple[list[str], list[str]]:
    """Who alone is meant by “only”, and the rest: “only ops may deploy”, “deployed only by ops”, “nobody but ops”."""
    for place, word in enumerate(words):
        # “Nobody but the security team” leaves it to them as “only” does.
        is_exception = word in _BUT and place and words[place - 1] in {"nobody", "one", "none"}
        if word in ALONE or is_exception:
            before, after = words[: place - is_exception], words[place + 1 :]
            if named := _who_after_by(after) or ([] if content_stems(after) else _who_after_by(before)):
                return named, words[: words.index("by")]
            if content_stems(before):
                # “Write access is reserved for operators.”
                return (after, before) if after and after[0] in {"by", "to", "for"} else ([], words)
            end = next((at for at, following in enumerate(after) if following in PERMITTING | {"is", "are"}), 1)
            return after[:end], after[end:]
    return [], words


def _who_after_by(words: list[str]) -> list[str]:
    """Who is named after “by”: “handed out by security only”, “is only written to by migrations”."""
    return words[words.index("by") + 1 :] if "by" in words else []


def _days_in(words: list[str]) -> frozenset[str]:
    days: set[str] = set()
    named = [word.removesuffix("s") for word in words]
    for place, word in enumerate(named):
        days.update(_SEVERAL_DAYS.get(word, (word,) if word in _DAYS else ()))
        last = named[place + 2] if place + 2 < len(named) else ""
        if word in _DAYS and last in _DAYS and words[place + 1] in _UNTIL:
            days.update(_DAYS[_DAYS.index(word) : _DAYS.index(last) + 1])
    return frozenset(days)


def _numbers_in(words: list[str]) -> dict[str, frozenset[str]]:
    """Each number by the word after it, or before it where it ends the clause; times in seconds, sizes in KB."""
    found: dict[str, set[str]] = {}
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        before = words[place - 1] if place else ""
        # “Shifts last two days”, “shifts last a week”.
        is_one = word in {"a", "an"} and before in _LASTING and after.removesuffix("s") in _SECONDS
        number = "1" if is_one else _NUMERALS.get(word, word.replace(",", ""))
        if not number[0].isdigit():
            continue
        unit = after.removesuffix("s")
        # A longer one is neither a time nor a size, and `int` refuses thousands of digits.
        is_plain = number.isdecimal() and len(number) < 10
        if unit in _SECONDS and is_plain:
            found.setdefault("seconds", set()).add(str(int(number) * _SECONDS[unit]))
        elif after in _BYTES and is_plain:
            found.setdefault("bytes", set()).add(str(int(number) * _BYTES[after]))
        elif ":" in number or after in {"am", "pm"}:
            found.setdefault("o'clock", set()).add(_clock(number, after))
        elif after and after not in _LIGHT:
            found.setdefault(stem(after) if after[0].isalpha() else after, set()).add(number)
        else:
            found.setdefault(stem(before) if before and before not in _LIGHT else "", set()).add(number)
    return {name: frozenset(numbers) for name, numbers in found.items()}


def _clock(number: str, half: str) -> str:
    """Return a time of day as 24-hour clocks show it; what is none, such as a ratio of 0.5:2, as it stands."""
    hour, _, minutes = number.replace(".", ":").partition(":")
    if half in {"am", "pm"} and hour.isdecimal():
        return f"{int(hour[:2]) % 12 + (12 if half == 'pm' else 0)}:{minutes or '00'}"
    hour, _, minutes = number.partition(":")
    return f"{int(hour[:2])}:{minutes or '00'}" if hour.isdecimal() else number
