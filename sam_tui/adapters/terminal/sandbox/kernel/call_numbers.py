"""System calls of the machines that are supervised, x86-64 and 64-bit ARM: groups, numbers (unistd.h)."""

import errno
import os
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

BEYOND = 471
"""The first number that is in no table here. System calls of later kernels are refused as not implemented,
and so are those of x32, whose numbers are far greater."""

REFUSED = {
    # File work and connections that no filter would see; metadata calls newer than the libraries.
    errno.ENOSYS: (
        "io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "setxattrat",
        "removexattrat", "file_setattr", "open_tree_attr",
    ),
    # The machine, its clock, its keys and its mounts; files by handle; namespaces of others.
    errno.EPERM: (
        "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig",
        "fsmount", "fspick", "mount_setattr", "setns", "open_by_handle_at", "init_module",
        "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon",
        "swapoff", "acct", "settimeofday", "clock_settime", "sethostname", "setdomainname", "iopl",
        "ioperm", "add_key", "request_key", "keyctl", "bpf", "quotactl", "quotactl_fd",
        "fanotify_init", "vhangup", "mq_open", "mq_unlink",
    ),
}  # fmt: skip
"""Calls that always fail, by their error."""
NAME_CALLS = (
    "creat", "truncate", "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "mkdir",
    "mkdirat", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat",
)  # fmt: skip
"""Calls that change names, or a file by its name. Landlock refuses them outside as well."""
METADATA_CALLS = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat", "utime",
    "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
    "lremovexattr", "fremovexattr",
)  # fmt: skip
"""Calls that change metadata, for which Landlock has no rules."""
STARTING = ("execve", "execveat")
"""Calls that start a program. They always proceed, after earlier writes were completed."""

OBJECT_CALLS = (
    "shmget", "semget", "msgget", "shmctl", "semctl", "msgctl", "shmat", "semop", "semtimedop",
    "msgsnd", "msgrcv",
)  # fmt: skip
"""Shared memory, semaphores and queues of System V, which belong to the whole machine and have no path."""
SCHEDULING = (
    "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity", "setpriority",
    "ioprio_set",
)  # fmt: skip
ONE_PROCESS = {"setpriority": 0, "ioprio_set": 1}
"""The first argument with which these calls concern one process (PRIO_PROCESS, IOPRIO_WHO_PROCESS)."""
SIGNALLING = (
    "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal",
)  # fmt: skip
CHANGING_RIGHTS = (
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid",
    "setgroups", "capset",
)  # fmt: skip
"""Calls after which a process may have another user's rights to files, as after some of ``prctl``."""

_SHARED = {
    "pidfd_send_signal": 424,
    "openat2": 437,
    "pidfd_getfd": 438,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
}

_X86_64 = {
    "open": 2,
    "ioctl": 16,
    "socket": 41,
    "connect": 42,
    "sendto": 44,
    "sendmsg": 46,
    "listen": 50,
    "socketpair": 53,
    "setsockopt": 54,
    "clone": 56,
    "fork": 57,
    "vfork": 58,
    "execve": 59,
    "setsid": 112,
    "fcntl": 72,
    "truncate": 76,
    "rename": 82,
    "mkdir": 83,
    "rmdir": 84,
    "creat": 85,
    "link": 86,
    "unlink": 87,
    "symlink": 88,
    "chmod": 90,
    "fchmod": 91,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "kill": 62,
    "shmget": 29,
    "shmat": 30,
    "shmctl": 31,
    "semget": 64,
    "semop": 65,
    "semctl": 66,
    "msgget": 68,
    "msgsnd": 69,
    "msgrcv": 70,
    "msgctl": 71,
    "rt_sigqueueinfo": 129,
    "setpriority": 141,
    "sched_setparam": 142,
    "sched_setscheduler": 144,
    "tkill": 200,
    "sched_setaffinity": 203,
    "semtimedop": 220,
    "tgkill": 234,
    "ioprio_set": 251,
    "rt_tgsigqueueinfo": 297,
    "sched_setattr": 314,
    "setuid": 105,
    "setgid": 106,
    "setreuid": 113,
    "setregid": 114,
    "setgroups": 116,
    "setresuid": 117,
    "setresgid": 119,
    "setfsuid": 122,
    "setfsgid": 123,
    "capget": 125,
    "capset": 126,
    "utime": 132,
    "mknod": 133,
    "vhangup": 153,
    "pivot_root": 155,
    "prctl": 157,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "sethostname": 170,
    "setdomainname": 171,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "clock_settime": 227,
    "utimes": 235,
    "mq_open": 240,
    "mq_unlink": 241,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "openat": 257,
    "mkdirat": 258,
    "mknodat": 259,
    "fchownat": 260,
    "futimesat": 261,
    "unlinkat": 263,
    "renameat": 264,
    "linkat": 265,
    "execveat": 322,
    "symlinkat": 266,
    "fchmodat": 268,
    "unshare": 272,
    "utimensat": 280,
    "fanotify_init": 300,
    "prlimit64": 302,
    "open_by_handle_at": 304,
    "sendmmsg": 307,
    "setns": 308,
    "process_vm_readv": 310,
    "finit_module": 313,
    "renameat2": 316,
    "seccomp": 317,
    "kexec_file_load": 320,
    "bpf": 321,
}

