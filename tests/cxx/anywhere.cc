// SPDX-License-Identifier: MIT

/* Heaps that lie elsewhere in each thread: xac::offset_ptr, and what takes it. */

#include <algorithm>
#include <numeric>
#include <queue>
#include <thread>

#include "tests/cxx/cxx_test.h"

#if __has_include(<boost/container/map.hpp>)
#define WITH_BOOST
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#endif

namespace
{

struct base {
        int number = 1;
};

struct derived : base {
};

void pointers_are_pointers()
{
        int many[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
        xac::offset_ptr<int> first(many), second = first + 3, none;
        CHECK(!none && none == nullptr && first && first.get() == many && *second == 3);
        CHECK(second - first == 3 && first < second && second >= first && second[2] == 5 && first != second);
        CHECK(*second++ == 3 && *second == 4 && *--second == 3 && *(second -= 2) == 1);
        xac::offset_ptr<const int> reads = second;
        CHECK(*reads == 1 && reads == second);
        xac::offset_ptr<void> untyped = second;
        CHECK(xac::offset_ptr<int>(untyped) == second);
        derived object;
        xac::offset_ptr<derived> leaf = std::pointer_traits<xac::offset_ptr<derived>>::pointer_to(object);
        xac::offset_ptr<base> root = leaf;
        CHECK(root->number == 1 && xac::offset_ptr<derived>(root) == leaf);
        root = nullptr;
        CHECK(!root);
        struct self {
                xac::offset_ptr<self> me{ this };
        } one;
        CHECK(one.me.get() == &one);
        std::sort(first, first + 10, [](int a, int b) { return a > b; });
        CHECK(many[0] == 9 && std::accumulate(first, first + 10, 0) == 45);
}

/* ---- in a file ---- */

struct node {
        xac::offset_ptr<node> next;
        int number;
};

using text = xac::offset_vector<char>;

struct content {
        xac::offset_vector<int> numbers;
        xac::offset_vector<text> texts;
        xac::offset_deque<text> queue;
        text last;
        xac::offset_ptr<node> list;
#ifdef WITH_BOOST
        template <typename T> using allocator = xac::offset_allocator<T>;
        using string = boost::container::basic_string<char, std::char_traits<char>, allocator<char>>;
        boost::container::map<int, string, std::less<>, allocator<std::pair<const int, string>>> map;
        boost::container::list<int, allocator<int>> numbers_listed;
        boost::container::vector<string, allocator<string>> strings;
#endif
};

std::string text_of(int i)
{
        return "text " + std::to_string(i) + (i % 2 ? " which is longer than what fits into a string itself" : "");
}

struct world {
        xac::environment env{ place, XAC_CREATE | XAC_VOLATILE };
        xac::heap heap{ env, "heap", XAC_CREATE | XAC_ANYWHERE };
        content &all = *heap.find_or_construct<content>("content");
};

void add(world &world, int i)
{
        content &all = world.all;
        all.numbers.push_back(i);
        const std::string text_here = text_of(i);
        all.texts.emplace_back(text_here.begin(), text_here.end());
        all.texts.insert(all.texts.begin(), text(text_here.begin(), text_here.end()));
        all.queue.emplace_back(text_here.begin(), text_here.end());
        if (i % 3 == 0)
                all.queue.pop_front();
        all.last.assign(text_here.begin(), text_here.end());
        node *made = world.heap.construct<node>(xac::anonymous);
        made->number = i;
        made->next = all.list;
        all.list = made;
#ifdef WITH_BOOST
        all.map.emplace(i, text_of(i).c_str());
        all.numbers_listed.push_back(i);
        all.strings.emplace_back(text_of(i).c_str());
#endif
}

bool is_text(const text &there, int i)
{
        const std::string expected = text_of(i);
        return std::equal(there.begin(), there.end(), expected.begin(), expected.end());
}

void check_all(const content &all, int count)
{
        int last = count;
        CHECK(all.numbers.size() == size_t(count) && all.texts.size() == size_t(count) * 2);
        for (int i = 0; i < count; i++)
                CHECK(all.numbers[size_t(i)] == i && is_text(all.texts[size_t(count + i)], i));
        CHECK(is_text(all.queue.back(), count - 1) && is_text(all.last, count - 1));
        for (const node *at = all.list.get(); at; at = at->next.get())
                CHECK(at->number == --last);
        CHECK(last == 0);
#ifdef WITH_BOOST
        for (const auto &[number, string] : all.map)
                CHECK(number == last++ && string == text_of(number).c_str());
        CHECK(last == count && all.numbers_listed.back() == count - 1);
        CHECK(all.strings.back() == text_of(count - 1).c_str());
#endif
}

/* Each thread sees the file elsewhere. */
void go_on(int first, int count, uintptr_t *seen_at)
{
        world world;
        *seen_at = reinterpret_cast<uintptr_t>(&world.all);
        for (int i = first; i < first + count; i++)
                xac::atomically(world.env, [&] { add(world, i); });
        xac::atomically(world.env, XAC_RDONLY, [&] { check_all(world.all, first + count); });
}

void content_is_right_wherever_it_lies()
{
        world world;
        uintptr_t seen_at[4];
        seen_at[0] = reinterpret_cast<uintptr_t>(&world.all);
        for (int i = 0; i < 3; i++) {
                std::thread(go_on, i * 100, 100, &seen_at[i + 1]).join();
                CHECK(seen_at[i + 1] != seen_at[0]);
        }
        xac::atomically(world.env, XAC_RDONLY, [&] { check_all(world.all, 300); });
        xac::atomically(world.env, [&] {
                for (xac::offset_ptr<node> at = world.all.list; at;) {
                        node *gone = at.get();
                        at = gone->next;
                        world.heap.destroy_ptr(gone);
                }
        });
        world.heap.destroy<content>("content");
        CHECK(world.heap.check().live_objects == 0);
        check_faults(world.env);
}

/* ---- what leads to its elements by plain pointers ---- */

/* Words of the file that are addresses in it. */
int count_pointers(world &world)
{
        const auto first = reinterpret_cast<uintptr_t>(xac_heap_address(world.heap.get(), 16)) - 16;
        const uint64_t words = world.heap.check().file_bytes / sizeof(uintptr_t);
        return xac::atomically(world.env, XAC_RDONLY, [&] {
                const auto *word = reinterpret_cast<const uintptr_t *>(first);
                int found = 0;
                for (uint64_t i = 0; i < words; i++)
                        found += word[i] - first < words * sizeof(*word);
                return found;
        });
}

/* What the table in <xac/containers.hpp> calls right with this library. */
struct every_container {
        xac::offset_vector<int> vector;
        xac::offset_deque<int> deque;
        std::priority_queue<int, xac::offset_vector<int>> priorities;
#ifdef _LIBCPP_VERSION
        template <typename T> using allocator = xac::offset_allocator<T>;
        xac::offset_vector<bool> bits;
        std::list<int, allocator<int>> list;
        std::forward_list<int, allocator<int>> forward;
        std::multiset<int, std::less<>, allocator<int>> set;
        std::map<int, int, std::less<>, allocator<std::pair<const int, int>>> map;
        std::unordered_map<int, int, std::hash<int>, std::equal_to<>, allocator<std::pair<const int, int>>> table;
#endif
        void add(int i)
        {
                vector.push_back(i);
                deque.push_back(i);
                priorities.push(i);
#ifdef _LIBCPP_VERSION
                bits.push_back(i % 3 == 0);
                list.push_back(i);
                forward.push_front(i);
                set.insert(i);
                map[i] = table[i] = i;
#endif
        }
};

void no_container_holds_plain_pointers()
{
        world world;
        auto &every = *world.heap.construct<every_container>("every container");
        xac::atomically(world.env, [&] {
                for (int i = 0; i < 300; i++)
                        every.add(i), add(world, i);
        });
        CHECK(count_pointers(world) == 0);
        int **pointer = world.heap.construct<int *>("pointer");
        xac::atomically(world.env, [&] { *pointer = reinterpret_cast<int *>(pointer); });
        CHECK(count_pointers(world) == 1);
}

void pointers_are_refused_there()
{
        world world;
        CHECK(code_of([&] { world.heap.get_allocator<int>(); }) == -EINVAL);
        CHECK(code_of([] { xac::string none; }) == -EINVAL);
        CHECK(text(5, 'x').get_allocator() == world.heap.get_offset_allocator<char>());
}

} // namespace

int main(int count, char **arguments)
{
        const test tests[] = {
                TEST(pointers_are_pointers),
                TEST(content_is_right_wherever_it_lies),
                TEST(no_container_holds_plain_pointers),
                TEST(pointers_are_refused_there),
        };
        return count == 2 ? run_tests(arguments[1], tests) : 2;
}
