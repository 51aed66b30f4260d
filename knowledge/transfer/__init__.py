"""Exporting and importing a memory, and readers of other programs' memories."""
