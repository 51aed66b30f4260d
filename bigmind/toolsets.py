"""Toolsets: groups of operations that a client lists, and to which a key may be limited.

Each operation names its own in its row (`<app>/operations`), and whether `core` lists it too. `Operation.toolsets` in
`bigmind/core/operations.py` says with which of them a limited key may call it.
"""

from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo

TOOLSETS: dict[str, str] = {
    "core": "What most sessions need: start, recall, remember, propose, end; and one tool that does all else.",
    "memory": "The rest of the personal memory: profile, hypotheses, corrections, erasure.",
    "company": "What the company knows: read, propose, say what it was worth, decide.",
    "kb": "The knowledge base that everybody here shares.",
    "docs": "Verified reference docs: commands, endpoints, guides, looked up exactly.",
    "directory": "Who is here, and who worked on what, as far as people share it.",
    "apps": "Maps of outside apps: names to ids, schemas and workflows, learned once, shared by all.",
    "notes": "Texts addressed by domain and key.",
    "admin": "Health, statistics, pruning, export and import.",
}
DEFAULT_TOOLSETS = frozenset({"core"})


def parse_toolsets(text: str) -> frozenset[str]:
    """Return the toolsets in a text such as `memory,notes`; the default for an empty text.

    Raises:
        Invalid: one of them does not exist.
    """
    names = frozenset(name.strip().lower() for name in text.split(",") if name.strip())
    unknown = sorted(names - TOOLSETS.keys() - {"all"})
    if unknown:
        known = ", ".join((*TOOLSETS, "all"))
        raise Invalid(f"There is no toolset {echo(unknown[0])}.", hint=f"There are: {known}.")
    return names or DEFAULT_TOOLSETS
