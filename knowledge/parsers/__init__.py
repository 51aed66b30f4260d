"""Sources of knowledge that people keep in files, read into entries: pure functions, no database."""
