/* SPDX-License-Identifier: MIT */
#include "bench/durable_notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "bench/durable.h"
#include "bench/durable_systems.h"
#include "bench/support/scratch.h"

struct notes {
        int threads;
        xac_stats begins, ends;       /* as the first worker saw it */
        uint64_t io_begins[CREW_MAX]; /* of the process whose first worker it is; else 0 */
        uint64_t io_ends[CREW_MAX];
};

struct notes *notes_new(int threads_of_each_process)
{
        struct notes *notes = durable_shared(sizeof(*notes));
        notes->threads = threads_of_each_process;
        return notes;
}

void notes_free(struct notes *notes)
{
        munmap(notes, sizeof(*notes));
}

static FILE *open_io(void)
{
        FILE *io = fopen("/proc/self/io", "re");
        if (io)
                return io;
        scratch_fail(-errno, "/proc/self/io");
}

static uint64_t kernel_bytes(void)
{
        char line[128];
        uint64_t bytes = 0;
        FILE *io = open_io();
        while (fgets(line, sizeof(line), io))
                sscanf(line, "write_bytes: %" SCNu64, &bytes);
        fclose(io);
        return bytes;
}

void notes_take_io(void *arg, void *seat, int worker, enum crew_moment moment)
{
        struct notes *notes = arg;
        (void)seat;
        if (worker % notes->threads == 0)
                (moment == CREW_BEGINS ? notes->io_begins : notes->io_ends)[worker] = kernel_bytes();
}

void notes_take_all(void *arg, void *seat, int worker, enum crew_moment moment)
{
        struct notes *notes = arg;
        if (worker == 0)
                must(xac_stat(commit_seat_env(seat), moment == CREW_BEGINS ? &notes->begins : &notes->ends),
                     "xac_stat");
        notes_take_io(notes, seat, worker, moment);
}

double notes_kernel_bytes(const struct notes *notes)
{
        uint64_t bytes = 0;
        for (int w = 0; w < CREW_MAX; w++)
                bytes += notes->io_ends[w] - notes->io_begins[w];
        return (double)bytes;
}

double notes_commits(const struct notes *notes)
{
        return (double)(notes->ends.sequence - notes->begins.sequence);
}

double notes_groups(const struct notes *notes)
{
        return (double)(notes->ends.log_groups - notes->begins.log_groups);
}

double notes_log_bytes(const struct notes *notes)
{
        return (double)(notes->ends.log_bytes_written - notes->begins.log_bytes_written);
}

double notes_record_bytes(const struct notes *notes)
{
        return (double)(notes->ends.log_record_bytes - notes->begins.log_record_bytes);
}

double notes_checkpoints(const struct notes *notes)
{
        return (double)(notes->ends.checkpoints - notes->begins.checkpoints);
}
