"""The kernel sandbox: Landlock, a seccomp supervisor that asks the person, and substitutes for both."""
