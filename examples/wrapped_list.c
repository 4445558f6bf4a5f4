/* SPDX-License-Identifier: MIT */

/* Serial code first, transactions afterwards: a sorted list that knows nothing of libxac is
 * filled in ordinary memory; then four processes fill one in a mapped file, with the same
 * function between xbegin() and xend(). (xac_run() would do as well; this is the loop by hand.)
 * Both must hold the same keys in the same order. Nodes name each other by index, as in many
 * serial programs. Pointers would do as well: the file has one address in all processes. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

enum { PROCESSES = 4, KEYS = 1000 };

struct list { /* index 0 means none, so a file of zeros is an empty list */
        int first, used;
        struct node {
                int key, next;
        } node[KEYS + 1];
};

static void insert(struct list *list, int key) /* the serial code */
{
        if (list->used == KEYS)
                return;
        int *link = &list->first, new = ++list->used;
        while (*link != 0 && list->node[*link].key < key)
                link = &list->node[*link].next;
        list->node[new] = (struct node){ key, *link };
        *link = new;
}

static void must(int is_good, const char *what)
{
        if (is_good)
                return;
        fprintf(stderr, "wrapped_list: %s failed\n", what);
        exit(EXIT_FAILURE);
}

static struct list *open_list(xac_env **env)
{
        must(xac_open("list.xac", XAC_CREATE, NULL, env) == 0, "xac_open");
        struct list *list = xac_mmap(*env, "list", sizeof(*list), 0);
        must(list != MAP_FAILED, "xac_mmap");
        return list;
}

int main(void)
{
        static struct list serial;
        for (int i = 0; i < KEYS; i++)
                insert(&serial, i * 7919 % 10007);

        xac_env *env;
        for (int process = 0; process < PROCESSES; process++)
                if (fork() == 0) {
                        struct list *list = open_list(&env);
                        for (int i = process, err; i < KEYS; i += PROCESSES) {
                                do {
                                        must(xbegin(env, 0) == 0, "xbegin");
                                        insert(list, i * 7919 % 10007);
                                } while ((err = xend(env)) == XAC_CONFLICT);
                                must(err == 0, "xend");
                        }
                        return xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS;
                }
        for (int status; wait(&status) > 0;)
                must(status == 0, "a process");

        const struct list *list = open_list(&env);
        must(xbegin(env, XAC_RDONLY) == 0, "xbegin");
        int i = list->first, j = serial.first, keys = 0;
        for (; i && j && list->node[i].key == serial.node[j].key; i = list->node[i].next, keys++)
                j = serial.node[j].next;
        printf("%d keys are as in the serial program, %d are not\n", keys, KEYS - keys);
        return xend(env) || xac_close(env) || keys != KEYS ? EXIT_FAILURE : EXIT_SUCCESS;
}
