"""The app of company knowledge, where it is decided about."""

from django.apps import AppConfig


class CurationConfig(AppConfig):
    """What becomes company knowledge, and who decided."""

    name = "curation"
    default_auto_field = "django.db.models.BigAutoField"
