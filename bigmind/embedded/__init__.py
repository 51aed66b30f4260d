"""What `bigmind up` runs on one machine: PostgreSQL, the web server, the worker and the scheduler."""
