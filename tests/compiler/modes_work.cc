/* SPDX-License-Identifier: MIT */

/*
 * Work in C++: exceptions that go through compiled frames with something to clean up in the area, and coroutines, whose
 * frames are in ordinary memory, and whose parameters and variables are in the area and out of it.
 */

#include "tests/compiler/modes.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

/* ---- exceptions ---- */

namespace
{

struct refusal {
        modes_node node;
        uint64_t *place;
};

/* Counts in the area who has left the frame. */
class guard
{
      public:
        explicit guard(modes_area &area, size_t at) : area(area), at(at)
        {
                area.table[at]++;
        }
        ~guard()
        {
                area.table[at] += 1000;
                area.counter++;
        }
        guard(const guard &) = delete;
        guard &operator=(const guard &) = delete;

      private:
        modes_area &area;
        size_t at;
};

} // namespace

__attribute__((noinline)) static uint64_t descend(modes_area &area, uint32_t at, unsigned depth)
{
        guard here(area, depth);
        modes_node &node = area.nodes[at];
        node.weight += depth + 1;
        if (depth == 40)
                throw refusal{ node, &area.table[at] };
        if (node.weight % 97 == 96)
                throw std::runtime_error(std::string(node.name) + area.text);
        return descend(area, (at * 5 + node.weight) % MODES_NODES, depth + 1) + node.next;
}

static uint64_t fall(modes_area &area, uint32_t at)
{
        try {
                return descend(area, at, 0);
        } catch (const refusal &caught) {
                *caught.place += caught.node.weight;
                return caught.node.next + *caught.place;
        } catch (const std::exception &caught) {
                strncpy(area.text, caught.what(), 20);
                return strlen(caught.what());
        }
}

/* ---- coroutines ---- */

#if defined(__cpp_impl_coroutine)
#include <coroutine>

namespace
{

struct numbers {
        struct promise_type {
                uint64_t value = 0;
                numbers get_return_object()
                {
                        return { std::coroutine_handle<promise_type>::from_promise(*this) };
                }
                std::suspend_always initial_suspend() noexcept
                {
                        return {};
                }
                std::suspend_always final_suspend() noexcept
                {
                        return {};
                }
                std::suspend_always yield_value(uint64_t given)
                {
                        value = given;
                        return {};
                }
                void return_void()
                {
                }
                [[noreturn]] void unhandled_exception()
                {
                        std::abort();
                }
        };
        std::coroutine_handle<promise_type> handle;
};

/* Suspends, goes on with itself at once, and sees what is at a place of the area by then. */
struct seen_later {
        const uint64_t *place;
        bool await_ready() const noexcept
        {
                return false;
        }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> self) const noexcept
        {
                return self;
        }
        uint64_t await_resume() const noexcept
        {
                return *place;
        }
};

} // namespace

static numbers each_node(modes_area &area, modes_node last)
{
        char names[32] = "";
        for (modes_node &node : area.nodes) {
                memcpy(names, node.name, sizeof(node.name));
                node.weight += (uint32_t)strlen(names) + last.weight;
                co_yield node.weight;
                node.share += 1;
                area.table[2] += co_await seen_later{ &area.table[1] };
                last = node;
                last.weight %= 7;
        }
}

static uint64_t sum_of_coroutines(modes_area &area)
{
        uint64_t sum = 0;
        numbers all = each_node(area, area.nodes[9]), others = each_node(area, area.nodes[3]);
        while (!all.handle.done()) {
                all.handle.resume();
                area.table[1] += sum;
                others.handle.resume();
                sum = sum * 3 + all.handle.promise().value + others.handle.promise().value;
        }
        all.handle.destroy();
        others.handle.destroy();
        return sum;
}
#elif defined(MODES_COROUTINES)
#error "no coroutines"
#else
static uint64_t sum_of_coroutines(modes_area &)
{
        return 0;
}
#endif

uint64_t modes_work(modes_area *area, uint64_t seed)
{
        uint64_t sum = seed;
        for (uint32_t i = 0; i < MODES_NODES; i++) {
                modes_node &node = area->nodes[i];
                node.next = (uint32_t)(i * 11 + seed) % MODES_NODES;
                node.weight += i;
                strcpy(node.name, "node");
        }
        for (uint32_t i = 0; i < 8; i++)
                sum = sum * 17 + fall(*area, i);
        return sum + sum_of_coroutines(*area);
}
