"""JSON as it comes: one long list element by element, or one line after the other, so that size costs no memory."""

import codecs
import json
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import Bundle

ELEMENT_CHARS = 8 * 1024 * 1024
DOCUMENT_BYTES = 16 * 1024 * 1024
STEP = 256 * 1024
SIGNS_WITHIN = 64 * 1024
"""How far into a file the fields are looked for that tell whose it is."""
DEPTH = 64
SPACES = " \t\r\n"
_DECODER = json.JSONDecoder()


class Element(NamedTuple):
    """One element of a list: its number, its line, and what it says; `error` is why it cannot be read."""

    number: int
    line: int
    value: Any
    error: str = ""


def elements_of(file: IO[bytes], name: str) -> Iterator[Element]:
    """Yield the elements of the list that a file is, each with its number and line, counted from 1.

    Raises:
        Invalid: it is no JSON list, breaks off, or has an element that is too large or nested too deep.
    """
    text = _Text(file, name)
    if text.peek() != "[":
        raise Invalid(f"{name}: is not a JSON list.", hint="Give the file as the other program exported it.")
    text.skip(1)
    number = 0
    while text.peek() != "]":
        number += 1
        line = text.line
        yield Element(number, line, text.value(number))
        if text.peek() == ",":
            text.skip(1)
        elif text.peek() != "]":
            raise Invalid(f"{name}, line {text.line}: a comma or the end of the list is missing.")


def lines_of(file: IO[bytes], name: str) -> Iterator[Element]:
    """Yield the objects of a file that has one on each line. A line that is none is named, and the others go on."""
    number = 0
    while raw := file.readline(ELEMENT_CHARS + 1):
        number += 1
        if len(raw) > ELEMENT_CHARS:
            raise Invalid(f"{name}, line {number}: is longer than {ELEMENT_CHARS:,} bytes.")
        if raw.strip():
            yield _line(raw, number)


def document_in(file: IO[bytes], name: str, *, limit: int = DOCUMENT_BYTES) -> Any:
    """Return the one JSON document that a file is.

    Raises:
        Invalid: it is none, too large, or nested too deep.
    """
    raw = file.read(limit + 1)
    if len(raw) > limit:
        raise Invalid(f"{name} is larger than {limit:,} bytes.", hint="Import it in parts.")
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Invalid(f"{name}: is not UTF-8.", hint="Save it as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{name}: {_why(error)}.", hint="Give the file as the other program exported it.") from None
    if is_deep(document):
        raise Invalid(f"{name}: is nested deeper than {DEPTH} levels.")
    return document


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a value if it is a mapping, else an empty one: records of other versions may hold anything."""
    return value if isinstance(value, Mapping) else {}


def listing(value: Any) -> list[Any]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_json(value: Any) -> str:
    """Return a value as a JSON document that people can read, too."""
    return json.dumps(value, ensure_ascii=False, indent=1)


def start_of(bundle: Bundle, name: str, *, size: int = 4096) -> str:
    """Return how a file begins, from its first character that says anything: `[`, `{`, or that of a text."""
    with bundle.open(name) as file:
        return file.read(size).decode("utf-8-sig", errors="replace").lstrip(SPACES)


def is_deep(value: Any, depth: int = DEPTH) -> bool:
    """Whether a value is nested too deep to be anyone's memory."""
    if isinstance(value, dict):
        return not depth or any(is_deep(one, depth - 1) for one in value.values())
    if isinstance(value, list):
        return not depth or any(is_deep(one, depth - 1) for one in value)
    return False


def _line(raw: bytes, number: int) -> Element:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return Element(number, number, None, _why(error))
    return (
        Element(number, number, None, f"is nested deeper than {DEPTH} levels")
        if is_deep(value)
        else Element(number, number, value)
    )


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is not valid JSON (line {error.lineno}: {error.msg[:80]})"
    return "is nested too deep" if isinstance(error, RecursionError) else "is not valid JSON"


class _Text:
    """A window on the text of a file, which moves on as its elements are read."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name, self.line = name, 1
        self._file, self._decode = file, codecs.getincrementaldecoder("utf-8-sig")().decode
        self._window, self._at, self._is_whole = "", 0, False

    def peek(self) -> str:
        """Return the next character that is no space; an empty text at the end."""
        while True:
            while self._at < len(self._window) and self._window[self._at] in SPACES:
                self.skip(1)
            if self._at < len(self._window):
                return self._window[self._at]
            if self._is_whole:
                raise Invalid(f"{self.name}, line {self.line}: the list breaks off.", hint="Download it again.")
            self._read_on(STEP)

    def skip(self, characters: int) -> None:
        """Go on by so many characters."""
        self.line += self._window.count("\n", self._at, self._at + characters)
        self._at += characters

    def value(self, number: int) -> Any:
        """Return the next element, reading on until it is whole."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._window, self._at)
            except (ValueError, RecursionError) as error:
                if isinstance(error, RecursionError) or self._is_whole:
                    raise self._refusal(number, error) from None
                if len(self._window) - self._at > ELEMENT_CHARS:
                    raise self._too_long(number) from None
                # As much again as there is: so that the whole is decoded twice at most, however long it is.
                self._read_on(max(STEP, len(self._window) - self._at))
                continue
            if end == len(self._window) and not self._is_whole:
                self._read_on(STEP)  # A number may go on.
                continue
            if end - self._at > ELEMENT_CHARS:
                raise self._too_long(number)
            if is_deep(value):
                raise Invalid(f"{self.name}, line {self.line}, element {number}: is nested deeper than {DEPTH} levels.")
            self.skip(end - self._at)
            return value

    def _too_long(self, number: int) -> Invalid:
        says = f"is no JSON, or longer than {ELEMENT_CHARS:,} characters"
        return Invalid(f"{self.name}, line {self.line}, element {number}: {says}.")

    def _refusal(self, number: int, error: Exception) -> Invalid:
        return Invalid(f"{self.name}, line {self.line}, element {number}: {_why(error)}.", hint="Download it again.")

    def _read_on(self, size: int) -> None:
        raw = self._file.read(size)
        self._is_whole = not raw
        try:
            more = self._decode(raw, final=self._is_whole)
        except UnicodeDecodeError as error:
            raise Invalid(f"{self.name}: is not UTF-8.", hint="Save it as UTF-8.") from error
        self._window, self._at = self._window[self._at :] + more, 0
