"""Front matter: the YAML that stands above the text of a markdown file."""

from typing import Any

from knowledge.parsers.yaml_nodes import read_yaml

FENCE = "---"
LINES = 200
"""Front matter is shorter: what has its second fence further below begins with a line across the page."""


def without_front_matter(text: str, name: str) -> tuple[dict[str, Any], str, int]:
    """Return the front matter of a file, the text below it, and the line that this text begins on.

    Raises:
        Invalid: the front matter is no plain YAML; the error says on which line.
    """
    lines = text.split("\n")
    ends = (number for number, line in enumerate(lines[1:LINES], start=1) if line.strip() == FENCE)
    end = next(ends, None) if lines[0].strip() == FENCE else None
    if end is None:
        return {}, text, 1
    # An empty line in place of the fence: so the lines of the YAML have the numbers that they have in the file.
    node = read_yaml("\n".join(["", *lines[1:end]]), name)
    front = node.plain() if node else {}
    return (front, "\n".join(lines[end + 1 :]), end + 2) if isinstance(front, dict) else ({}, text, 1)
