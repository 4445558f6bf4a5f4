// SPDX-License-Identifier: MIT

/*
 * Containers of the standard library in a view that a second thread has, too: std::map, std::set, std::list, std::vector,
 * std::unordered_map and std::basic_string, whose code lies partly in libstdc++.so, against others in ordinary memory. An
 * access that is not translated ends the program. Aborts by exceptions.
 */

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>

#include <xac/xac.h>

namespace {

constexpr size_t BYTES = size_t(1) << 24;

xac_env *env;

/* Memory of the view, with lists of what was given back, by size: everything is in the view and undone with it. */
struct heap {
        size_t used;
        void *free[64];

        void *take(size_t bytes)
        {
                const size_t units = (bytes + 15) / 16;
                if (units < 64 && free[units]) {
                        void *taken = free[units];
                        free[units] = *static_cast<void **>(taken);
                        return taken;
                }
                void *taken = reinterpret_cast<char *>(this) + used;
                used += units * 16;
                if (used > BYTES)
                        throw std::bad_alloc();
                return taken;
        }

        void give(void *taken, size_t bytes)
        {
                const size_t units = (bytes + 15) / 16;
                if (units >= 64)
                        return;
                *static_cast<void **>(taken) = free[units];
                free[units] = taken;
        }
};

heap *in_view;

template <typename T> struct view_allocator {
        using value_type = T;
        view_allocator() = default;
        template <typename U> view_allocator(const view_allocator<U> &)
        {
        }
        T *allocate(size_t count)
        {
                return static_cast<T *>(in_view->take(count * sizeof(T)));
        }
        void deallocate(T *taken, size_t count)
        {
                in_view->give(taken, count * sizeof(T));
        }
        bool operator==(const view_allocator &) const
        {
                return true;
        }
        bool operator!=(const view_allocator &) const
        {
                return false;
        }
};

using text = std::basic_string<char, std::char_traits<char>, view_allocator<char>>;

struct text_hash {
        size_t operator()(const text &key) const
        {
                return std::_Hash_bytes(key.data(), key.size(), 7);
        }
};

struct everything {
        std::map<text, int, std::less<text>, view_allocator<std::pair<const text, int>>> map;
        std::set<int, std::less<int>, view_allocator<int>> set;
        std::list<int, view_allocator<int>> list, other_list;
        std::vector<int, view_allocator<int>> vector;
        std::unordered_map<text, int, text_hash, std::equal_to<text>, view_allocator<std::pair<const text, int>>> table;
};

struct ordinary {
        std::map<std::string, int> map;
        std::set<int> set;
        std::list<int> list, other_list;
        std::vector<int> vector;
        std::unordered_map<std::string, int> table;
};

everything *ours;
ordinary theirs;
std::mt19937 random_numbers(1);

unsigned draw(unsigned below)
{
        return random_numbers() % below;
}

std::string random_key()
{
        return "key " + std::to_string(draw(300)) + (draw(3) ? "" : " which is longer than what fits into a string itself");
}

/* The same to both. */
template <typename F> void both(F change)
{
        change(*ours);
        change(theirs);
}

void change_something()
{
        const std::string key = random_key();
        const int number = static_cast<int>(draw(500));
        switch (draw(12)) {
        case 0:
        case 1:
                ours->map[text(key.c_str())] = number;
                theirs.map[key] = number;
                return;
        case 2:
                ours->map.erase(text(key.c_str()));
                theirs.map.erase(key);
                return;
        case 3:
        case 4:
                ours->table[text(key.c_str())] += number;
                theirs.table[key] += number;
                return;
        case 5:
                ours->table.erase(text(key.c_str()));
                theirs.table.erase(key);
                return;
        case 6:
                return both([number](auto &all) { all.set.insert(number), all.set.insert(number * 3 % 500); });
        case 7:
                return both([number](auto &all) { all.set.erase(number); });
        case 8:
                return both([number](auto &all) { number % 2 ? all.list.push_back(number) : all.list.push_front(number); });
        case 9:
                return both([number](auto &all) {
                        all.other_list.push_back(number);
                        all.list.splice(all.list.begin(), all.other_list);
                        all.list.remove(number + 1);
                });
        case 10:
                return both([number](auto &all) {
                        all.list.reverse();
                        all.list.swap(all.other_list);
                        if (number % 5 == 0)
                                all.list.sort();
                });
        default:
                return both([number](auto &all) {
                        all.vector.insert(all.vector.begin() + static_cast<long>(all.vector.size() / 2), number);
                        if (all.vector.size() > 200) {
                                std::sort(all.vector.begin(), all.vector.end());
                                all.vector.resize(20);
                        }
                });
        }
}

const char *difference()
{
        if (ours->map.size() != theirs.map.size() || ours->table.size() != theirs.table.size())
                return "sizes";
        auto it = theirs.map.begin();
        for (auto &[key, value] : ours->map) {
                if (it->first != key.c_str() || it->second != value)
                        return "map";
                ++it;
        }
        auto last = theirs.map.rbegin();
        for (auto own = ours->map.rbegin(); own != ours->map.rend(); ++own, ++last)
                if (last->second != own->second)
                        return "map, backwards";
        for (auto &[key, value] : theirs.table) {
                auto found = ours->table.find(text(key.c_str()));
                if (found == ours->table.end() || found->second != value)
                        return "table";
        }
        if (!std::equal(ours->set.begin(), ours->set.end(), theirs.set.begin(), theirs.set.end()))
                return "set";
        if (!std::equal(ours->list.begin(), ours->list.end(), theirs.list.begin(), theirs.list.end()))
                return "list";
        if (!std::equal(ours->vector.begin(), ours->vector.end(), theirs.vector.begin(), theirs.vector.end()))
                return "vector";
        return nullptr;
}

int make(void *)
{
        in_view->used = sizeof(heap);
        ours = new (in_view->take(sizeof(everything))) everything;
        return 0;
}

int change(void *)
{
        for (int i = 0; i < 50; i++)
                change_something();
        return 0;
}

int change_and_throw(void *)
{
        for (int i = 0; i < 20; i++)
                ours->map[text(random_key().c_str())] = -1;
        ours->list.clear();
        throw std::runtime_error("undone");
}

int compare(void *)
{
        const char *what = difference();
        if (what)
                std::printf("differs: %s\n", what);
        return what != nullptr;
}

void must(int err)
{
        if (!err)
                return;
        std::printf("%s\n", err > 0 ? "failed" : xac_strerror(err));
        std::exit(1);
}

void *map_view()
{
        void *view = xac_mmap(env, "heap", BYTES, XAC_SHARED);
        if (view == MAP_FAILED)
                must(1);
        return view;
}

} // namespace

