"""Errors of the company server are called so in code. Their columns keep their names, so that the version before serves on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0069_retire_packs")]

    operations = [
        migrations.AlterField("companyserver", "trouble", models.TextField(blank=True, db_column="trouble")),
        migrations.RenameField("companyserver", "trouble", "error"),
        migrations.AlterField(
            "companyserver", "troubled_at", models.DateTimeField(blank=True, db_column="troubled_at", null=True)
        ),
        migrations.RenameField("companyserver", "troubled_at", "failed_at"),
        migrations.AlterField("dispatch", "trouble", models.TextField(blank=True, db_column="trouble")),
        migrations.RenameField("dispatch", "trouble", "error"),
    ]
