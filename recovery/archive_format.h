/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ARCHIVE_FORMAT_H
#define RECOVERY_ARCHIVE_FORMAT_H

/*
 * The bytes of an archive: a directory with the log of one environment, in files that hold a part each. Numbers are
 * little-endian. A file is made whole under another name and never changed.
 *
 *      xac.archive.FROM-TO.INCARNATION         positions (16 hexadecimal digits) and incarnation (8)
 *      xac.archive.new                         one that is being made
 *      xac.archive.lock                        byte 0 is locked by who makes one
 *
 *      file          | header | files of the environment: 272 bytes each | zeros up to header_bytes | the log, packed |
 *
 * Header:
 *
 *      offset  bytes   field
 *           0      8   magic "XACARCHV"
 *           8      4   version of this format
 *          12      4   CRC-32C of the header_bytes, but for these four
 *          16     16   uuid of the environment
 *          32      8   segment_bytes of its log
 *          40      4   page_bytes
 *          44      4   header_bytes, a multiple of 4096
 *          48      8   from: the part is [from, to) of the log, within one segment
 *          56      8   to
 *          64      4   session: its incarnation,
 *          68      4   its history (manifest.h),
 *          72      8   where it began,
 *          80      8   and when
 *          88      8   first_record: where the first record begins that begins here or later
 *          96      8   next_record: the same for what lies behind
 *         104      8   before: the newest commit before the first one here; 0: there is none here
 *         112      8   last: the newest commit that has its record here; 0: there is none
 *         120      8   oldest: where the fragments of commits here begin, at or before the first of them
 *         128      8   first_ns: time of the first group that ends here; 0: none does
 *         136      8   last_ns: of the last one
 *         144      4   packing: 0 = as it is, 1 = zstd
 *         148      4   CRC-32C of the packed bytes
 *         152      8   how many they are
 *         160      4   file_count
 *         164      4   zero
 *         168      8   session: the one that had logged last before it (manifest.h)
 *         176      8   the earliest time of a group that ends here, by the machine's clock; 0: not known
 *         184      8   how far that clock was behind the time of a group here, at most: it had been ahead
 *         192     64   zero
 *
 * File of the environment, as of when the part was archived (the log has no names):
 *
 *           0    256   name, filled up with zeros
 *         256      8   place: first unit, and how many (manifest_slot.h)
 *         264      8   its length in bytes
 *
 * What the log is that the parts make up (archive_line.h): sessions follow one another, and a part of one counts up to
 * where the next one begins, whatever the file holds: recovery may have dropped a tail that was archived.
 */

enum {
        ARCHIVE_FORMAT_VERSION = 1,
        ARCHIVE_FIXED_BYTES = 256,
        ARCHIVE_FILE_BYTES = 272,
        ARCHIVE_HEADER_MAX = 20480, /* of 64 files */
        ARCHIVE_NAME_BYTES = 64
};

#define ARCHIVE_MAGIC    "XACARCHV"
#define ARCHIVE_PREFIX   "xac.archive."
#define ARCHIVE_NEW_NAME "xac.archive.new"
#define ARCHIVE_LOCK     "xac.archive.lock"

enum archive_packing { ARCHIVE_PLAIN = 0, ARCHIVE_ZSTD = 1 };

#endif
