"""Letters that were queued or sent go with the weekly letter: they have no text, and nothing can compose them."""

from django.db import migrations

from bigmind.database.rls import rls_bypass


@rls_bypass()
def forget_letters(apps, schema_editor):
    """Delete the deliveries of weekly letters."""
    apps.get_model("curation", "Delivery").objects.filter(event="weekly_letter").delete()


class Migration(migrations.Migration):
    dependencies = [("curation", "0017_kinds_are_registered")]

    operations = [migrations.RunPython(forget_letters, migrations.RunPython.noop)]
