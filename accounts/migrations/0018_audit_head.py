"""The audit log and the reports of erasures refuse TRUNCATE, too; and which row of the log is the last one is noted."""

from django.db import migrations, models

GUARD = """
CREATE FUNCTION bigmind_never_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only.', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER accounts_audit_never_emptied BEFORE TRUNCATE ON accounts_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION bigmind_never_emptied();
CREATE TRIGGER accounts_erasures_never_emptied BEFORE TRUNCATE ON accounts_erasurereport
    FOR EACH STATEMENT EXECUTE FUNCTION bigmind_never_emptied();
"""
UNGUARD = """
DROP TRIGGER accounts_audit_never_emptied ON accounts_auditevent;
DROP TRIGGER accounts_erasures_never_emptied ON accounts_erasurereport;
DROP FUNCTION bigmind_never_emptied();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_squashed")]

    operations = [
        migrations.CreateModel(
            name="AuditHead",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveBigIntegerField()),
                ("last", models.CharField(help_text="The seal of the last row.", max_length=64)),
                ("seal", models.CharField(max_length=64)),
            ],
        ),
        migrations.RunSQL(GUARD, UNGUARD),
    ]
