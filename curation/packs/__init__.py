"""Knowledge packs: publishing, subscribing, reviewing an update, accepting it and rolling it back."""
