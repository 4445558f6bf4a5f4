// SPDX-License-Identifier: MIT

/*
 * How many inserts into Boost's maps of strings several processes make at once. A map writes its size in each insert,
 * so that those of two processes into one map conflict, and rightly; but keys are spread over many maps, each of which
 * lies on a page of its own. Two allocators: that of libxac's heap; and, with -DBOOSTS, that of Boost.Interprocess,
 * whose memory is then a view.
 *
 *     maps DIRECTORY PROCESSES MAPS BATCH MILLISECONDS KEYS      of which there are so many before
 *
 * Prints inserts a second of all together; conflicts and page faults for each transaction; and us of processor time for
 * each insert.
 */

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#ifdef BOOSTS
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/indexes/iset_index.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#endif

#include <xac/xac.hpp>

namespace
{

constexpr std::size_t MAPS_MAX = 256, PAGE = 4096, FILL_BATCH = 512, WARM_UP = 20;

/* ---- the two allocators ---- */

#ifdef BOOSTS

namespace ipc = boost::interprocess;
using buffer = ipc::basic_managed_external_buffer<char, ipc::rbtree_best_fit<ipc::null_mutex_family>, ipc::iset_index>;
template <typename T> using allocator = ipc::allocator<T, buffer::segment_manager>;
constexpr std::size_t VIEW_BYTES = std::size_t(1) << 30;

#else

template <typename T> using allocator = xac::allocator<T>;

#endif

using text = boost::container::basic_string<char, std::char_traits<char>, allocator<char>>;
using map = boost::container::map<text, uint64_t, std::less<text>, allocator<std::pair<const text, uint64_t>>>;

/* Alone on its page. */
struct page_of_map {
        template <typename Allocator> explicit page_of_map(const Allocator &its) : strings(std::less<text>(), its)
        {
        }
        map strings;
        char rest[PAGE - sizeof(map)];
};

/* At the same address in all processes. */
page_of_map *pages;

struct world {
        explicit world(const char *directory) : env(directory, XAC_CREATE | XAC_VOLATILE)
        {
                open();
        }
#ifdef BOOSTS
        void open()
        {
                memory = xac::view<char>(env, "boosts", VIEW_BYTES);
        }
        void make()
        {
                xac::atomically(env, [&] {
                        buffer made(ipc::create_only, memory.data(), VIEW_BYTES);
                        void *place = made.allocate_aligned(MAPS_MAX * PAGE, PAGE);
                        fill(place, allocator<char>(made.get_segment_manager()));
                });
        }
        void check()
        {
                xac::atomically(env, [&] {
                        buffer made(ipc::open_only, memory.data(), VIEW_BYTES);
                        if (!made.get_segment_manager()->check_sanity())
                                throw std::runtime_error("Boost's memory is damaged");
                });
        }
#else
        void open()
        {
                heap = xac::heap(env, "heap");
        }
        void make()
        {
                xac::atomically(env, [&] {
                        void *place = xac_heap_malloc(heap.get(), MAPS_MAX * PAGE);
                        if (!place)
                                throw std::bad_alloc();
                        fill(place, allocator<char>(heap));
                });
        }
        void check()
        {
                heap.check();
        }
#endif
        template <typename Allocator> static void fill(void *place, const Allocator &its)
        {
                pages = static_cast<page_of_map *>(place);
                for (std::size_t i = 0; i < MAPS_MAX; i++)
                        new (&pages[i]) page_of_map(its);
        }

        xac::environment env;
#ifdef BOOSTS
        xac::view<char> memory;
#else
        xac::heap heap;
#endif
};

/* ---- inserts ---- */

/* One for each number, the same each time (splitmix64, S. Vigna, 2015). */
uint64_t mixed(uint64_t number)
{
        uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
}

void insert(uint64_t number, std::size_t maps)
{
        char key[32];
        const uint64_t random = mixed(number);
        std::snprintf(key, sizeof(key), "a string that is %014llx", static_cast<unsigned long long>(random >> 8));
        map &strings = pages[random % maps].strings;
        strings.emplace(text(key, strings.get_allocator()), number);
}

/* Returns attempts. */
uint64_t insert_batch(const xac::environment &env, uint64_t first, std::size_t batch, std::size_t maps)
{
        uint64_t attempts = 0;
        xac::atomically(env, [&] {
                attempts++;
                for (std::size_t i = 0; i < batch; i++)
                        insert(first + i, maps);
        });
        return attempts;
}

/* ---- processes ---- */

struct {
        std::atomic<int> ready;
        std::atomic<uint64_t> inserts, transactions, attempts, cpu_ns;
} * all; /* in memory that they share */

using clock_type = std::chrono::steady_clock;

uint64_t cpu_ns()
{
        timespec used;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return uint64_t(used.tv_sec) * 1000000000 + uint64_t(used.tv_nsec);
}

void work(const char *directory, int process, int processes, std::size_t maps, std::size_t batch, long milliseconds)
{
        world mine(directory);
        uint64_t number = uint64_t(process + 1) << 32, attempts = 0, transactions = 0;
        for (uint64_t i = 0; i < WARM_UP; i++, number += batch)
                insert_batch(mine.env, number, batch, maps);
        for (all->ready++; all->ready < processes;)
                usleep(100);
        const uint64_t cpu_before = cpu_ns();
        const auto end = clock_type::now() + std::chrono::milliseconds(milliseconds);
        for (; clock_type::now() < end; transactions++, number += batch)
                attempts += insert_batch(mine.env, number, batch, maps);
        all->inserts += transactions * batch;
        all->transactions += transactions;
        all->attempts += attempts;
        all->cpu_ns += cpu_ns() - cpu_before;
}

uint64_t faults(const world &world)
{
        const xac_stats stats = world.env.stat();
        return stats.read_faults + stats.write_faults;
}

std::size_t count(world &world)
{
        return xac::atomically(world.env, XAC_RDONLY, [&] {
                std::size_t there = 0;
                for (std::size_t i = 0; i < MAPS_MAX; i++)
                        there += pages[i].strings.size();
                return there;
        });
}

} // namespace

int main(int argc, char **argv)
{
        if (argc != 7)
                return 2;
        const int processes = std::atoi(argv[2]);
        const std::size_t maps = std::strtoul(argv[3], nullptr, 10), batch = std::strtoul(argv[4], nullptr, 10);
        const long milliseconds = std::atol(argv[5]);
        const uint64_t keys = std::strtoul(argv[6], nullptr, 10) / FILL_BATCH * FILL_BATCH;
        all = static_cast<decltype(all)>(
                mmap(nullptr, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));

        world world(argv[1]);
        world.make();
        for (uint64_t i = 0; i < keys; i += FILL_BATCH)
                insert_batch(world.env, i, FILL_BATCH, maps);
        const uint64_t before = faults(world);
        for (int process = 0; process < processes; process++)
                if (fork() == 0) {
                        work(argv[1], process, processes, maps, batch, milliseconds);
                        std::_Exit(0);
                }
        for (int status; wait(&status) > 0;)
                if (status)
                        return 1;
        const double done = static_cast<double>(all->transactions);
        std::printf("%.0f %.4f %.2f %.3f\n",
                    static_cast<double>(all->inserts) * 1000 / static_cast<double>(milliseconds),
                    static_cast<double>(all->attempts) / done - 1, static_cast<double>(faults(world) - before) / done,
                    static_cast<double>(all->cpu_ns) / 1000 / static_cast<double>(all->inserts));
        world.check();
        return count(world) != keys + all->inserts + WARM_UP * batch * std::size_t(processes);
}
