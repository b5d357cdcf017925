"""What a workflow is: its model, its files, and what is wrong with them."""
