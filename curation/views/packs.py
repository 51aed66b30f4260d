"""Knowledge packs, for curators: subscriptions, the review of an update, what is published, and trusted signers."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.core.operations import carry_out
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, format_lazy, gettext_lazy, write_number
from bigmind.web.forms import Names, OperationForm, TextField, form_data
from bigmind.web.pages import own_page, tell
from curation.models import Pack, PackKey, PackVersion
from curation.packs.accepting import PackOutcome, accept_update, reject_update, roll_back, unsubscribe
from curation.packs.documents import MOST_BYTES, SUFFIX
from curation.packs.publishing import PublishedPack, get_published_version, own_public_key, publish_pack
from curation.packs.reviewing import review_update
from curation.packs.sources import is_address
from curation.packs.subscriptions import distrust_key, fetch_update, pin_pack, subscribe, trust_key
from knowledge.references.collections import list_collections
from knowledge.services.company import projects_with_company_entries

from .company import sections_for

VERSIONS_SHOWN = 20
LEFT_SHOWN = 5


class _PackFileForm(OperationForm):
    """Asks for the file of a pack, or where it is."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        required=False,
        help_text=format_lazy(gettext_lazy("Its name ends in {suffix}."), suffix=SUFFIX),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
    )

    def clean_file(self) -> bytes | None:
        """Read the file, as far as it may be read."""
        file: UploadedFile[bytes] | None = self.cleaned_data["file"]
        return file.read(MOST_BYTES + 1) if file else None


class SubscribeForm(_PackFileForm):
    """Asks for an address or a file."""

    source = forms.CharField(
        label=gettext_lazy("Address"),
        required=False,
        max_length=500,
        help_text=gettext_lazy(
            "Such as https://packs.example.com/platform.bigmind-pack.json; it is looked at every day."
        ),
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false"}),
    )
    field_order = ("source", "file")

    def clean(self) -> dict[str, Any]:
        """Ask for one of the two. Places on the server are for its operator: the command takes them."""
        told = super().clean() or {}
        source, content = told.get("source", ""), told.get("file")
        if bool(source) == (content is not None):
            self.add_error(None, _("Give an address or a file."))
        elif source and not is_address(source):
            self.add_error("source", _("Must begin with https://."))
        return told


class TrustForm(OperationForm):
    """Asks for a publisher's key."""

    signer = forms.CharField(
        label=gettext_lazy("Publisher"), max_length=80, help_text=gettext_lazy("The name that stands beside each line.")
    )
    public_key = forms.CharField(
        label=gettext_lazy("Public key"),
        help_text=gettext_lazy("64 characters. Let the publisher tell you by another way than the pack."),
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )
    also = forms.BooleanField(
        label=gettext_lazy("They have another key here, and this one is theirs too"), required=False
    )


class PublishForm(OperationForm):
    """Asks what goes into a version."""

    name = forms.CharField(help_text=gettext_lazy("Lower-case letters, digits and hyphens, such as platform-basics."))
    title = forms.CharField(required=False)
    publisher = forms.CharField(required=False, help_text=gettext_lazy("Empty: the name of this BigMind."))
    version = forms.CharField(required=False, help_text=gettext_lazy("Empty: what the changes ask for, such as 1.1.0."))
    projects = Names(
        required=False, help_text=gettext_lazy("Approved entries of these projects, with commas between them.")
    )
    topics = Names(required=False, help_text=gettext_lazy("And approved entries with one of these topics."))
    collections = Names(required=False, help_text=gettext_lazy("And these collections of documentation."))
    notes = TextField(label=gettext_lazy("What is new"), required=False, rows=2)


def _curators_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view a page for curators; what is refused is said on the page of the pack, or on the list."""

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        actor = actor_of(request)
        actor.require("curate")
        try:
            return view(request, actor, *args, **kwargs)
        except (Conflict, Invalid) as refusal:
            messages.error(request, str(refusal))
            return redirect("pack", kwargs["name"]) if "name" in kwargs else redirect("packs")

    return page


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
@_curators_page
def packs(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the packs, whose keys are trusted, and subscribe to another one."""
    form = SubscribeForm(request.POST, request.FILES) if request.method == "POST" else SubscribeForm()
    news = form.attempt(lambda told: subscribe(actor, source=told["source"], content=told["file"]))
    if news is not None:
        tell(request, _("Subscribed to %(pack)s. %(says)s") % {"pack": news.pack, "says": in_language(news.says)})
        return redirect("pack", news.pack.name)
    return _list_page(request, actor, form=form)


