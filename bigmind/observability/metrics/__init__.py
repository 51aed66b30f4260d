"""What Prometheus reads at `/metrics`: what this process counted, and figures that are looked up in the database."""
