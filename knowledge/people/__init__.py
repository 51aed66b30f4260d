"""People: who is here, what they share, who knows about something, and their instances."""
