"""A person's page, `/u/<username>/`: who they are and what they know, as far as they let others see it."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.people.profiles import get_profile
from accounts.people.sharing import SUGGESTED, sharing_of
from bigmind.core.translation import _, format_lazy, gettext_lazy
from bigmind.environment.profile_sections import ProfileSection
from bigmind.web.forms import OperationForm, form_data
from bigmind.web.pages import is_own_address, own_page, tell
from curation.services.profile_pages import ProfilePage, get_profile_page
from knowledge.people.directory import Person, preview_card
from knowledge.people.first_steps import share_nothing
from knowledge.people.people_index import change_sharing, headlines_to_offer, visible_headlines

# What each section is called, and what is in it. Who someone is comes first: without it there is no page for others.
SECTIONS: dict[ProfileSection, tuple[str, str]] = {
    ProfileSection.WHO: (
        gettext_lazy("Who you are"),
        gettext_lazy("your name, your role here, since when. Without it others see nothing at all"),
    ),
    ProfileSection.ROLE: (gettext_lazy("Job title"), gettext_lazy("the role your agents see")),
    ProfileSection.AGENTS: (
        gettext_lazy("Agents"),
        gettext_lazy("which clients and BigMinds act for you, on which machines, first and last seen"),
    ),
    ProfileSection.STATISTICS: (
        gettext_lazy("Statistics"),
        gettext_lazy("how many sessions, facts and notes there are, not what they say"),
    ),
    ProfileSection.BADGES: (gettext_lazy("Badges"), gettext_lazy("what you have done, with its day")),
    ProfileSection.TOPICS: (
        gettext_lazy("Topics"),
        gettext_lazy("the topics of your sessions, and how often each occurs"),
    ),
    ProfileSection.ACTIVITY: (gettext_lazy("Activity"), gettext_lazy("on which days your agents worked, and how much")),
    ProfileSection.CONTRIBUTIONS: (
        gettext_lazy("Contributions"),
        gettext_lazy("the company knowledge that you proposed"),
    ),
    ProfileSection.HEADLINES: (gettext_lazy("Headlines"), gettext_lazy("those you choose below, and no others")),
}


class SharingForm(OperationForm):
    """Asks what others see."""

    sections = forms.MultipleChoiceField(
        label=gettext_lazy("Everybody here sees"),
        required=False,
        choices=[
            (section.value, format_lazy("{name}: {what}", name=name, what=what))
            for section, (name, what) in SECTIONS.items()
        ],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("What is not ticked, only you see."),
    )
    in_directory = forms.BooleanField(
        label=gettext_lazy("List me in the directory"),
        required=False,
        help_text=gettext_lazy(
            "It lists people and finds who worked on what, by what you share above and by nothing else."
        ),
    )
    curators_see_told = forms.BooleanField(
        label=gettext_lazy("Curators may see what my agent had received when it proposed something"),
        required=False,
        help_text=gettext_lazy(
            "On the page of each of your proposals: what BigMind had told your agent before, of your own memory too,"
            " word for word. Without it they see none of that."
        ),
    )
    session_ids = forms.MultipleChoiceField(
        label=gettext_lazy("Headlines to show"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "Of your latest sessions. A headline that is reworded later is hidden until you choose it again."
        ),
    )

    def __init__(self, *args: Any, offered: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["session_ids"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = offered
        if not offered:
            del self.fields["session_ids"]


@own_page
@require_safe
def profile(request: HttpRequest, username: str) -> HttpResponse:
    """Show someone's page. Who shows nothing to the visitor answers as if there were no such person."""
    actor = actor_of(request)
    page = get_profile_page(actor, username, as_others=request.GET.get("as") == "others")
    own_profile = get_profile(actor) if page.is_own else None
    context = {"page": page, "told": own_profile, "others_see": _others_see(page)}
    return render(request, "accounts/profile.html", context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def sharing(request: HttpRequest, username: str) -> HttpResponse:
    """Let someone choose what others see of their page."""
    actor = actor_of(request)
    if username.casefold() != actor.user.username.casefold():
        raise Http404
    shared = sharing_of(actor.user)
    offered = [
        (str(session.pk), f"{session.one_liner} ({date_format(timezone.localtime(session.started_at), _('j F Y'))})")
        for session in headlines_to_offer(actor.user)
    ]
    next_address = request.GET.get("next", "")
    asks = bool(next_address) and not shared.is_chosen
    sections = SUGGESTED if asks else shared.sections
    initial = {
        "sections": [section.value for section in sections],
        "in_directory": shared.in_directory,
        "curators_see_told": shared.curators_see_told,
        "session_ids": [str(headline.pk) for headline in visible_headlines(actor.user)],
    }
    form = SharingForm(form_data(request), initial=initial, offered=offered)
    after = next_address if is_own_address(request, next_address) else reverse("profile", args=[actor.user.username])
    is_preview = request.POST.get("do") == "preview"
    if request.POST.get("do") == "not-now":
        share_nothing(actor)
        tell(request, _("Nothing is shared. You can change it at any time, on your page."))
        return redirect(after)
    if not is_preview and form.attempt(lambda said: change_sharing(actor, **{"session_ids": [], **said}) or True):
        tell(request, _("Saved. Applies everywhere from now on."))
        return redirect(after)
    back = reverse("profile", args=[actor.user.username])
    context = {
        "form": form,
        "back": back,
        "is_chosen": shared.is_chosen,
        "asks": asks,
        "mode": settings.BIGMIND_MODE,
        "card": card_of_form(actor, form),
    }
    return render(request, "accounts/sharing.html", context)


def _others_see(page: ProfilePage) -> str:
    """Say in words what others see of a page."""
    if settings.BIGMIND_MODE == "personal":
        return _("You are the only person here.")
    names = in_words(page.shared.sections)
    return (
        _("Everybody here sees %(names)s. The rest only you see.") % {"names": names}
        if names
        else _("Only you see this page.")
    )


def in_words(sections: Collection[ProfileSection]) -> str:
    """Name sections in a sentence; empty: none."""
    return ", ".join(SECTIONS[section][0].lower() for section in ProfileSection if section in sections)


def card_of_form(actor: Actor, form: forms.Form) -> Person | None:
    """Return the card of the directory that others would see, did what a form says hold; None: they would see none."""
    values = {**form.initial, **(form.cleaned_data if form.is_bound and form.is_valid() else {})}
    sections = [ProfileSection(name) for name in values["sections"]]
    return preview_card(actor, sections) if values.get("in_directory", True) else None
