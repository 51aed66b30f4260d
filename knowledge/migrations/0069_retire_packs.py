"""Knowledge packs are retired: which one brought an entry goes."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0068_retire_session_outcomes")]

    operations = [migrations.RemoveField("companyentry", "brought_by")]
