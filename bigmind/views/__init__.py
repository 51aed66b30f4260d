"""Pages that belong to the instance rather than to an app: errors, the theme, the style guide."""
