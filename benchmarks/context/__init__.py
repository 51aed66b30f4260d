"""What a start context tells of what tasks need: people with their memories, and tasks with the lines each needs."""
