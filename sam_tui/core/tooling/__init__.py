"""Tools: their contract, their description for the model, and the one path of every call."""
