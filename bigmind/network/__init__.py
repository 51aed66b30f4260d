"""Calls to other servers: which addresses may be called, over which connections."""
