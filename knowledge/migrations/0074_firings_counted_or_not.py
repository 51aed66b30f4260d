from django.db import migrations


def drop_examples(apps, schema_editor):
    """Nothing is kept any more that curators could be shown."""
    apps.get_model("knowledge", "CapturePolicy").objects.filter(acts="examples").update(acts="counted")


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0073_read_passages_again")]

    operations = [migrations.RunPython(drop_examples, migrations.RunPython.noop)]
