// SPDX-License-Identifier: MIT

/* Environments, views and transactions: values, exceptions, levels, races. */

#include <atomic>
#include <memory>
#include <stdexcept>
#include <sys/mman.h>

#include "tests/cxx/cxx_test.h"

namespace
{

constexpr size_t WORDS = 4096; /* eight pages of 512 */

struct world {
        xac::environment env{ place, XAC_CREATE | XAC_VOLATILE };
        xac::view<long> word{ env, "words", WORDS };

        long read(size_t i)
        {
                return xac::atomically(env, XAC_RDONLY, [&] { return word[i]; });
        }
};

/* Another process adds 100 to a word when it is told to. */
rival rival_at(size_t i)
{
        return rival([i](const std::function<void()> &await) {
                world theirs;
                await();
                xac::atomically(theirs.env, [&] { theirs.word[i] += 100; });
        });
}

void values_come_back()
{
        world world;
        xac::atomically(world.env, [&] { world.word[3] = 7; });
        CHECK(xac::atomically(world.env, [&] { return world.word[3]; }) == 7);
        CHECK(xac::atomically(world.env, [&] { return std::to_string(world.word[3]); }) == "7");
        auto copy = xac::atomically(world.env, [&]() -> long & { return world.word[3]; });
        static_assert(std::is_same_v<decltype(copy), long>);
        CHECK(copy == 7);
        auto moved = xac::atomically(world.env, [&] { return std::make_unique<long>(world.word[3]); });
        CHECK(*moved == 7);
        struct functor {
                int operator()() const
                {
                        return 4;
                }
        };
        CHECK(xac::atomically(world.env, functor()) == 4);
        CHECK(world.word.size() == WORDS && world.word.end() - world.word.begin() == WORDS);
        check_faults(world.env);
}

void exceptions_undo_what_the_body_wrote()
{
        world world;
        xac::atomically(world.env, [&] { world.word[0] = 1; });
        CHECK(throws<std::runtime_error>([&] {
                xac::atomically(world.env, [&] {
                        world.word[0] = 2;
                        world.word[1000] = 2;
                        throw std::runtime_error("undone");
                });
        }));
        CHECK(xac_txn_id(world.env.get()) == 0);
        CHECK(world.read(0) == 1 && world.read(1000) == 0);
        CHECK(throws<int>([&] { xac::atomically(world.env, xac::once([&] { world.word[0] = 2, throw 3; })); }));
        CHECK(world.read(0) == 1 && xac_txn_id(world.env.get()) == 0);
        CHECK(throws<std::bad_alloc>(
                [&] { xac::atomically(world.env, [&] { world.word[0] = 2, throw std::bad_alloc(); }); }));
        CHECK(world.read(0) == 1 && xac_txn_id(world.env.get()) == 0);
        check_faults(world.env);
}

void an_exception_in_a_level_undoes_that_level()
{
        world world;
        xac::atomically(world.env, [&] {
                world.word[0] = 1;
                world.word[600] = 1;
                bool is_thrown = throws<std::logic_error>([&] {
                        xac::atomically(world.env, [&] {
                                world.word[0] = 2;
                                world.word[1200] = 2;
                                xac::atomically(world.env, [&] { world.word[600] = 2; });
                                throw std::logic_error("the inner one");
                        });
                });
                CHECK(is_thrown && world.word[0] == 1 && world.word[600] == 1 && world.word[1200] == 0);
                int inner = xac::atomically(world.env, xac::once([&] { return world.word[600] = 3, 5; }));
                CHECK(inner == 5);
        });
        CHECK(world.read(0) == 1 && world.read(600) == 3 && world.read(1200) == 0);
        check_faults(world.env);
}

void who_loses_is_run_again()
{
        world world;
        rival other = rival_at(0);
        int tries = 0;
        long seen = xac::atomically(world.env, [&] {
                const long before = world.word[0];
                if (!tries++)
                        other.commit();
                world.word[0] = before + 1;
                return before;
        });
        CHECK(tries == 2 && seen == 100 && world.read(0) == 101);
        check_faults(world.env);
}

void once_is_not_run_again()
{
        world world;
        rival other = rival_at(0);
        int tries = 0;
        auto body = xac::once([&] {
                tries++;
                world.word[0]++;
                other.commit();
        });
        CHECK(throws<xac::conflict>([&] { xac::atomically(world.env, body); }));
        CHECK(tries == 1 && world.read(0) == 100);
        check_faults(world.env);
}

void a_level_that_lost_takes_the_whole_with_it()
{
        world world;
        rival other = rival_at(0);
        int tries = 0, inner_tries = 0;
        xac::atomically(world.env, [&] {
                world.word[600]++;
                const long before = world.word[0];
                if (!tries++)
                        other.commit();
                xac::atomically(world.env, [&] {
                        inner_tries++;
                        world.word[0] = before + 1;
                });
        });
        CHECK(tries == 2 && inner_tries == 2 && world.read(0) == 101 && world.read(600) == 1);
        check_faults(world.env);
}

/* The outcome of the snapshot that it saw; what it would have written is not there. */
void an_exception_is_not_repeated()
{
        world world;
        rival other = rival_at(0);
        int tries = 0;
        CHECK(throws<std::range_error>([&] {
                xac::atomically(world.env, [&] {
                        const long before = world.word[0]++;
                        if (!tries++)
                                other.commit();
                        if (before < 100)
                                throw std::range_error("not enough");
                });
        }));
        CHECK(tries == 1 && world.read(0) == 100);
}

void conflicts_of_another_environment_pass()
{
        world world;
        xac::environment second(place + ".second", XAC_CREATE | XAC_VOLATILE);
        rival other = rival_at(0);
        int tries = 0;
        CHECK(throws<xac::conflict>([&] {
                xac::atomically(second, [&] {
                        tries++;
                        xac::atomically(world.env, xac::once([&] {
                                                world.word[0]++;
                                                other.commit();
                                        }));
                });
        }));
        CHECK(tries == 1);
}

void errors_are_exceptions()
{
        CHECK(throws<xac::error>([] { xac::environment none(place + "/nothing/here", XAC_CREATE); }));
        try {
                xac::environment none(place, 0);
                CHECK(!"opened");
        } catch (const std::system_error &what) {
                CHECK(what.code() == std::errc::no_such_file_or_directory);
                CHECK(std::string(what.what()).find(place) == 0);
        }
        world world;
        CHECK(code_of([&] { xac::atomically(world.env, XAC_RDONLY, [&] { world.word[0] = 1; }); }) == XAC_WROTE);
        CHECK(code_of([&] { xac::atomically(world.env, XAC_DURABLE, [] {}); }) == -EINVAL);
        CHECK(code_of([&] { xac::atomically(world.env, XAC_DURABLE, xac::once([] {})); }) == -EINVAL);
        CHECK(code_of([&] { xac::view<int> none(world.env, "no/such", 1); }) == -EINVAL);
        CHECK(std::string(xac::error(XAC_FULL, "x").what()).find(xac_strerror(XAC_FULL)) != std::string::npos);
        CHECK(world.read(0) == 0);
}

/* libxac knows why there is no room; the body does not. */
void a_lost_transaction_says_why()
{
        xac_options options{};
        options.pool_bytes = 1 << 20;
        xac::environment env(place, XAC_CREATE | XAC_VOLATILE, &options);
        xac::view<long> word(env, "words", 1 << 20);
        CHECK(code_of([&] {
                      xac::atomically(env, [&] {
                              for (size_t i = 0; i < word.size(); i += 512)
                                      word[i] = 1;
                              throw std::bad_alloc();
                      });
              }) == XAC_FULL);
        CHECK(xac::atomically(env, [&] { return word[0]; }) == 0);
}

void waiting_ends_with_a_change()
{
        world world;
        auto *has_looked = static_cast<std::atomic<bool> *>(
                mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        CHECK(has_looked != MAP_FAILED);
        process other([has_looked] {
                struct world theirs;
                while (!*has_looked)
                        usleep(1000);
                usleep(20000); /* it sleeps by then, most times */
                xac::atomically(theirs.env, [&] { theirs.word[5] = 1; });
        });
        int tries = 0;
        xac::atomically(world.env, [&] {
                tries++;
                xac::atomically(world.env, [&] { /* also from an inner level */
                                                 if (!world.word[5]) {
                                                         *has_looked = true;
                                                         xac::wait_for_change(world.env);
                                                 }
                });
                world.word[5] = 2;
        });
        other.must_succeed();
        munmap(has_looked, 4096);
        CHECK(tries >= 2 && world.read(5) == 2);
        const timespec moment{ 0, 1000000 };
        CHECK(code_of([&] {
                      xac::atomically(world.env, [&] {
                              if (world.word[5] != 3)
                                      xac::wait_for_change(world.env, &moment);
                      });
              }) == -ETIMEDOUT);
        check_faults(world.env);
}

void owners_move()
{
        xac::environment env(place, XAC_CREATE | XAC_VOLATILE), none;
        xac::environment other(std::move(env));
        CHECK(!env && other && !none);
        env = std::move(other);
        CHECK(env && !other);
        xac::view<long> first(env, "words", 512);
        xac::view<long> second(std::move(first)), third;
        CHECK(!first.data() && second.data() && !third.data());
        third = std::move(second);
        xac::atomically(env, [&] { third[1] = 1; });
        third = xac::view<long>();
        env.close();
        CHECK(!env);
        env.close();
}

} // namespace

int main(int count, char **arguments)
{
        const test tests[] = {
                TEST(values_come_back),
                TEST(exceptions_undo_what_the_body_wrote),
                TEST(an_exception_in_a_level_undoes_that_level),
                TEST(who_loses_is_run_again),
                TEST(once_is_not_run_again),
                TEST(a_level_that_lost_takes_the_whole_with_it),
                TEST(an_exception_is_not_repeated),
                TEST(conflicts_of_another_environment_pass),
                TEST(errors_are_exceptions),
                TEST(a_lost_transaction_says_why),
                TEST(waiting_ends_with_a_change),
                TEST(owners_move),
        };
        return count == 2 ? run_tests(arguments[1], tests) : 2;
}
