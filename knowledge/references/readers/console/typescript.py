"""The commands of a console written in TypeScript: read from its code, which is parsed and followed, never run.

What a typed line goes through is followed from function to function: words are cut off, compared, switched on and
looked up in tables. Each point where nothing more is asked is a command. What cannot be followed is a problem, with its
line; nothing is guessed.
"""

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from bigmind.core.errors import Invalid
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.references.readers.commands import (
    DocumentedProgram,
    FoundCommand,
    drafts_of,
    first_sentence,
    merge_options,
)
from knowledge.references.readers.console.conditions import TooMuch
from knowledge.references.readers.console.declared import Declarations
from knowledge.references.readers.console.expression_values import CommandPoint
from knowledge.references.readers.console.help_texts import Help, helps_of, literal_words
from knowledge.references.readers.console.source import ParsedFile, Root, roots_of
from knowledge.references.readers.console.statement_walk import SECONDS, Walk
from knowledge.references.readers.help.text import read_help
from knowledge.references.readers.help.usage import UsageLine, read_usage
from knowledge.references.readers.program_names import bin_of, require_name
from knowledge.references.readers.reference_drafts import Example, Generated, Option, ReaderProblem, ReferenceDraft
from knowledge.references.readers.registry import RUN_IT
from knowledge.references.readers.registry import Source as GivenSource

MOST_SPELLINGS = 12
MOST_EXAMPLES = 8


def generate(source: GivenSource) -> Generated:
    """Make the references of a console's commands.

    Raises:
        Invalid: it cannot be read.
    """
    declares = bin_of(source.path) if source.fetched is None and source.path.is_file() else ""
    return generate_from_typescript(source.text, source.name, program=source.program, package=declares)


def generate_from_typescript(text: str, name: str, *, program: str = "", package: str = "") -> Generated:
    """Return the commands of a console.

    Args:
        text: Its source, TypeScript or TSX.
        name: The name of its file; stands in every reference's source.
        program: What every command begins with; found in the source when left out.
        package: What the package around it declares, for a source that declares commands and no name.
    """
    source = ParsedFile(text, name)
    declared = Declarations(source)
    if declared.read():
        return _generate_from_declarations(declared, require_name(program or declared.root.name or package, name))
    if declared.library or declared.uses_oclif:
        says = "Its commands are declared in other files, or named by them."
        raise Invalid(f"{name} declares no whole command. {says}", hint=RUN_IT)
    helps = list(helps_of(source))
    said_program = program or _program_of(helps)
    root, walk = _walk(source, said_program)
    problems = list(walk.problems)
    if source.errors:
        line = source.place(source.errors[0])
        problems.append(
            ReaderProblem(where=line, says="Is no valid TypeScript from here: what stands there may be missed.")
        )
    program = walk.program or _program_asked_for(walk, root)
    catalogue = _Catalogue(program, root, helps)
    found = list(catalogue.commands(name, source))
    if not found:
        says = f"No function here takes a line and asks for its words. {RUN_IT}"
        problems.append(ReaderProblem(where=name, says=says))
    problems += catalogue.find_unanswered()
    categories = {words[0]: max(words, key=len) for place in root.all() for words in place.spellings[:2] if words}
    drafts = drafts_of(found, DocumentedProgram(program, categories=categories))
    state = Completeness.PARTIAL if problems or not found else Completeness.COMPLETE
    drafts = tuple(_with_completeness(draft, state) for draft in drafts)
    return Generated(
        drafts=drafts, problems=tuple(dict.fromkeys(problems)), completeness={ReferenceKind.COMMAND: state}
    )


def _generate_from_declarations(declared: Declarations, program: str) -> Generated:
    problems = list(declared.problems)
    if problems:
        problems.append(ReaderProblem(where=declared.source.name, says=RUN_IT))
    state = Completeness.PARTIAL if declared.problems else Completeness.COMPLETE
    drafts = drafts_of(declared.commands(program), DocumentedProgram(program))
    return Generated(drafts=drafts, problems=tuple(problems), completeness={ReferenceKind.COMMAND: state})


def _with_completeness(draft: ReferenceDraft, state: Completeness) -> ReferenceDraft:
    """Say of a group that all below it was read. Which options a handler takes, its code alone does not always tell.

    Handlers pass on what they were given. Decision 26.
    """
    form = draft.command
    if form is None or not form.is_group:
        return draft
    return draft.model_copy(update={"command": form.model_copy(update={"completeness": state})})


def _program_of(helps: Sequence[Help]) -> str:
    """Return the first word of most usage lines, if most have the same."""
    firsts = Counter(words[0] for each in helps if each.is_usage and len(words := literal_words(each.line)) > 1)
    if not firsts:
        return ""
    word, times = firsts.most_common(1)[0]
    return word if times >= 2 and times * 2 > firsts.total() else ""


