"""The audit log, for admins: filtered by words, person, kind and dates, and exported as CSV or JSON."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from bigmind.core.translation import gettext_lazy
from bigmind.web.pages import offset_in, own_page
from curation.services.audit_log import KINDS, AuditQuestion, export_audit_log, read_audit_log

CSV, JSON = "csv", "json"
_TYPES = {CSV: "text/csv; charset=utf-8", JSON: "application/json"}


class AuditForm(forms.Form):
    """Filters the log."""

    query = forms.CharField(
        required=False,
        max_length=200,
        label=gettext_lazy("Words, C142 or an id"),
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    person = forms.CharField(required=False, max_length=200, label=gettext_lazy("Person"))
    kind = forms.ChoiceField(
        required=False, choices=[("", gettext_lazy("Everything")), *KINDS.items()], label=gettext_lazy("What")
    )
    since = forms.DateField(
        required=False, label=gettext_lazy("From"), widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    )
    until = forms.DateField(
        required=False, label=gettext_lazy("To"), widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    )

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET, label_suffix="")

    @property
    def question(self) -> AuditQuestion | None:
        """The filters; None if one of them is invalid."""
        if not self.is_valid():
            return None
        chosen = self.cleaned_data
        return AuditQuestion(chosen["query"], chosen["kind"], chosen["person"], chosen["since"], chosen["until"])


@own_page
@require_safe
def audit_log(request: HttpRequest) -> HttpResponse:
    """List the events, the newest first."""
    actor, form = actor_of(request), AuditForm(request)
    actor.require("admin")
    question = form.question
    page = read_audit_log(actor, question, offset=offset_in(request)) if question else None
    parameters = request.GET.copy()
    parameters.pop("offset", None)
    context = {"form": form, "page": page, "asked": parameters.urlencode()}
    return render(request, "curation/audit.html", context, status=200 if question else 422)


@own_page
@require_safe
def audit_export(request: HttpRequest) -> HttpResponse:
    """Return everything that matches the filters as a file; the list says which of them is invalid."""
    actor, question = actor_of(request), AuditForm(request).question
    actor.require("admin")
    if question is None:
        return redirect(f"{reverse('audit')}?{request.GET.urlencode()}")
    kind = CSV if request.GET.get("format") == CSV else JSON
    text = export_audit_log(actor, question, as_csv=kind == CSV)
    answer = HttpResponse(text, content_type=_TYPES[kind])
    answer["Content-Disposition"] = f'attachment; filename="audit.{kind}"'
    return answer
