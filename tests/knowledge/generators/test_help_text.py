"""Help texts: what is read from the layouts that programs print."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.references.readers.help.text import HelpText, read_help
from knowledge.references.readers.help.usage import read_usage
from knowledge.references.readers.reference_drafts import Option

TEXTS = Path(__file__).parent / "help_texts"


def recorded(name: str) -> HelpText:
    return read_help((TEXTS / f"{name}.txt").read_text())


def option(help_text: HelpText, name: str) -> Option:
    return next(each for each in help_text.options if each.name == name)


@pytest.mark.parametrize(
    ("layout", "commands"),
    [
        ("cobra", ["harbour", "ship", "completion", "help"]),
        ("clap", ["post", "balance", "import", "help"]),
        ("commander", ["orders", "refund", "stock", "help"]),
        ("argparse", ["open", "close"]),
    ],
)
def test_every_layout_tells_its_subcommands(layout, commands):
    assert [each.name for each in recorded(layout).subcommands] == commands


@pytest.mark.parametrize(
    ("layout", "options"),
    [
        ("cobra", ["--as", "--file", "--help", "--output", "--timeout", "--wait"]),
        ("clap", ["--color", "--currency", "--verbose", "--help", "--version"]),
        ("commander", ["--version", "--region", "--no-cache", "--help"]),
        ("argparse", ["--help", "--store", "--level"]),
    ],
)
def test_every_layout_tells_its_options(layout, options):
    assert [each.name for each in recorded(layout).options] == options


def test_a_description_over_several_lines_is_one_sentence():
    said = recorded("clap")

    assert said.subcommands[1].summary.endswith("closed within the last year")
    assert option(recorded("cobra"), "--file").description == "Files to read. May be given more than once"
    assert recorded("argparse").subcommands[1].summary == "Close the vault, and wait until nobody is left in it"


def test_defaults_and_choices_are_read_in_every_notation():
    clap, cobra, commander, argparse = map(recorded, ("clap", "cobra", "commander", "argparse"))

    assert option(clap, "--currency").values == ("EUR", "USD", "CHF")
    assert option(clap, "--currency").default == "EUR"
    assert option(clap, "--color").values == ("auto", "always", "never")
    assert option(cobra, "--output").values == ("json", "yaml", "wide")
    assert option(cobra, "--timeout").default == "30s"
    assert option(cobra, "--wait").default == "true"
    assert option(commander, "--region").default == "eu"
    assert option(commander, "--region").values == ("eu", "us")
    assert option(argparse, "--level").values == ("low", "high")
    assert option(argparse, "--store").default == "~/.vault"


def test_short_forms_values_and_aliases_are_kept():
    assert option(recorded("cobra"), "--output").short == "-o"
    assert option(recorded("clap"), "--currency").value == "<CODE>"
    assert recorded("clap").subcommands[0].aliases == ("p",)
    assert recorded("commander").subcommands[0].aliases == ("o",)


def test_examples_keep_what_is_said_of_them():
    first, second = recorded("cobra").examples

    assert (first.code, first.description) == ("ferry ship list", "Show every ship")
    assert second.code == "ferry ship load aurora --crates 12"


def test_a_summary_is_what_the_program_says_of_itself():
    assert recorded("cobra").summary == "Ferry moves containers between harbours."
    assert recorded("clap").summary == "A fast ledger"
    assert recorded("commander").summary == "Keeps a shop running"
    assert recorded("argparse").summary == "Keep secrets where they belong."


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        pytest.param(
            "usage: git [-v] <command> [<args>]\n\nThese are common Git commands used in various situations:\n\n"
            "start a working area (see also: git help tutorial)\n   clone     Clone one\n   init      Create one\n\n"
            "work on the current change\n   add       Add file contents to the index\n",
            ["clone", "init", "add"],
            id="below headings of their own",
        ),
        pytest.param(
            "npm <command>\n\nUsage:\n\nnpm install   all\n\nAll commands:\n\n    access, adduser,\n    audit, ci\n",
            ["access", "adduser", "audit", "ci"],
            id="between commas",
        ),
        pytest.param(
            "help:\n\nStandard commands\nasn1parse         ca                ciphers\nx509\n\n"
            "Cipher commands (see `enc')\naes  des  rc4\n",
            ["asn1parse", "ca", "ciphers", "x509", "aes", "des", "rc4"],
            id="in columns below a heading without a colon",
        ),
        pytest.param(
            "Usage: spin [command] [flags]\n\n  Commands:\n    - add\n    - lock-entry / lockEntry\n    - why\n",
            ["add", "lock-entry", "why"],
            id="as bare bullets",
        ),
        pytest.param(
            "Usage:\n  depot [command]\n\nAvailable Commands:\n"
            "  adapt         Adapts a file\n  hash-password Hashes a password\n  run           Runs it\n",
            ["adapt", "hash-password", "run"],
            id="the longest with one space behind it",
        ),
        pytest.param(
            "  Keeps goods\n\n  Usage\n    $ depot [command]\n  Commands\n    init\n    add [--since <day>]\n",
            ["init", "add"],
            id="below headings without a colon",
        ),
    ],
)
def test_commands_are_read_however_they_are_listed(text, commands):
    assert [each.name for each in read_help(text).subcommands] == commands


def test_colours_and_overstrikes_are_not_read():
    said = read_help("\x1b[1mUsage:\x1b[0m tool [OPTIONS]\n\nOptions:\n  \x1b[36m--fast\x1b[0m  Be fast\n")

    assert [each.name for each in said.options] == ["--fast"]


def test_a_usage_line_tells_words_arguments_and_options():
    line = read_usage("helios gw groups add-member <group> <user> [--role=MEMBER|OWNER] [--quiet]")

    assert line.words == ("helios", "gw", "groups", "add-member")
    assert [each.name for each in line.arguments] == ["<group>", "<user>"]
    assert [(each.name, each.values, each.required) for each in line.options] == [
        ("--role", ("MEMBER", "OWNER"), False),
        ("--quiet", (), False),
    ]


def test_what_one_line_requires_and_another_does_not_is_not_required():
    lines = read_help("Usage:\n  tool add <name>\n  tool add -r <file>\n\nOptions:\n  -r <file>  Read names\n")
    bean = read_help(
        "Usage: brew add [OPTIONS] <BEAN|--from <FILE>|--group <GROUP>>\n\nArguments:\n  [BEAN]...  What to add\n"
    )

    assert [(argument.name, argument.required) for argument in lines.arguments] == [("<name>", False)]
    assert not any(each.required for each in lines.options)
    assert [(one.name, one.required) for one in bean.arguments] == [("<BEAN>...", False)]


def test_of_letters_that_are_typed_together_and_of_an_object_not_all_is_listed():
    letters = "Usage: ark <command>\n\n commands:\n  d  - delete\n  q  - append\n  r  - replace\n  t  - list\n"

    assert not read_help(letters).lists_all
    assert read_help("Usage: net [ OPTIONS ] OBJECT { COMMAND | help }\n").arguments[0].name == "OBJECT"


@pytest.mark.parametrize(
    ("line", "options", "arguments"),
    [
        ("tool [-a | -b] <x>", {"-a": False, "-b": False}, {"<x>": True}),
        ("tool [-q | --quiet] [--tags | --no-tags]", {"--quiet": False, "--tags": False, "--no-tags": False}, {}),
        ("tool set-head <name> (-a | --auto | <branch>)", {"--auto": False}, {"<name>": True, "<branch>": False}),
        ("tool update [(<group> | <remote>)...]", {}, {"(<group> | <remote>)...": False}),
        ("tool power {on|off}", {}, {"{on|off}": False}),
        ("tool copy <from> | <to>", {}, {"<from>": False, "<to>": False}),
        ("tool send (-m | --message) <text>", {"--message": True}, {}),
        ("tool [OPTION...] [FILE]...", {}, {"FILE...": False}),
        ("tool install [options] <spec> [index-options] ...", {}, {"<spec>...": True}),
        ("api <A> [B_C] [D]...", {}, {"<A>": True, "B_C": False, "D...": False}),
        ("tool go [--[no-]progress] <place>", {"--progress": False}, {"<place>": True}),
    ],
)
def test_alternatives_of_a_usage_line_are_not_required(line, options, arguments):
    read = read_usage(line)

    assert {option.name: option.required for option in read.options} == options
    assert {argument.name: argument.required for argument in read.arguments} == arguments


def test_prose_below_a_usage_line_is_no_argument():
    said = read_help(
        "Usage: tar [OPTION...] [FILE]...\nGNU 'tar' saves many files together into a single archive, and can\n"
        "restore individual files from the archive.\n\n  -x, --extract, --get   extract files\n"
    )

    assert [argument.name for argument in said.arguments] == ["FILE..."]
    assert said.summary.startswith("GNU 'tar' saves many files")
    assert said.options[0].others == ("--get",)


def test_a_help_says_of_itself_that_it_lists_only_some():
    whole = read_help(
        "usage: git <command>\n\nThese are common Git commands used in various situations:\n\n   add  Add\n"
    )
    hint = read_help("usage: git <command>\n\n'git help -a' lists available subcommands\n")
    options = read_help('Usage: curl <url>\n -d, --data <data>  Data\n\nFor all options use "--help all".\n')

    assert [each.lists_all for each in (whole, hint, options)] == [False, False, False]
    assert (hint.fuller, options.fuller) == (("help", "-a"), ("--help", "all"))
    assert read_help("Usage: tool\n\nCommands:\n  a  One\n").lists_all


LINES = st.text(alphabet=st.sampled_from("ab -=[]<>{}|,.:\n\t\"'Usage()Comands\x1b#é"), max_size=400)


@settings(max_examples=300, deadline=None)
@given(LINES)
def test_whatever_a_program_prints_is_read_without_a_fall(text):
    said = read_help(text)

    assert all(each.name.startswith("-") for each in said.options)
    assert all(each.name and " " not in each.name for each in said.subcommands)


@settings(max_examples=300, deadline=None)
@given(LINES)
def test_whatever_stands_in_a_usage_line_is_read_without_a_fall(text):
    read_usage(text)


@pytest.mark.parametrize(
    "row",
    [
        "  --help  Show this message and exit.",
        "  -h, --help            show this help message and exit",
        "  -h, --help   help for depot",
        "  -h, --help     Print help (see more with '--help')",
        "  -h, --help             display help for command",
        "      --help     display this help and exit",
        "  -h, --help\n          Print help information (use `-h` for a summary)",
        "    -h, --help\n            Print help",
        "│ --help          Show this message and exit.                 │",
    ],
)
def test_a_help_whose_library_lists_every_option_is_known_by_the_words_of_its_own_help(row):
    assert read_help(f"Usage: depot [OPTIONS]\n\nOptions:\n  --size INT  How large\n{row}\n").lists_options
    assert not read_help(f"Usage: depot\n\nCommonly used options are:\n{row}\n").lists_options


def test_options_in_a_frame_come_with_their_forms_and_values():
    text = """ Usage: depot add [OPTIONS] TITLE
