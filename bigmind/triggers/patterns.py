"""Patterns of triggers: words with `*` and `…`, compared in linear time. No regular expressions.

`*` stands for any characters within a word, `…` (or `...`) for any words between two, `a|b` for either, and what
follows `unless` must not be there. Python's `str.find` is linear, and each piece between stars is looked for once.
"""

from __future__ import annotations

import os

from .shell import program_of, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .shell import Command

KINDS = ("command", "path", "tool", "error", "prompt")
PASTED = "error like"
"""How a trigger begins that is an error as it was printed: what is of one time alone in it stands for anything."""
MOST_CHARS = 200
MOST_WORDS = 24
VALUES_BETWEEN = 8
"""Words that may be values of options between two words of a pattern."""
LEAST = 2
"""Letters and digits without which a pattern would say nothing."""
TEXT_CHARS = 16_000
GAP = "…"
QUOTES = "\"'`"
UNLESS = " unless "

# What people write for one another; both sides are read in the second spelling.
SAME_OPTIONS = {
    "rm": {"-R": "-r", "--recursive": "-r", "--force": "-f"},
    "git push": {"-f": "--force", "-d": "--delete", "-n": "--dry-run", "-u": "--set-upstream"},
    "git commit": {"-n": "--no-verify", "-a": "--all", "-m": "--message"},
    "git clean": {"--force": "-f"},
    "git checkout": {"-f": "--force"},
    "npm install": {"-g": "--global", "-D": "--save-dev"},
    "pip install": {"-U": "--upgrade"},
    "kubectl": {"-n": "--namespace", "-f": "--filename", "-l": "--selector"},
    "helm": {"-n": "--namespace", "-f": "--values"},
    "docker": {"-f": "--force"},
}
SAME_WORDS = {"npm": {"i": "install", "add": "install"}, "pnpm": {"i": "install"}, "bun": {"i": "install"}}


def compile_trigger(text: str) -> tuple[str, list[Any], list[list[Any]]]:
    """Return the kind of a trigger, what must match, and what must not, as lists that JSON holds.

    Raises:
        ValueError: it cannot be read, or would match nearly everything. The message says what is wrong with it.
    """
    kind, colon, rest = text.strip().partition(":")
    kind, rest = kind.strip().lower(), rest.strip().replace("...", GAP)
    if not colon or kind not in {*KINDS, PASTED}:
        raise ValueError(f"begins with one of {', '.join(f'{one}:' for one in (*KINDS, PASTED))}")
    if len(rest) > MOST_CHARS:
        raise ValueError(f"has {len(rest):,} characters; the limit is {MOST_CHARS}")
    body, *excepted = f" {rest} ".split(UNLESS)
    if kind == PASTED:
        kind, body = "error", _fold_error(body)
    read = _READERS[kind]
    if sum(char.isalnum() for char in body) < LEAST:
        raise ValueError("would match nearly everything: name a program, a file, a tool or a word")
    exceptions = [part for one in excepted for part in _each(one.strip())]
    return kind, read(body.strip(), first=True), [read(part, first=False) for part in exceptions]


def _fold_error(line: str) -> str:
    """Return the line of an error as a pattern: `…` for numbers, hexadecimal ids, paths, and what stands in quotes."""
    kept, at = [], 0
    while at < len(line):
        end = line.find(line[at], at + 1) if line[at] in QUOTES and not line[at - 1].isalnum() else -1
        kept.append(GAP if end > 0 else line[at])
        at = end + 1 if end > 0 else at + 1
    words = [
        GAP if "/" in word or "\\" in word or _is_of_one_time(word.strip("()[]{}<>,.;:")) else word
        for word in "".join(kept).split()
    ]
    parts = "".join(char if char.isalnum() or char in f"_*{GAP}" else " " for char in " ".join(words)).split()
    return " ".join(GAP if _is_of_one_time(part) else part for part in parts)


def _is_of_one_time(word: str) -> bool:
    is_long_id = len(word) >= 7 and all(char in "0123456789abcdefABCDEF-" for char in word)
    return word[:1].isdigit() or (is_long_id and any(char.isdigit() for char in word))