_AARCH64 = {
    "ioprio_set": 30,
    "sched_setparam": 118,
    "sched_setscheduler": 119,
    "sched_setaffinity": 122,
    "kill": 129,
    "tkill": 130,
    "tgkill": 131,
    "rt_sigqueueinfo": 138,
    "setpriority": 140,
    "msgget": 186,
    "msgctl": 187,
    "msgrcv": 188,
    "msgsnd": 189,
    "semget": 190,
    "semctl": 191,
    "semtimedop": 192,
    "semop": 193,
    "shmget": 194,
    "shmctl": 195,
    "shmat": 196,
    "rt_tgsigqueueinfo": 240,
    "sched_setattr": 274,
    "setxattr": 5,
    "lsetxattr": 6,
    "fsetxattr": 7,
    "removexattr": 14,
    "lremovexattr": 15,
    "fremovexattr": 16,
    "fcntl": 25,
    "ioctl": 29,
    "mknodat": 33,
    "mkdirat": 34,
    "unlinkat": 35,
    "symlinkat": 36,
    "linkat": 37,
    "renameat": 38,
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "truncate": 45,
    "chroot": 51,
    "fchmod": 52,
    "fchmodat": 53,
    "fchownat": 54,
    "fchown": 55,
    "openat": 56,
    "vhangup": 58,
    "quotactl": 60,
    "utimensat": 88,
    "acct": 89,
    "capget": 90,
    "capset": 91,
    "unshare": 97,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "clock_settime": 112,
    "reboot": 142,
    "setsid": 157,
    "setregid": 143,
    "setgid": 144,
    "setreuid": 145,
    "setuid": 146,
    "setresuid": 147,
    "setresgid": 149,
    "setfsuid": 151,
    "setfsgid": 152,
    "setgroups": 159,
    "sethostname": 161,
    "setdomainname": 162,
    "prctl": 167,
    "settimeofday": 170,
    "mq_open": 180,
    "mq_unlink": 181,
    "socket": 198,
    "socketpair": 199,
    "listen": 201,
    "connect": 203,
    "sendto": 206,
    "setsockopt": 208,
    "sendmsg": 211,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "clone": 220,
    "execve": 221,
    "execveat": 281,
    "swapon": 224,
    "swapoff": 225,
    "prlimit64": 261,
    "fanotify_init": 262,
    "open_by_handle_at": 265,
    "setns": 268,
    "sendmmsg": 269,
    "process_vm_readv": 270,
    "finit_module": 273,
    "renameat2": 276,
    "seccomp": 277,
    "bpf": 280,
    "kexec_file_load": 294,
}


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """One architecture: its audit number (linux/audit.h) and its system calls by name."""

    audit: int
    calls: Mapping[str, int]


MACHINES = {
    "x86_64": Machine(0xC000003E, _SHARED | _X86_64),
    "aarch64": Machine(0xC00000B7, _SHARED | _AARCH64),
}


@cache
def machine() -> Machine | None:
    """The machine this runs on; None where no table is known, or a 32-bit program runs on it."""
    if sys.platform != "linux" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    name = os.uname().machine
    return MACHINES.get({"arm64": "aarch64"}.get(name, name))
