"""System call numbers of the machines that are supervised: x86-64 and 64-bit ARM (unistd.h)."""

import platform
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

BEYOND = 471
"""The first number that no table here knows. What later kernels add is refused as not implemented;
so are the numbers of x32, which start far above."""

_SHARED = {
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
    "socketpair": 53,
    "clone": 56,
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
    "setgroups": 116,
    "setfsuid": 122,
    "setfsgid": 123,
    "capget": 125,
    "capset": 126,
    "utime": 132,
    "mknod": 133,
    "vhangup": 153,
    "pivot_root": 155,
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
    "symlinkat": 266,
    "fchmodat": 268,
    "unshare": 272,
    "utimensat": 280,
    "fanotify_init": 300,
    "prlimit64": 302,
    "open_by_handle_at": 304,
    "setns": 308,
    "process_vm_readv": 310,
    "finit_module": 313,
    "renameat2": 316,
    "seccomp": 317,
    "kexec_file_load": 320,
    "bpf": 321,
}

_AARCH64 = {
    "setxattr": 5,
    "lsetxattr": 6,
    "fsetxattr": 7,
    "removexattr": 14,
    "lremovexattr": 15,
    "fremovexattr": 16,
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
    "setfsuid": 151,
    "setfsgid": 152,
    "setgroups": 159,
    "sethostname": 161,
    "setdomainname": 162,
    "settimeofday": 170,
    "mq_open": 180,
    "mq_unlink": 181,
    "socket": 198,
    "socketpair": 199,
    "connect": 203,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "clone": 220,
    "swapon": 224,
    "swapoff": 225,
    "prlimit64": 261,
    "fanotify_init": 262,
    "open_by_handle_at": 265,
    "setns": 268,
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
    return MACHINES.get({"arm64": "aarch64"}.get(platform.machine(), platform.machine()))
