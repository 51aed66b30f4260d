"""What shells need to complete `bigmind`: a script that has all commands and options in it, so that nothing starts."""

from collections.abc import Mapping

from django.core.management import load_command_class
from django.core.management.base import DjangoHelpFormatter

from bigmind.command_list import COMMANDS, ITSELF, command_names

SHELLS = ("bash", "zsh", "fish")


def completion_script(shell: str) -> str:
    """Return the script for a shell, one of `SHELLS`: to be sourced, or put where the shell looks for such."""
    options = {name: _options(name) for name in command_names()} | {name: [] for name in ITSELF}
    options["completion"] = list(SHELLS)
    return _fish(options) if shell == "fish" else _bash(options, is_zsh=shell == "zsh")


def _options(command: str) -> list[str]:
    parser = load_command_class("bigmind", command).create_parser("bigmind", command)
    found = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
    return [option for option in found if option not in DjangoHelpFormatter.show_last]


def _bash(options: Mapping[str, list[str]], *, is_zsh: bool) -> str:
    cases = "\n".join(f'        {name}) words="{" ".join(found)}" ;;' for name, found in options.items())
    # zsh runs what is written for bash once it is asked to.
    begin = "autoload -Uz compinit bashcompinit && compinit -u && bashcompinit\n" if is_zsh else ""
    return f"""{begin}_bigmind() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words="{" ".join(options)}"
    if [ "$COMP_CWORD" -gt 1 ]; then
        case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _bigmind bigmind
"""


def _fish(options: Mapping[str, list[str]]) -> str:
    sentences = {name: sentence for group in (*COMMANDS.values(), ITSELF) for name, sentence in group.items()}
    lines = []
    for name, found in options.items():
        description = sentences[name].replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c bigmind -n __fish_use_subcommand -a {name} -d '{description}'")
        for option in found:
            form = f"-l {option.removeprefix('--')}" if option.startswith("--") else f"-x -a {option}"
            lines.append(f"complete -c bigmind -n '__fish_seen_subcommand_from {name}' {form}")
    return "\n".join([*lines, ""])
