"""Taking a memory out and in: exports, imports, and readers of other programs' memories."""
