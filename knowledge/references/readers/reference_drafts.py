"""Drafts: the output of a generator, before it is stored.

A draft is one reference as its source has it. Generators only read and make drafts; the import decides what
is added, changed or gone. So every generator can be tried, tested and validated without a database.
"""

from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from knowledge.argument_types import Completeness, ReferenceKind


class ReaderModel(BaseModel):
    """Base of the parts of drafts: immutable, and refusing unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Example(ReaderModel):
    """One use of the thing, word for word."""

    description: str = ""
    code: str
    output: str = ""


class Option(ReaderModel):
    """One flag or argument of a command.

    Attributes:
        name: As it is typed: `--format`; an argument's placeholder: `<email>`.
        short: The short form, such as `-f`.
        others: Further forms of it: `--get` of `--extract`, `--no-color` of `--color`.
        value: What stands for its value in the usage line; empty for a switch, in brackets where it may be left out.
        values: The values it takes, where the source lists them.
    """

    name: str
    short: str = ""
    value: str = ""
    values: tuple[str, ...] = ()
    description: str = ""
    required: bool = False
    default: str = ""
    others: tuple[str, ...] = ()


class CommandForm(ReaderModel):
    """What a command line is made of.

    Attributes:
        name: Program and words, without arguments: `helios gw users list`.
        syntax: The usage line, placeholders included.
        options: Flags, in the source's order.
        arguments: Positional arguments, in their order.
        is_group: Whether it only holds further commands.
        holds_commands: Whether it holds further commands, and does something alone: `git stash`.
        completeness: Whether its options and arguments are all that it takes; of a group, whether the commands below it
            are all that it has.
        lists_options: Whether its options are all there are, whatever is known of its arguments and commands.
        inherits: Whether it also takes the options of the commands that it stands below.
    """

    name: str
    syntax: str = ""
    options: tuple[Option, ...] = ()
    arguments: tuple[Option, ...] = ()
    is_group: bool = False
    holds_commands: bool = False
    inherits: bool = False
    lists_options: bool = False
    completeness: Completeness = Completeness.UNKNOWN


class EndpointForm(ReaderModel):
    """What a request to one endpoint is made of; `parameters`, `body`, `responses` are JSON with `$ref`s resolved.

    Attributes:
        bases: The base paths of its servers, each of which may be left out or stand before the path.
        completeness: Whether its parameters and its body are all that it takes.
    """

    method: str
    path: str
    bases: tuple[str, ...] = ()
    completeness: Completeness = Completeness.UNKNOWN
    operation_id: str = ""
    deprecated: bool = False
    parameters: tuple[dict[str, Any], ...] = ()
    body: dict[str, Any] | None = None
    responses: dict[str, Any] = Field(default_factory=dict)
    security: tuple[str, ...] = ()


class ReferenceDraft(ReaderModel):
    """One reference as its source tells it.

    Attributes:
        key: Its id within the collection, the same at every run over the same source: `cmd-gw-users-list`.
        name: What it is called exactly: the command, `GET /api/v1/users`, the setting. Empty for guides and features.
        related: Keys of related references.
        source: Where it was read: a file's name and line, a document's address.
        version: The version of what it describes, where the source tells.
        updated: When it was changed last, where the source tells.
    """

    key: str
    kind: ReferenceKind
    title: str
    category: str = ""
    subcategory: str = ""
    summary: str = ""
    content: str
    name: str = ""
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    related: tuple[str, ...] = ()
    source: str = ""
    version: str = ""
    command: CommandForm | None = None
    endpoint: EndpointForm | None = None
    updated: AwareDatetime | None = None


class ReaderProblem(ReaderModel):
    """One thing in a source that could not be read, and what was done about it. `where` says where it stands."""

    where: str
    says: str


class Generated(ReaderModel):
    """Everything that a generator made from one source, with everything it had to skip.

    Attributes:
        completeness: For commands and endpoints, whether these are all that there are, as far as the source tells.
        passed_over: Files of a folder that are of another kind, such as a README: not read, and no problem.
        title: What the source calls what it documents, such as `info.title`; empty where it declares nothing.
    """

    title: str = ""
    drafts: tuple[ReferenceDraft, ...]
    problems: tuple[ReaderProblem, ...] = ()
    passed_over: tuple[str, ...] = ()
    completeness: dict[ReferenceKind, Completeness] = Field(default_factory=dict)
