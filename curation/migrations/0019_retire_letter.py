"""The weekly letter is retired: who wanted it, and when the last one was due, go."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("curation", "0018_forget_letters")]

    operations = [
        migrations.RemoveField("subscription", "letter"),
        migrations.RemoveField("subscription", "letter_day"),
    ]
