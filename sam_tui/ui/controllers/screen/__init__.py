"""What the screen itself does: its layout, and how it calls for attention."""
