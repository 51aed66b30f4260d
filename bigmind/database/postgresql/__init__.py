"""Django's backend for PostgreSQL, with a cheaper question whether a connection still lives."""
