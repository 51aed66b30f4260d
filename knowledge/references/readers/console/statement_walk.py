"""The walk through a console's code: statement by statement, with what has been typed so far in mind."""

import time
from collections.abc import Sequence

from tree_sitter import Node

from knowledge.references.readers.console.conditions import Forks, TooMuch, WordQuestion
from knowledge.references.readers.console.evaluation import PROGRAM
from knowledge.references.readers.console.expression_values import (
    UNKNOWN,
    Code,
    CommandPoint,
    CommandTable,
    Env,
    LineWords,
    OneOfWays,
    TableBranch,
    Value,
    WholeLine,
    Word,
)
from knowledge.references.readers.console.source import comment_above, parameters_of, pattern_of, text_of, unwrap
from knowledge.references.readers.console.statements import LEAVES, acts, looks_again

MOST_STEPS = 300_000
SECONDS = 15.0
DEEPEST_CALLS = 40
DEEPEST_CODE = 120


class Walk(Forks):
    """Walks functions from their entry, and records at each place what is printed and done there."""

    def enter(self, code: Code, arguments: Sequence[Value], place: CommandPoint) -> None:
        """Go through a function that is called with something of the line."""
        # Once with the same words at the same place: what calls itself would be followed for ever.
        key = (code.node.id, tuple(arguments), place.path)
        if key in self.entered or len(self.stack) >= DEEPEST_CALLS:
            return
        self.stack.append(key)
        self.entered.add(key)
        if any(_of_the_line(argument) for argument in arguments):
            self.reached.add(code.node.id)
            doc = comment_above(code.statement) if self.source.root.id != code.node.id else ""
            place.doc = place.doc or doc
        try:
            env = dict(code.env)
            self._bind_parameters(code.node, arguments, env, place)
            body = code.node.child_by_field_name("body")
            if body is not None and body.type == "statement_block":
                self.run(body.named_children, env, place)
            elif body is not None:
                self.evaluate(body, env, place)
        finally:
            self.stack.pop()

    def run(self, statements: Sequence[Node], env: Env, place: CommandPoint) -> CommandPoint | None:
        """Go through statements; return where their end leads, or nothing when they never get there."""
        self.depth += 1
        try:
            if self.depth > DEEPEST_CODE:
                self.note_problem(statements[0], "Code nested this deep is not followed.")
                return None
            here: CommandPoint | None = place
            for number, statement in enumerate(statements):
                if here is None:
                    return None
                here = self._step(statement, statements[number + 1 :], env, here)
            return here
        finally:
            self.depth -= 1

    def spend(self) -> None:
        """Count a step, and stop at the limits."""
        self.steps += 1
        if self.steps > MOST_STEPS or (self.steps % 256 == 0 and time.monotonic() > self.ends):
            raise TooMuch

    def _step(self, statement: Node, rest: Sequence[Node], env: Env, place: CommandPoint) -> CommandPoint | None:
        self.spend()
        kind = statement.type
        if kind == "if_statement":
            return self._if(statement, rest, env, place)
        if kind == "switch_statement":
            return self._switch(statement, env, place)
        if kind == "statement_block":
            return self.run(statement.named_children, env, place)
        if kind in ("lexical_declaration", "variable_declaration"):
            self._declare(statement, env, place)
        elif kind == "try_statement":
            return self._try(statement, env, place)
        elif kind in ("for_in_statement", "for_statement", "while_statement", "do_statement"):
            self._loop(statement, env, place)
        elif kind == "expression_statement" and self._drops_program(statement, env, place):
            return self._behind_program(statement, env, place)
        elif kind in LEAVES or kind == "expression_statement":
            for child in statement.named_children:
                if child.type not in ("comment", "statement_identifier"):
                    self.state(child, env, place)
            return None if kind in LEAVES else place
        return place

    def state(self, expression: Node, env: Env, place: CommandPoint) -> None:
        """Evaluate an expression whose value nobody uses: an unknown function that gets the words hides commands."""
        bare = unwrap(expression)
        self.evaluate(bare, env, place)
        if bare.type == "call_expression":
            self.report_hidden_commands(bare, env, place)

    def _declare(self, statement: Node, env: Env, place: CommandPoint) -> None:
        for declarator in statement.named_children:
            name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
            if declarator.type == "variable_declarator" and name is not None and value is not None:
                self.bind(name, self.evaluate(value, env, place), env, place)

    def _try(self, statement: Node, env: Env, place: CommandPoint) -> CommandPoint | None:
        body = statement.child_by_field_name("body")
        here = self.run(body.named_children, env, place) if body is not None else place
        for name in ("handler", "finalizer"):
            clause = statement.child_by_field_name(name)
            block = clause.child_by_field_name("body") if clause is not None else None
            if block is not None:
                self.run(block.named_children, dict(env), place)
        return here

    def _loop(self, statement: Node, env: Env, place: CommandPoint) -> None:
        inner = dict(env)
        left, right = statement.child_by_field_name("left"), statement.child_by_field_name("right")
        if left is not None and right is not None:
            self.bind(left, self.item_of(self.evaluate(right, env, place)), inner, place)
        for child in statement.named_children:
            if child.type == "statement_block":
                self.run(child.named_children, inner, place)
            elif child.type.endswith("_statement"):
                self.run([child], inner, place)

    def _drops_program(self, statement: Node, env: Env, place: CommandPoint) -> bool:
        """Say whether a statement throws the first word away: `parts.shift()`."""
        call = statement.named_children[0] if statement.named_children else statement
        callee = call.child_by_field_name("function") if call.type == "call_expression" else None
        if callee is None or callee.type != "member_expression" or place.path[1:]:
            return False
        owner, member = callee.child_by_field_name("object"), callee.child_by_field_name("property")
        is_shift = member is not None and text_of(member) == "shift"
        return is_shift and owner is not None and self.evaluate(owner, env, place) == LineWords(0)

    def _behind_program(self, statement: Node, env: Env, place: CommandPoint) -> CommandPoint | None:
        call = statement.named_children[0]
        self.evaluate(call, env, place)
        if place.path:
            return place
        if not self.program_so_far:
            self.note_problem(statement, "The first word is dropped, and nothing says which it is: name the program.")
            return None
        return place.beyond((self.program_so_far,), (self.program_so_far,), statement)

    def _if(self, statement: Node, rest: Sequence[Node], env: Env, place: CommandPoint) -> CommandPoint | None:
        condition, yes = statement.child_by_field_name("condition"), statement.child_by_field_name("consequence")
        clause = statement.child_by_field_name("alternative")
        no = clause.named_children[-1] if clause is not None and clause.named_children else None
        if condition is None or yes is None:
            return place
        question = self.question_of(condition, env, place)
        if question is None:
            return self._neutral(yes, no, env, place)
        if question.known is not None:
            taken = yes if question.known else no
            return self.run([taken], env, place) if taken is not None else place
        if question.negated:
            return self._unless(question, yes, no, rest, env, place, statement)
        self._when(question, yes, env, place, statement)
        return self.run([no], env, place) if no is not None else place

    def _neutral(self, yes: Node, no: Node | None, env: Env, place: CommandPoint) -> CommandPoint | None:
        after = self.run([yes], env, place)
        other = self.run([no], env, place) if no is not None else place
        return other if after is None else after

    def _when(self, question: WordQuestion, yes: Node, env: Env, place: CommandPoint, statement: Node) -> None:
        """Follow what happens for certain words."""
        if question.is_prefix and PROGRAM.fullmatch(question.labels[0]):
            self.prefixes.setdefault(question.labels[0])
        if not acts(yes):
            return
        doc = self._doc_of_if(statement)
        for target in self.targets(question, place, statement, looks_again(statement, [yes])):
            target.doc = target.doc or doc
            self.run([yes], dict(env), target)

    def _unless(
        self,
        question: WordQuestion,
        yes: Node,
        no: Node | None,
        rest: Sequence[Node],
        env: Env,
        place: CommandPoint,
        statement: Node,
    ) -> CommandPoint | None:
        """Follow what happens for all but certain words, and then for these."""
        after = self.run([yes], dict(env), place)
        behind = ([no] if no is not None else []) + (list(rest) if after is None else [])
        if not behind:
            return place
        for target in self.targets(question, place, statement, separate=True):
            self.run(behind, dict(env), target)
        return None if after is None else place

    def _doc_of_if(self, statement: Node) -> str:
        parent = statement.parent
        return comment_above(parent if parent is not None and parent.type == "else_clause" else statement)

    def choose(self, choice: OneOfWays, arguments: Sequence[Value], place: CommandPoint, node: Node) -> None:
        """Follow all ways of a table when what it gave is called."""
        for way in choice.ways:
            for target in self.targets(WordQuestion(way.position, way.labels), place, way.entry, separate=False):
                target.doc = target.doc or comment_above(way.entry)
                self._take(way, arguments, target)

    def _take(self, way: TableBranch, arguments: Sequence[Value], target: CommandPoint) -> None:
        value = way.value
        self.describe(way.entry, target)
        if isinstance(value, Code):
            self.enter(value, arguments, target)
        elif isinstance(value, OneOfWays):
            self.choose(value, arguments, target, way.entry)
        elif not isinstance(value, CommandTable):
            self.note_problem(
                way.entry, f"What `{' '.join(target.path)}` does is written elsewhere: its name alone is known."
            )

    def _bind_parameters(self, function: Node, arguments: Sequence[Value], env: Env, place: CommandPoint) -> None:
        for number, pattern in enumerate(map(pattern_of, parameters_of(function))):
            if pattern.type == "this":
                continue
            if pattern.type == "rest_pattern":
                self.bind(pattern.named_children[0], self.gather(arguments[number:]), env, place)
            else:
                self.bind(pattern, arguments[number] if number < len(arguments) else UNKNOWN, env, place)


def _of_the_line(value: Value) -> bool:
    return isinstance(value, WholeLine | LineWords | Word | OneOfWays)
