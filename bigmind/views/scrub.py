"""The page on which a text is removed: admins everywhere, everyone from their own memory."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.translation import _, gettext_lazy, write_number
from bigmind.privacy.scrub.scrubbing import NOT_REACHED, Scrubbed, preview_scrub, scrub_text
from bigmind.web.forms import OperationForm, TextField, form_data

EVERYWHERE, MINE = "everywhere", "mine"


class ScrubForm(OperationForm):
    """Asks for the text, the reason, and for admins where to look."""

    text = TextField(
        rows=3,
        label=gettext_lazy("The text to remove"),
        help_text=gettext_lazy(
            "Case, spaces and punctuation make no difference, and web encodings are looked through too."
        ),
    )
    why = forms.CharField(
        label=gettext_lazy("Why"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("A few words without the text itself. They replace it, with the date."),
    )
    where = forms.ChoiceField(
        label=gettext_lazy("Where"),
        required=False,
        choices=[(EVERYWHERE, gettext_lazy("In the whole instance")), (MINE, gettext_lazy("Only in my own memory"))],
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["text"].widget.attrs |= {"autocomplete": "off", "spellcheck": "false"}
        if "admin" not in actor.scopes:
            del self.fields["where"]

    def carry_out_scrub(self, actor: Actor, *, dry_run: bool) -> Scrubbed | None:
        """Count, or remove. None when it was refused: the form then says why."""

        def act(told: dict[str, Any]) -> Scrubbed:
            text, whose = told["text"].strip("\n"), None if told.get("where") == EVERYWHERE else actor.user
            said = validate_arguments(scrub_text, {"text": text, "why": told["why"]})
            if dry_run:
                return preview_scrub(actor, text=text, whose=whose)
            return scrub_text(actor, **said, whose=whose)

        scrubbed: Scrubbed | None = self.attempt(act)
        return scrubbed


@never_cache
@login_required
@sensitive_post_parameters("text")
@require_http_methods(["GET", "HEAD", "POST"])
def scrub(request: HttpRequest) -> HttpResponse:
    """Show in how many places a text stands, and remove it when that was confirmed."""
    actor = actor_of(request)
    form = ScrubForm(form_data(request), actor=actor, initial={"where": EVERYWHERE})
    is_confirmed = request.POST.get("do") == "remove"
    found = form.carry_out_scrub(actor, dry_run=not is_confirmed) if form.is_bound else None
    if found and is_confirmed:
        places = _("one place") if found.total == 1 else _("%(total)s places") % {"total": write_number(found.total)}
        messages.success(
            request,
            _("Removed from %(places)s. Open sessions that have seen it are notified at their next call.")
            % {"places": places},
        )
        return redirect("erasures")
    context = {"form": form, "found": found, "not_reached": NOT_REACHED}
    return render(request, "system/scrub.html", context, status=422 if form.is_bound and form.errors else 200)
