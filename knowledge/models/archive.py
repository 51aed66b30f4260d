"""CanBeSetAside: things that a person may take out of sight without losing them."""

from django.db import models


class CanBeSetAside(models.Model):
    """Something that can be hidden everywhere, kept on record, and brought back."""

    set_aside_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_in_view(self) -> bool:
        """Whether it is recalled."""
        return self.set_aside_at is None
