"""The system page: how this BigMind is, for the people who run it."""
