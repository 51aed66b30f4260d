"""Import LEARNINGS.yaml files that agents wrote while BigMind was unreachable."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bigmind.core.errors import Invalid
from bigmind.management.base import DRY_RUN, OperatorCommand, ProgressBar, Refused, argument, usage_error
from bigmind.management.people import actor_for
from knowledge.kb.learnings import SyncedFile, sync_learnings
from knowledge.parsers.sources import find_sources

NAMES = {"learnings.yaml", "learnings.yml"}


class Command(OperatorCommand):
    """Import what agents wrote to LEARNINGS.yaml while BigMind was unreachable, and mark the files synced. Comments and
    everything else in them stay. Importing twice changes nothing. Exits 1 when something was refused.
    """

    examples = (
        "bigmind sync_pending",
        "bigmind sync_pending plans/stories --dry-run",
        "bigmind sync_pending plans/stories/WRKF-1021/_implementation/LEARNINGS.yaml --json",
    )
    arguments = (
        argument(
            "paths",
            nargs="*",
            type=Path,
            default=[Path()],
            help="Files, or folders to search. Default: the current folder.",
        ),
        argument("--user", help="The user who will own the entries. Default: the owner of this instance."),
        DRY_RUN,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        actor = actor_for(options["user"])
        files = list(_files(options["paths"]))
        bar, synced, unread = ProgressBar(self.stderr, "LEARNINGS.yaml", len(files)), list[SyncedFile](), list[str]()
        for file, name, within in files:
            try:
                synced.append(sync_learnings(actor, file, name=name, within=within, dry_run=options["dry_run"]))
            except Invalid as error:
                unread.append(str(error))
            bar.advance()
        bar.clear()
        self._tell(synced, unread, options)

    def _tell(self, synced: list[SyncedFile], unread: list[str], options: dict[str, Any]) -> None:
        if options["json"]:
            files = [{**vars(one), "is_synced": one.is_synced} for one in synced]
            self.print_json({"dry_run": options["dry_run"], "files": files, "unread": unread})
        else:
            pending = [one for one in synced if one.was_pending]
            for one in pending:
                self.stdout.write(str(one))
            self.stdout.write(_in_words(pending, len(synced), dry_run=options["dry_run"]))
        refused = [*unread, *(line for one in synced for line in one.refused)]
        for line in refused[:-1]:
            self.remark(line)
        if refused:
            raise Refused(refused[-1])


def _files(paths: list[Path]) -> Iterator[tuple[Path, str, Path | None]]:
    """Yield each file with its name for messages and entries, and the folder it must stay within."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            for file in find_sources(path, lambda name: name.casefold() in NAMES):
                yield file, file.relative_to(path).as_posix(), path
        elif path.exists() or path.is_symlink():
            # An absolute path would show all users where one of them keeps their files.
            yield path, path.name if path.is_absolute() or ".." in path.parts else path.as_posix(), None
        else:
            raise usage_error(f"{path} does not exist.")


def _in_words(pending: list[SyncedFile], files: int, *, dry_run: bool) -> str:
    if not pending:
        return f"Nothing is pending in {files} files." if files else "There is no LEARNINGS.yaml here."
    added, known = (sum(len(getattr(one, name)) for one in pending) for name in ("added", "known"))
    return f"{'Would add' if dry_run else 'Added'} {added} from {len(pending)} files; {known} known already."
