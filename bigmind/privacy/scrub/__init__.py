"""Scrubbing: a text that was found late is removed from everything that BigMind keeps, and from what is restored."""
