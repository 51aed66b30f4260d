"""Truth at the moment of writing: of what a new text is a repetition or a contradiction."""
