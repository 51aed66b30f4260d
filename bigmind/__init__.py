"""BigMind: persistent, institutional memory for AI agents, curated by people."""

__version__ = "0.1.0"
