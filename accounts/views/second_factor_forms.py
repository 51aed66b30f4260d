"""What the pages about second factors ask: a code, and for a first one the password as well."""

from django import forms

from accounts.models import User
from accounts.views.people_forms import RefusableForm


class CodeForm(RefusableForm):
    """Asks for a code from the app, or for a recovery code."""

    code = forms.CharField(
        max_length=20,
        help_text="Six digits from your app, or one of your recovery codes.",
        error_messages={"required": "Type the code.", "max_length": "A code has at most 20 characters."},
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}),
    )


class FirstCodeForm(CodeForm):
    """Asks for the first code and, from users who have one, the password: an unattended browser must not be enough."""

    password = forms.CharField(
        strip=False,
        error_messages={"required": "Type your password."},
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    field_order = ("code", "password")

    def __init__(self, user: User, sent: object = None) -> None:
        super().__init__(sent)  # type: ignore[arg-type]
        self.user = user
        self.fields["code"].help_text = "The six digits that the app shows now."
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> str:
        """Refuse a wrong password."""
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError("That is not your password.")
        return password
