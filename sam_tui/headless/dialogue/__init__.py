"""The other program's part of a dialogue: messages, and answers to questions."""