def _each(exception: str) -> list[str]:
    """Return what one `unless` names: several, where one word has alternatives."""
    return [part for part in exception.split("|") if part] if " " not in exception else [exception]


def _check_count(words: list[Any]) -> list[Any]:
    if len(words) > MOST_WORDS:
        raise ValueError(f"has {len(words)} words; the limit is {MOST_WORDS}")
    return words


def _read_command(text: str, *, first: bool) -> list[Any]:
    """Return the words in their order, `…` where others may stand between, and the options, which stand anywhere."""
    words = _check_count(split_words(text.replace("|", "\0")))
    if first and not words:
        raise ValueError("names no command")
    positional: list[Any] = [] if first else [GAP]
    options: list[list[str]] = []
    for word in words:
        alternatives = [one for one in word.split("\0") if one]
        if word == GAP:
            positional.append(GAP)
        elif alternatives and (_is_option(alternatives[0]) or _is_variable(alternatives[0])):
            options.append(alternatives)
        elif alternatives:
            positional.append([one.lower() for one in alternatives])
    if first and not positional:
        raise ValueError("names no command: begin with the program, such as `git`")
    return [positional, options]


def _read_path(text: str, *, first: bool) -> list[Any]:
    """Return the parts of a path; one without a slash is looked for in every folder."""
    if not text:
        raise ValueError("names no path")
    path = text.strip("\"'").replace("\\", "/").removeprefix("./")
    is_absolute = path.startswith(("/", "~")) or path[1:2] == ":"
    if path.endswith("/"):
        path += "**"
    if "/" not in path.strip("/") and not is_absolute:
        path = f"**/{path}"
    parts = [part for part in path.split("/") if part]
    if not any(part.strip("*.") for part in parts):
        raise ValueError("would match every file")
    return [is_absolute, _check_count(parts)]


def _read_tool(text: str, *, first: bool) -> list[Any]:
    name, _, rest = text.partition(" ")
    names = [_tool_name(one) for one in name.split("|") if one] if first else []
    return [names, _phrases(rest if first else text)]


def _read_prompt(text: str, *, first: bool) -> list[Any]:
    """Return the words and the phrases in quotes that all must be said, in any order."""
    return _phrases(text)


def _read_error(text: str, *, first: bool) -> list[Any]:
    """Return the pieces that must stand in one line in this order."""
    pieces = [_tokens(piece) for piece in text.split(GAP)]
    return [piece for piece in pieces if _check_count(piece)]


def _phrases(text: str) -> list[Any]:
    """Return what must be said: of each word, or phrase in quotes, the alternatives, as words one behind the other."""
    words = split_words(text.replace(GAP, " ").replace("'", " ").replace("|", "\0").replace("\\", " "))
    found = [[_tokens(one) for one in word.split("\0")] for word in words]
    kept = [[one for one in alternatives if one] for alternatives in found]
    return _check_count([alternatives for alternatives in kept if alternatives])


_READERS = {
    "command": _read_command,
    "path": _read_path,
    "tool": _read_tool,
    "error": _read_error,
    "prompt": _read_prompt,
}


# ── What is compared ──────────────────────────────────────────────────────────────────────────────────────────────────


def fits(pattern: str, text: str) -> bool:
    """Whether a text is as the pattern says, in which `*` stands for any characters."""
    if "*" not in pattern:
        return pattern == text
    first, *pieces = pattern.split("*")
    last = pieces.pop()
    if not text.startswith(first):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in pieces:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end and text.endswith(last)


def fits_any(patterns: Iterable[str], text: str) -> bool:
    """Whether a text is as one of the patterns says."""
    return any(fits(pattern, text) for pattern in patterns)


