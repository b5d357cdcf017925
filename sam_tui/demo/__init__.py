"""What the demo plays with: a sample project, a task, and the script of the model."""
