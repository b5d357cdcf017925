"""The kernel sandbox: Landlock below, a seccomp supervisor that asks above, and what stands in for them."""
