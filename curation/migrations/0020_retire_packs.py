"""Knowledge packs are retired, and their tables go. What they brought stays company knowledge."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("curation", "0019_retire_letter"), ("knowledge", "0069_retire_packs")]

    operations = [
        migrations.DeleteModel("PackLine"),
        migrations.DeleteModel("PackVersion"),
        migrations.DeleteModel("PackKey"),
        migrations.DeleteModel("Pack"),
    ]
