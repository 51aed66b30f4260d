"""Who asked about an error, as digests: how often it was asked about is told where enough people did."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0053_people_of_references")]

    operations = [
        migrations.AddField(
            "lessonasked",
            "people",
            ArrayField(
                models.CharField(max_length=24),
                default=list,
                db_default=[],
                help_text="Digests of those who asked, as many as it takes to tell everyone how often.",
            ),
        ),
    ]
