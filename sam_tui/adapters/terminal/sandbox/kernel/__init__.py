"""What the kernel offers: system calls, seccomp, Landlock, namespaces, sockets."""
