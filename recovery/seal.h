/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_SEAL_H
#define RECOVERY_SEAL_H

/*
 * What binds the files of an environment to one moment: for each data file the manifest has a seal, which says what its
 * checksums (checksums.h) add up to. docs/models/seal.py shows each rule to be needed.
 *
 *      M1   The manifest has a digest of the checksums: `outside`.
 *      M2   It leaves out the blocks of checksums in which a page of the named double-write buffer has its own: these
 *           are being written.
 *      M3   The other pages of these blocks have a digest of their own: `beside`. If that differs, and a sector of the
 *           blocks looks harmed, a power cut may have done that, or somebody else; nobody knows.
 *      M4   A file that grows has its new length in the note of its checksums before a commit can reach it.
 *      M5   A close gives the note of each file that it has written a number, drawn at random, and the manifest the
 *           same one. So an open sees that a file and its checksums are of another moment, and reads no checksums for
 *           that.
 *      M6   Records of a later incarnation than the manifest's are of another moment (rebuild.c).
 *      M7   Who makes the next manifest compares `beside` first. Where it differs, and no power cut did that, nothing
 *           is known of these pages from now on; where the named buffer cannot be read, of none.
 *
 * A digest is the sum, modulo 2^64, of a hash of (page, checksum) over the pages whose checksum is known and not that
 * of zeros. So a file that grows changes nothing, and of two digests one follows from the other by what is different.
 *
 * The seal follows the checksums only with the manifest: a file whose checksums are to change in another way loses its
 * seal first, on disk (seal_break), and gets a new one with the next checkpoint. Files without one are of an earlier
 * version, or have not come that far.
 */

#include <stdbool.h>

#include "recovery/checksums.h"
#include "recovery/double_write.h"
#include "recovery/manifest.h"

/* From the manifest as it is on disk to the next one. Free it in any case. No malloc. */
struct seal_change {
        struct double_write_contents before; /* the double-write buffer that was named */
        bool is_lost;        /* it cannot be read: seals are made anew, and but in a recovery of no checksums */
        bool is_of_recovery; /* to be set: what a power cut has harmed was looked at (M3) */
};

int seal_change_begin(struct seal_change *change, int directory, const struct manifest *manifest);
/* The manifest has the double-write buffer that it is to have, which is on disk. Nobody changes the checksums
 * meanwhile. */
int seal_change_end(struct seal_change *change, int directory, struct manifest *manifest);
void seal_change_free(struct seal_change *change);

/* The manifest is to say that nobody has the environment open, and the notes are on disk. A file without a seal gets
 * one; so does one whose number is not the note's, where `is_volatile`: its checksums changed without the manifest. */
int seal_close(int directory, struct manifest *manifest, bool is_volatile);
/* Of one file, as it is. */
int seal_renew(int directory, struct manifest *manifest, uint32_t file_no);
static inline bool seal_is_there(const struct manifest *manifest, uint32_t file_no)
{
        return manifest->sealed >> file_no & 1;
}
static inline void seal_break(struct manifest *manifest, uint32_t file_no)
{
        manifest->sealed &= ~(UINT64_C(1) << file_no);
}
/* M5, of what was closed. A note that is lost has no number. */
static inline bool seal_is_of_another(const struct manifest *manifest, uint32_t file_no,
                                      const struct checksums_note *note)
{
        return seal_is_there(manifest, file_no) && !note->is_lost && note->number != manifest->seal[file_no].number;
}
/* A file that nothing is known of yet. */
void seal_begin_file(struct manifest *manifest, uint32_t file_no);

/* The identity of the checksums of file number i. */
struct checksums_id seal_checksums_id(const struct manifest *manifest, uint32_t i);

/* Are the checksums of a file the ones that the manifest is of? `buffer`: its pages. checksums_fd -1: they are
 * not there. */
enum seal_verdict {
        SEAL_WHOLE,
        SEAL_BROKEN,
        SEAL_BROKEN_BESIDE, /* in blocks that a power cut may have harmed */
        SEAL_LOST           /* as sectors of checksums are that are no such blocks' */
};
struct seal_files {
        int checksums_fd;
        uint64_t data_bytes; /* of the data file: checksums behind its end are those of zeros, whatever their sectors
                                are */
};
int seal_judge(const struct manifest *manifest, uint32_t file_no, const struct seal_files *files,
               const struct double_write_contents *buffer, enum seal_verdict *verdict);

/* The same of an environment that may be in use. The caller has the checkpoint lock. SEAL_WHOLE where there is no seal,
 * or a volatile session, which seals nothing before its end. -EAGAIN: the manifest changed again and again meanwhile.
 */
int seal_judge_in_use(int directory, uint32_t file_no, enum seal_verdict *verdict);

#endif
