"""What the pages about keys ask: what a key is for, what it may do, and for how long."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.utils import timezone

from accounts.actor import Actor
from accounts.keys.keys import MOST_PER_MINUTE
from bigmind.core.text import clean_name

SCOPES = {
    "read": "read: recall what is remembered",
    "write": "write: remember, correct, set aside and erase",
    "curate": "curate: decide what becomes company knowledge",
    "admin": "admin: manage users, keys and this instance",
}
LIFETIMES = {"30": "30 days", "90": "90 days", "365": "a year", "": "as long as it is not revoked"}
OVERLAPS = {
    "0": "stops working at once",
    "1": "works for an hour more",
    "24": "works for 24 hours more",
    "168": "works for 7 days more",
}


class KeyForm(forms.Form):
    """Asks what a new key is for, and what it may do."""

    label = forms.CharField(
        max_length=200,
        help_text="What you will know it by, such as the agent and the machine: “Cursor on atlas”.",
        error_messages={"required": "Say what you will know it by."},
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Tick at least one: a key that may do nothing opens nothing."},
    )
    toolsets = forms.MultipleChoiceField(
        label="Limit it to these toolsets",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Tick none, and it is not limited.",
    )
    lifetime = forms.ChoiceField(
        label="It works for", required=False, choices=list(LIFETIMES.items()), widget=forms.RadioSelect
    )

    per_minute = forms.IntegerField(label="Operations in a minute", required=False, min_value=1)

    def __init__(self, *args: Any, actor: Actor, toolsets: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most = _most_per_minute(actor)
        self.fields["per_minute"].help_text = _about_limits(self._most)
        _offer(self, "scopes", {name: words for name, words in SCOPES.items() if name in actor.scopes})
        _offer(self, "toolsets", {name: f"{name}: {purpose}" for name, purpose in toolsets.items()})

    def clean_label(self) -> str:
        """Refuse what cannot be read in a list."""
        try:
            return clean_name(self.cleaned_data["label"])
        except ValueError as error:
            raise forms.ValidationError(f"The label {error}.") from error

    def clean_per_minute(self) -> int | None:
        """Refuse a limit above what this person may give."""
        limit: int | None = self.cleaned_data["per_minute"]
        if limit is not None and limit > self._most:
            raise forms.ValidationError(f"Give 1 to {self._most:,}, or nothing. {limit:,} was given.")
        return limit


class ConsentForm(forms.Form):
    """Asks what an app may do: all that it asks for and the person may do themselves, unless they take some away."""

    scopes = forms.MultipleChoiceField(
        label="It may",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Tick at least one, or refuse."},
    )
    toolsets = forms.MultipleChoiceField(
        label="Limit it to these toolsets",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Tick none, and it is not limited.",
    )

    def __init__(
        self, *args: Any, actor: Actor, asked: Collection[str], toolsets: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        offered = {name: words for name, words in SCOPES.items() if name in actor.scopes and name in asked}
        _offer(self, "scopes", offered)
        _offer(self, "toolsets", {name: f"{name}: {purpose}" for name, purpose in toolsets.items()})
        self.initial["scopes"] = list(offered)

    @property
    def can_permit(self) -> bool:
        """Whether there is anything to permit."""
        field = self.fields["scopes"]
        assert isinstance(field, forms.MultipleChoiceField)
        return bool(field.choices)


class RotateForm(forms.Form):
    """Asks how long the old key works on."""

    overlap = forms.ChoiceField(
        label="The old key",
        choices=list(OVERLAPS.items()),
        widget=forms.RadioSelect,
        error_messages={"required": "Choose how long the old key works on."},
    )


def _offer(form: forms.Form, name: str, choices: Mapping[str, str]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.MultipleChoiceField)
    field.choices = list(choices.items())


def _most_per_minute(actor: Actor) -> int:
    """Only admins let a key do more than the limit of this BigMind: else it would be none."""
    return MOST_PER_MINUTE if actor.user.is_admin else settings.RATE_LIMIT_PER_MINUTE or MOST_PER_MINUTE


def _about_limits(most: int) -> str:
    everybodys = f"{settings.RATE_LIMIT_PER_MINUTE:,}" if settings.RATE_LIMIT_PER_MINUTE else "as many as it likes"
    return f"Leave it empty, and it may perform {everybodys}. {most:,} at most."


def default_lifetime() -> str:
    """Return how long a key works unless a user says otherwise: at home until it is revoked, at work 90 days."""
    return "" if settings.BIGMIND_MODE == "personal" else "90"


def ends_after(lifetime: str) -> datetime | None:
    """Return when a key made now ends, for one of the lifetimes."""
    return timezone.now() + timedelta(days=int(lifetime)) if lifetime else None