╭─ Arguments ──────────────────────────────────╮
│ *    title      TEXT  The title. [required]  │
╰──────────────────────────────────────────────╯
╭─ Options ────────────────────────────────────╮
│ --author  -a      TEXT         Who wrote it  │
│ --format          [md|html]    How           │
│ --quiet                        Say nothing   │
╰──────────────────────────────────────────────╯
"""

    options = {option.name: option for option in read_help(text).options}

    assert (options["--author"].short, options["--author"].value) == ("-a", "TEXT")
    assert options["--format"].values == ("md", "html")
    assert options["--quiet"].value == ""


def test_a_notice_and_a_sentence_are_no_syntax():
    text = (
        "usage: \rNote: depot 2 is stable. See https://depot.example/v2\n\nusage: depot [options] <file>\n\n"
        "Help:\n  If you want no colour, run it with the\n  --plain option like below:\n"
    )

    found = read_help(text)

    assert found.usages == ("depot [options] <file>",)
    assert found.options == ()


def test_an_option_of_yargs_takes_a_value_unless_it_is_a_switch():
    rows = "  -p, --port   Set port  [default: 3000]\n  -w, --watch  Watch  [boolean]\n"

    found = read_help(f"depot [options] <file>\n\nOptions:\n{rows}")

    assert [bool(option.value) for option in found.options] == [True, False]
    assert [argument.name for argument in found.arguments] == ["<file>"]


def test_an_underlined_line_is_a_heading():
    said = read_help("Usage\n=====\n  spider shell [url|file]\n\nOptions\n=======\n  --loud  Say more.\n")

    assert said.usages == ("spider shell [url|file]",)
    assert read_help("  Keeps goods\n\n  Usage\n    $ depot [command]\n").usages == ("depot [command]",)
    assert option(said, "--loud").description == "Say more."


def test_a_long_usage_line_is_read_to_its_end():
    switches = " ".join(f"[--switch-number-{number} VALUE]" for number in range(120))
    said = read_usage(f"sorter {switches} [--py {{all,2,27,3,310}}] [files ...]")

    assert [one.name for one in said.arguments] == ["files ..."]
    assert not any(one.required for one in (*said.options, *said.arguments))


@pytest.mark.parametrize(
    "wording",
    [
        "  -h, --help                 Display the concise help for this command",
        "      --help       Show help                                 [boolean]",
        "  -h --help     Show this screen.",
        "  -H, --long-help     display this long help and exit",
        "  -h --help                 Display this information",
        "  -h, --help  Display help for the given command. When no command is given display help for the list command.",
        "  -h, --help                Print this help text",
    ],
)
def test_the_words_of_a_formatter_say_that_it_lists_every_option(wording):
    assert read_help(f"Usage: tool [options] FILE\n\nOptions:\n{wording}\n").lists_options


@pytest.mark.parametrize("usage", ["style [options] input ...", "style [OPTION]... FILES"])
def test_what_may_be_repeated_is_no_word_to_type(usage):
    said = read_usage(usage)

    assert said.behind == ()
    assert said.arguments[-1].name.endswith("...")


def test_a_value_that_may_be_left_out_is_written_behind_an_equals_sign_alone():
    follow = option(
        read_help("Usage: rear FILE\n\nOptions:\n  -f, --follow[={name|number}]\n         output data\n"), "--follow"
    )

    assert (follow.value, follow.values) == ("[={name|number}]", ("name", "number"))


def test_the_help_of_gcc_is_not_whole_and_the_one_of_a_kubectl_command_is():
    assert not read_help(
        "Usage: gcc [options] file...\n\nOptions:\n  --help    Display this information.\n"
    ).lists_options
    use = 'Use "depot options" for a list of global command-line options (applies to all commands).'
    assert read_help(f"Usage:\n  depot get [options]\n\nOptions:\n    --watch=false: Watch.\n\n{use}\n").lists_options
