"""Shell commands, terminal sessions and the emulator that shows them."""
