"""The one exception of the embedded default: why BigMind cannot start, in a sentence the reader can act on."""


class CannotStart(Exception):
    """BigMind cannot start or go on; the message says why and what to change."""
