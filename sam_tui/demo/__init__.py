"""The material of the demo: a sample project, a task, and the script of the model."""
