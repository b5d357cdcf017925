"""Tables of what the person can do, by subject; ``ui.actions`` joins them."""
