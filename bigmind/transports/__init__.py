"""How operations are reached from outside: MCP and REST. Transports translate and decide nothing."""
