"""Fields and questions that forms about memory share."""

from typing import Any

from django import forms
from django.http import HttpRequest

from accounts.models import User
from bigmind.web.forms import Question, choice
from knowledge.models import Category
from knowledge.views.pages import projects_of

CATEGORIES = [(name, name.capitalize()) for name in Category.values]


class ProjectQuestion(Question):
    """A question that can be narrowed to one of the person's projects."""

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(request.GET)
        names = {*projects_of(user), request.GET.get("project", "").strip()} - {""}
        named = [(name, name) for name in sorted(names)]
        self.fields["project"] = choice(named, blank="Any", required=False, label="Project")


def project_field() -> forms.CharField:
    """Return the field for a project."""
    return forms.CharField(required=False, help_text="The repository or product it belongs to.")


def confidence_field(**kwargs: Any) -> forms.CharField:
    """Return the field for a confidence."""
    widget = forms.NumberInput(attrs={"min": 0, "max": 1, "step": 0.05, "inputmode": "decimal"})
    return forms.CharField(widget=widget, help_text="How sure you are, from 0 to 1.", **kwargs)
