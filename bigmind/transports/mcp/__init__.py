"""The MCP transport: tools, prompts and resources over Streamable HTTP and stdio, for agents."""
