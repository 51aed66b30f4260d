"""The code that facts and shared entries rest on, and what the last check of it found."""

import django.contrib.postgres.fields
from django.db import migrations, models


def _anchors():
    return django.contrib.postgres.fields.ArrayField(
        base_field=models.CharField(max_length=300),
        blank=True,
        db_default=[],
        default=list,
        help_text="The code it rests on: acme/shop#src/limits.py:RateLimiter.allow@3f2a1bc.",
        size=None,
    )


def _anchor_checks():
    return models.JSONField(
        blank=True,
        db_default=models.Value({}, models.JSONField()),
        default=dict,
        editable=False,
        help_text="What the last check of each anchor found. Only reports of `bigmind verify` write it.",
    )


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0050_packs")]

    operations = [
        migrations.AddField("entry", "anchors", _anchors()),
        migrations.AddField("entry", "anchor_checks", _anchor_checks()),
        migrations.AddField("fact", "anchors", _anchors()),
        migrations.AddField("fact", "anchor_checks", _anchor_checks()),
    ]
