"""The pages of who is who: signing in, passwords and keys."""
