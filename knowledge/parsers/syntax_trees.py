"""Syntax trees of source code, parsed by tree-sitter within a budget of time."""

from pathlib import PurePosixPath
from time import thread_time

import tree_sitter_go
import tree_sitter_java
import tree_sitter_python
import tree_sitter_typescript
from tree_sitter import Language, Parser, Tree

from bigmind.core.errors import Invalid
from bigmind.core.load_once import load_once

# Code takes a tenth of it; what is no code takes the square of its length, and is stopped. It is this thread's own
# time, so that nothing is refused because the machine is busy.
PARSE_SECONDS, PARSE_SECONDS_A_MEGABYTE = 0.2, 5
READ_AHEAD = 64 * 1024
GRAMMARS = {
    "python": tree_sitter_python.language,
    "go": tree_sitter_go.language,
    "java": tree_sitter_java.language,
    "typescript": tree_sitter_typescript.language_typescript,
    "tsx": tree_sitter_typescript.language_tsx,
}
_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".tsx", ".js", ".jsx", ".mjs", ".cjs"), "tsx"),
    ".go": "go",
    ".java": "java",
}


def language_of(path: str) -> str:
    """Return the name of the grammar for a file, by its ending; empty for what is no code that can be parsed."""
    return _LANGUAGES.get(PurePosixPath(path).suffix.lower(), "")


def parse_source(source: bytes, language: str, name: str) -> Tree:
    """Return the syntax tree of a file; what is no valid code becomes error nodes in it.

    Raises:
        Invalid: it takes longer than code of its size does. Of what is no code, the parser tries every reading.
    """
    seconds = PARSE_SECONDS + len(source) * PARSE_SECONDS_A_MEGABYTE / 1_000_000
    ends = thread_time() + seconds
    try:
        return Parser(_grammar(language)).parse(
            lambda offset, _: source[offset : offset + READ_AHEAD],
            encoding="utf8",
            progress_callback=lambda *_: thread_time() > ends,
        )
    except ValueError:
        raise Invalid(f"`{name}` takes more than {seconds:.1f} s to parse.", hint="Check that it is code.") from None


@load_once
def _grammar(language: str) -> Language:
    return Language(GRAMMARS[language]())
