"""Sections: what an instance can be exported as. What a kind is exported by is named in its row of the registry."""

from django.utils.module_loading import import_string

from bigmind.core.export_section import ExportSection
from knowledge.kinds import KINDS

# The kinds of an app map lie in one section.
SECTIONS: list[ExportSection] = [
    import_string(path) for path in dict.fromkeys(row.section for row in KINDS.values() if row.section)
]
