/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_FORMAT_H
#define RECOVERY_LOG_FORMAT_H

/*
 * The bytes of the redo log. Numbers are little-endian.
 *
 * The log is one endless row of bytes; a place in it is a position (LSN), which only grows.
 * It is cut into segments of equal length, each in a file of its own, `xac.log.N`. N says
 * nothing about the order: the header says which part of the log the file holds, and files
 * are used again for later parts (recycled) without being cleared.
 *
 *      file          | header: 4096 bytes | segment_bytes of log |
 *      in it         position p  ->  file offset 4096 + p % segment_bytes
 *                    p / segment_bytes = segment number
 *
 * Header of a segment file, in the sector at 0 and again in the sector at 2048:
 *
 *      offset  bytes   field
 *           0      8   magic "XACLOGSG"
 *           8      4   version of this format
 *          12      4   CRC-32C of bytes 0 to 11 and 16 to 511
 *          16     16   uuid of the environment
 *          32      8   segment number
 *          40      8   segment_bytes
 *          48    464   zero
 *
 * Record, at a multiple of 8, wholly inside the log but free to cross segments:
 *
 *      offset  bytes   field
 *           0      4   CRC-32C of bytes 4 to 55
 *           4      4   byte_len: header, payload and up to 7 zeros
 *           8      8   position of this record
 *          16      8   durable: everything before this position was on disk when it was staged
 *          24      8   sequence of the commit; of a fragment: 0; of merged commits: that of the newest; of a pad: the
 *                      time at which the group was closed, in ns since 1970, by a clock that never goes back (before
 *                      version 4: 0)
 *          32      8   transaction: position of the first fragment that belongs to this commit; in the first fragment
 *                      itself its own position; 0: there are none; of a pad: the same time by the machine's clock,
 *                      which may go back (before version 5: 0)
 *          40      4   incarnation
 *          44      4   kind: 1 = commit, 2 = fragment, 3 = pad (no payload; byte_len is all up to the group's end),
 *                      4 = merged commits
 *          48      4   CRC-32C of the payload
 *          52      4   payload_len
 *          56      …   payload: entries, one after the other; the payload of a transaction is that of its fragments,
 *                      in order, and of its commit record last
 *
 * Merged commits: one record stands for all commits after `base` up to its own sequence, at once. Commits that do
 * not wait for the disk may be lost by a crash, the newest first, so nobody needs to find each of them in the log:
 * those since the last time are logged together, and a page that a hundred of them changed is compared once, with
 * what it was at `base`. Either all of them are there after a crash or none. Such a record may have fragments like a
 * commit; its own payload, not theirs, begins with
 *
 *           0      8   base: sequence of the newest commit before them, less than the record's own
 *
 * and entries follow, whose base is the state before this record, which is that of `base`.
 *
 * Entry: what the transaction did to one page. No entry is cut in two by a fragment's end.
 *
 *           0      8   page: file number << 28 | page number in the file
 *           8      4   kind: 1 = changes, 2 = image (the whole page follows), 3 = moved, 4 = cleared
 *          12      4   byte_len of what follows, a multiple of 8
 *
 *   Changes say how the page differs from its base, the state before this record; for a cleared page that is
 *   zeros, for a moved one the state before this record of another page of the same file, whose name stands before
 *   the changes:
 *
 *           0      8   from: file number << 28 | page number, not the page itself (moved only)
 *
 *   All moves of a transaction read the state before its record, at once, whatever their order. Then changes,
 *   one after the other (diff.h):
 *
 *           0      2   kind: 1 = bytes, 2 = shift
 *           2      2   to: offset in the page
 *           4      2   from: offset in the base (a shift; else 0)
 *           6      2   length - 1
 *           8      …   the bytes, and up to 7 zeros (bytes only)
 *
 *   Shifts read the base, all at once; bytes are put on top.
 *
 * A group (what one write puts on disk) begins at a multiple of LOG_BLOCK, so that no sector that
 * holds durable bytes is written again (I10), and ends with a pad, whose bytes behind the header are zero. Records
 * are thus without gaps: a hole in a torn group, which reads as zeros, cannot be taken for a group's end.
 *
 * Valid (R11): the header's CRC is right, byte_len covers header and payload and is at most
 * LOG_RECORD_MAX, the position is where it stands, the incarnation is the manifest's, and the payload's
 * CRC is right. The reader follows valid records; where there is none, the log ends. That is damage only if a
 * valid record further on has `durable` beyond that place; else it is the torn tail of the last group. (A
 * pad's `durable` is taken when its group is closed: it proves the group before.)
 *
 * A commit's time is that of the pad that ends its group: of the first one behind it. The machine's clock says it,
 * unless it did not know better for a while; the other one orders sessions.
 *
 * Each recovery raises the incarnation, in a manifest that is on disk before the first append, and begins
 * behind what it replayed: records it discarded are of another incarnation and never come back.
 */

#include <stdint.h>

enum {
        LOG_FORMAT_VERSION = 5,
        /* That can be read: it had no merged records, pads no times before 4, and no clock's before 5. The manifest
         * keeps an older library away. */
        LOG_FORMAT_OLDEST = 2,
        LOG_BLOCK = 4096,        /* groups begin at multiples of it; the unit of direct writes */
        LOG_SECTOR = 512,        /* what a disk writes as a whole */
        LOG_HEADER_BYTES = 4096, /* of a segment file, before the log's own bytes */
        LOG_HEADER_COPY = 2048,
        LOG_RECORD_HEADER = 56,
        LOG_MERGED_HEADER = 8, /* of merged commits' payload, before the entries */
        LOG_ENTRY_HEADER = 16,
        LOG_ENTRY_FROM = 8, /* of a moved entry, before its changes */
        LOG_CHANGE_HEADER = 8,
        LOG_RECORD_MAX = 4 << 20, /* byte_len of a record is at most this */
        LOG_SEGMENT_MIN = 64 << 10,
        LOG_SEGMENT_MAX = 64 << 20,
        LOG_SEGMENTS_MAX = 4096 /* at once */
};

#define LOG_SEGMENT_MAGIC "XACLOGSG"
#define LOG_FILE_PREFIX   "xac.log."
#define LOG_NEW_PREFIX    "xac.log-new."

enum log_record_kind { LOG_COMMIT = 1, LOG_FRAGMENT = 2, LOG_PAD = 3, LOG_MERGED = 4 };
enum log_entry_kind { LOG_CHANGES = 1, LOG_IMAGE = 2, LOG_MOVED = 3, LOG_CLEARED = 4 };
enum log_change_kind { LOG_BYTES = 1, LOG_SHIFT = 2 };

static inline uint64_t log_round_up(uint64_t position)
{
        return (position + LOG_BLOCK - 1) & ~(uint64_t)(LOG_BLOCK - 1);
}

#endif
