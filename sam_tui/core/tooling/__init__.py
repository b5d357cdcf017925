"""Tools: what one is, what the model is told of it, and the one path of every call."""
