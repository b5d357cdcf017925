"""The loop: a turn, its budget, its schedule, and the conversation it belongs to."""
