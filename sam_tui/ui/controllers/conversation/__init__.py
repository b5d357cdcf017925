"""What begins beside the conversation on show: copies of it, side questions, goals."""