def _program_asked_for(walk: Walk, root: CommandPoint) -> str:
    """Return the word that a line has to begin with, if all that is below no other first word begins with it."""
    word = walk.program_so_far
    place = root.children.get(word)
    return word if place is not None and place.children else ""


def _walk(source: ParsedFile, program: str) -> tuple[CommandPoint, Walk]:
    """Return where all entries lead. A function that another one hands words to is no entry."""
    ends = time.monotonic() + SECONDS
    candidates = [(root, *_try_root(source, program, root, ends)) for root in roots_of(source)]
    reached = {(inner, root.code.node.id) for root, _, walk in candidates for inner in walk.reached}
    inner_only = {inner for inner, by in reached if inner != by}
    outer = [each for each in candidates if each[1].children and each[0].code.node.id not in inner_only]
    # Functions that cut the line into words themselves, before those that only have a parameter named like one.
    strong = [each for each in outer if each[0].is_strong] or outer
    best = max(strong, key=lambda each: sum(1 for _ in each[1].all()), default=None)
    if best is None:
        # Whatever could not be followed is said all the same.
        walks = [walk for _, _, walk in candidates] or [Walk(source, program, ends)]
        return CommandPoint(), max(walks, key=lambda walk: len(walk.problems))
    root, place, walk = best
    for other, also, other_walk in strong:
        if other is not root and other.is_strong == root.is_strong and _fits(place, also):
            _merge(place, also)
            walk.problems.update(other_walk.problems)
    return place, walk


def _try_root(source: ParsedFile, program: str, root: Root, ends: float) -> tuple[CommandPoint, Walk]:
    place, walk = CommandPoint(), Walk(source, program, ends)
    try:
        walk.enter(root.code, root.arguments, place)
    except TooMuch:
        walk.note_problem(root.code.node, "Too large to follow to its end: commands may be missing.")
    walk.reached.discard(root.code.node.id)
    return place, walk


def _fits(place: CommandPoint, other: CommandPoint) -> bool:
    """Say whether two entries belong to one console: they share first words, or neither has any of the other's."""
    return bool(set(place.children) & set(other.children))


def _merge(place: CommandPoint, other: CommandPoint) -> None:
    for word, child in other.children.items():
        if word in place.children:
            _merge(place.children[word], child)
        else:
            place.children[word] = child


