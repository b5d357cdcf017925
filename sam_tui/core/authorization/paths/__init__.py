"""Real places of paths, secret paths, and files that start programs or instruct somebody."""
