"""Every setting BigMind reads from the environment, each with its default and what it means; a module is a topic."""

from bigmind.environment.instance import PREFIX, Environment, environment, unknown_variables

__all__ = ["PREFIX", "Environment", "environment", "unknown_variables"]
