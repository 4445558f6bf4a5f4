/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_JUDGE_H
#define TESTS_OPERATOR_OPERATOR_JUDGE_H

/*
 * What may be said of a state, and what may not.
 *
 * Whoever says "sound" or "done" answers for the content: it has to be that of a moment that the manifest is of. Who
 * says "damaged" of what nobody has harmed gives a false alarm. The third verdict (exit status 4) is for what others
 * may have changed. Nothing that was wrong may become sound without a word.
 *
 * Known limits, each with the sentence that says so, are in operator_judge.c, and nowhere else.
 */

#include "tests/operator/operator_round.h"

/* After the harms, before the first tool. */
void judge_begin(struct round *round);

/* The environment's content, as the next open shows it; a copy is opened. Of a tool that has said that it is sound.
 * must_open: it has said so of all of it. */
void judge_environment(struct round *round, const char *tool, bool must_open);
/* The content of files at rest, in the environment or in what was made of it. */
void judge_files(struct round *round, const char *tool, const char *directory);
/* Is it that commit, exactly? */
void judge_commit(struct round *round, const char *tool, const char *directory, uint32_t least, uint32_t most);

/* Was the last run allowed to end that way? Signals, usage, hangs, silence, and verdicts without a cause. `harmed`:
 * something that it works on was. True: it ended by itself. */
bool judge_verdict(struct round *round, const char *tool, bool is_harmed, bool may_be_unknown);

void judge_fail(struct round *round, const char *tool, const char *rule, const char *detail);

/* The content of a directory: the commit, or -1. */
int judge_find(const struct round *round, const char *directory, char *where, size_t where_len, bool *is_short);
bool judge_may_be(struct round *round, int commit);
bool judge_may_be_shorter(const struct round *round);
/* Are some files of another moment than others? */
bool judge_is_mixed(const struct round *round);

/* What is restored by the archive as far as it goes, or to a time, is as of that commit or a later one. */
uint32_t judge_least_archived(const struct round *round, uint32_t least);
/* May the archive not go on to where the environment is? */
bool judge_is_archive_in_doubt(const struct round *round);

/* Has anything that an open of the environment looks at been harmed? */
bool judge_is_store_harmed(const struct round *round);

#endif
