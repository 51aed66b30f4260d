"""Looking at people, and mending: what an action does, the same services do."""

from . import keys, people, records, sign_in

__all__ = ["keys", "people", "records", "sign_in"]
