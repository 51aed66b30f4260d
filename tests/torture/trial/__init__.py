"""An app with one migration, for T18: what an upgrade brings, as slow as a test wants it."""
