"""People, for admins: who is here, what they may do, and the ways to change that."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.keys import KEYS_END_SOON, list_keys
from accounts.models import Role, SignIn, User
from accounts.people import people_administration as services
from accounts.people.invitations import list_invitations
from accounts.people.user_deletion import describe_deletion
from accounts.people.users import role_matrix
from accounts.services.alerts import alerts_of
from accounts.sign_in.attempts import let_address_try_again, let_try_again, list_locked_addresses, lockouts_of
from accounts.sign_in.second_factors import reset_second_factor, second_factor_of
from accounts.views.confirming import admit_confirmed_admins
from accounts.views.password import HINT
from bigmind.core.errors import Conflict
from bigmind.core.translation import _, gettext_lazy, ngettext
from bigmind.database.pagination import page_of
from bigmind.web.forms import RefusableForm, form_data
from bigmind.web.pages import offset_in

ROLES = {
    Role.MEMBER: gettext_lazy("member: remembers, recalls and proposes"),
    Role.CURATOR: gettext_lazy("curator: also decides what becomes company knowledge"),
    Role.ADMIN: gettext_lazy("admin: also manages people, keys and this instance"),
}

PEOPLE_ON_A_PAGE = 50
KEYS_SHOWN = 20
ALERTS_SHOWN = 10

PersonAction = Callable[[HttpRequest, Actor, User], HttpResponse]


class RoleForm(RefusableForm):
    """Asks what a user may do."""

    role = forms.ChoiceField(
        label=gettext_lazy("What they may do"),
        choices=list(ROLES.items()),
        widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Choose a role.")},
    )


class InvitationForm(RoleForm):
    """Asks whom to invite, and as what."""

    name = forms.CharField(
        required=False, max_length=200, help_text=gettext_lazy("How you know them. They can change it.")
    )
    email = forms.CharField(
        label=gettext_lazy("E-mail"),
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("name", "email", "role")


class JoinForm(RefusableForm):
    """Asks the one who was invited what they want to be called, and for a password."""

    display_name = forms.CharField(
        label=gettext_lazy("Name"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("As others read it."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=150,
        help_text=gettext_lazy("You sign in with it, and it stays: letters, digits and @ . + - _"),
        error_messages={"required": gettext_lazy("Choose a user name.")},
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        strip=False,
        help_text=HINT,
        error_messages={"required": gettext_lazy("Choose a password.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label=gettext_lazy("Password again"),
        strip=False,
        error_messages={"required": gettext_lazy("Type the password again.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        """Refuse two passwords that differ."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("password") and cleaned.get("again") and cleaned["password"] != cleaned["again"]:
            self.add_error("again", _("The two passwords are not the same."))
        return cleaned


class DeleteForm(RefusableForm):
    """Asks for the user name again, because there is no way back."""

    username = forms.CharField(
        label=gettext_lazy("Their user name"),
        help_text=gettext_lazy("Type the user name to confirm."),
        error_messages={"required": gettext_lazy("Type the user name.")},
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )


@never_cache
@login_required
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """List everyone, who is invited, who is locked out, and what each role may do."""
    actor = actor_of(request)
    page = page_of(services.list_people(actor), limit=PEOPLE_ON_A_PAGE, offset=offset_in(request))
    locked = lockouts_of(page.items)
    context = {
        "page": page,
        "rows": [(person, locked.get(person, [])) for person in page.items],
        "invitations": list_invitations(actor),
        "locked_addresses": list_locked_addresses(actor),
        "roles": Role.values,
        "matrix": role_matrix(),
    }
    return render(request, "accounts/people.html", context)


