"""Work that begins beside the displayed conversation: copies of it, side questions, goals."""
