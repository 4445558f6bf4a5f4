/* SPDX-License-Identifier: MIT */

/* `make show`: two doctors leave at the same time, and what your checker says of it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/environment.h"
#include "labs/grader/scratch.h"
#include "labs/isolation/histories.h"
#include "labs/isolation/judge.h"
#include "labs/isolation/meeting.h"

static void show_example(const char *text)
{
        static struct history history;
        char shown[500], edge[80];
        history_read(&history, text);
        struct graph *graph = graph_create(history.txns);
        show_history(&history, shown, sizeof(shown));
        printf("%s", shown);
        judge_ask(&history, graph);
        for (int i = 0; i < graph->edges; i++) {
                show_edge(&graph->edge[i], edge, sizeof(edge));
                printf("        %s\n", edge);
        }
        judge_history(&history, shown, sizeof(shown));
        printf("        checker: %s\n\n", shown);
        graph_free(graph);
}

static void show_meetings(const char *how, enum duty leave, int flags)
{
        struct meeting_results results;
        ward_fill(0x3);
        if (ward_step(flags, leave, 0) != 0 || ward_look() != 0x2) {
                printf("%s: doctor 0 cannot even leave alone\n", how);
                return;
        }
        meet_all(&(struct meeting){ leave, flags, 0, 1, 0x3 }, &results);
        printf("%s: of %d orders %d left nobody on call; in %d the checker finds a cycle\n", how, results.meetings,
               results.deserted, results.cycles);
        if (results.cycles > 0)
                printf("one of them:\n%s\n\n", results.shown);
}

int main(void)
{
        int err = scratch_enter(environment_clean);
        if (err) {
                fprintf(stderr, "no folder for files: %s\n", strerror(-err));
                return EXIT_FAILURE;
        }
        printf("Two histories by hand, their edges, and what the checker says:\n");
        show_example("w(a,1); r(a,1) w(b,1); r(b,0) r(a,1)");
        show_example("r(c,0) w(d,1); w(c,1) w(e,1); r(e,1) r(d,0)");

        printf("Doctors 0 and 1, items a and b, are on call, and leave at the same time. A is stopped before each of "
               "its steps.\n\n");
        ward_open();
        show_meetings("duty_leave(), XAC_SNAPSHOT_ISOLATION", DUTY_LEAVE, XAC_SNAPSHOT_ISOLATION);
        show_meetings("duty_leave(), serializable", DUTY_LEAVE, 0);
        show_meetings("duty_leave_promoted(), XAC_SNAPSHOT_ISOLATION", DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION);
        ward_close();
        return EXIT_SUCCESS;
}
