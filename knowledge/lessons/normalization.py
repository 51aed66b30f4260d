"""What stays of an error message when it happens again: names and codes, without the values of that one time."""

import re
from collections.abc import Callable

MESSAGE_CHARS = 500
WORDS = re.compile(r"[^\W\d_][\w$-]*")
PLACEHOLDER = re.compile(r"<(?:url|mail|id|time|address|temp|value|n)>")

Replacement = str | Callable[[re.Match[str]], str]

TIME = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d"
    r"|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
    r"(?:Z\b| ?[-+]\d\d:?\d\d\b| (?:UTC|GMT|CES?T)\b)?"
)
COLOURS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\[\d{1,3}(?:;\d{1,3})*m")
# A number after one of these is the name of the error; elsewhere it is a value.
CODE = re.compile(
    r"\b(HTTP(?:/\d(?:\.\d)?)?|status(?:[ _]?code)?|SQLSTATE|SQL state|errno|exit(?: code| status)?"
    r"|(?:error|return) code|code|signal|ERROR)[\s:=\[(]{1,4}(\d[\dA-Z]{0,4})\b",
    re.IGNORECASE,
)
REASON = re.compile(
    r"(?<![\w.])([45]\d\d)(?= (?:Bad|Unauthorized|Forbidden|Not Found|Method|Conflict|Gone|Payload|Unprocessable"
    r"|Too Many|Internal|Service|Gateway|Client Error|Server Error))",
    re.IGNORECASE,
)
QUOTED = re.compile(r"(?<!\w)'([^'\n]*)'(?!\w)|\"([^\"\n]*)\"|`([^`\n]*)`|“([^“”\n]*)”|‘([^‘’\n]*)’|«([^«»\n]*)»")
# What is quoted beside such a word is a name of the program, and another one is another error.
NAMED_BEFORE = re.compile(
    r"\b(?:module|package|relation|table|column|constraint|index|function|method|attribute|property|operator|type|command"
    r"|import|name|symbol|class|reading|setting|variable|schema|extension|database|role|argument|plugin|loader|rule|script"
    r"|target|trait|crate|identifier|key|field)(?: named| called|:)?\s*\(?$",
    re.IGNORECASE,
)
NAMED_AFTER = re.compile(
    r"\s*(?:object\b|is not defined|is not a function|is not assignable|is not a module|has no\b|violates"
    r"|does not exist on)"
)
NAME = re.compile(r"[A-Za-z_@$.*][\w.$@/<>\[\]*|&, :-]{0,100}")
FILE = re.compile(
    r"(?<![\w:/\\.@-])(?P<root>[A-Za-z]:|~|\.{1,2}|<[A-Z]+>)?(?P<folders>(?:[\w.@+-]{0,60}?[\\/]){1,30})(?P<file>[\w.@+$-]{0,100})"
)
TEMPORARY = re.compile(r"\btmp[._-]?[A-Za-z0-9_]{5,}(?:\.\w{1,6})?|\b[\w-]{0,40}\.tmp\b")
# In this order: what a later step would take apart goes first. A URL has a path and a port, a time and an address are
# numbers, and `#` keeps a code from the step for numbers.
STEPS: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (COLOURS, ""),
    (re.compile(r"\b[a-z][a-z+]{1,9}://[^\s'\"`<>)]+", re.IGNORECASE), "<url>"),
    (re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), "<mail>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(TIME), "<time>"),
    (QUOTED, lambda found: _replace_quoted(found)),
    (FILE, lambda found: _file(found)),
    (re.compile(r"(\.[A-Za-z]\w{0,5})(?::\d+){1,3}\b|(\.[A-Za-z]\w{0,5})\(\d+(?:,\d+)?\)"), r"\1\2"),
    (TEMPORARY, "<temp>"),
    (
        re.compile(
            r"(?:\[(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\]|(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}|(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?!\w)"
            r"|\blocalhost)(?::\d{1,5})?",
            re.IGNORECASE,
        ),
        "<address>",
    ),
    (re.compile(r"\b((?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,20}):\d{2,5}\b", re.IGNORECASE), r"\1"),
    (CODE, r"\1 #\2"),
    (REASON, r"#\1"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<id>"),
    # Of a pod: its set and its own five characters.
    (re.compile(r"\b([a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*)-[a-f0-9]{8,10}-[a-z0-9]{5}(?![a-z0-9])"), r"\1-<id>"),
    (re.compile(r"(?<![\w#])(?:sha\d+:)?(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?!\w)", re.IGNORECASE), "<id>"),
    (re.compile(r"(?<!\w)(?=[A-Za-z_-]*\d)(?=\d*[A-Za-z])[A-Za-z0-9_-]{20,}(?!\w)"), "<id>"),
    (
        re.compile(
            r"(?<![\w#.-])(?:\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|days?"
            r"|bytes?|[KMGT]i?B)\b ?)+"
        ),
        "<n> ",
    ),
    (re.compile(r"(?<=[a-z])[-_]\d+\b"), "-<n>"),
    (re.compile(r"(?<![\w#.-])[-+]?\d[\d,._]*(?:e[-+]?\d+)?(?:st|nd|rd|th|x|%)?(?![A-Za-z\d])"), "<n>"),
    (re.compile(r"\bx\d+\b"), "<n>"),
    # One error, two errors.
    (re.compile(r"(<n> [a-z]{3,}?)s\b"), r"\1"),
    (re.compile(r"(?:<n>[\s,.:;x×/-]*){2,}"), "<n> "),
)


def what_stays(message: str) -> str:
    """Return a message without what varies: times, addresses, paths, ids, quoted values, durations, counts, colours.

    Codes stay (`E1234`, `status #404`), and so does what is quoted as the name of a module, a column, a property.
    """
    text = message[:MESSAGE_CHARS]
    for pattern, replacement in STEPS:
        text = pattern.sub(replacement, text)
    return " ".join(text.split()).strip(" .:;,-!").casefold()


def words_of(essence: str) -> list[str]:
    """Return the words of what stays of a message, without the places of values."""
    return WORDS.findall(PLACEHOLDER.sub(" ", essence))


def base_name(path: str) -> str:
    """Return the last part of a path of any system, without line and column."""
    name = re.split(r"[\\/]", path)[-1].split("?")[0]
    return TEMPORARY.sub("<temp>", re.sub(r"(?::\d+){1,3}$", "", name))


def _replace_quoted(found: re.Match[str]) -> str:
    inner = next(group for group in found.groups() if group is not None)
    before = found.string[max(0, found.start() - 40) : found.start()]
    after = found.string[found.end() : found.end() + 30]
    is_name = NAMED_BEFORE.search(before) or NAMED_AFTER.match(after)
    return f"“{inner}”" if is_name and NAME.fullmatch(inner) else "<value>"


def _file(found: re.Match[str]) -> str:
    """Keep the last part of a path. `@scope/name`, `text/html` and `and/or` are none."""
    folders, file = found["folders"], found["file"]
    is_rooted = bool(found["root"]) or folders[0] in "\\/"
    count = folders.count("/") + folders.count("\\")
    if not (is_rooted or count > 1 or re.search(r"\w\.[A-Za-z]\w{0,5}$", file)):
        return found[0]
    if folders.startswith(("/tmp/", "/var/folders/")) and "." not in file:  # noqa: S108
        return "<temp>"
    return file or "<value>"
