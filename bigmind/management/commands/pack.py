"""Publish knowledge packs, subscribe to other publishers' packs, and review, accept and roll back their updates."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from accounts.actor import Actor
from bigmind.core.operations import carry_out
from bigmind.management.base import OperatorCommand, Refused, argument, usage_error
from bigmind.management.people import actor_for
from bigmind.web.differences import compare_lines
from curation.models import Pack, PackKey
from curation.packs.accepting import PackOutcome, accept_update, reject_update, roll_back, unsubscribe
from curation.packs.documents import SUFFIX
from curation.packs.publishing import own_public_key, publish_pack
from curation.packs.reviewing import PackUpdate, review_update
from curation.packs.subscriptions import PackNews, distrust_key, fetch_update, pin_pack, subscribe, trust_key

NEEDED = {
    "publish": "the name of the pack",
    "subscribe": "a file, a folder or an https address",
    "trust": "a public key",
    "distrust": "a public key",
    **dict.fromkeys(("update", "review", "accept", "reject", "pin", "unpin", "rollback", "unsubscribe"), "a pack"),
}
NAMES = {"type": str, "nargs": "+", "default": None}


class Command(OperatorCommand):
    """Publish knowledge packs, subscribe to other publishers' packs, and review, accept and roll back their updates.

    An update changes nothing before it is accepted. `bigmind help` on the page “Packs” explains each step.
    """

    changes_memory = True
    arguments = (
        argument("action", choices=["list", "key", *NEEDED], help="What to do."),
        argument("target", nargs="?", default="", help="The name of a pack; a place to subscribe to; a key to trust."),
        argument("number", nargs="?", default="", metavar="version", help="publish, accept, reject, pin: this one."),
        argument("--user", help="User name or id of the curator or admin to act as. Default: the first admin."),
        argument("--title", help="publish: the pack's title."),
        argument("--publisher", help="publish: the publisher. Default: the name of this BigMind."),
        argument("--notes", default="", help="publish: what is new in this version."),
        argument("--project", **NAMES, help="publish: approved entries of these projects."),
        argument("--topic", **NAMES, help="publish: approved entries with one of these topics."),
        argument("--collection", **NAMES, help="publish: these collections of documentation."),
        argument("--to", type=Path, default=Path(), help="publish: the folder for the file. Default: this one."),
        argument("--dry-run", action="store_true", help="publish: show what it would contain; sign nothing."),
        argument("--file", type=Path, help="update: a file with the new version."),
        argument("--signer", help="trust: the name of the key's owner."),
        argument("--also", action="store_true", help="trust: accept this key besides the one the owner already has."),
        argument("--keep", nargs="+", default=[], help="accept: keys of lines to leave as they are here."),
        argument(
            "--anyway",
            nargs="+",
            default=[],
            help="accept: keys of lines to accept although they read like instructions.",
        ),
        argument("--losing", nargs="+", default=[], help="Numbers of golden questions that may be lost."),
        argument("--keep-entries", action="store_true", help="unsubscribe: archive nothing."),
    )
    examples = (
        "bigmind pack publish platform-basics --project platform --to packs",
        "bigmind pack key",
        "bigmind pack trust 3f0c… --signer 'Fernwood Platform'",
        "bigmind pack subscribe https://packs.example.com/platform.bigmind-pack.json",
        "bigmind pack update platform-basics",
        "bigmind pack accept platform-basics 1.1.0",
        "bigmind pack rollback platform-basics",
        "bigmind pack list --json",
    )

    def handle(self, *args: Any, **options: Any) -> None:
        action, target = options["action"], options["target"]
        if action in NEEDED and not target:
            raise usage_error(f"{action} needs {NEEDED[action]}.")
        if action in {"accept", "reject", "pin"} and not options["number"]:
            raise usage_error(f"{action} needs a version after the name, such as 1.2.0.")
        if action == "trust" and not options["signer"]:
            raise usage_error("trust needs --signer, the name of the key's owner.")
        if action == "key":
            return self.reply({"public_key": own_public_key()}, own_public_key())
        if action == "list":
            return self._list()
        if action == "publish":
            return self._publish(actor_for(options["user"]), target, options)
        done = _ACTIONS[action](actor_for(options["user"]), target, options)
        return self.reply(_as_json(done), _in_words(done))

    def _list(self) -> None:
        rows = [
            {
                "name": pack.name,
                "title": pack.title,
                "published_here": pack.is_ours,
                "signer": pack.signer,
                "version": pack.accepted.version if pack.accepted else None,
                "waiting": pack.waiting.version if pack.waiting else None,
                "pinned": pack.pinned or None,
                "address": pack.address or None,
                "trouble": pack.trouble or None,
            }
            for pack in Pack.objects.filter(ended_at=None).order_by("name")
        ]
        if self.prints_json:
            return self.print_json({"packs": rows, "keys": list(PackKey.objects.values("signer", "public_key"))})
        headings = ("name", "version", "waiting", "signer", "address")
        return self.print_table(headings, [[row[name] or "-" for name in headings] for row in rows])

    def _publish(self, actor: Actor, name: str, options: dict[str, Any]) -> None:
        said: dict[str, Any] = {key: options[key] for key in ("title", "publisher", "notes") if options[key]}
        chosen = {f"{key}s": options[key] for key in ("project", "topic", "collection") if options[key]}
        version = {"version": options["number"]} if options["number"] else {}
        made = carry_out(
            publish_pack, actor, {"name": name, **said, **chosen, **version, "dry_run": options["dry_run"]}
        )
        document, path = made.document, None
        if made.signed is not None:
            path = options["to"] / f"{name}-{document.version}{SUFFIX}"
            try:
                options["to"].mkdir(parents=True, exist_ok=True)
                path.write_bytes(made.signed.as_bytes())
            except OSError as error:
                raise Refused(f"{path}: {error.strerror}. It is published; download it from its page.") from None
        titles = [f"{entry.key} {entry.title}" for entry in document.entries]
        holds = ", ".join(f"{number} {what}" for what, number in document.contents.items())
        told = {"name": name, "version": document.version, "file": path and str(path), "holds": document.contents}
        where = f"{path}: " if path else "It would hold: "
        self.reply({**told, "entries": titles}, "\n".join([f"{where}{name} {document.version}, {holds}.", *titles]))


def _update(actor: Actor, name: str, options: dict[str, Any]) -> PackNews | PackUpdate:
    content = None
    if options["file"]:
        try:
            content = options["file"].read_bytes()
        except OSError as error:
            raise Refused(f"{options['file']}: {error.strerror}.") from None
    news = fetch_update(actor, name=name, content=content)
    return review_update(actor, name=name) if news.version else news


def _accept(actor: Actor, name: str, options: dict[str, Any]) -> PackOutcome:
    lists = {key: options[key] for key in ("keep", "anyway", "losing")}
    outcome: PackOutcome = carry_out(accept_update, actor, {"name": name, "version": options["number"], **lists})
    return outcome


_ACTIONS: dict[str, Callable[[Actor, str, dict[str, Any]], Any]] = {
    "subscribe": lambda actor, source, options: subscribe(actor, source=source),
    "update": _update,
    "review": lambda actor, name, options: review_update(actor, name=name),
    "accept": _accept,
    "reject": lambda actor, name, options: carry_out(
        reject_update, actor, {"name": name, "version": options["number"]}
    ),
    "pin": lambda actor, name, options: carry_out(pin_pack, actor, {"name": name, "version": options["number"]}),
    "unpin": lambda actor, name, options: carry_out(pin_pack, actor, {"name": name}),
    "rollback": lambda actor, name, options: carry_out(roll_back, actor, {"name": name, "losing": options["losing"]}),
    "unsubscribe": lambda actor, name, options: carry_out(
        unsubscribe,
        actor,
        {"name": name, "keep_entries": options["keep_entries"], "losing": options["losing"]},
    ),
    "trust": lambda actor, key, options: carry_out(
        trust_key, actor, {"public_key": key, "signer": options["signer"], "also": options["also"]}
    ),
    "distrust": lambda actor, key, options: carry_out(distrust_key, actor, {"public_key": key}),
}


def _as_json(done: Any) -> dict[str, Any]:
    if isinstance(done, PackUpdate):
        return _update_as_json(done)
    if isinstance(done, PackOutcome):
        return {**vars(done), "pack": done.pack.name, "left": [str(one) for one in done.left]}
    if isinstance(done, PackNews):
        waiting = done.version.version if done.version else None
        return {"pack": done.pack.name, "waiting": waiting, "says": done.says}
    if isinstance(done, PackKey):
        return {"signer": done.signer, "public_key": done.public_key}
    return {"pack": getattr(done, "name", None) or done.pack.name, "said": str(done)}


def _update_as_json(update: PackUpdate) -> dict[str, Any]:
    return {
        "pack": update.pack.name,
        "version": update.document.version,
        "accepted": update.accepted.version if update.accepted else None,
        "signer": update.pack.signer,
        "public_key": update.version.public_key,
        "counts": update.counts,
        "lines": [
            {
                "key": line.key,
                "kind": line.kind,
                "title": line.title,
                "left": line.left or None,
                "overwrites_edit": line.overwrites,
                "reads_like_instruction": line.is_dangerous,
                "left_by_first": line.key in update.left_by_first,
                "fields": [{"field": label, "before": now, "after": then} for label, now, then in line.fields],
            }
            for line in update.lines
        ],
        "documentation": [vars(report) for report in update.documentation],
        "golden_questions": [{**vars(one), "outcome": one.outcome} for one in update.questions],
    }


def _in_words(done: Any) -> str:
    if isinstance(done, PackUpdate):
        return "\n".join(_update_in_words(done))
    if isinstance(done, PackOutcome):
        if done.waits_for_second:
            other = f" {done.differs_from} had accepted other lines." if done.differs_from else ""
            return f"{done.pack.name} {done.version}: a second curator has to accept the same lines.{other}"
        counts = f"{done.added} approved, {done.changed} changed, {done.withdrawn} archived"
        return "\n".join([f"{done.pack.name} {done.version}: {counts}.", *(f"Left: {why}" for why in done.left)])
    if isinstance(done, PackNews):
        return f"{done.pack.name}: {done.says}"
    if isinstance(done, Pack):
        return f"{done.name}: " + (f"pinned to {done.pinned}." if done.pinned else "not pinned.")
    return f"{done}: done."


def _update_in_words(update: PackUpdate) -> list[str]:
    counts = ", ".join(f"{number} {what}" for what, number in update.counts.items() if number)
    told = [f"{update.pack.name} {update.document.version}, signed by {update.pack.signer}: {counts or 'no entry'}."]
    for line in update.lines:
        marks = [line.left and f"left: {line.left}", "overwrites your edit" if line.overwrites else ""]
        marks += ["reads like an instruction" if line.is_dangerous else ""]
        marks += ["left out by the first curator" if line.key in update.left_by_first else ""]
        marks += [f"may contradict {near.entry.handle}" for near in line.against]
        told.append(f"\n{line.kind} {line.key} {line.title}" + "".join(f" ({mark})" for mark in marks if mark))
        pairs = [(now, then) for _, now, then in line.fields] or [
            (line.entry.content, "") if line.after is None else ("", line.after.content)
        ]
        told += [f"  {sign} {text}" for now, then in pairs for sign, text in compare_lines(now, then)]
    for report in update.documentation:
        numbers = f"{report.added} added, {report.changed} changed, {report.removed} removed"
        told.append(f"\nDocumentation {report.collection}: {numbers}.")
    for one in update.questions:
        told.append(f"Golden question ({one.handle}) {one.question}: {one.before} -> {one.after}, {one.outcome}.")
    accept = f"bigmind pack accept {update.pack.name} {update.document.version}"
    return [*told, f"\nAccept it with `{accept}`."]
