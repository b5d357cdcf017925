"""The person's actions, one class per subject."""
