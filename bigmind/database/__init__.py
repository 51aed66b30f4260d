"""PostgreSQL: its backend, row-level security, roles, replicas, locks, pages of rows."""
