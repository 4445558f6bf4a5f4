/* SPDX-License-Identifier: MIT */

/*
 * A guest book in a file: entries that are allocated there, as malloc() would, and linked by plain pointers. Four
 * processes sign it at once. Who changes his mind has written nothing, and has allocated nothing.
 *
 *         guest_book [directory]
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/heap.h>

enum { GUESTS = 4, ENTRIES = 50 };

struct entry {
        struct entry *next;
        int guest;
        char text[]; /* as long as it needs to be */
};

struct book {
        struct entry *newest;
        long entries;
};

static void must(int err, const char *what)
{
        if (!err)
                return;
        fprintf(stderr, "%s: %s\n", what, xac_strerror(err));
        exit(EXIT_FAILURE);
}

/* The environment, the heap in it, and the book in the heap: made by whoever comes first. */
static struct book *open_book(const char *directory, xac_env **env, xac_heap **heap)
{
        xac_heap_root root;

        must(xac_open(directory, XAC_CREATE | XAC_NOSYNC, NULL, env), "xac_open");
        must(xac_heap_open(*env, "book", XAC_CREATE, heap), "xac_heap_open");
        int err = xac_heap_root_create(*heap, "book", sizeof(struct book), 0, &root);
        must(err == -EEXIST ? 0 : err, "xac_heap_root_create");
        return root.object;
}

struct signing {
        xac_heap *heap;
        struct book *book;
        int guest, number;
};

/* Serial code. Every tenth entry is regretted: what the body has done is undone when it does not return 0. */
static int sign(void *signing_)
{
        const struct signing *signing = signing_;
        char text[64];
        int length =
                snprintf(text, sizeof(text), "guest %d was here, for the %dth time", signing->guest, signing->number);
        struct entry *entry = xac_heap_malloc(signing->heap, sizeof(*entry) + (size_t)length + 1);

        if (!entry)
                return -errno;
        entry->guest = signing->guest;
        memcpy(entry->text, text, (size_t)length + 1);
        entry->next = signing->book->newest;
        signing->book->newest = entry;
        signing->book->entries++;
        return signing->number % 10 ? 0 : -ECANCELED;
}

static void visit(const char *directory, int guest)
{
        xac_env *env;
        struct signing signing = { .guest = guest };

        signing.book = open_book(directory, &env, &signing.heap);
        for (signing.number = 1; signing.number <= ENTRIES; signing.number++) {
                int err = xac_run(env, 0, sign, &signing);
                must(err == -ECANCELED ? 0 : err, "xac_run");
        }
        must(xac_heap_close(signing.heap), "xac_heap_close");
        must(xac_close(env), "xac_close");
}

static void read_book(const char *directory)
{
        xac_env *env;
        xac_heap *heap;
        xac_heap_stats stats;
        struct book *book = open_book(directory, &env, &heap);
        long of_guest[GUESTS] = { 0 }, entries = 0;

        must(xbegin(env, XAC_RDONLY), "xbegin");
        for (struct entry *entry = book->newest; entry; entry = entry->next, entries++)
                of_guest[entry->guest]++;
        printf("%ld entries, %ld of them counted\n", entries, book->entries);
        must(xend(env), "xend");
        for (int i = 0; i < GUESTS; i++)
                printf("guest %d signed %ld times, and regretted it %d times\n", i, of_guest[i], ENTRIES / 10);
        must(xac_heap_check(heap, &stats, NULL, NULL), "xac_heap_check");
        printf("%llu objects live in the heap: the entries and the book\n", (unsigned long long)stats.live_objects);
        must(xac_heap_close(heap), "xac_heap_close");
        must(xac_close(env), "xac_close");
}

int main(int argc, char **argv)
{
        const char *directory = argc > 1 ? argv[1] : "guest_book.xac";

        for (int guest = 0; guest < GUESTS; guest++)
                if (!fork()) {
                        visit(directory, guest);
                        _exit(EXIT_SUCCESS);
                }
        for (int status; wait(&status) > 0;)
                if (status)
                        return EXIT_FAILURE;
        read_book(directory);
        return EXIT_SUCCESS;
}
