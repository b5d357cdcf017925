"""Actions on the screen itself: layout, and signals for the person's attention."""
