"""Forms that correct what an app map says."""

from typing import Any

from django import forms

from bigmind.web.forms import OperationForm, TextField
from knowledge.models import AppEntity, AppWorkflow


class EntityForm(OperationForm):
    """Says where a row is."""

    row_id = forms.CharField(required=False, label="Row id")
    match_field = forms.CharField(required=False, label="Field it is found by", help_text="Such as Name.")
    match_value = forms.CharField(required=False, label="What stands in that field")

    def row(self, values: dict[str, Any], entity: AppEntity) -> dict[str, Any]:
        """Return what is learnt of it."""
        table = {"table": entity.table.name, "table_id": entity.table.table_id}
        return {**values, **table, "name": entity.name}


class WorkflowForm(OperationForm):
    """Says how something is done."""

    trigger = forms.CharField(required=False, help_text="What people ask for; names stand in [brackets].")
    steps = TextField(required=False)
    field = forms.CharField(required=False, label="Field", help_text="The field it is about.")


def initial_of_entity(entity: AppEntity) -> dict[str, Any]:
    """Return what the form shows of a row."""
    return {name: getattr(entity, name) for name in EntityForm.base_fields}


def initial_of_workflow(workflow: AppWorkflow) -> dict[str, Any]:
    """Return what the form shows of a workflow."""
    return {name: getattr(workflow, name) for name in WorkflowForm.base_fields}