@dataclass
class _Catalogue:
    """The commands that the walk found, and what is said of them anywhere."""

    program: str
    root: CommandPoint
    helps: list[Help]
    used: set[Help] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.places = [place for place in self.root.all() if place.path and _is_real(place)]
        prefixed = any(place.path[0] == self.program for place in self.places)
        self.prefix = (self.program,) if self.program and not prefixed else ()
        self.by_words = {words: place for place in self.places for words in self._spellings(place)}
        self._sort_helps()

    def commands(self, name: str, source: ParsedFile) -> Iterator[FoundCommand]:
        """Return the commands."""
        for place in self.places:
            is_between = place.path[-1].startswith("<")
            if self._words(place) != (self.program,) and not is_between:
                yield self._command(place, source)

    def find_unanswered(self) -> list[ReaderProblem]:
        """Return what the help names and no code answers."""
        firsts = {self._bare(words)[:1] for words in self.by_words}
        seen: dict[tuple[str, ...], str] = {}
        for each in self.helps:
            words = self._bare(literal_words(each.line))
            names_program = literal_words(each.line)[:1] == (self.program,) if self.program else False
            is_told = each.is_usage or (each.said and (names_program or words[:1] in firsts))
            is_known = self._longest(each.line) if each.is_example else self._place_of(words)
            if is_told and len(words) > (0 if names_program else 1) and is_known is None and self.by_words:
                seen.setdefault(words, each.where)
        return [ReaderProblem(where=where, says=f"The help names `{' '.join(words)}`; no code answers to that.")
                for words, where in seen.items()]  # fmt: skip

    def _command(self, place: CommandPoint, source: ParsedFile) -> FoundCommand:
        words = self._words(place)
        is_group = any(_is_real(child) for child in place.children.values())
        usage = self._usage(place)
        helps = self.said.get(place.path, [])
        printed = read_help("\n".join(place.said)) if usage else read_help("")
        described = place.described.get("description") or next((each.said for each in helps if each.said), "")
        summary = described or place.doc or _find_summary(place, usage)
        options = merge_options(usage.options if usage else (), printed.options, place.options.values())
        typed = self.examples.get(place.path, [])
        return FoundCommand(
            words=words,
            summary=first_sentence(summary),
            description=summary,
            syntax=self._syntax(place, usage, words, options, is_group),
            options=() if is_group and not place.acts_alone else options,
            arguments=usage.arguments if usage and not is_group else self._arguments_of(place) if not is_group else (),
            examples=tuple(dict.fromkeys(typed))[:MOST_EXAMPLES],
            aliases=tuple(" ".join(other) for other in self._spellings(place)[1:]),
            notes=tuple(self._notes(place, is_group)),
            calls=tuple(place.calls),
            source=source.place(place.node) if place.node is not None else source.name,
            is_group=is_group and not place.acts_alone,
        )

    def _notes(self, place: CommandPoint, is_group: bool) -> Iterator[str]:
        if is_group and place.default:
            alone = " ".join(self._words(place))
            yield f"`{alone}` alone does what `{alone} {place.default}` does."

    def _words(self, place: CommandPoint) -> tuple[str, ...]:
        return (*self.prefix, *place.path)

    def _spellings(self, place: CommandPoint) -> list[tuple[str, ...]]:
        # Not all: each word with other spellings multiplies them. `zip` takes from the product as it is made.
        ways = product(*place.spellings)
        return [(*self.prefix, *words) for words, _ in zip(ways, range(MOST_SPELLINGS), strict=False)]

    def _bare(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return words[1:] if self.program and words[:1] == (self.program,) else words

    def _place_of(self, words: tuple[str, ...]) -> CommandPoint | None:
        return self.by_words.get((self.program, *words)) or self.by_words.get(words)

    def _sort_helps(self) -> None:
        """Give each thing said to the command it is about: the one of exactly its words; an example to the longest."""
        self.said: dict[tuple[str, ...], list[Help]] = {}
        self.usages: dict[tuple[str, ...], UsageLine] = {}
        self.examples: dict[tuple[str, ...], list[Example]] = {}
        for each in self.helps:
            words = self._bare(literal_words(each.line))
            exact = self._place_of(words) if words else None
            if exact is not None and not each.is_example:
                self.said.setdefault(exact.path, []).append(each)
                self._take_usage(exact, each)
            elif each.is_example and (place := self._longest(each.line)) is not None:
                self.examples.setdefault(place.path, []).append(Example(code=each.line, description=each.said))

    def _take_usage(self, place: CommandPoint, help_text: Help) -> None:
        line = read_usage(help_text.line)
        known = self.usages.get(place.path)
        if known is None or (help_text.is_usage and len(line.text) > len(known.text)):
            self.usages[place.path] = line

    def _longest(self, line: str) -> CommandPoint | None:
        """Return the command that an example begins with."""
        words = self._bare(tuple(line.removeprefix("$ ").split()))
        for length in range(len(words), 0, -1):
            place = self._place_of(words[:length])
            if place is not None:
                # A line about a group is no example of a command, unless nothing follows.
                return place if not place.children or length == len(words) else None
        return None

    def _usage(self, place: CommandPoint) -> UsageLine | None:
        own = [
            read_usage(found[1]) for line in place.said if (found := re.fullmatch(r"\s*usage:\s*(\S.*)", line, re.I))
        ]
        spellings = {self._bare(words) for words in self._spellings(place)}
        fitting = [line for line in own if self._bare(line.words) in spellings]
        return fitting[0] if fitting else self.usages.get(place.path)

    def _arguments_of(self, place: CommandPoint) -> tuple[Option, ...]:
        """Return the arguments that the code gives names to, where no usage line names them."""
        named = sorted((position, name) for position, name in place.bound.items() if position >= len(place.path))
        return tuple(
            Option(name=name.strip("[]") if name.startswith("[") else f"<{name}>", required=not name.startswith("["))
            for _, name in named
        )

    def _syntax(
        self,
        place: CommandPoint,
        usage: UsageLine | None,
        words: tuple[str, ...],
        options: Sequence[Option],
        is_group: bool,
    ) -> str:
        if usage is not None:
            bare = usage.text.split()[len(usage.words) :]
            return " ".join((*words, *bare))
        if is_group:
            return " ".join((*words, "<command>"))
        arguments = [each.name if each.required else f"[{each.name}]" for each in self._arguments_of(place)]
        flags = [f"[{each.name}{'=' + each.value if each.value else ''}]" for each in options]
        return " ".join((*words, *arguments, *flags))


def _is_real(place: CommandPoint) -> bool:
    """Say whether code does anything at a place, or at one that it leads to."""
    return place.node is not None


def _find_summary(place: CommandPoint, usage: UsageLine | None) -> str:
    """Return the line that is printed right below the usage, if it is a sentence about the command."""
    lines = [line.strip() for line in place.said if line.strip()]
    for number, line in enumerate(lines[:-1]):
        if usage is not None and line.lower().startswith("usage:"):
            below = lines[number + 1]
            is_prose = re.match(r"[A-Z][\w']* [\w' ,.()-]+$", below) and "{" not in below
            return below if is_prose else ""
    return ""
