"""Generators: they turn a source (OpenAPI, a console's code, `--help`) into references."""
