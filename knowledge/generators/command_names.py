"""The name of the command that a text is about, as its code shows it."""

import re

_BLOCK = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_PLACEHOLDER = re.compile(r"[<\[{(\"'-]|\.\.\.|…|[A-Z_]{2,}$")


def command_in(content: str, example: str = "") -> str:
    """Return the words of the first line of code before its first placeholder or option; empty where there is no code.

    The code is that of the first block in the content that says something, else the example.
    """
    blocks = _BLOCK.findall(content) or [example]
    lines = (line.split() for block in blocks for line in block.splitlines())
    words: list[str] = next(filter(None, lines), [])
    end = next((place for place, word in enumerate(words) if _PLACEHOLDER.match(word)), len(words))
    return " ".join(word for word in words[:end] if word != "$")
