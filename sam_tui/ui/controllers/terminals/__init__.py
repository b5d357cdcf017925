"""The person's actions on terminals, and requests of programs in them."""
