# SPDX-License-Identifier: MIT
"""The flags and codes of <xac/xac.h> and <xac/send.h>, without the prefixes XAC_ and XAC_SEND_."""

from enum import IntEnum, IntFlag


class Flag(IntFlag):
    """What Environment(), transaction(), run() and transactional() may be given. xac_open(3) and xbegin(3) explain."""

    # Environment()
    CREATE = 0x0001
    EXCL = 0x0002
    NOSYNC = 0x0004  # also transaction()
    VOLATILE = 0x0008
    TRACK = 0x0010
    STRICT = 0x0020
    UNCHANGED = 0x0040
    # transaction()
    RDONLY = 0x0100  # also Environment()
    SNAPSHOT_ISOLATION = 0x0200
    DURABLE = 0x0400
    NESTED = 0x1000
    # the package's own use
    ANYWHERE = 0x2000
    SHARED = 0x4000


class Way(IntEnum):
    """enum xac_send_way: how a server sends a Range."""

    AUTO = 0
    COPY = 1
    GATHER = 2
    ZEROCOPY = 3
    PAGES = 4


class Code(IntEnum):
    """What calls return besides -errno. Each is an exception of its own (libxac.errors)."""

    CONFLICT = -5001
    WROTE = -5002
    FULL = -5003
    POISONED = -5004
    CORRUPT = -5005
    FORMAT = -5006
    FORKED = -5007
    NOTXN = -5008
    NOVIEW = -5009
    LIMIT = -5010
    UNENDED = -5011
