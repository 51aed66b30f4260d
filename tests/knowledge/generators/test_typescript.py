"""Commands of consoles written in TypeScript: exactly those that are there, and a word on what cannot be followed."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigmind.core.errors import Invalid
from knowledge.references.readers.console import typescript
from knowledge.references.readers.console.source import ParsedFile
from knowledge.references.readers.console.statements import is_option_parser
from knowledge.references.readers.console.typescript import generate_from_typescript
from knowledge.references.readers.reference_drafts import Generated, ReferenceDraft

CONSOLES = Path(__file__).parent.parent / "consoles"


def console(name: str) -> Generated:
    return generate_from_typescript((CONSOLES / name).read_text(), name)


@pytest.fixture(scope="module")
def quay() -> dict[str, ReferenceDraft]:
    return {draft.name: draft for draft in console("OperatorConsole.tsx").drafts}


@pytest.fixture(scope="module")
def ledger() -> dict[str, ReferenceDraft]:
    return {draft.name: draft for draft in console("ledger.ts").drafts}


def made_of(*lines: str) -> dict[str, ReferenceDraft]:
    made = generate_from_typescript("\n".join(lines), "small.ts", program="tool")
    return {draft.name: draft for draft in made.drafts if not draft.command.is_group}


def options_of(draft: ReferenceDraft) -> dict[str, tuple[str, ...]]:
    return {option.name: option.values for option in draft.command.options}


@pytest.mark.parametrize(
    ("source", "written_down"),
    [
        ("OperatorConsole.tsx", "operator-console.txt"),
        ("ledger.ts", "ledger.txt"),
        ("GatewayConsole.tsx", "gateway-console.txt"),
        ("depot.ts", "depot.txt"),
        ("beacon.ts", "beacon.txt"),
    ],
)
def test_exactly_the_commands_come_out_that_are_in_it(source, written_down):
    lines = (CONSOLES / written_down).read_text().splitlines()
    expected = [line.split(" = ") for line in lines if not line.startswith("#")]

    made = console(source)

    found = {draft.name: set(draft.aliases) for draft in made.drafts if not draft.command.is_group}
    assert found == {name: set(others) for name, *others in expected}


@pytest.mark.parametrize("source", ["GatewayConsole.tsx", "depot.ts", "beacon.ts"])
def test_a_console_that_can_be_followed_has_no_troubles(source):
    assert console(source).problems == ()


@pytest.mark.parametrize("echo", ["`$ ${input}`", "`> ${input}`", "`running ${input}`", "`Error: ${input}`"])
def test_an_echo_of_the_line_names_no_program(echo):
    text = f"""function run(input: string) {{
        print({echo});
        const [name, ...args] = input.split(' ');
        if (name === 'open') api.post('/open', args[0]);
        else if (name === 'close') api.post('/close');
    }}"""

    made = generate_from_typescript(text, "small.ts")

    assert {draft.name for draft in made.drafts} == {"open", "close"}


def test_a_word_put_in_front_of_a_line_that_is_cut_is_the_program():
    text = """function run(input: string) {
        const words = `harbour ${input}`.split(' ');
        if (words[1] === 'open') api.post('/open');
        if (words[0] === 'harbour' && words[1] === 'close') api.post('/close');
    }"""

    made = generate_from_typescript(text, "small.ts")

    assert "harbour close" in {draft.name for draft in made.drafts}


@pytest.mark.parametrize(
    ("body", "is_parser"),
    [
        ("const f = {}; for (const w of words) if (w.startsWith('--')) f[w.slice(2)] = true; return f;", True),
        ("return words.reduce((f, w) => (/^--/.test(w) ? { ...f, [w]: true } : f), {});", True),
        ("if (words[0] === '--') return null; print('a -- b'); return api.get(words[0]);", False),
        ("if (words[0].startsWith('--')) return; switch (words[0]) { case 'x': return go(); }", False),
        ("const help = '--'; return help;", False),
    ],
)
def test_a_function_is_an_option_parser_only_if_it_takes_options_apart(body, is_parser):
    found = made_of(
        "function run(line: string) {",
        "  const parts = line.split(' ');",
        "  if (parts[0] === 'do') { const f = inner(parts.slice(1)); print(f); }",
        "}",
        f"function inner(words: string[]) {{ {body} }}",
        "function other(words: string[]) { if (words[0] === 'y') print('y'); }",
    )
    function = next(each for each in ParsedFile(f"function inner(words) {{ {body} }}", "a.ts").functions)

    assert is_option_parser(function.value) is is_parser
    assert any(name.startswith("tool do") for name in found)


def test_what_cannot_be_followed_is_said_with_its_line():
    problems = {problem.where: problem.says for problem in console("OperatorConsole.tsx").problems}

    source = (CONSOLES / "OperatorConsole.tsx").read_text().splitlines()
    told = {source[int(where.split(":")[1]) - 1].strip(): says for where, says in problems.items()}
    assert set(told) == {
        "...pluginCommands,",
        "await runPlugin(parts.slice(1));",
        "await extensions[parts[1]](parts.slice(2));",
        '<td className="command-name">vessels rename &lt;imo&gt; &lt;name&gt;</td>',
    }
    assert "cannot be seen from here" in told["await extensions[parts[1]](parts.slice(2));"]


def test_patterns_of_words_are_said_and_not_guessed():
    says = [problem.says for problem in console("ledger.ts").problems]

    assert len(says) == 2
    assert all("cannot be listed" in said for said in says)


def test_a_usage_line_gives_syntax_arguments_and_options(quay):
    draft = quay["quay berths get"]

    assert draft.command.syntax == "quay berths get <code> [--format=table|json] [--download]"
    assert [(each.name, each.required) for each in draft.command.arguments] == [("<code>", True)]
    assert options_of(draft) == {"--format": ("table", "json"), "--download": ()}
    assert draft.command.options[0].default == "table"


def test_a_list_of_options_and_examples_behind_the_usage_is_read(quay):
    draft = quay["quay berths assign"]

    options = {option.name: option for option in draft.command.options}
    assert set(options) == {"--from", "--hours", "--side", "--dry-run"}
    assert options["--side"].values == ("port", "starboard")
    assert options["--hours"].description == "How long it stays"
    assert [example.code for example in draft.examples] == [
        "quay berths assign B12 aurora --from=06:00 --hours=36",
        'quay berths assign B3 "North Star" --from=18:30 --dry-run',
    ]


def test_options_that_only_the_code_knows_are_found(quay, ledger):
    assert "--filter" in options_of(quay["quay berths list"])
    assert set(options_of(quay["quay vessels list"])) == {"--in-port", "--flag"}
    assert set(options_of(quay["quay tides table"])) == {"--metres"}
    assert set(options_of(quay["quay report daily"])) == {"--csv"}
    assert {"--since", "--all"} <= set(options_of(ledger["ledger show entries"]))
    assert {"--text", "--draft"} <= set(options_of(ledger["ledger post"]))


def test_requests_of_the_code_stand_in_the_content(quay):
    assert "`GET /api/berths/{code}`" in quay["quay berths get"].content
    assert "`PATCH /api/cargo/{piece}`" in quay["quay cargo hold"].content
    assert "`GET /api/vessels/{imo}`" in quay["quay vessels show"].content


def test_descriptions_come_from_the_help_from_comments_and_from_what_is_printed(quay, ledger):
    assert quay["quay berths list"].summary == "List all berths and who lies in them"
    assert quay["quay berths assign"].summary == "Give a berth to a vessel"
    assert quay["quay berths get"].summary == "Shows one berth and the vessel in it"
    assert quay["quay cargo weigh"].summary == "Weigh one piece of cargo and store the result."
    assert quay["quay report dues"].summary == "Harbour dues by vessel"
    assert quay["quay pilots duty"].summary == "Who is on duty now"
    assert quay["quay tides next"].summary == "The next high water"
    assert quay["help"].summary == "Show what can be typed"
    assert ledger["ledger post"].summary == "Posts one amount from one account to another."
    assert ledger["ledger show entries"].summary == "List the entries of an account, newest first."


def test_examples_of_the_page_go_to_their_commands(quay):
    assert [(each.description, each.code) for each in quay["quay pilots send"].examples] == [
        ("Send Ada to a vessel", "quay pilots send ada aurora --boat=2")
    ]


def test_groups_say_what_is_below_them_and_what_they_do_alone(quay):
    group = quay["quay berths"]

    assert group.command.is_group
    assert "`quay berths` alone does what `quay berths list` does." in group.content
    assert {"cmd-berths-list", "cmd-berths-get", "cmd-berths-assign"} <= set(group.related)
    assert quay["quay berths list"].category == "moorings"


def test_every_command_says_where_it_stands(quay):
    line = int(quay["quay gates open"].source.split(":")[1])

    source = (CONSOLES / "OperatorConsole.tsx").read_text().splitlines()
    assert source[line - 1].strip() == "case Verb.Open:"
    assert all(draft.source.startswith("OperatorConsole.tsx:") for draft in quay.values())


def test_an_argument_that_the_code_names_stands_in_the_syntax(quay):
    assert quay["quay pilots call-back"].command.syntax == "quay pilots call-back <pilot>"
    assert quay["quay gates close"].command.syntax == "quay gates close [gate]"
    assert quay["quay staff roster swap"].command.syntax == "quay staff roster swap <first> <second>"


def test_the_same_source_gives_the_same_keys_twice():
    assert console("OperatorConsole.tsx") == console("OperatorConsole.tsx")


def test_the_word_that_decides_again_below_makes_two_commands():
    found = made_of(
        "function run(args: string[]) {",
        "  switch (args[0]) {",
        "    case 'on':",
        "    case 'off':",
        "      api.post(`/power/${args[0]}`);",
        "      break;",
        "    case 'list':",
        "    case 'ls':",
        "      api.get('/power');",
        "  }",
        "}",
    )

    assert {name: draft.aliases for name, draft in found.items()} == {
        "tool on": (),
        "tool off": (),
        "tool list": ("tool ls",),
    }


def test_a_literal_list_put_in_front_of_the_words_is_followed():
    found = made_of(
        "function run(line: string) {",
        "  const parts = line.split(' ');",
        "  if (parts[0] === 'make') power(['on', ...parts.slice(1)]);",
        "  else if (parts[0] === 'power') power(parts.slice(1));",
        "}",
        "function power(args: string[]) {",
        "  switch (args[0]) { case 'on': api.post('/on', args[1]); break; case 'off': api.post('/off'); }",
        "}",
    )

    assert set(found) == {"tool make", "tool power on", "tool power off"}
    assert "POST /on" in found["tool make"].content
    assert "POST /off" not in found["tool make"].content


def test_tables_that_are_filled_later_are_read():
    found = made_of(
        "const commands = new Map<string, Command>();",
        "commands.set('help', { description: 'Show all', execute: (args) => print('All') });",
        "const others: Record<string, Handler> = {};",
        "others['sign-in'] = signIn;",
        "others.leave = () => api.post('/leave');",
        "function signIn(args: string[]) { const user = args[0]; api.post('/sign-in', user); }",
        "export function run(input: string) {",
        "  const [name, ...args] = input.split(' ');",
        "  const found = commands.get(name);",
        "  if (found) return found.execute(args);",
        "  others[name](args);",
        "}",
    )

    assert {name: draft.summary for name, draft in found.items() if name == "tool help"} == {"tool help": "Show all"}
    assert set(found) == {"tool help", "tool sign-in", "tool leave"}
    assert found["tool sign-in"].command.syntax == "tool sign-in <user>"


def test_a_table_of_other_names_gives_aliases():
    found = made_of(
        "const NAMES: Record<string, string> = { cls: 'clear', '?': 'help' };",
        "export function runCommand(input: string) {",
        "  const typed = input.trim().toLowerCase();",
        "  const command = NAMES[typed] ?? typed;",
        "  switch (command) { case 'help': return print('x y'); case 'clear': return wipe(); }",
        "}",
    )

    assert {name: draft.aliases for name, draft in found.items()} == {
        "tool help": ("tool ?",),
        "tool clear": ("tool cls",),
    }


@pytest.mark.parametrize(
    "look_up",
    ["table[name].execute(args);", "const found = list.find((each) => each.name === name); found?.run(args);"],
)
def test_commands_that_other_files_keep_are_no_commands_but_a_trouble(look_up):
    text = f"export function run(input: string) {{ const [name, ...args] = input.split(' '); {look_up} }}"

    made = generate_from_typescript(text, "small.ts")

    assert made.drafts == ()
    assert any("cannot be seen from here" in problem.says for problem in made.problems)


def test_a_switch_of_other_things_is_no_command():
    found = made_of(
        "function colour(status: string) { switch (status) { case 'free': return paint('green'); } }",
        "function onKey(event: KeyboardEvent) { switch (event.key) { case 'Enter': submit(); } }",
    )

    assert found == {}


def test_a_source_without_commands_says_so():
    made = generate_from_typescript("export const answer = 42;", "answer.ts")

    assert made.drafts == ()
    assert "No function here takes a line" in made.problems[0].says


def test_a_broken_source_gives_what_it_has_and_says_where_it_breaks():
    text = (CONSOLES / "ledger.ts").read_text().replace("case 'close':", "case 'close' ((( :")

    made = generate_from_typescript(text, "ledger.ts")

    assert "ledger show account" in {draft.name for draft in made.drafts}
    assert any("no valid TypeScript" in problem.says for problem in made.problems)


def test_what_is_no_code_is_given_up_instead_of_tried_in_every_reading():
    begun = time.process_time()

    with pytest.raises(Invalid, match=r"`a\.tsx` takes more than 0\.4 s to parse"):
        generate_from_typescript("|" + "a|" * 4_000 + "\n|" + "-|" * 4_000 + "\n" + "a\n" * 8_000, "a.tsx")

    assert time.process_time() - begun < 3


def test_a_source_beyond_the_limit_is_refused_with_the_limit():
    with pytest.raises(Invalid, match="at most 4,000,000"):
        generate_from_typescript("x" * 4_000_001, "huge.ts")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "function run(args: string[]) { " + "if (args[0] === 'a') { f(); " * 3_000,
        "function run(args: string[]) { return " + "(" * 5_000 + "args[0]" + ")" * 5_000 + "; }",
        "function run(args: string[]) { const x = " + "args[0] + " * 20_000 + "''; f(x); }",
        "function run(args: string[]) { switch (args[0]) { "
        + " ".join(f"case 'c{number}': f({number}); break;" for number in range(5_000))
        + " } }",
        "\n".join(
            f"function f{number}(args: string[]) {{ switch (args[0]) {{ case 'a': f{number + 1}(args.slice(1)); break;"
            f" case 'b': f{number + 1}(args.slice(1)); }} }}"
            for number in range(60)
        ),
        "function run(args: string[]) { if (args[0] === 'a') run(args); if (args[0] === 'x') run(args.slice(1)); }",
        "const x = <div>" * 3_000,
        "\x00\ufffe\ud800 switch".encode("utf-8", "replace").decode(),
    ],
)
def test_hostile_sources_end_in_bounded_time(text, monkeypatch):
    monkeypatch.setattr(typescript, "SECONDS", 0.3)
    began = time.monotonic()

    made = generate_from_typescript(text, "hostile.tsx")

    assert time.monotonic() - began < 15
    assert isinstance(made, Generated)


PIECES = st.sampled_from(
    """switch (args[0]) {|case 'a':|default:|}|{|if (args[1] === 'b')|else|return|run(args.slice(1));|break;|T[a]
const [a, ...b] = args;|const T = { x: run, y() {} };|args.shift();|`x ${a}`|function run(args: string[]) {|a => a
T[a](b)|api.get(`/x/${a}`)|'Usage: t a <b>'|new Map([['k', run]])|for (const w of args)""".replace("\n", "|").split("|")
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=30))
def test_pieces_in_any_order_never_make_it_fall(pieces):
    generate_from_typescript("\n".join(pieces), "pieces.ts")
