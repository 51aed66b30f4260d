"""The documentation of BigMind inside BigMind: the pages of `docs/` under `/help/`, with their search, offline."""
