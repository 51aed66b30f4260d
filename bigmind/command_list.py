"""The commands of BigMind by what they are for, which `bigmind help` shows without waiting for Django.

A command is a module of bigmind/management/commands; a test compares both.
"""

from collections.abc import Mapping
from difflib import get_close_matches

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Run": {
        "up": "Run BigMind: database, web, worker and scheduler, until Ctrl-C.",
        "doctor": "Check everything BigMind stands on, and say what to do.",
        "migrate": "Bring the database to this version, while the one before serves on.",
        "backup": "Back the whole instance up; list or verify backups.",
        "backup_rehearse": "Restore the newest backup into a database of its own, and say how it did.",
        "restore": "Put a backup in place of what the instance holds.",
        "scrub": "Remove a text from everything that is stored.",
        "reindex": "Find what search cannot find although it is stored, and mend it.",
        "partition": "Divide the tables of passages and vectors by owner, or make them whole again.",
        "sign_in_link": "Make a link that signs somebody in once.",
    },
    "Connect agents": {
        "connect": "Tell a program on this machine where BigMind is, and its agent to use it.",
        "disconnect": "Undo `bigmind connect`.",
        "mcp": "Speak MCP over standard input and output.",
        "op": "Perform any operation of the catalogue.",
        "sync_pending": "Bring in what agents wrote into files while BigMind was out of reach.",
    },
    "People and keys": {
        "user_add": "Add a user.",
        "user_invite": "Invite a person.",
        "user_list": "List the users.",
        "user_role": "Give a user another role.",
        "user_delete": "Delete a user with everything they own.",
        "user_link": "Link a key to a user.",
        "user_unlink": "Unlink a key from its user.",
        "user_reset_second_factor": "Reset the second factor of a user.",
        "key_create": "Make a key for a user.",
        "key_list": "List the keys.",
        "key_rotate": "Put a new key in place of one.",
        "key_revoke": "Revoke a key.",
        "key_text": "Make the text of a key that is not there yet.",
    },
    "Bring in and take out": {
        "memory_import_from": "Bring in what a person's agents remembered elsewhere.",
        "memory_export_to": "Take a memory out, as the files of another program.",
        "export": "Take out what everybody here shares, as files.",
        "company_import": "Bring company knowledge, with its history, into an instance that has none.",
        "company_sync": "Exchange with the company server, now.",
        "pack": "Publish knowledge packs, and subscribe to those of others.",
        "kb_parse": "Turn documents into YAML to edit.",
        "kb_seed": "Import YAML files of entries into the knowledge base.",
        "references_generate": "Make references from a source, as JSON to review.",
        "references_import": "Bring references in from a source.",
        "references_validate": "Check documents before references are made from them.",
        "apps_export": "Write all app maps into a folder of YAML files.",
        "apps_import": "Bring a folder of app maps in.",
    },
    "Prove": {
        "audit_verify": "Is the audit log what was written?",
        "curation_verify": "Is the history of company knowledge what was written?",
        "verify": "Does a change of code make an entry false?",
        "erasure_verify": "Is a report of an erasure what was signed?",
    },
    "Work on BigMind itself": {
        "docs": "Write the generated documents, or check them.",
    },
}
ITSELF: Mapping[str, str] = {
    "help": "Show this; `bigmind help COMMAND` shows one, `bigmind help --django` those of Django.",
    "version": "Show the version.",
    "completion": "Print what completes commands and options: `bigmind completion bash`, `zsh` or `fish`.",
}
WIDTH = 26


def command_names() -> list[str]:
    """Return the names of all commands, in the order of the list."""
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
    """Return the command that someone may have meant, or nothing."""
    return next(iter(get_close_matches(word.replace("-", "_"), [*command_names(), *ITSELF], n=1)), "")
