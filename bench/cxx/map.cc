// SPDX-License-Identifier: MIT

/*
 * What a heap in a file costs a std::map<std::string, uint64_t>: random keys are inserted, so many in a transaction.
 * The same source is compiled twice: as it is, with -DPLAIN, for ordinary memory and std::allocator; and by xac-c++,
 * for xac::allocator. Each run is a program of its own, with new memory: bench/cxx/run lets them take turns.
 *
 *     map DIRECTORY RECORDS BATCH KEY_BYTES      prints nanoseconds for each insert, and each lookup
 */

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#ifndef PLAIN
#include <xac/xac.hpp>
#endif

namespace
{

#ifdef PLAIN

struct world {
        using map_type = std::map<std::string, uint64_t, std::less<>>;
        explicit world(const char *)
        {
        }
        template <typename F> void run(F body)
        {
                body();
        }
        map_type map;
};

#else

struct world {
        using map_type = xac::map<xac::string, uint64_t>;
        explicit world(const char *directory)
            : env(directory, XAC_CREATE | XAC_VOLATILE), heap(env, "heap", XAC_CREATE | XAC_SHARED),
              map(*heap.find_or_construct<map_type>("map"))
        {
        }
        template <typename F> void run(F body)
        {
                xac::atomically(env, body);
        }
        xac::environment env;
        xac::heap heap;
        map_type &map;
};

#endif

/* Such as "k00000004711", made longer in front. */
std::vector<std::string> make_keys(size_t count, size_t bytes)
{
        std::vector<std::string> keys;
        char text[256];
        for (size_t i = 0; i < count; i++) {
                std::snprintf(text, sizeof(text), "k%0*zu", static_cast<int>(bytes) - 1, i);
                keys.emplace_back(text);
        }
        std::shuffle(keys.begin(), keys.end(), std::minstd_rand(1));
        return keys;
}

template <typename F> double ns_each(world &world, size_t count, size_t batch, F body)
{
        const auto begun = std::chrono::steady_clock::now();
        for (size_t first = 0; first < count; first += batch)
                world.run([&] {
                        for (size_t i = first; i < first + batch && i < count; i++)
                                body(i);
                });
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begun).count() /
               static_cast<double>(count);
}

} // namespace

int main(int count, char **arguments)
{
        if (count != 5)
                return 2;
        const size_t records = std::strtoul(arguments[2], nullptr, 10), batch = std::strtoul(arguments[3], nullptr, 10);
        const auto keys = make_keys(records, std::strtoul(arguments[4], nullptr, 10));
        world world(arguments[1]);
        uint64_t found = 0;
        const double insert = ns_each(world, records, batch, [&](size_t i) { world.map.emplace(keys[i].c_str(), i); });
        const double lookup = ns_each(world, records, batch, [&](size_t i) {
                found += world.map.find(std::string_view(keys[i]))->second == i;
        });
        std::printf("%.1f %.1f\n", insert, lookup);
        return found != records;
}
