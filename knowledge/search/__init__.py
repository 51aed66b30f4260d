"""How things are found: passages written with what they are a piece of, and the queries over them."""
