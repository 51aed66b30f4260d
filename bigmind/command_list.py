"""The commands of BigMind by what they are for, which `bigmind help` shows without waiting for Django.

A command is a module of bigmind/management/commands; a test compares both.
"""

from collections.abc import Mapping
from difflib import get_close_matches

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Run": {
        "up": "Run BigMind: database, web, worker and scheduler, until Ctrl-C.",
        "doctor": "Check everything BigMind depends on, and say what to fix.",
        "migrate": "Migrate the database to this version while the previous one keeps serving.",
        "backup": "Back up the whole instance; list or verify backups.",
        "restore": "Replace the instance's data with a backup.",
        "scrub": "Remove a text from everything BigMind keeps.",
        "reindex": "Find and repair what is stored but missing from the search index.",
        "sign_in_link": "Create a one-time sign-in link.",
    },
    "Connect agents": {
        "connect": "Connect a program on this machine to BigMind, and tell its agent to use it.",
        "disconnect": "Undo `bigmind connect`.",
        "mcp": "Speak MCP over standard input and output.",
        "op": "Perform any operation in the catalogue.",
        "sync_pending": "Import what agents wrote to files while BigMind was unreachable.",
    },
    "People and keys": {
        "user_add": "Add a user.",
        "user_invite": "Invite a person.",
        "user_list": "List the users.",
        "user_role": "Change a user's role.",
        "user_delete": "Delete a user and everything they own.",
        "user_link": "Link a key to a user.",
        "user_unlink": "Unlink a key from its user.",
        "user_reset_second_factor": "Reset a user's second factor.",
        "key_create": "Create a key for a user.",
        "key_list": "List the keys.",
        "key_rotate": "Replace a key with a new one.",
        "key_revoke": "Revoke a key.",
        "key_text": "Generate a key for an instance that has not started yet.",
    },
    "Import and export": {
        "memory_import_from": "Import a person's memory from another program.",
        "memory_export_to": "Export a memory as the files of another program.",
        "export": "Export what everyone here shares, as files.",
        "company_import": "Import company knowledge, with its history, into an instance that has none.",
        "company_sync": "Sync with the company server now.",
        "kb_parse": "Turn documents into YAML to edit.",
        "kb_seed": "Import YAML files of entries into the knowledge base.",
        "references_generate": "Generate references from a source, as JSON to review, or check sources.",
        "references_import": "Import references from a source.",
        "apps_export": "Export all app maps to a folder of YAML files.",
        "apps_import": "Import a folder of app maps.",
    },
    "Verify": {
        "audit_verify": "Check that audit log, history of company knowledge and reports are unaltered.",
        "verify": "Find the entries that a code change makes false.",
    },
}
ITSELF: Mapping[str, str] = {
    "help": "Show this list; `bigmind help COMMAND` explains one, `bigmind help --django` lists Django's.",
    "version": "Show the version.",
    "completion": "Print the script for shell completion: `bigmind completion bash`, `zsh` or `fish`.",
}
WIDTH = 26


def command_names() -> list[str]:
    return [name for group in COMMANDS.values() for name in group]


def help_text() -> str:
    """Return the list of commands, as `bigmind help` prints it."""
    lines = ["Usage: bigmind COMMAND [options]", ""]
    for title, commands in {**COMMANDS, "And": ITSELF}.items():
        lines += [f"{title}:", *(f"  {name:<{WIDTH}}{sentence}" for name, sentence in commands.items()), ""]
    lines += [
        "`bigmind COMMAND --help` shows its options and examples. With --json they print JSON (`op`: --format json).",
        "Exit codes: 0 done, 1 refused, 2 misused.",
    ]
    return "\n".join(lines)


def nearest_command(word: str) -> str:
    """Return the command closest to a mistyped one, or an empty text."""
    return next(iter(get_close_matches(word.replace("-", "_"), [*command_names(), *ITSELF], n=1)), "")
