/* SPDX-License-Identifier: MIT */

/* One transaction over two files: three processes write orders into "orders" and count the
 * units sold of each item in "sold". The two agree whenever somebody looks. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

enum { BUYERS = 3, ITEMS = 8, ORDERS = 600, BOOK_FULL = 1 };

struct shop {
        xac_env *env;
        int *sold; /* units, by item */
        struct {
                int count, item[ORDERS];
        } * orders; /* in the order they came in */
        int wanted; /* the item to buy next */
};

static void must(int is_good, const char *what)
{
        if (is_good)
                return;
        fprintf(stderr, "two_files: %s failed\n", what);
        exit(EXIT_FAILURE);
}

static void open_shop(struct shop *shop)
{
        must(xac_open("shop.xac", XAC_CREATE, NULL, &shop->env) == 0, "xac_open");
        shop->sold = xac_mmap(shop->env, "sold", ITEMS * sizeof(int), 0);
        shop->orders = xac_mmap(shop->env, "orders", sizeof(*shop->orders), 0);
        must(shop->sold != MAP_FAILED && shop->orders != MAP_FAILED, "xac_mmap");
}

static int buy(void *arg)
{
        struct shop *shop = arg;
        shop->sold[shop->wanted]++;
        if (shop->orders->count == ORDERS)
                return BOOK_FULL; /* not 0: xac_run aborts, nothing is sold */
        shop->orders->item[shop->orders->count++] = shop->wanted;
        return 0;
}

/* Compares the two files; returns the number of orders. */
static int compare(struct shop *shop)
{
        int surplus[ITEMS];
        must(xbegin(shop->env, XAC_RDONLY) == 0, "xbegin");
        const int orders = shop->orders->count;
        memcpy(surplus, shop->sold, sizeof(surplus));
        for (int i = 0; i < orders; i++)
                surplus[shop->orders->item[i]]--;
        must(xend(shop->env) == 0, "xend");
        must(memcmp(surplus, (int[ITEMS]){ 0 }, sizeof(surplus)) == 0, "comparing the files");
        return orders;
}

int main(void)
{
        struct shop shop = { 0 };
        for (int buyer = 0; buyer < BUYERS; buyer++)
                if (fork() == 0) {
                        open_shop(&shop);
                        for (int result = 0; result == 0; shop.wanted = (shop.wanted + buyer + 1) % ITEMS)
                                must((result = xac_run(shop.env, 0, buy, &shop)) >= 0, "xac_run");
                        return xac_close(shop.env) ? EXIT_FAILURE : EXIT_SUCCESS;
                }
        open_shop(&shop);
        for (int status, child; (child = waitpid(-1, &status, WNOHANG)) >= 0; compare(&shop))
                must(child == 0 || status == 0, "a buyer");
        printf("%d buyers, %d orders: both files agreed at every look\n", BUYERS, compare(&shop));
        return xac_close(shop.env) ? EXIT_FAILURE : EXIT_SUCCESS;
}
