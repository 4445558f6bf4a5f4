// SPDX-License-Identifier: MIT

/*
 * Containers of Boost, as they are, in a heap by xac::allocator, and processes that are killed among them (deaths.h).
 * All of them hold the same words, each in its own way, so that they can be compared with each other and with what was
 * done.
 *
 * Compiled by xac-c++ (COMPILED) it takes no page fault.
 */

#include <memory>
#include <string_view>
#include <vector>

#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <boost/unordered_map.hpp>

#include <xac/xac.hpp>

#include "tests/cxx/cxx_test.h"
#include "tests/programs/deaths.h"

namespace
{

namespace bc = boost::container;

using text = bc::basic_string<char, std::char_traits<char>, xac::allocator<char>>;
template <typename T> using vector = bc::vector<T, xac::allocator<T>>;
template <typename K, typename V> using map = bc::map<K, V, std::less<K>, xac::allocator<std::pair<const K, V>>>;
template <typename K, typename V> using flat_map = bc::flat_map<K, V, std::less<K>, xac::allocator<std::pair<K, V>>>;
template <typename K, typename V>
using table = boost::unordered_map<K, V, boost::hash<K>, std::equal_to<K>, xac::allocator<std::pair<const K, V>>>;

constexpr std::size_t KEPT = 50;

struct shelf {
        map<text, long> count_of;
        table<text, long> table_of;
        flat_map<int, long> done;                                   /* by worker */
        map<int, vector<text>> words_of;                            /* by worker: its last ones */
        bc::list<text, xac::allocator<text>> newest;                /* of all */
        bc::deque<vector<char>, xac::allocator<vector<char>>> kept; /* the same */
};

struct world {
        world(const char *directory, int flags) : env(directory, flags), heap(env, "heap", XAC_CREATE)
        {
        }
        xac::environment env;
        xac::heap heap;
        shelf &all = *heap.find_or_construct<shelf>("shelf");
};

std::unique_ptr<world> opened;

std::string word_of(int number)
{
        char word[DEATHS_WORD_BYTES];
        deaths_word(number, word);
        return word;
}

void open_it(const char *directory, int flags)
{
        opened = std::make_unique<world>(directory, flags);
}

void close_it()
{
        check_faults(opened->env);
        opened->heap.close();
        opened->env.close();
        opened.reset();
}

/* ---- operations ---- */

void put(shelf &all, int worker, std::string_view word)
{
        const text key(word.data(), word.size());
        all.count_of[key]++;
        all.table_of.emplace(key, 0).first->second++;
        all.done[worker]++;
        auto &words = all.words_of[worker];
        words.push_back(key);
        if (words.size() > KEPT)
                words.erase(words.begin(), words.begin() + 7);
        all.newest.push_back(key);
        all.kept.emplace_back(word.begin(), word.end());
        if (all.newest.size() > KEPT) {
                all.newest.pop_front();
                all.kept.pop_front();
        }
}

/* A word leaves, and comes back at once. */
void move(shelf &all, std::string_view word)
{
        auto found = all.count_of.find(text(word.data(), word.size()));
        const long count = found->second;
        text key(found->first);
        all.count_of.erase(found);
        CHECK(all.table_of.erase(key) == 1);
        all.table_of.emplace(key, count);
        all.count_of.emplace(std::move(key), count);
}

void operate(int worker, uint64_t number)
{
        const std::string word = word_of(deaths_word_of(worker, number));
        if (deaths_draw(worker, number, 5) == 0)
                CHECK(throws<int>([&] {
                        xac::atomically(opened->env, [&] {
                                put(opened->all, worker, word);
                                throw 1;
                        });
                }));
        xac::atomically(opened->env, [&] {
                put(opened->all, worker, word);
                if (deaths_draw(worker, number, 3) == 0)
                        move(opened->all, word);
        });
}

uint64_t done(int worker)
{
        return xac::atomically(opened->env, XAC_RDONLY, [&] {
                const auto found = opened->all.done.find(worker);
                return found == opened->all.done.end() ? 0 : static_cast<uint64_t>(found->second);
        });
}

/* ---- what must be there ---- */

void compare_counts(const shelf &all, const std::vector<long> &counts)
{
        std::size_t different = 0;
        for (int i = 0; i < DEATHS_WORDS; i++) {
                const std::string word = word_of(i);
                long in_map = 0, in_table = 0;
                for (const auto &[key, count] : all.count_of)
                        in_map += key == word.c_str() ? count : 0;
                for (const auto &[key, count] : all.table_of)
                        in_table += key == word.c_str() ? count : 0;
                CHECK(in_map == counts[i] && in_table == counts[i]);
                different += counts[i] != 0;
        }
        CHECK(all.count_of.size() == different && all.table_of.size() == different);
}

void compare_lists(const shelf &all, const uint64_t *done_by)
{
        for (const auto &[worker, words] : all.words_of)
                for (std::size_t i = 0; i < words.size(); i++) {
                        const uint64_t number = done_by[worker] - words.size() + i;
                        CHECK(words[i] == word_of(deaths_word_of(worker, number)).c_str());
                }
        auto kept = all.kept.begin();
        for (const text &word : all.newest) {
                CHECK(std::string_view(word.data(), word.size()) == std::string_view(kept->data(), kept->size()));
                ++kept;
        }
        CHECK(kept == all.kept.end());
}

void compare(const uint64_t *done_by)
{
        std::vector<long> counts(DEATHS_WORDS);
        for (int worker = 0; worker < DEATHS_WORKERS; worker++)
                for (uint64_t number = 0; number < done_by[worker]; number++)
                        counts[deaths_word_of(worker, number)]++;
        xac::atomically(opened->env, XAC_RDONLY, [&] {
                compare_counts(opened->all, counts);
                compare_lists(opened->all, done_by);
        });
        deaths_check_heap(opened->heap.get());
}

} // namespace

int main()
{
        const deaths_program program = { open_it, close_it, operate, done, compare };
        return deaths_main(&program);
}
