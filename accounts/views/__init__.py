"""Pages about people: signing in, passwords and keys."""
