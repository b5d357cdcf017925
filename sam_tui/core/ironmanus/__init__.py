"""Iron Manus (seeds 000 and 001): its machine, roles and meta-prompts on the workflow engine."""
