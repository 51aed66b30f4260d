"""What imports noted in the metadata of entries moves into its own column, where updates do not reach."""

from django.db import migrations

_MOVE = """
UPDATE knowledge_entry SET provenance = metadata -> 'seed', metadata = metadata - 'seed'
WHERE provenance = '{}' AND jsonb_exists_all(metadata -> 'seed', ARRAY['source', 'place', 'origin', 'text'])
"""
_MOVE_BACK = """
UPDATE knowledge_entry SET metadata = metadata || jsonb_build_object('seed', provenance), provenance = '{}'
WHERE provenance <> '{}'
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0022_provenance")]

    operations = [migrations.RunSQL(_MOVE, _MOVE_BACK)]
