// SPDX-License-Identifier: MIT

/*
 * A map of strings in a heap of a durable environment, and several processes that change it, throw some of it away by
 * exceptions, and are killed at random: all at once, and every third time the machine dies with them, as far as
 * memory goes. What a process does in its n-th transaction follows from n, which it notes in the same transaction. So a
 * std::map elsewhere says what must be there, and each process tells what it was promised.
 */

#include <atomic>
#include <random>

#include <csignal>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/cxx/cxx_test.h"

namespace
{

#ifdef COMPILED
constexpr int FLAGS = XAC_CREATE | XAC_SHARED;
#else
constexpr int FLAGS = XAC_CREATE;
#endif

constexpr unsigned PROCESSES = 3, ROUNDS = 20, WORDS = 60, SHARED_WORDS = 7;
const char shared_prefix[] = "shared by all ";

struct counts {
        xac::map<xac::string, long> of_word;
        long done[PROCESSES] = {};
};

struct world {
        xac::environment env{ place, XAC_CREATE };
        xac::heap heap{ env, "heap", FLAGS };
        counts &all = *heap.find_or_construct<counts>("counts");
};

/* Some fit into a string itself, others do not. */
std::string word_of(unsigned who, unsigned n)
{
        const std::string word = std::to_string(who) + "/" + std::to_string(n);
        return n % 3 ? word : word + " is a word that is longer than what fits into a string itself";
}

/* What a process does to its own words in its n-th transaction. */
template <typename Map> void change(Map &map, unsigned who, long n)
{
        std::minstd_rand random(static_cast<unsigned>(n) * PROCESSES + who + 1);
        for (int i = 0; i < 5; i++) {
                const typename Map::key_type word(word_of(who, random() % WORDS).c_str());
                if (random() % 3 == 0)
                        map.erase(word);
                else
                        map[word] += n;
        }
}

/* In memory that processes share. */
struct promises {
        std::atomic<long> told[PROCESSES];
} * promised;

void count_one(world &world, unsigned who, bool is_thrown)
{
        long n = 0;
        try {
                xac::atomically(world.env, [&] {
                        n = ++world.all.done[who];
                        change(world.all.of_word, who, n);
                        const std::string shared = shared_prefix + std::to_string(n % SHARED_WORDS);
                        world.all.of_word[xac::string(shared.c_str())]++;
                        if (is_thrown)
                                throw is_thrown;
                });
                promised->told[who] = n;
        } catch (bool) {
        }
}

/* Until it is killed. */
void work(unsigned who, unsigned seed)
{
        std::minstd_rand random(seed);
        world world;
        for (;;)
                count_one(world, who, random() % 8 == 0);
}

/* All that the map has but the words that are shared, of which there is one for each transaction. */
void compare(const counts &all)
{
        std::map<std::string, long> expected;
        long sum = 0, shared = 0;
        for (unsigned who = 0; who < PROCESSES; who++) {
                for (long n = 1; n <= all.done[who]; n++)
                        change(expected, who, n);
                sum += all.done[who];
        }
        auto next = expected.begin();
        for (const auto &[word, count] : all.of_word) {
                if (std::string_view(word).substr(0, sizeof(shared_prefix) - 1) == shared_prefix) {
                        shared += count;
                } else {
                        CHECK(next != expected.end() && next->first == word.c_str() && next->second == count);
                        ++next;
                }
        }
        CHECK(next == expected.end() && shared == sum);
}

/* In a process of its own, as the next program would be. Nobody has more than he was told but the one that he died in.
 */
void audit()
{
        world world;
        world.heap.check();
        xac::atomically(world.env, XAC_RDONLY, [&] {
                compare(world.all);
                for (unsigned who = 0; who < PROCESSES; who++) {
                        const long done = world.all.done[who], told = promised->told[who];
                        CHECK(done == told || done == told + 1);
                }
        });
        for (unsigned who = 0; who < PROCESSES; who++)
                promised->told[who] = xac::atomically(world.env, XAC_RDONLY, [&] { return world.all.done[who]; });
        check_faults(world.env);
}

/* What is not on disk is gone. */
void remove_shared_memory()
{
        struct stat st;
        CHECK(stat(place.c_str(), &st) == 0);
        for (const char *part : { "control", "heads", "pool" }) {
                char path[128];
                std::snprintf(path, sizeof(path), "/dev/shm/xac.%jx.%jx.%s", uintmax_t(st.st_dev), uintmax_t(st.st_ino),
                              part);
                unlink(path);
        }
}

void kill_all(std::vector<std::unique_ptr<process>> &crowd)
{
        for (auto &one : crowd)
                kill(one->id, SIGKILL);
        for (auto &one : crowd) {
                int status;
                CHECK(waitpid(one->id, &status, 0) == one->id && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        }
}

/* Of how many transactions they were told. */
long told_of()
{
        long sum = 0;
        for (unsigned who = 0; who < PROCESSES; who++)
                sum += promised->told[who];
        return sum;
}

void leave_nothing()
{
        world world;
        const long sum = told_of();
        CHECK(sum > 0);
        std::printf("%ld transactions in %u rounds\n", sum, ROUNDS);
        std::fflush(stdout);
        world.heap.destroy<counts>("counts");
        CHECK(world.heap.check().live_objects == 0);
}

void all_die_at_once()
{
        const char *given = std::getenv("XAC_TEST_SEED");
        const unsigned seed = given ? unsigned(std::strtoul(given, nullptr, 10)) : unsigned(getpid());
        std::printf("seed %u (XAC_TEST_SEED replays it)\n", seed);
        std::fflush(stdout);
        std::minstd_rand random(seed + 1);
        promised = static_cast<promises *>(
                mmap(nullptr, sizeof(promises), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        CHECK(promised != MAP_FAILED);
        /* More rounds, and longer ones, where so busy that nobody has come to the end of a transaction. */
        for (unsigned round = 0; round < ROUNDS || (told_of() == 0 && round < 5 * ROUNDS); round++) {
                std::vector<std::unique_ptr<process>> crowd;
                for (unsigned who = 0; who < PROCESSES; who++) {
                        const unsigned own = unsigned(random());
                        crowd.push_back(std::make_unique<process>([=] { work(who, own); }));
                }
                usleep((10000 + random() % 80000) * (1 + round / ROUNDS));
                kill_all(crowd);
                if (round % 3 == 2)
                        remove_shared_memory();
                process(audit).must_succeed();
        }
        process(leave_nothing).must_succeed();
        munmap(promised, sizeof(promises));
}

} // namespace

int main(int count, char **arguments)
{
        const test tests[] = { TEST(all_die_at_once) };
        return count == 2 ? run_tests(arguments[1], tests) : 2;
}
