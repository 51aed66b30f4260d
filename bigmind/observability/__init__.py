"""What operators watch: health, logs, metrics, traces, and the system page."""
