"""What the pages about people ask: whom to invite, which role, and, of the invited, a name and a password."""

from typing import Any

from django import forms

from accounts.models import Role
from accounts.views.password import HINT
from bigmind.core.errors import BigMindError, Invalid

ROLES = {
    Role.MEMBER: "member: remembers, recalls and proposes",
    Role.CURATOR: "curator: also decides what becomes company knowledge",
    Role.ADMIN: "admin: also manages people, keys and this instance",
}


class RefusableForm(forms.Form):
    """A form that says beside its fields what a service has refused."""

    def refuse(self, refusal: BigMindError) -> None:
        """Say it beside the field where one is named, else above the form."""
        problems = refusal.problems if isinstance(refusal, Invalid) else []
        for problem in problems:
            field, message = str(problem["field"]), str(problem["message"])
            self.add_error(field if field in self.fields else None, message[:1].upper() + message[1:])
        if not problems:
            self.add_error(None, str(refusal))


class RoleForm(RefusableForm):
    """Asks what a user may do."""

    role = forms.ChoiceField(
        label="What they may do",
        choices=list(ROLES.items()),
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a role."},
    )


class InvitationForm(RoleForm):
    """Asks whom to invite, and as what."""

    name = forms.CharField(required=False, max_length=200, help_text="How you know them. They can change it.")
    email = forms.CharField(
        label="E-mail",
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("name", "email", "role")


class JoinForm(RefusableForm):
    """Asks whoever was invited what they want to be called, and for a password."""

    display_name = forms.CharField(
        label="Name",
        required=False,
        max_length=200,
        help_text="As others read it.",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    username = forms.CharField(
        label="User name",
        max_length=150,
        help_text="You sign in with it, and it stays: letters, digits and @ . + - _",
        error_messages={"required": "Choose a user name."},
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        strip=False,
        help_text=HINT,
        error_messages={"required": "Choose a password."},
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="Password again",
        strip=False,
        error_messages={"required": "Type the password again."},
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        """Refuse two passwords that differ."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("password") and cleaned.get("again") and cleaned["password"] != cleaned["again"]:
            self.add_error("again", "The two passwords are not the same.")
        return cleaned


class DeleteForm(RefusableForm):
    """Asks for the user name again, because there is no way back."""

    username = forms.CharField(
        label="Their user name",
        help_text="Type it, so that nobody else goes by mistake.",
        error_messages={"required": "Type the user name."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
