"""What holds one command or session: its sandbox, its limits, and what it was refused."""
