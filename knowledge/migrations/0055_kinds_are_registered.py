"""The code alone says which kinds there are: one more needs no change of these tables."""

from django.db import migrations, models

from knowledge.models.passages import list_kinds


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0054_people_of_lessons")]

    operations = [
        migrations.RemoveConstraint("passage", "passage_kind_is_known"),
        migrations.AlterField("passage", "kind", models.CharField(choices=list_kinds, max_length=20)),
        migrations.AlterField("indexgap", "kind", models.CharField(choices=list_kinds, max_length=20)),
    ]
