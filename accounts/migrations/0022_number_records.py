"""Agents and sign-ins are numbered for each user."""

from django.db import migrations

from bigmind.core.private_row_numbers import NumberRows


class Migration(migrations.Migration):
    atomic = False  # Each table is locked for a moment, and none while the next one is looked at.

    dependencies = [("accounts", "0021_begin_numbers")]

    operations = [NumberRows("accounts_agent", "records"), NumberRows("accounts_signin", "records")]
