"""Those who were here before get the sequence of their sessions, too."""

from django.db import migrations

BEGIN = "SELECT bigmind_begin_numbers(id_block) FROM accounts_user"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0035_session_numbers")]

    operations = [migrations.RunSQL(BEGIN, migrations.RunSQL.noop)]
