"""BigMind's own documentation as references: its commands, its REST API and its settings, read from the code itself.

An agent that is unsure about BigMind asks BigMind.
"""

import json
from collections.abc import Iterator

from bigmind import __version__
from bigmind.environment import PREFIX, Environment
from bigmind.environment.listing import default_of, kind_of
from bigmind.transports.rest.openapi_document import openapi
from knowledge.argument_types import ReferenceKind
from knowledge.references.readers.openapi import open_document, references_of
from knowledge.references.readers.python.commands import generate_from_django
from knowledge.references.readers.reference_drafts import Generated, ReferenceDraft
from knowledge.references.readers.registry import Generator, Source

APPS = ("bigmind", "accounts", "knowledge", "curation")
SOURCE = "bigmind"

# `auto` does not take it: a folder of that name, as in a checkout, may be a source as well.
OWN = Generator(
    SOURCE,
    "`bigmind`: its own commands, REST API and settings",
    "bigmind.management.own_documentation.generate",
    takes="program",
)


def generate(source: Source) -> Generated:
    """Make the references of this BigMind; the source's name alone says so."""
    commands = generate_from_django("bigmind", apps=APPS, version=__version__)
    api = references_of(open_document(json.dumps(openapi()), "BigMind's REST API"))
    drafts = (*commands.drafts, *api.drafts, *_settings())
    completeness = {**commands.completeness, **api.completeness}
    return Generated(drafts=drafts, problems=(*commands.problems, *api.problems), completeness=completeness)


def _settings() -> Iterator[ReferenceDraft]:
    for name, field in Environment.model_fields.items():
        variable, meaning = f"{PREFIX}{name.upper()}", field.description or ""
        facts = f"**Value:** {kind_of(field)}\n\n**Default:** {default_of(field)}"
        yield ReferenceDraft(
            key=f"setting-{name.replace('_', '-')}",
            kind=ReferenceKind.SETTING,
            title=variable,
            category="settings",
            summary=meaning,
            content=f"`{variable}` is an environment variable.\n\n{meaning}\n\n{facts}",
            name=variable,
            keywords=tuple(name.split("_")),
            source="bigmind.environment",
            version=__version__,
        )
