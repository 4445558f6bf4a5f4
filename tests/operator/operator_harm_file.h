/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_HARM_FILE_H
#define TESTS_OPERATOR_OPERATOR_HARM_FILE_H

/*
 * Harms to single files: of the environment, of backups, of the archive.
 */

#include "tests/operator/operator_harm.h"

/* Of which part of an environment a file is, by its name; 0: none that matters. */
unsigned harm_part_of(const char *name);
void harm_file_note(struct harm *harm, unsigned part, bool keeps_time);
/* A segment of the log is as of that moment. */
void harm_file_note_log(struct harm *harm, const struct moment *other);

/* False: there was no such file, and nothing was done. */
bool harm_file_do(struct harm *harm, struct chance *chance, enum harm_kind kind);

/* The first bytes are those of `file`, the rest stays, and the length: an update in place that was ended midway. False:
 * there is no such file. */
bool harm_file_replace_first(const char *directory, const struct image_file *file, size_t byte_len);
/* Removes what `others` does not have. */
void harm_file_remove_others(struct harm *harm, const char *directory, const struct image *others);

#endif
