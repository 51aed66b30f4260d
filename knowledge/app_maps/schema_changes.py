"""Schema changes: whatever names the fields (workflows, and how rows are found) is updated or flagged."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rapidfuzz import fuzz

from bigmind.text.hygiene import fold_name, mention
from knowledge.app_maps.learning import index_table, index_workflow
from knowledge.models import App, AppTable, AppWorkflow

ALIKE = 70.0
"""Of 100: how alike two names are, of one field before and after, for nobody to have to confirm it. Decision 45."""
TOLD = 5
GONE_KEPT = 50

Fields = Mapping[str, Mapping[str, Any]]


@dataclass
class SchemaChange:
    """How a schema differs from what was known, and what became of the workflows that name its fields.

    Attributes:
        renamed: Fields that are called something else now, beyond doubt.
        mended: Workflows that name the new field now.
        flagged: Workflows that name a field that is gone.
    """

    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    mended: list[AppWorkflow] = field(default_factory=list)
    flagged: list[AppWorkflow] = field(default_factory=list)

    def for_history(self) -> str:
        """Describe the change in one line."""
        parts = {
            "renamed": [f"{old} → {new}" for old, new in self.renamed.items()],
            "new fields": [name for name in self.new if name not in self.renamed.values()],
            "gone": [name for name in self.gone if name not in self.renamed],
            "changed": self.changed,
            "workflows mended": [str(one) for one in self.mended],
            "workflows to look at": [str(one) for one in self.flagged],
        }
        return "; ".join(f"{what} {', '.join(names)}" for what, names in parts.items() if names)


def replace_fields(table: AppTable, fields: Fields) -> SchemaChange:
    """Overwrite a schema by what it is now, with what names its fields. Call this while you hold the app."""
    old = {str(one["name"]): {name: value for name, value in one.items() if name != "name"} for one in table.fields}
    if old == fields:
        return SchemaChange()
    change = SchemaChange(
        new=[name for name in fields if name not in old],
        gone=[name for name in old if name not in fields],
        changed=[name for name in fields if name in old and fields[name] != old[name]],
    )
    likely = dict.fromkeys(change.gone, "")
    for before, after, is_certain in _pairs(old, fields, change):
        likely[before] = after
        if is_certain:
            change.renamed[before] = after
            # An update of many rows looks for no signs of injection: empty, a sweep looks at them later. Decision 62.
            table.entities.filter(match_field=before).update(match_field=after, signs=None)
    table.fields = [{"name": name, **known} for name, known in fields.items()]
    # The table remembers it, not the workflow: when the field is back, what names it is right again. Decision 45.
    gone = {**table.gone_fields, **likely}
    table.gone_fields = dict([one for one in gone.items() if one[0] not in fields][-GONE_KEPT:])
    table.save(update_fields=["fields", "gone_fields"])
    index_table(table)
    _follow(table, change)
    return change


def problem_of(workflow: AppWorkflow, table: AppTable | None) -> str:
    """Say which field a workflow names that the table it is used in has lost; empty where none is known to be gone."""
    gone = table.gone_fields if table else {}
    named = next((name for name in gone if _names(workflow, name)), None)
    if named is None:
        return ""
    guess = f"; it may be {mention(gone[named])} now" if gone[named] else ""
    return f"names the field {mention(named)}, which is gone{guess}"


def problems_in(app: App, only: AppTable | None = None) -> dict[int, str]:
    """Return what is wrong with the workflows of an app, or of one of its tables, by their numbers."""
    tables = [only] if only else list(app.tables.exclude(gone_fields={}))
    found = (
        (workflow.pk, problem_of(workflow, table))
        for workflow in (app.workflows.all() if tables else ())
        for table in tables
        if workflow.table_id in {None, table.pk}
    )
    return {pk: problem for pk, problem in found if problem}


def how_to_mend(problems: Mapping[str, str]) -> str:
    """Say what to do about workflows that name a field that is gone, by their names; nothing where none does."""
    if not problems:
        return ""
    listed = "; ".join(f"{mention(name)} {problem}" for name, problem in list(problems.items())[:TOLD])
    return (
        f" Careful: the workflow {listed}. Find out which field takes its place, ask the user if unsure, and "
        "hand the workflow to app_learn with it."
    )


def has_field(table: AppTable, name: str) -> bool:
    """Whether a table has a field of this name, whatever its case and spacing."""
    return fold_name(name) in {fold_name(str(one["name"])) for one in table.fields}


def _pairs(old: Fields, new: Fields, change: SchemaChange) -> Iterator[tuple[str, str, bool]]:
    """Yield fields that are gone with the new one that may be theirs, and whether it is beyond doubt.

    A field that was deleted, and another of the same type that was added, look like a renamed one. Writing into the
    wrong field does harm, so more has to speak for it: the name, what it links to, its values, or that rows are called
    by it.
    """
    for before in change.gone:
        same = [after for after in change.new if new[after].get("type") == old[before].get("type")]
        rivals = [name for name in change.gone if old[name].get("type") == old[before].get("type")]
        alike = [after for after in same if _is_alike(before, after)]
        if len(alike) == 1 and [name for name in rivals if _is_alike(name, alike[0])] == [before]:
            yield before, alike[0], True
        elif len(same) == 1 and rivals == [before]:
            telling = ((old[before].get(one), new[same[0]].get(one)) for one in ("primary", "target", "values"))
            yield before, same[0], any(was and was == now for was, now in telling)


def _is_alike(one: str, other: str) -> bool:
    return fuzz.ratio(fold_name(one), fold_name(other)) >= ALIKE


def _follow(table: AppTable, change: SchemaChange) -> None:
    """Let the workflows of a table name the new field, and note those that name one that is gone."""
    others = [one for one in table.app.tables.all() if one.pk != table.pk]
    for workflow in table.app.workflows.order_by("pk"):
        named = [name for name in change.gone if workflow.table_id in {None, table.pk} and _names(workflow, name)]
        # What is of no table may be meant for another that has the field still: there it is right as it is.
        is_shared = workflow.table_id is None and any(has_field(one, name) for one in others for name in named)
        if named and not is_shared and all(name in change.renamed for name in named):
            for name in named:
                _rename_in(workflow, name, change.renamed[name])
            change.mended.append(workflow)
        elif named:
            change.flagged.append(workflow)


def _rename_in(workflow: AppWorkflow, name: str, new: str) -> None:
    workflow.steps = _mention(name).sub(lambda found: new, workflow.steps)
    workflow.field = new if fold_name(workflow.field) == fold_name(name) else workflow.field
    workflow.save(update_fields=["steps", "field"])
    index_workflow(workflow)


def _names(workflow: AppWorkflow, name: str) -> bool:
    return fold_name(workflow.field) == fold_name(name) or bool(_mention(name).search(workflow.steps))


def _mention(name: str) -> re.Pattern[str]:
    """A field named in a sentence: as it is written, because `name` in a sentence is seldom the field `Name`."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
