"""Tidying: what a memory has too much of or has left open, suggested to its owner, decided in one sitting, undone."""
