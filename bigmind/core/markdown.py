"""Markdown that somebody sends: how many pieces of it are taken apart."""

from markdown_it.token import Token

from bigmind.core.errors import Invalid


class BoundedTokens(list[Token]):
    """Tokens up to a limit: a few bytes of nested lists or empty cells make a hundred times as many bytes of tokens."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def append(self, token: Token) -> None:
        if len(self) >= self.limit:
            raise Invalid(f"has more than {self.limit:,} pieces of markdown.", hint="Split the file.")
        super().append(token)
