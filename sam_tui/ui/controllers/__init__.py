"""What the person can make happen, one class per subject."""
