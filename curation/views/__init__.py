"""Pages on which it is decided what becomes company knowledge."""
