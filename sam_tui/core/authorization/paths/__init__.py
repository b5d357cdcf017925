"""Where paths lie, which of them are secrets, and which start programs or instruct somebody."""
