"""What the Django admin calls our models, their fields and choices, in the language of the person who reads it."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.db.models import Model
from django.utils import translation
from django.utils.choices import CallableChoiceIterator

from bigmind.core.translation import gettext_lazy

OURS = ("accounts", "knowledge", "curation")


def translate_names() -> None:
    """Translate the names of models, fields and choices when they are printed. Migrations see no difference."""
    for holder, name, english in _names():
        setattr(holder, name, gettext_lazy(english))
    for field in _fields():
        # A function stays one, because migrations name it.
        if field.choices and not isinstance(field.choices, CallableChoiceIterator):
            field.choices = [(value, gettext_lazy(label)) for value, label in _choices(field)]


def english_words() -> set[str]:
    """Return all of them as the code has them."""
    labels = (label for field in _fields() for _, label in _choices(field))
    return {*(english for _, _, english in _names()), *labels} - {""}


def _models() -> Iterable[type[Model]]:
    return [model for label in OURS for model in apps.get_app_config(label).get_models()]


def _fields() -> Iterator[Any]:
    for model in _models():
        yield from (*model._meta.local_fields, *model._meta.local_many_to_many)


def _choices(field: Any) -> list[tuple[Any, str]]:
    with translation.override(None):
        return [(value, str(label)) for value, label in field.flatchoices]


def _names() -> list[tuple[Any, str, str]]:
    """Return what has a name, the attribute with it, and the name in English."""
    named: list[tuple[Any, str]] = [(apps.get_app_config(label), "verbose_name") for label in OURS]
    named += [(model._meta, name) for model in _models() for name in ("verbose_name", "verbose_name_plural")]
    named += [(field, name) for field in _fields() for name in ("verbose_name", "help_text")]
    with translation.override(None):
        return [(holder, name, str(english)) for holder, name in named if (english := getattr(holder, name))]