class Arguments:
    """What a command was given, as patterns are compared with it.

    Attributes:
        words: The words that are no options, the program first, each with whether an option stands before it: then it
            may be the value of that one.
        options: The options and the variables before the program, also with their values behind `=`.
        letters: The options of one letter, also those that were written together.
    """

    __slots__ = ("letters", "options", "same", "words")

    def __init__(self, command: Command) -> None:
        program = program_of(command.words[0])
        self.words: list[tuple[str, bool]] = [(program, False)]
        options = list(command.variables)
        is_behind = is_over = False
        for word in command.words[1:]:
            if word == "--":
                is_over = True
            elif _is_option(word) and not is_over:
                options.append(word)
                is_behind = True
            else:
                self.words.append((word.lower(), is_behind))
                options += [f"{options[-1]}={word}"] if is_behind else []
                is_behind = False
        second = next((place for place, word in enumerate(self.words) if place and not word[1]), 0)
        if second:
            word = self.words[second][0]
            self.words[second] = (SAME_WORDS.get(program, {}).get(word, word), False)
        self.same = {**SAME_OPTIONS.get(program, {}), **SAME_OPTIONS.get(f"{program} {self.words[second][0]}", {})}
        parts = [option.partition("=") for option in options]
        self.options = {f"{self.same.get(name, name)}{equals}{value}" for name, equals, value in parts}
        self.options |= {self.same.get(name, name) for name, _, _ in parts}
        clusters = [option[1:] for option in options if _is_cluster(option)]
        self.letters = {self.same.get(f"-{char}", f"-{char}") for cluster in clusters for char in cluster}
        self.letters |= {option for option in self.options if option.startswith("-")}


def fires_on_command(pattern: list[Any], given: Arguments) -> bool:
    """Whether a command has the words of a pattern in their order, and its options wherever they stand."""
    positional, options = pattern
    if positional and positional[0] != GAP and not fits_any(positional[0], given.words[0][0]):
        return False
    return _in_order(positional, given.words) and all(_has_option(alternatives, given) for alternatives in options)


def _has_option(alternatives: Sequence[str], given: Arguments) -> bool:
    for option in alternatives:
        name, equals, value = option.partition("=")
        spelled = f"{given.same.get(name, name)}{equals}{value}"
        if spelled in given.letters or any(fits(spelled, one) for one in given.options):
            return True
        if _is_cluster(option) and all(given.same.get(f"-{char}", f"-{char}") in given.letters for char in option[1:]):
            return True
    return False


def _is_option(word: str) -> bool:
    return word.startswith("-") and word not in {"-", "--"}


