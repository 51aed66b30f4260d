"""The pages about what is remembered."""
