"""Tables of the person's actions, by subject; ``ui.actions`` joins them."""
