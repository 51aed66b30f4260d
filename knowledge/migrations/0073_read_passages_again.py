"""What was stored before is read again by a worker: `read_languages` writes what has other letters than ASCII."""

from django.db import migrations

READ_AGAIN = """
DELETE FROM knowledge_passagereading;
INSERT INTO knowledge_passagereading SELECT 0, max(id) FROM knowledge_passage HAVING max(id) IS NOT NULL;
"""


class Migration(migrations.Migration):

    dependencies = [("knowledge", "0072_normal_form")]

    operations = [migrations.RunSQL(READ_AGAIN, migrations.RunSQL.noop)]
