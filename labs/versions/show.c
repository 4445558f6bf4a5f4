/* SPDX-License-Identifier: MIT */

/* `make show`: what stays in the store because of one long reader, by your store_reclaim(). */

#include <stdio.h>

#include "labs/grader/grader.h"
#include "labs/versions/acts.h"
#include "labs/versions/model.h"

static const int commits_shown[] = { 0, 5, 10, 20, 40, 80, 160, 320 };
enum { SHOWN = sizeof(commits_shown) / sizeof(commits_shown[0]) };

static void begin_show(void)
{
        model_create();
        model_commit((1 << PAGES) - 1);
        model_hold_last(0);
}

static void show_table(void)
{
        int done = 0;
        begin_show();
        printf("The long reader. It holds snapshot %ld, while others commit into one page each, and reclaim:\n\n"
               "                 versions in the store\n"
               "    commits      yours   that somebody sees   no older than the oldest snapshot\n",
               model_held(0));
        for (int i = 0; i < SHOWN; i++) {
                for (; done < commits_shown[i] && slots_used(store) < SLOTS; done++) {
                        model_commit(1U << grader_random(PAGES));
                        answer_reclaim(false);
                }
                if (done < commits_shown[i]) {
                        printf("    %7d       full: %d slots\n", done, SLOTS);
                        break;
                }
                printf("    %7d    %8d   %18d   %33d\n", done, slots_used(store), model_count(MODEL_EXACT),
                       model_count(MODEL_OLDEST));
        }
        model_let_go(0);
        int count = answer_reclaim(false);
        printf("    The reader has ended: store_reclaim() gave %d back, %d are left.\n\n", count, slots_used(store));
}

static void show_chains(void)
{
        char text[600];
        begin_show();
        for (int i = 0; i < 12; i++) {
                model_commit(1U << (i % 3));
                if (i == 5)
                        model_hold_last(1);
        }
        printf("Some chains, before store_reclaim() and after it:\n");
        for (int page = 0; page < 4; page++) {
                model_show_page(page, text, sizeof(text));
                printf("    %s\n", text);
        }
        printf("    store_reclaim() returned %d\n", answer_reclaim(false));
        for (int page = 0; page < 4; page++) {
                model_show_page(page, text, sizeof(text));
                printf("    %s\n", text);
        }
}

int main(void)
{
        show_table();
        show_chains();
        return 0;
}
