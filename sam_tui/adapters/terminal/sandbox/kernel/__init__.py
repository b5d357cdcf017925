"""Interfaces of the kernel: system calls, seccomp, Landlock, namespaces, sockets."""