@own_page
@require_POST
@_curators_page
def trusting(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Trust a publisher's key, as an admin."""
    actor.require("admin")
    form = TrustForm(request.POST, auto_id="trust-%s")
    key = form.carry_out(trust_key, actor)
    if key is None:
        return _list_page(request, actor, trust=form)
    tell(
        request,
        _("Packs that are signed by %(signer)s with this key may be subscribed to now.") % {"signer": key.signer},
    )
    return redirect("packs")


@own_page
@require_POST
@_curators_page
def distrusting(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Stop trusting a key, as an admin."""
    key = distrust_key(actor, public_key=request.POST.get("public_key", ""))
    tell(
        request,
        _("The key of %(signer)s is not trusted any more. What its packs brought stays.") % {"signer": key.signer},
    )
    return redirect("packs")


@own_page
@require_safe
@_curators_page
def pack(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Show one pack: its versions and what they hold, and for a subscription what can be done."""
    found = _find(name)
    versions = list(found.versions.select_related("decided_by").order_by("-numbers")[:VERSIONS_SHOWN])
    waiting = next((one for one in versions if one.state == PackVersion.State.WAITING), None)
    accepted = next((one for one in versions if one.state == PackVersion.State.ACCEPTED), None)
    shown = waiting or accepted
    key = PackKey.objects.filter(public_key=shown.public_key).first() if shown else None
    context = {
        "pack": found,
        "versions": versions,
        "waiting": waiting,
        "accepted": accepted,
        "key": key,
        "lines": found.lines.select_related("entry").order_by("pk"),
        "update": _PackFileForm(),
        "sections": sections_for(actor, current="packs"),
    }
    return render(request, "curation/pack.html", context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
@_curators_page
def reviewing(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Show what the version that waits would change, and accept or reject it."""
    refused = None
    if request.method == "POST":
        try:
            return _decide(request, actor, name)
        except Conflict as refusal:
            refused = refusal
    update = review_update(actor, name=name)
    context: dict[str, Any] = {"update": update, "pack": update.pack, "refused": refused, "ticked": _ticks_of(request)}
    if request.method != "POST":
        context["ticked"]["keep"] = update.left_by_first
    context |= {"sections": sections_for(actor, current="packs")}
    return render(request, "curation/pack_review.html", context, status=409 if refused else 200)


@own_page
@require_POST
@_curators_page
def fetching(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Look for an update now, where the pack comes from or in a file."""
    form = _PackFileForm(request.POST, request.FILES)
    form.full_clean()
    news = fetch_update(actor, name=name, content=form.cleaned_data.get("file"))
    tell(request, news.says)
    return redirect("pack-review", name) if news.version else redirect("pack", name)


@own_page
@require_POST
@_curators_page
def pinning(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Pin it to a version, or take the pin away."""
    found = carry_out(pin_pack, actor, {"name": name, "version": request.POST.get("version", "")})
    tell(
        request,
        _("Pinned to %(pinned)s.") % {"pinned": found.pinned} if found.pinned else _("New versions are taken again."),
    )
    return redirect("pack", name)


@own_page
@require_POST
@_curators_page
def rolling_back(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Take back the update that was accepted last."""
    outcome = _carry_out_or_lose(request, roll_back, actor, {"name": name})
    _tell_outcome(request, _("%(version)s is rolled back") % {"version": outcome.version}, outcome)
    return redirect("pack", name)


@own_page
@require_POST
@_curators_page
def unsubscribing(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """End a subscription, and archive or keep what it brought."""
    wanted = {"name": name, "keep_entries": "keep_entries" in request.POST}
    outcome = _carry_out_or_lose(request, unsubscribe, actor, wanted)
    _tell_outcome(request, _("Unsubscribed from %(pack)s") % {"pack": outcome.pack}, outcome)
    return redirect("packs")


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
@_curators_page
def publishing(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Ask what goes into a pack, show what that is, and sign it."""
    form = PublishForm(form_data(request), initial=_as_before(request))
    made = form.attempt(lambda told: _publish(actor, told, dry_run="publish" not in request.POST))
    if made is not None and made.signed is not None:
        tell(
            request,
            _("%(name)s %(version)s is signed. Hand its file to your subscribers.")
            % {"name": made.document.name, "version": made.document.version},
        )
        return redirect("pack", made.document.name)
    context = {
        "form": form,
        "made": made,
        "projects": projects_with_company_entries(),
        "collections": list_collections(actor),
        "sections": sections_for(actor, current="packs"),
    }
    return render(request, "curation/pack_publish.html", context, status=422 if form.errors else 200)


@own_page
@require_safe
@_curators_page
def downloading(request: HttpRequest, actor: Actor, name: str, version: str) -> HttpResponse:
    """Return the file of a version that was published here."""
    signed = carry_out(get_published_version, actor, {"name": name, "version": version})
    answer = HttpResponse(signed.as_bytes(), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{name}-{version}{SUFFIX}"'
    return answer


def _list_page(
    request: HttpRequest, actor: Actor, *, form: SubscribeForm | None = None, trust: TrustForm | None = None
) -> HttpResponse:
    rows = Pack.objects.order_by("name").prefetch_related("versions")
    context = {
        "subscribed": [_row(one) for one in rows if not one.is_ours and one.ended_at is None],
        "published": [_row(one) for one in rows if one.is_ours],
        "keys": PackKey.objects.order_by("signer", "pk"),
        "own_key": own_public_key(),
        "is_admin": "admin" in actor.scopes,
        "form": form or SubscribeForm(),
        "trust": trust or TrustForm(auto_id="trust-%s"),
        "sections": sections_for(actor, current="packs"),
    }
    errors = (form is not None and form.errors) or (trust is not None and trust.errors)
    return render(request, "curation/packs.html", context, status=422 if errors else 200)


def _row(found: Pack) -> dict[str, Any]:
    versions = sorted(found.versions.all(), key=lambda one: one.numbers, reverse=True)
    states = {one.state: one for one in reversed(versions)}
    return {"pack": found, **{state: states.get(state) for state in ("accepted", "waiting")}}


def _find(name: str) -> Pack:
    found = Pack.objects.filter(name=name).first()
    if found is None:
        raise NotFound(
            _("There is no pack %(name)s.") % {"name": name}, hint=_("The page “Packs” lists those there are.")
        )
    return found


def _decide(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    wanted: dict[str, Any] = {"name": name, "version": request.POST.get("version", "")}
    if "reject" in request.POST:
        carry_out(reject_update, actor, wanted)
        tell(request, _("%(version)s is rejected. The next version will be offered.") % {"version": wanted["version"]})
        return redirect("pack", name)
    outcome = carry_out(accept_update, actor, {**wanted, **_ticks_of(request)})
    if outcome.differs_from:
        tell(
            request,
            _("%(first)s had accepted other lines of it. A second curator has to accept the lines that you accepted.")
            % {"first": outcome.differs_from},
        )
    elif outcome.waits_for_second:
        tell(request, _("You have accepted it. A second curator has to accept it, too: it is important."))
    else:
        _tell_outcome(request, _("%(version)s is accepted") % {"version": outcome.version}, outcome)
    return redirect("pack", name)


def _ticks_of(request: HttpRequest) -> dict[str, list[str]]:
    """Return what is ticked on the review: lines to keep, warnings to pass over, questions to lose."""
    return {field: request.POST.getlist(field) for field in ("keep", "anyway", "losing")}


def _carry_out_or_lose(
    request: HttpRequest, call: Callable[..., PackOutcome], actor: Actor, wanted: dict[str, Any]
) -> PackOutcome:
    """Do it, even if golden questions are lost by it, where the user confirmed that."""
    try:
        outcome: PackOutcome = carry_out(call, actor, wanted)
    except Conflict as refusal:
        losing = refusal.details.get("losing")
        if not losing or "lose" not in request.POST:
            raise
        outcome = carry_out(call, actor, {**wanted, "losing": losing})
    return outcome


def _tell_outcome(request: HttpRequest, what: str, outcome: PackOutcome) -> None:
    counted = (
        (outcome.added, _("%(number)s approved")),
        (outcome.changed, _("%(number)s changed")),
        (outcome.withdrawn, _("%(number)s archived")),
    )
    done = ", ".join(says % {"number": write_number(number)} for number, says in counted if number)
    tell(request, _("%(what)s: %(done)s.") % {"what": what, "done": done or _("no entry changed")})
    if outcome.left:
        left = [f"{one.title}: {in_language(one.why)}" for one in outcome.left[:LEFT_SHOWN]]
        messages.warning(request, _("Left as it is: %(join)s.") % {"join": "; ".join(left)})


def _publish(actor: Actor, told: dict[str, Any], *, dry_run: bool) -> PublishedPack:
    said = {name: value for name, value in told.items() if value}
    made: PublishedPack = carry_out(publish_pack, actor, {**said, "dry_run": dry_run})
    return made


def _as_before(request: HttpRequest) -> dict[str, Any]:
    """Return what the version before was made of, where the address names a pack that is published here."""
    found = Pack.objects.filter(name=request.GET.get("name", ""), is_ours=True).first()
    if found is None:
        return {}
    return {"name": found.name, "title": found.title, "publisher": found.signer, **found.chosen}
