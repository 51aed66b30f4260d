"""Plain questions to large public APIs."""
