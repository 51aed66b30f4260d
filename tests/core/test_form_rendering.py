"""Fields of forms look as Django's own templates write them."""

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.utils.translation import gettext_lazy, override

from bigmind.web.form_rendering import FormRenderer
from bigmind.web.forms import UnsentForm
from curation.views.forms import Merging

HARMFUL = """<b>&"'</b>"""
CHOICES = [("", gettext_lazy("Any")), ("a", HARMFUL), (HARMFUL, "B"), ("Group", [("c", "C"), ("d", "D")])]


class EveryField(forms.Form):
    words = forms.CharField(help_text=HARMFUL, max_length=20, widget=forms.TextInput(attrs={"data-of": HARMFUL}))
    number = forms.CharField(required=False, widget=forms.NumberInput(attrs={"min": 1, "max": 10}))
    address = forms.CharField(required=False, widget=forms.EmailInput(attrs={"autofocus": True, "hidden": False}))
    secret = forms.CharField(required=False, strip=False, widget=forms.PasswordInput)
    kept = forms.CharField(required=False, widget=forms.HiddenInput)
    text = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 3}))
    chosen = forms.CharField(required=False, widget=forms.Select(choices=CHOICES))
    one = forms.CharField(required=False, widget=forms.RadioSelect(choices=CHOICES))
    several = forms.MultipleChoiceField(required=False, choices=CHOICES, widget=forms.CheckboxSelectMultiple)
    agreed = forms.BooleanField(required=False)


@pytest.mark.parametrize("name", EveryField.base_fields)
@pytest.mark.parametrize("value", ["", "a", HARMFUL, "c"])
@pytest.mark.parametrize("is_sent", [True, False])
def test_a_field_looks_as_django_writes_it(name: str, value: str, is_sent: bool) -> None:
    values = dict.fromkeys(EveryField.base_fields, value) | {"several": [value]}
    data = {"data": values} if is_sent else {"initial": values}

    ours, djangos = (str(EveryField(renderer=one, **data)[name]) for one in (FormRenderer(), DjangoTemplates()))

    assert _squeeze(ours) == _squeeze(djangos)


def _squeeze(html: str) -> str:
    """Without the line breaks between elements."""
    return " ".join(html.split()).replace("> <", "><")


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_form_that_was_not_sent_reads_as_the_form_itself(language: str) -> None:
    with override(language):
        assert UnsentForm(Merging, "m-%s").html == Merging(auto_id="m-%s").html
