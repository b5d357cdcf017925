"""Work of a session besides single turns: goals that take several turns, and questions that take none."""
