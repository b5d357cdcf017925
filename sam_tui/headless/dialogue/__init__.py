"""What another program says while a run works: messages, and answers to what it is asked."""
