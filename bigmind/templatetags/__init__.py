"""Template tags of the pages' components."""