int main(int count, char **arguments)
{
        if (count != 2)
                return 2;
        must(xac_open(arguments[1], XAC_CREATE | XAC_VOLATILE, nullptr, &env));
        in_view = static_cast<heap *>(map_view());
        std::mutex mutex;
        std::condition_variable changed;
        bool is_there = false, is_done = false;
        std::thread other([&] {
                map_view();
                std::unique_lock<std::mutex> lock(mutex);
                is_there = true;
                changed.notify_all();
                changed.wait(lock, [&] { return is_done; });
        });
        {
                std::unique_lock<std::mutex> lock(mutex);
                changed.wait(lock, [&] { return is_there; });
        }
        must(xac_run(env, 0, make, nullptr));
        for (int round = 0; round < 200; round++) {
                must(xac_run(env, 0, change, nullptr));
                bool is_thrown = false;
                try {
                        xac_run(env, 0, change_and_throw, nullptr);
                } catch (const std::runtime_error &) {
                        is_thrown = true;
                }
                must(!is_thrown);
                must(xac_run(env, 0, compare, nullptr)); /* long keys need memory of the view */
        }
        {
                std::unique_lock<std::mutex> lock(mutex);
                is_done = true;
                changed.notify_all();
        }
        other.join();
        xac_stats stats;
        must(xac_stat(env, &stats));
        std::printf("%zu in the map, %zu in the table, %llu faults\n", theirs.map.size(), theirs.table.size(),
                    static_cast<unsigned long long>(stats.read_faults + stats.write_faults));
        must(stats.read_faults + stats.write_faults != 0);
        must(xac_close(env));
        return 0;
}
