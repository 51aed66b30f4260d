"""The start context: exactly what an agent receives, what it costs, and the profile that every session hears."""

import re
from dataclasses import dataclass

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from accounts.authentication import actor_of
from accounts.models import Profile
from accounts.people.profiles import get_profile, update_profile
from bigmind.core.translation import _, gettext_lazy
from bigmind.text.token_counts import count_tokens
from bigmind.web.forms import Lines, OperationForm, TextField, form_data
from bigmind.web.pages import own_page, tell
from knowledge.context.budget import INDEX_TOKENS, PROFILE_TOKENS, TOTAL_TOKENS
from knowledge.context.start_context import get_context, whole_profile
from knowledge.exposures.context_receipts import show_lines
from knowledge.views.pages import ProjectQuestion, memory_page

PROFILE_BEGINS = ("### 👤", "### 📌")
INDEX_BEGINS = re.compile("### (?:🗂️|🤔|📅)|_[0-9]+ more: memory_list_sessions_$")


@dataclass(frozen=True)
class Budget:
    """What one part of the context costs, and what it may cost."""

    label: str
    tokens: int
    limit: int

    @property
    def is_exceeded(self) -> bool:
        """Whether there is more to tell than there is room for."""
        return self.tokens > self.limit


class ContextQuestion(ProjectQuestion):
    """Says what a session would start on."""

    topics = forms.CharField(required=False, help_text=gettext_lazy("With commas between them."))


class ProfileForm(OperationForm):
    """Says who the person is."""

    role = forms.CharField(required=False, help_text=gettext_lazy("Your job title or engineering role."))
    preferences = TextField(
        required=False, rows=6, help_text=gettext_lazy("How you like to work: languages, tools, tone.")
    )
    pinned_facts = Lines(
        required=False,
        rows=6,
        label=gettext_lazy("Pinned facts"),
        help_text=gettext_lazy("What every session must know."),
    )


@own_page
@require_safe
def context(request: HttpRequest) -> HttpResponse:
    """Show what an agent receives at its start, as it is sent, and what each part costs."""
    actor = actor_of(request)
    form = ContextQuestion(request, actor.user)
    answer = form.answer(get_context, actor)
    text = answer.markdown if answer else ""
    return memory_page(
        request,
        "knowledge/context.html",
        section="memory-context",
        form=form,
        text=text,
        budgets=_budgets(text),
        lines=show_lines(actor.user, answer.receipt) if answer else [],
    )


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """Edit Tier 0, with what it costs; `count` counts what was typed without keeping it."""
    actor = actor_of(request)
    kept = get_profile(actor)
    values = {name: getattr(kept, name) for name in ProfileForm.base_fields}
    form = ProfileForm(form_data(request), initial=values)
    if "count" in request.POST and form.is_valid():
        values = form.cleaned_data
    elif form.carry_out(update_profile, actor):
        tell(request, _("Your profile is kept. Every new session begins with it."))
        return redirect("memory-profile")
    return memory_page(
        request, "knowledge/profile.html", section="memory-profile", form=form, budget=_cost_of(Profile(**values))
    )


def tokens_by_tier(markdown: str) -> tuple[int, int]:
    """Return what the profile (Tier 0) and the sessions with the facts (Tier 1) cost in a context."""
    # Read from the text that agents receive, so that the page can count nothing else.
    parts = {"": "", "profile": "", "index": ""}
    part = ""
    for line in markdown.splitlines(keepends=True):
        if INDEX_BEGINS.match(line):
            part = "index"
        elif part == "" and line.startswith(PROFILE_BEGINS):
            part = "profile"
        parts[part] += line
    return count_tokens(parts["profile"].strip()), count_tokens(parts["index"].strip())


def _budgets(markdown: str) -> list[Budget]:
    tier_0, tier_1 = tokens_by_tier(markdown)
    return [
        Budget(_("In all"), count_tokens(markdown), TOTAL_TOKENS),
        Budget(_("Tier 0: profile"), tier_0, PROFILE_TOKENS),
        Budget(_("Tier 1: facts, sessions"), tier_1, INDEX_TOKENS),
    ]


def _cost_of(profile: Profile) -> Budget:
    """Count a profile as it would be sent, had it all the room it wants."""
    tokens, _rest = tokens_by_tier(whole_profile(profile).markdown)
    return Budget(_("Your profile"), tokens, PROFILE_TOKENS)
