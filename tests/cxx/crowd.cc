// SPDX-License-Identifier: MIT

/*
 * Many at once: processes that change containers in one heap, processes that are killed meanwhile, and, compiled by
 * xac-c++, threads. For each word the table has how often it was counted; the list has each count, too, and the total
 * is what all have counted.
 */

#include <atomic>
#include <random>
#include <thread>

#include <csignal>

#include "tests/cxx/cxx_test.h"

namespace
{

#ifdef COMPILED
constexpr int FLAGS = XAC_CREATE | XAC_SHARED;
#else
constexpr int FLAGS = XAC_CREATE;
#endif

struct counts {
        xac::map<xac::string, long> of_word;
        xac::unordered_map<xac::string, long> table;
        xac::deque<xac::string> last;
        xac::vector<xac::string> kept;
        long total = 0;
};

struct world {
        xac::environment env{ place, XAC_CREATE | XAC_VOLATILE };
        xac::heap heap{ env, "heap", FLAGS };
        counts &all = *heap.find_or_construct<counts>("counts");
};

class counter
{
public:
        explicit counter(unsigned seed) : random(seed)
        {
        }
        /* One transaction; it throws away now and then what it did. */
        bool count_some(world &world)
        {
                const auto before = random;
                try {
                        xac::atomically(world.env, [&] {
                                random = before;
                                for (int i = 0; i < 5; i++)
                                        count_one(world.all);
                                if (random() % 8 == 0)
                                        throw false;
                        });
                        return true;
                } catch (bool) {
                        return false;
                }
        }

private:
        void count_one(counts &all)
        {
                xac::string word(("word " + std::to_string(random() % 200)).c_str());
                if (random() % 3 == 0)
                        word += " which is longer than what fits into a string itself";
                all.of_word[word]++;
                all.table[word]++;
                all.total++;
                all.last.push_back(word);
                if (all.last.size() > 40) {
                        all.kept.push_back(std::move(all.last.front()));
                        all.last.pop_front();
                }
                if (all.kept.size() > 300) {
                        forget(all, random() % all.kept.size());
                        all.kept.erase(all.kept.begin(), all.kept.begin() + 30);
                }
        }
        /* A word leaves, and comes back at once. */
        static void forget(counts &all, size_t i)
        {
                auto found = all.of_word.find(all.kept[i]);
                const long count = found->second;
                xac::string word = found->first;
                all.of_word.erase(found);
                all.table.erase(word);
                all.of_word.emplace(word, count);
                all.table.emplace(word, count);
        }

        std::minstd_rand random;
};

void check_counts(world &world)
{
        xac::atomically(world.env, XAC_RDONLY, [&] {
                long total = 0;
                const xac::string *before = nullptr;
                for (const auto &[word, count] : world.all.of_word) {
                        CHECK(!before || *before < word);
                        auto found = world.all.table.find(word);
                        CHECK(found != world.all.table.end() && found->second == count);
                        before = &word;
                        total += count;
                }
                CHECK(total == world.all.total && world.all.table.size() == world.all.of_word.size());
                for (const xac::string &word : world.all.last)
                        CHECK(world.all.of_word.count(word));
                for (const xac::string &word : world.all.kept)
                        CHECK(world.all.of_word.count(word));
        });
        world.heap.check();
}

long total(world &world)
{
        return xac::atomically(world.env, XAC_RDONLY, [&] { return world.all.total; });
}

void leave_nothing(world &world)
{
        check_counts(world);
        world.heap.destroy<counts>("counts");
        CHECK(world.heap.check().live_objects == 0);
}

void processes_count_at_once()
{
        constexpr int PROCESSES = 4, TRANSACTIONS = 300;
        auto work = [](unsigned seed) {
                world world;
                counter counter(seed);
                for (int done = 0; done < TRANSACTIONS;)
                        done += counter.count_some(world);
                check_faults(world.env);
        };
        {
                std::vector<std::unique_ptr<process>> crowd;
                for (unsigned i = 0; i < PROCESSES; i++)
                        crowd.push_back(std::make_unique<process>([=] { work(i + 1); }));
                for (auto &one : crowd)
                        one->must_succeed();
        }
        world world;
        CHECK(total(world) == 5 * PROCESSES * TRANSACTIONS);
        leave_nothing(world);
}

/* Each says what it has done in a word that all see. */
void processes_die()
{
        constexpr int PROCESSES = 3, ROUNDS = 12;
        auto *acknowledged = static_cast<std::atomic<long> *>(
                mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        world world;
        auto work = [acknowledged](unsigned seed) {
                struct world theirs;
                counter counter(seed);
                for (;;)
                        *acknowledged += counter.count_some(theirs) ? 5 : 0;
        };
        for (unsigned round = 0; round < ROUNDS; round++) {
                std::vector<std::unique_ptr<process>> crowd;
                for (unsigned i = 0; i < PROCESSES; i++)
                        crowd.push_back(std::make_unique<process>([=] { work(round * PROCESSES + i); }));
                for (auto &one : crowd) {
                        usleep(20000 + round * 1000);
                        kill(one->id, SIGKILL);
                        check_counts(world);
                }
                for (auto &one : crowd)
                        waitpid(one->id, nullptr, 0);
                check_counts(world);
                CHECK(total(world) >= *acknowledged &&
                      total(world) <= *acknowledged + long(5 * PROCESSES * (round + 1)));
        }
        std::printf("%ld counted\n", total(world));
        leave_nothing(world);
        munmap(acknowledged, 4096);
}

#ifdef COMPILED

void threads_count_at_once()
{
        constexpr int THREADS = 4, TRANSACTIONS = 300;
        std::atomic<long> acknowledged{ 0 };
        std::vector<std::thread> crowd;
        for (unsigned i = 0; i < THREADS; i++)
                crowd.emplace_back([i, &acknowledged] {
                        world world;
                        counter counter(i + 1);
                        for (int done = 0; done < TRANSACTIONS;)
                                done += counter.count_some(world);
                        acknowledged += 5 * TRANSACTIONS;
                        check_faults(world.env);
                });
        for (auto &one : crowd)
                one.join();
        world world;
        CHECK(total(world) == acknowledged);
        leave_nothing(world);
}

#endif

} // namespace

int main(int count, char **arguments)
{
        const test tests[] = {
                TEST(processes_count_at_once),
                TEST(processes_die),
#ifdef COMPILED
                TEST(threads_count_at_once),
#endif
        };
        return count == 2 ? run_tests(arguments[1], tests) : 2;
}
