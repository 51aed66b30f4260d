"""Usage lines, such as `tool users get <email> [--format=table|json]`: words, arguments and options."""

import re
from dataclasses import dataclass

from knowledge.generators.drafts import Option

LONGEST_LINE = 2_000

_PIECE = re.compile(r"""
    \[ (?: [^\[\]] | \[ [^\[\]]* \] )* \]\S*   # [optional], one level of nesting
  | \{ [^{}]* \}\S*                            # {a,b,c}
  | <[^<>]*>\S*                                # <value>
  | "[^"]*" | '[^']*'
  | -[^\s\[\]=]+ = (?: "[^"]*" | '[^']*' | <[^<>]*>\S* | \S+ )   # --name="two words"
  | [^\s\[\]]+ | \S
""", re.VERBOSE)  # fmt: skip
_OPTION = re.compile(r"(?P<name>--?[A-Za-z0-9?][\w.-]*)(?P<open>\[)?(?P<joint>[= ])?(?P<value>.*)", re.DOTALL)
_WORD = re.compile(r"[a-z0-9@][\w.:@/+-]*$", re.IGNORECASE)
_OPTIONS_PLACE = re.compile(r"\[?<?-?-?(options|option|flags|global options|global flags|opts)>?\]?(\.\.\.)?$", re.I)


@dataclass(frozen=True)
class UsageLine:
    """A usage line in parts.

    Attributes:
        words: Words to type as they stand, up to the first that is not.
        says_options: Whether it names a place for options (`[options]`).
    """

    text: str
    words: tuple[str, ...]
    arguments: tuple[Option, ...] = ()
    options: tuple[Option, ...] = ()
    says_options: bool = False


def read_usage(text: str) -> UsageLine:
    """Read one usage line; what has no meaning in the notation is passed over."""
    line = " ".join(text[:LONGEST_LINE].split())
    words: list[str] = []
    arguments: list[Option] = []
    options: list[Option] = []
    says_options = False
    pieces = _PIECE.findall(line)
    takes_value = False
    for place, piece in enumerate(pieces):
        if _OPTIONS_PLACE.match(piece):
            says_options = True
        elif _is_option(piece):
            options += _options_of(piece, pieces[place + 1] if place + 1 < len(pieces) else "")
            takes_value = bool(options) and not piece.startswith("[") and "=" not in piece and bool(options[-1].value)
            continue
        elif takes_value and piece.startswith(("<", "{")):
            pass
        elif not arguments and not options and _WORD.match(piece) and not _is_placeholder(piece):
            words.append(piece)
        elif (argument := _argument_of(piece)) is not None:
            arguments.append(argument)
        takes_value = False
    return UsageLine(line, tuple(words), tuple(arguments), tuple(options), says_options)


def _is_option(piece: str) -> bool:
    return bool(re.match(r"\[?--?[A-Za-z0-9?]", piece))


def _is_placeholder(piece: str) -> bool:
    """Say whether a bare word stands for something: FILE, PATH_TO, `arg...`."""
    return (piece.isupper() and len(piece) > 1) or piece.endswith("...")


def _options_of(piece: str, following: str) -> list[Option]:
    optional = piece.startswith("[")
    inner = piece[1 : piece.rindex("]")] if optional and "]" in piece else piece
    forms = re.split(r"\s*\|\s*(?=-)", inner)
    found = [match for form in forms if (match := _OPTION.match(form.strip()))]
    if not found:
        return []
    longest = max(found, key=lambda match: len(match["name"]))
    short = next((match["name"] for match in found if match is not longest and len(match["name"]) == 2), "")
    value = next((match["value"] for match in found if match["value"].strip()), "").strip().rstrip("]").strip()
    if not value and not optional and re.match(r"<[^<>]*>$", following):
        value = following
    values = choices_in(value)
    return [Option(name=longest["name"], short=short, value=_stand_in(value), values=values, required=not optional)]


def choices_in(value: str) -> tuple[str, ...]:
    """Return the values that a stand-in lists: `table|json`, `{a,b}`; none when it names only a kind of value."""
    bare = value.strip("<>[](){}=\"' ")
    separator = "|" if "|" in bare else "," if value.startswith("{") else ""
    parts = [part.strip() for part in bare.split(separator)] if separator else []
    return tuple(parts) if len(parts) > 1 and all(re.match(r"[\w./+:-]+$", part) for part in parts) else ()


def _stand_in(value: str) -> str:
    return value if not value or value.startswith(("<", "{", '"', "'")) else f"<{value}>" if "|" in value else value


def _argument_of(piece: str) -> Option | None:
    optional = piece.startswith("[")
    inner = piece[1:].replace("]", "", 1).strip() if optional else piece
    if not re.search(r"\w", inner):
        return None
    return Option(name=inner, values=choices_in(inner), required=not optional)
