"""What the person does with terminals, and what programs in them ask."""
