"""Those who were here before get the sequences of their numbers, too."""

from django.db import migrations

BEGIN = "SELECT bigmind_begin_numbers(id_block) FROM accounts_user"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0020_id_blocks")]

    operations = [migrations.RunSQL(BEGIN, migrations.RunSQL.noop)]
