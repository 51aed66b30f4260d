"""The company's BigMind, as one on a laptop uses it: proposals go up, approved knowledge comes down."""
