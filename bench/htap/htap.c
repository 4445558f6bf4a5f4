/* SPDX-License-Identifier: MIT */

#include "bench/htap/crew.h"
#include "bench/htap/generator.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"
#include <stdio.h>

int main(int argc, char **argv)
{
        uint64_t scale = 100, oltp = 1, olap = 1, seconds = 3, refresh = 10000;
        const char *engine = "homogeneous";
        const struct option_spec specs[] = { OPTION_NUMBER("scale", scale, "permille of TPC-H's scale factor"),
                                             OPTION_NUMBER("oltp", oltp, "threads"),
                                             OPTION_NUMBER("olap", olap, "threads"),
                                             OPTION_NUMBER("seconds", seconds, "s"),
                                             OPTION_NUMBER("refresh", refresh, "n"),
                                             OPTION_TEXT("engine", engine, "which"),
                                             OPTION_END };
        options_parse(argc, argv, "x", specs);
        struct tables tables;
        uint64_t t0 = measure_now_ns();
        must(generator_run(&tables, scale, 1), "gen");
        printf("generated %u lines in %.2f s\n", tables.rows[0], (double)(measure_now_ns() - t0) / 1e9);
        struct scratch scratch;
        scratch_make(&scratch, 0);
        struct engine_plan plan = { .refresh_commits = refresh, .collect_ms = 1000, .directory = scratch.directory };
        struct system system;
        t0 = measure_now_ns();
        system_open(&system, system_find(engine), &plan, &tables);
        printf("opened in %.2f s\n", (double)(measure_now_ns() - t0) / 1e9);
        struct crew_plan crew = { .system = &system,
                                  .oltp_threads = (int)oltp,
                                  .olap_threads = (int)olap,
                                  .warm_up_ns = 1000000000,
                                  .ns = seconds * 1000000000,
                                  .oltp = OLTP_KINDS,
                                  .olap = OLAP_KINDS };
        struct crew_result result;
        crew_run(&crew, &result);
        printf("%.0f oltp/s, lost %.5f, %.1f olap/s\n", (double)result.transactions / result.seconds,
               (double)result.lost / (double)(result.transactions + 1), (double)result.queries / result.seconds);
        for (int k = 0; k < OLAP_KINDS; k++)
                printf("%-14s %zu: %.3f ms [%.3f .. %.3f]\n", olap_name[k], result.latency_ms[k].count,
                       samples_median(&result.latency_ms[k]), samples_min(&result.latency_ms[k]),
                       samples_max(&result.latency_ms[k]));
        if (system.engine)
                printf("version bytes %.1f MB\n", (double)system.spec->ops->bytes(system.engine) / 1e6);
        system_close(&system);
        return 0;
}
