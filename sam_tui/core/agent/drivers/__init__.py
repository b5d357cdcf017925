"""What is asked of a session besides single turns: goals that take several, questions that take none."""
