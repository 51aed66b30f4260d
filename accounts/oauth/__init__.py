"""OAuth: apps that people connect, what they consent to, and the tokens of those apps."""
