"""Generators: instruments that turn a source (OpenAPI, a console's code, `--help`) into references."""