def _is_variable(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isupper() and name.isidentifier()


def _is_cluster(option: str) -> bool:
    return 1 < len(option) <= 6 and option[0] == "-" and option[1:].isalnum()


def _in_order(pattern: Sequence[Any], words: Sequence[tuple[str, bool]]) -> bool:
    """Whether the words stand in this order: next to each other, but for values of options, or after a gap anywhere."""
    groups: list[list[Any]] = [[]]
    for item in pattern:
        if item == GAP:
            groups.append([])
        else:
            groups[-1].append(item)
    at = 0
    for number, group in enumerate(groups):
        if not group:
            continue
        starts = range(at, len(words)) if number else range(1)
        ends = (_group_ends(group, words, start) for start in starts)
        at = next((end for end in ends if end >= 0), -1)
        if at < 0:
            return False
    return True


def _group_ends(group: Sequence[Any], words: Sequence[tuple[str, bool]], at: int) -> int:
    for place, alternatives in enumerate(group):
        last = at + VALUES_BETWEEN if place else at
        while at < len(words) and not fits_any(alternatives, words[at][0]):
            if at >= last or not words[at][1]:
                return -1
            at += 1
        if at >= len(words):
            return -1
        at += 1
    return at


def fires_on_path(pattern: list[Any], paths: Iterable[list[str]], absolute: Iterable[list[str]]) -> bool:
    """Whether one of the paths is as a pattern says. `**` stands for any folders."""
    is_absolute, parts = pattern
    # Not when it is compiled, on the server: the home is that of the machine on which it fires.
    if parts[0] == "~":
        parts = [*os.path.expanduser("~").replace("\\", "/").strip("/").split("/"), *parts[1:]]
    return any(_fits_parts(parts, path) for path in (absolute if is_absolute else paths))


def _fits_parts(pattern: Sequence[str], path: Sequence[str]) -> bool:
    groups: list[list[str]] = [[]]
    for part in pattern:
        if part == "**":
            groups.append([])
        else:
            groups[-1].append(part)
    first, *others = groups
    if not others:
        return len(path) == len(first) and all(map(fits, first, path))
    last = others.pop()
    if len(path) < len(first) + len(last) or not all(map(fits, first, path[: len(first)])):
        return False
    if last and not all(map(fits, last, path[len(path) - len(last) :])):
        return False
    if not last and len(path) == len(first) and pattern[-1] == "**" and not others:
        return False  # the folder itself is not below it
    at, end = len(first), len(path) - len(last)
    for group in others:
        while at + len(group) <= end and not all(map(fits, group, path[at : at + len(group)])):
            at += 1
        if at + len(group) > end:
            return False
        at += len(group)
    return True


def fires_on_tool(pattern: list[Any], names: Iterable[str], given: Sequence[str]) -> bool:
    """Whether a tool has a name as the pattern says, and its arguments have the words."""
    name_pattern, phrases = pattern
    is_named = not name_pattern or any(fits_any(name_pattern, name) for name in names)
    return is_named and (not phrases or _says_all(phrases, given))


def fires_on_prompt(pattern: list[Any], paragraphs: Iterable[Sequence[str]]) -> bool:
    """Whether one paragraph says all the words, in any order."""
    return any(_says_all(pattern, words) for words in paragraphs)


def fires_on_error(pattern: list[Any], lines: Iterable[Sequence[str]]) -> bool:
    """Whether one line has the pieces in their order."""
    return any(_has_pieces(pattern, words) for words in lines)


def _says_all(phrases: Sequence[Any], words: Sequence[str]) -> bool:
    return bool(phrases) and all(any(_says(phrase, words) for phrase in alternatives) for alternatives in phrases)


def _says(phrase: Sequence[str], words: Sequence[str]) -> bool:
    if len(phrase) == 1 and "*" not in phrase[0]:
        return phrase[0] in words
    return any(all(map(fits, phrase, words[at : at + len(phrase)])) for at in range(len(words) - len(phrase) + 1))


def _has_pieces(pieces: Sequence[Sequence[str]], words: Sequence[str]) -> bool:
    at = 0
    for piece in pieces:
        while at + len(piece) <= len(words) and not all(map(fits, piece, words[at : at + len(piece)])):
            at += 1
        if at + len(piece) > len(words):
            return False
        at += len(piece)
    return bool(pieces)


def _tokens(text: str) -> list[str]:
    """Return the words of a text: letters, digits, `_` and the star of patterns; all else stands between them."""
    return "".join(char if char.isalnum() or char in "_*" else " " for char in text.casefold()).split()


def words_of(text: str) -> list[str]:
    """Return the words of a text that is compared with patterns."""
    return _tokens(text.replace("*", " "))


def lines_of(text: str) -> list[list[str]]:
    """Return the words of each line; of a long text those at its beginning and its end."""
    if len(text) > TEXT_CHARS:
        text = f"{text[: TEXT_CHARS // 2]}\n{text[-TEXT_CHARS // 2 :]}"
    return [words for words in map(words_of, text.splitlines()) if words]


def paragraphs_of(text: str) -> list[list[str]]:
    """Return the words of each paragraph."""
    paragraphs: list[list[str]] = [[]]
    for line in text[:TEXT_CHARS].splitlines():
        words = words_of(line)
        if words:
            paragraphs[-1] += words
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def _tool_name(name: str) -> str:
    """Return the name of a tool as every client would spell it: Gemini CLI joins server and tool by one line only."""
    lower = name.lower()
    while "__" in lower:
        lower = lower.replace("__", "_")
    return lower


def tool_names(name: str) -> list[str]:
    """Return the names under which a tool may be meant."""
    own = _tool_name(name)
    return [own, *([_SAME_TOOLS[own]] if own in _SAME_TOOLS else [])]


_SAME_TOOLS = {
    "run_shell_command": "bash",
    "shell": "bash",
    "local_shell": "bash",
    "exec_command": "bash",
    "shell_command": "bash",
    "write_file": "write",
    "replace": "edit",
    "apply_patch": "edit",
    "read_file": "read",
    "web_fetch": "webfetch",
    "google_web_search": "websearch",
    "web_search": "websearch",
}
