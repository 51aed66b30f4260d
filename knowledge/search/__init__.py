"""Search: passages, written in the transaction of the thing they belong to, and the queries over them."""
