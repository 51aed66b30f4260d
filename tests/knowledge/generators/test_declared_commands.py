"""Consoles that declare their commands with a library: commander and yargs, with the irregularities of real ones."""

from pathlib import Path

import pytest

from bigmind.core.errors import Invalid
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.references.readers.console.typescript import generate, generate_from_typescript
from knowledge.references.readers.registry import Source

CONSOLES = Path(__file__).parents[1] / "consoles"


def commands_of(name, external=""):
    made = generate_from_typescript((CONSOLES / name).read_text().replace("EXTERNAL", external), name)
    return {draft.name: draft for draft in made.drafts}, made


@pytest.fixture(scope="module")
def harbour():
    """A console of commander."""
    return commands_of("harbour.ts")[0]


@pytest.fixture(scope="module")
def kiln():
    """A console of yargs."""
    return commands_of("kiln.ts")[0]


def test_all_that_commander_declares_is_found_and_nothing_else(harbour):
    assert set(harbour) == {
        "harbour",
        "harbour berths",
        "harbour berths list",
        "harbour berths assign",
        "harbour pilots",
        "harbour pilots call",
        "harbour pilots exec",
        "harbour charts",
        "harbour charts print",
        "harbour serve",
        "harbour tides",
        "harbour tides today",
    }
    assert harbour["harbour berths list"].aliases == ("harbour berths ls", "harbour berths l")
    assert harbour["harbour serve"].aliases == ("harbour s",)
    assert harbour["harbour berths"].command.is_group


def test_options_and_arguments_of_commander_are_what_the_calls_say(harbour):
    assign = harbour["harbour berths assign"].command
    options = {option.name: option for option in harbour["harbour berths list"].command.options}

    assert [(each.name, each.required) for each in assign.arguments] == [("<berth>", True), ("ships...", False)]
    assert assign.options[0].required
    assert options["--format"].short == "-f"
    assert "--no-color" in options
    assert assign.completeness == Completeness.COMPLETE
    assert harbour["harbour pilots exec"].command.completeness == Completeness.PARTIAL


def test_what_another_file_declares_is_told_by_name_and_makes_the_list_partial():
    _, made = commands_of("harbour.ts", "program.addCommand(backupCommand);")

    assert made.completeness[ReferenceKind.COMMAND] == Completeness.PARTIAL
    assert any("backupCommand" in problem.says for problem in made.problems)


def test_a_command_that_nothing_here_adds_is_no_command_of_the_program():
    found, made = commands_of("harbour.ts", "export const locks = new Command('locks'); locks.command('open');")

    assert "harbour open" not in found
    assert any("`locks`" in problem.says for problem in made.problems)


def test_commands_with_a_name_that_only_running_tells_are_told():
    _, made = commands_of("harbour.ts", "for (const name of names()) program.command(name).action(() => {});")

    assert made.completeness[ReferenceKind.COMMAND] == Completeness.PARTIAL


def test_all_that_yargs_declares_is_found_through_modules_and_builders(kiln):
    assert set(kiln) == {"kiln", "kiln fire", "kiln clay", "kiln clay weigh", "kiln clay mix", "kiln status"}
    fire = kiln["kiln fire"]
    options = {option.name: option for option in fire.command.options}

    assert fire.aliases == ("kiln burn",)
    assert kiln["kiln clay mix"].aliases == ("kiln clay blend",)
    assert fire.command.arguments[0].values == ("bisque", "glaze")
    assert options["--peak"].required
    assert options["--peak"].short == "-p"
    assert "--no-hold" in options["--hold"].others
    assert {option.name for option in kiln["kiln clay mix"].command.options} == {"--dry", "--water"}


def test_a_very_long_chain_of_calls_is_read():
    options = "".join(f".option('--o{number}')" for number in range(2_000))

    made = generate_from_typescript(
        f"import {{ program }} from 'commander';\nprogram.command('go'){options};\n", "go.ts", program="trip"
    )

    assert len(made.drafts[1].command.options) == 2_000


def test_a_program_that_nothing_declares_is_asked_for():
    with pytest.raises(Invalid, match="--program NAME"):
        generate_from_typescript("import { program } from 'commander';\nprogram.command('go <where>');\n", "go.ts")


def test_the_package_around_a_file_declares_what_its_program_is_called(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "package.json").write_text('{"name": "@acme/trips", "bin": {"trip": "dist/cli.js"}}')
    file = tmp_path / "src" / "cli.js"
    file.write_text("const { program } = require('commander');\nprogram.command('go <where>').action(go);\n")

    made = generate(Source(str(file)))

    assert [draft.name for draft in made.drafts] == ["trip", "trip go"]


@pytest.mark.parametrize(
    "opening",
    [
        "const tool = require('commander');\ntool",
        "import tool from 'commander';\ntool",
        "import * as c from 'commander';\nc.program",
        "import { program as tool } from 'commander';\ntool",
        "const c_1 = require('commander');\nc_1.program",
        "const c_1 = __importDefault(require('commander'));\nc_1.default",
        "const { Command: Made } = require('commander');\nconst tool = new Made();\ntool",
        "const { createCommand } = require('commander');\ncreateCommand()",
        "const yargs = require('yargs/yargs');\nyargs(process.argv)",
        "require('yargs')",
        "import cac from 'cac';\nconst tool = cac('trip');\ntool",
    ],
)
def test_a_program_is_known_by_what_its_name_is_bound_to(opening):
    made = generate_from_typescript(f"{opening}.command('go <where>', 'Go there');\n", "cli.js", program="trip")

    assert {draft.name for draft in made.drafts} == {"trip", "trip go"}


def test_what_only_is_called_like_a_program_declares_nothing():
    source = "import { Command } from 'commander';\nimport { program } from './queue';\nprogram.command('PING');\n"

    with pytest.raises(Invalid, match="--kind help"):
        generate_from_typescript(source, "cli.ts", program="trip")


def test_a_function_that_is_handed_its_command_is_read_where_it_is_called():
    source = """import yargs from 'yargs';
    function local(target) { target.command({command: 'go', describe: 'Go', handler}); }
    export default (argv) => { const tool = yargs(); local(tool); return tool.scriptName('trip').parse(argv); };
    """

    made = generate_from_typescript(source, "cli.ts")

    assert {draft.name for draft in made.drafts} == {"trip", "trip go"}
    assert made.completeness == {ReferenceKind.COMMAND: Completeness.COMPLETE}


def test_a_command_of_oclif_is_named_by_its_place_and_read_by_its_help():
    source = "import { Command } from '@oclif/core';\nexport default class Go extends Command { async run() {} }\n"

    with pytest.raises(Invalid, match="--kind help"):
        generate_from_typescript(source, "go.ts")
