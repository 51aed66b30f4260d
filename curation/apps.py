"""The app of company knowledge: what is proposed, who decided."""

from django.apps import AppConfig


class CurationConfig(AppConfig):
    """Proposals and decisions. Nothing is offered yet: the table in `curation/operations.py` is empty."""

    name = "curation"
