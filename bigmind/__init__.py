"""BigMind: persistent, institutional memory for AI agents, curated by people."""

__version__ = "0.2.0"
