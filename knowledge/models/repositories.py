"""Repositories that something was imported from: by its first commit one is known again under another address."""

from django.db import models


class SourceRepository(models.Model):
    """An address of a repository, and its first commit."""

    name = models.CharField(max_length=500, unique=True, help_text="Such as github.com/acme/shop.")
    first_commit = models.CharField(max_length=64, db_index=True)

    class Meta:
        verbose_name_plural = "source repositories"

    def __str__(self) -> str:
        return self.name
