/* SPDX-License-Identifier: MIT */

/* A guest book in a file: entries allocated there, as by malloc(), and linked by plain pointers.
 * Four processes sign it at once. Who regrets it has written nothing, and allocated nothing. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/heap.h>

enum { GUESTS = 4, TIMES = 50 };

static xac_env *env;
static xac_heap *heap;
static struct book {
        struct entry {
                struct entry *next;
                int guest;
                char text[]; /* as long as it needs to be */
        } * newest;
} * book;
static int guest, number, entries[GUESTS];

static void must(int err) /* it worked, or was regretted, or made by somebody else */
{
        if (err && err != -ECANCELED && err != -EEXIST)
                errx(EXIT_FAILURE, "%s", xac_strerror(err));
}

/* The root "book" is made by whoever comes first. */
static void open_book(void)
{
        xac_heap_root root;
        must(xac_open("guests.xac", XAC_CREATE, NULL, &env));
        must(xac_heap_open(env, "book", XAC_CREATE, &heap));
        must(xac_heap_root_create(heap, "book", sizeof(*book), 0, &root));
        book = root.object;
}

static void close_book(void)
{
        must(xac_heap_close(heap));
        must(xac_close(env));
}

static int sign(void *text) /* what it has done is undone when it does not return 0 */
{
        struct entry *entry = xac_heap_malloc(heap, sizeof(*entry) + strlen(text) + 1);
        if (!entry)
                return -errno;
        strcpy(entry->text, text);
        entry->guest = guest;
        entry->next = book->newest;
        book->newest = entry;
        return number % 10 ? 0 : -ECANCELED;
}

static void visit(void)
{
        char text[64];
        open_book();
        for (number = 1; number <= TIMES; number++) {
                snprintf(text, sizeof(text), "guest %d was here, for the %dth time", guest, number);
                must(xac_run(env, 0, sign, text));
        }
        close_book();
        exit(EXIT_SUCCESS);
}

int main(void)
{
        for (guest = 0; guest < GUESTS; guest++)
                if (!fork())
                        visit();
        while (wait(NULL) > 0)
                ;
        open_book();
        must(xbegin(env, XAC_RDONLY));
        for (struct entry *entry = book->newest; entry; entry = entry->next)
                entries[entry->guest]++;
        must(xend(env));
        for (guest = 0; guest < GUESTS; guest++)
                printf("guest %d has %d entries\n", guest, entries[guest]);
        close_book();
}