@never_cache
@login_required
@require_safe
def person(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Show what an admin can do for a user. What that person has stored is not here."""
    actor = actor_of(request)
    return _person_page(request, services.find_person(actor, person_id))


def _on_person(act: PersonAction) -> Callable[[HttpRequest, UUID], HttpResponse]:
    @wraps(act)
    def view(request: HttpRequest, person_id: UUID) -> HttpResponse:
        actor = actor_of(request)
        found = services.find_person(actor, person_id)
        try:
            return act(request, actor, found)
        except Conflict as refusal:
            messages.error(request, str(refusal))
            return redirect("person", found.pk)

    return view


def _admin_action(act: PersonAction) -> Callable[[HttpRequest, UUID], HttpResponse]:
    """Let an admin do something for a user, by a button; what cannot be done is said on the page of that person."""
    return never_cache(login_required(require_POST(_on_person(act))))


def _sensitive_action(act: PersonAction) -> Callable[[HttpRequest, UUID], HttpResponse]:
    """Do so with what opens an account to someone: only after the admin has lately shown who they are."""
    return never_cache(login_required(require_POST(admit_confirmed_admins(_on_person(act)))))


@_sensitive_action
def role(request: HttpRequest, actor: Actor, found: User) -> HttpResponse:
    """Give a user another role."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _person_page(request, found, form=form, status=422)
    changed = services.give_role(actor, found, form.cleaned_data["role"])
    messages.success(request, f"{changed} is {changed.get_role_display().lower()} now.")
    # Anyone who has just stopped being an admin may not see this page any more.
    return redirect("home") if changed == actor.user and not changed.is_admin else redirect("person", changed.pk)


@_admin_action
def deactivate(request: HttpRequest, actor: Actor, found: User) -> HttpResponse:
    services.deactivate(actor, found)
    messages.success(
        request,
        _("%(found)s is deactivated: no browser and no key lets them in. What they stored stays.") % {"found": found},
    )
    return redirect("person", found.pk)


@_sensitive_action
def activate(request: HttpRequest, actor: Actor, found: User) -> HttpResponse:
    services.activate(actor, found)
    messages.success(
        request, _("%(found)s is active again, and so are their keys that have not ended.") % {"found": found}
    )
    return redirect("person", found.pk)


@_admin_action
def sign_out(request: HttpRequest, actor: Actor, found: User) -> HttpResponse:
    """End a user's sign-ins in all browsers."""
    browsers = services.sign_out_person(actor, found)
    message = ngettext(
        "%(found)s is signed out in %(browsers)s browser.",
        "%(found)s is signed out in %(browsers)s browsers.",
        browsers,
    )
    messages.success(request, message % {"found": found, "browsers": browsers})
    return redirect("person", found.pk)


@_admin_action
def unlock(request: HttpRequest, actor: Actor, found: User) -> HttpResponse:
    """Let a user try their password again."""
    let_try_again(actor, found)
    messages.success(request, _("%(found)s may try to sign in again.") % {"found": found})
    return redirect("person", found.pk)


@_sensitive_action
def reset_password(request: HttpRequest, actor: Actor, found: User) -> HttpResponse:
    """Take a user's password, and show the link by which they choose a new one: once, here."""
    url = services.reset_password(actor, found)
    return render(request, "accounts/password_reset.html", {"person": found, "url": url})


@_sensitive_action
def reset_code(request: HttpRequest, actor: Actor, found: User) -> HttpResponse:
    """Take the second factor of a user who has lost it."""
    reset_second_factor(actor, found)
    messages.success(request, _("%(found)s now signs in without a code and has been notified.") % {"found": found})
    return redirect("person", found.pk)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@admit_confirmed_admins
def delete(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Show what is deleted with a user, and delete it when their name is repeated."""
    actor = actor_of(request)
    found = services.find_person(actor, person_id)
    form = DeleteForm(form_data(request))
    if form.attempt(lambda typed: services.delete_person(actor, found, username=typed["username"])) is not None:
        messages.success(request, _("%(found)s is deleted, with everything they owned.") % {"found": found})
        return redirect("people")
    context = {"form": form, **_departure(found)}
    return render(request, "accounts/person_delete.html", context, status=422 if form.is_bound else 200)


@never_cache
@login_required
@require_POST
def unlock_address(request: HttpRequest) -> HttpResponse:
    """Let everyone at an address try again."""
    address = request.POST.get("address", "")
    let_address_try_again(actor_of(request), address)
    messages.success(request, _("From %(what)s people may try to sign in again.") % {"what": address[:45]})
    return redirect("people")


def _person_page(request: HttpRequest, found: User, *, form: RoleForm | None = None, status: int = 200) -> HttpResponse:
    keys = list_keys(found)
    context = {
        "person": found,
        "form": form or RoleForm(initial={"role": found.role}),
        "lockouts": lockouts_of([found]).get(found, []),
        "keys": keys[:KEYS_SHOWN],
        "soon": timezone.now() + KEYS_END_SOON,
        "keys_left": max(0, keys.count() - KEYS_SHOWN),
        "agents": found.agents.order_by("-last_seen")[:KEYS_SHOWN],
        "instances": found.instances.order_by("-last_seen")[:KEYS_SHOWN],
        "factor": second_factor_of(found),
        "alerts": alerts_of(found)[:ALERTS_SHOWN],
        "browsers": SignIn.objects.filter(user=found).count(),
    }
    return render(request, "accounts/person.html", context, status=status)


def _departure(found: User) -> dict[str, object]:
    """Show what will be deleted, or why the user cannot be."""
    try:
        preview = describe_deletion(found)
    except Conflict as refusal:
        return {"person": found, "refusal": refusal}
    export = f"bigmind op memory_export --user {found.pk} --format json > {found.pk}.json"
    return {"person": found, "preview": preview, "export": export}
