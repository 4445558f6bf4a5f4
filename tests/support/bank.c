/* SPDX-License-Identifier: MIT */
#include "tests/support/bank.h"

#include <stdatomic.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/seat.h"

size_t bank_word(unsigned account)
{
        return seat_word(account / 3, account % 3 * 170);
}

void bank_fill(int way)
{
        seat_take((uint64_t)way);
        run_until_committed(seat.env, 0) for (unsigned i = 0; i < BANK_ACCOUNTS; i++)
                seat_put(bank_word(i), BANK_BALANCE);
        seat_leave(0);
}

void bank_audit(void)
{
        uint64_t total = 0;

        for (unsigned i = 0; i < BANK_ACCOUNTS; i++)
                total += seat_get(bank_word(i));
        check_equal(total, (uint64_t)BANK_ACCOUNTS * BANK_BALANCE);
}

/* Some try another transfer inside and undo it; some look at the whole bank in between. */
static void transfer(struct chance *chance, int64_t *change)
{
        unsigned from = (unsigned)chance_below(chance, BANK_ACCOUNTS);
        unsigned to = (from + 1 + (unsigned)chance_below(chance, BANK_ACCOUNTS - 1)) % BANK_ACCOUNTS;
        uint64_t amount = 1 + chance_below(chance, 50);
        unsigned extra = (unsigned)chance_below(chance, 16);

        run_until_committed(seat.env, 0)
        {
                seat_put(bank_word(from), seat_get(bank_word(from)) - amount);
                if (extra == 0) {
                        check_ok(xbegin(seat.env, 0));
                        seat_put(bank_word(to), 0);
                        seat_put(bank_word((to + 5) % BANK_ACCOUNTS), 12345);
                        check_ok(xabort(seat.env));
                }
                seat_put(bank_word(to), seat_get(bank_word(to)) + amount);
                if (extra == 1)
                        bank_audit();
        }
        change[from] -= (int64_t)amount;
        change[to] += (int64_t)amount;
}

void bank_member(int index, void *bank_)
{
        struct bank *bank = bank_;
        struct chance chance = { chance_mix(bank->seed + (uint64_t)index) };

        seat_take((uint64_t)bank->way);
        for (int i = 0; index < bank->tellers && i < bank->transfers; i++)
                transfer(&chance, bank->change[index]);
        if (index < bank->tellers)
                crew_turn_pass(&bank->tellers_done);
        do {
                check_ok(xbegin(seat.env, XAC_RDONLY));
                bank_audit();
                check_ok(xend(seat.env));
        } while (index >= bank->tellers && atomic_load(&bank->tellers_done.number) < (uint32_t)bank->tellers);
        seat_leave(0);
}

void bank_check(const struct bank *bank)
{
        seat_take((uint64_t)bank->way);
        for (unsigned i = 0; i < BANK_ACCOUNTS; i++) {
                int64_t balance = BANK_BALANCE;

                for (int member = 0; member < BANK_MEMBERS_MAX; member++)
                        balance += bank->change[member][i];
                check_equal(seat_commit_get(bank_word(i)), balance);
        }
        seat_leave(0);
}
