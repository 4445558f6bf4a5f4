// SPDX-License-Identifier: MIT

/* Containers of the standard library in a heap, and objects with names. */

#include <algorithm>
#include <cstring>
#include <memory>
#include <regex>
#include <stdexcept>

#include "tests/cxx/cxx_test.h"

namespace
{

#ifdef COMPILED
constexpr int FLAGS = XAC_CREATE | XAC_SHARED;
#else
constexpr int FLAGS = XAC_CREATE;
#endif

const char *const LONG_TEXT = "which is longer than what fits into a string itself";

struct world {
        xac::environment env{ place, XAC_CREATE | XAC_VOLATILE };
        xac::heap heap{ env, "heap", FLAGS };

        uint64_t objects()
        {
                return heap.check().live_objects;
        }
};

using phone_book = xac::map<xac::string, xac::string>;

/* ---- containers as they are ---- */

struct everything {
        std::map<xac::string, xac::string, std::less<>, xac::allocator<std::pair<const xac::string, xac::string>>> map;
        std::set<int, std::less<int>, xac::allocator<int>> set;
        std::list<xac::string, xac::allocator<xac::string>> list;
        std::deque<int, xac::allocator<int>> deque;
        std::vector<xac::string, xac::allocator<xac::string>> vector;
        std::vector<bool, xac::allocator<bool>> bits;
        xac::unordered_map<xac::string, long> table;
        xac::unordered_set<long> numbers;
        xac::multimap<int, xac::string> many;
        xac::forward_list<int> forward;
};

template <typename T> T text_of(int i)
{
        return T(("text " + std::to_string(i) + (i % 3 ? "" : LONG_TEXT)).c_str());
}

void add(everything &all, int i)
{
        all.map.emplace(text_of<std::string>(i).c_str(), LONG_TEXT);
        all.map[text_of<xac::string>(i)] += "!";
        all.set.insert(i);
        all.list.push_back(text_of<xac::string>(i));
        all.list.emplace_front(LONG_TEXT);
        all.deque.push_back(i);
        all.deque.push_front(-i);
        all.vector.emplace_back(text_of<xac::string>(i));
        all.vector.insert(all.vector.begin(), text_of<xac::string>(i));
        all.bits.push_back(i % 2);
        all.table[text_of<xac::string>(i)] = i;
        all.numbers.insert(i);
        all.many.emplace(i % 7, LONG_TEXT);
        all.forward.push_front(i);
}

void check_all(const everything &all, int count)
{
        CHECK(all.map.size() == size_t(count) && all.set.size() == size_t(count) &&
              all.list.size() == size_t(count) * 2);
        CHECK(all.deque.size() == size_t(count) * 2 && all.vector.size() == size_t(count) * 2);
        CHECK(all.table.size() == size_t(count) && all.numbers.size() == size_t(count));
        CHECK(all.many.size() == size_t(count) && all.bits.size() == size_t(count));
        for (int i = 0; i < count; i++) {
                auto found = all.map.find(std::string_view(text_of<std::string>(i)));
                CHECK(found != all.map.end() && found->second == (std::string(LONG_TEXT) + "!").c_str());
                CHECK(all.set.count(i) && all.numbers.count(i) && all.bits[size_t(i)] == (i % 2 != 0));
                CHECK(all.deque[size_t(count + i)] == i);
                CHECK(std::string_view(all.vector[size_t(count + i)]) == text_of<std::string>(i));
        }
        int last = count;
        for (int i : all.forward)
                CHECK(i == --last);
        for (const auto &[key, value] : all.table)
                CHECK(std::string_view(key) == text_of<std::string>(int(value)));
}

void containers_live_in_the_file()
{
        {
                world world;
                auto &all = *world.heap.find_or_construct<everything>("all");
                for (int i = 0; i < 300; i++)
                        xac::atomically(world.env, [&] { add(all, i); });
                check_faults(world.env);
        }
        process other([] {
                world again;
                auto &all = *again.heap.find<everything>("all");
                xac::atomically(again.env, XAC_RDONLY, [&] { check_all(all, 300); });
                xac::atomically(again.env, [&] { add(all, 300); });
                check_faults(again.env);
        });
        other.must_succeed();
        world world;
        auto &all = *world.heap.find_or_construct<everything>("all");
        xac::atomically(world.env, [&] {
                check_all(all, 301);
                auto copy = std::make_unique<everything>(all); /* what it holds is in the heap */
                check_all(*copy, 301);
        });
        CHECK(world.heap.destroy<everything>("all") && !world.heap.destroy<everything>("all"));
        CHECK(world.objects() == 0);
        check_faults(world.env);
}

void exceptions_undo_changes_of_containers()
{
        world world;
        auto &all = *world.heap.construct<everything>("all");
        xac::atomically(world.env, [&] {
                for (int i = 0; i < 50; i++)
                        add(all, i);
        });
        const uint64_t before = world.objects();
        for (int round = 0; round < 30; round++)
                CHECK(throws<std::runtime_error>([&] {
                        xac::atomically(world.env, [&] {
                                xac::vector<xac::string> ours(size_t(round), LONG_TEXT);
                                for (int i = 50; i < 50 + round * 5; i++)
                                        add(all, i);
                                all.list.clear();
                                all.map.erase(all.map.begin());
                                throw std::runtime_error("undone");
                        });
                }));
        CHECK(world.objects() == before);
        xac::atomically(world.env, [&] {
                CHECK(throws<int>(
                        [&] { xac::atomically(world.env, [&] { add(all, 50), all.vector.clear(), throw 1; }); }));
                check_all(all, 50);
                add(all, 50);
        });
        xac::atomically(world.env, XAC_RDONLY, [&] { check_all(all, 51); });
        check_faults(world.env);
}

/* A key that is looked for is not made in the heap: it would write. */
void lookups_write_nothing()
{
        world world;
        auto &phones = *world.heap.construct<phone_book>("phones");
        xac::atomically(world.env, [&] { phones[LONG_TEXT] = LONG_TEXT; });
        std::string found = xac::atomically(
                world.env, XAC_RDONLY, [&] { return std::string(phones.find(std::string_view(LONG_TEXT))->second); });
        CHECK(found == LONG_TEXT);
        CHECK(code_of([&] {
                      xac::atomically(world.env, XAC_RDONLY, [&] { return phones.count(xac::string(LONG_TEXT)); });
              }) == XAC_WROTE);
        check_faults(world.env);
}

/* ---- which heap ---- */

template <typename T> bool lies_in(const xac::heap &heap, const T *object)
{
        const uint64_t offset = xac_heap_offset(heap.get(), object);
        return offset < uint64_t(1) << 30;
}

void elements_lie_where_their_container_does()
{
        world world;
        xac::heap other(world.env, "other", FLAGS); /* the current one from now on */
        auto &phones = *world.heap.construct<phone_book>("phones");
        auto &lists = *world.heap.construct<xac::vector<xac::list<xac::string>>>("lists");
        xac::atomically(world.env, [&] {
                xac::string key(LONG_TEXT), copy(key, world.heap);
                CHECK(lies_in(other, key.data()) && !lies_in(world.heap, key.data()) &&
                      lies_in(world.heap, copy.data()));
                phones.emplace(key, LONG_TEXT);
                phones.emplace(std::make_pair(key + "2", key));
                phones.insert({ key + "3", std::move(key) });
                phones["4 " + copy];
                phones.try_emplace(xac::string("5"), LONG_TEXT);
                for (auto &[first, second] : phones) {
                        CHECK(lies_in(world.heap, first.data()) && lies_in(world.heap, second.data()));
                        CHECK(second.get_allocator() == phones.get_allocator());
                }
                lists.emplace_back();
                lists.back().emplace_back(LONG_TEXT);
                CHECK(lies_in(world.heap, lists[0].front().data()));
                phones.begin()->second = xac::string(LONG_TEXT) + LONG_TEXT; /* assigned: it stays in its heap */
                CHECK(lies_in(world.heap, phones.begin()->second.data()));
                xac::current_heap here(world.heap);
                xac::string made(LONG_TEXT);
                CHECK(lies_in(world.heap, made.data()));
        });
        CHECK(other.check().live_objects == 0);
        CHECK(world.heap.destroy<phone_book>("phones") &&
              world.heap.destroy<xac::vector<xac::list<xac::string>>>("lists"));
        CHECK(world.objects() == 0);
        check_faults(world.env);
}

/* Also those of pairs in pairs, made in each of the ways that there are. */
void pairs_in_pairs_lie_where_their_container_does()
{
        using two_texts = std::pair<xac::string, xac::string>;
        using deep = std::pair<int, std::pair<const xac::string, two_texts>>;
        world world;
        auto &map = *world.heap.construct<xac::map<int, std::pair<int, xac::string>>>("map");
        auto &keyed = *world.heap.construct<xac::map<two_texts, int>>("keyed");
        auto &list = *world.heap.construct<xac::list<deep>>("list");
        xac::heap other(world.env, "other", FLAGS);
        const uint64_t before = other.check().live_objects;
        xac::atomically(world.env, [&] {
                map[1].second = LONG_TEXT;
                map.try_emplace(2, 2, LONG_TEXT);
                map.emplace(3, std::make_pair(3, LONG_TEXT));
                const auto again =
                        std::make_tuple(std::piecewise_construct, std::make_tuple(4), std::make_tuple(LONG_TEXT));
                map.emplace(std::piecewise_construct, std::make_tuple(4), again);
                map.emplace(std::piecewise_construct, std::make_tuple(5),
                            std::make_tuple(std::make_pair(5, LONG_TEXT)));
                map.insert(std::make_pair(6, map[5]));
                map.insert({ 7, std::move(map[6]) });
                for (const auto &[key, value] : map)
                        CHECK(lies_in(world.heap, value.second.data()) &&
                              value.first == (key == 1 ? 0 : std::min(key, 5)));
                CHECK(map[7].second == LONG_TEXT && map[4].second == LONG_TEXT);
                keyed[two_texts(LONG_TEXT, LONG_TEXT)] = 1;
                CHECK(lies_in(world.heap, keyed.begin()->first.second.data()));
                list.emplace_back();
                list.back().second.second.second = LONG_TEXT;
                list.emplace_back(1, std::make_pair(LONG_TEXT, std::make_pair(LONG_TEXT, LONG_TEXT)));
                list.push_back(list.back());
                for (const deep &one : list)
                        CHECK(lies_in(world.heap, one.second.second.second.data()) &&
                              one.second.second.second == LONG_TEXT);
                CHECK(lies_in(world.heap, list.back().second.first.data()));
        });
        CHECK(other.check().live_objects == before);
        check_faults(world.env);
}

/* Such as these are no pairs: they are made as they are. */
struct tripled : std::pair<int, xac::string> {
        using pair::pair;
        int third = 0;
};
template <typename First, typename Second> struct counted : std::pair<First, Second> {
        using std::pair<First, Second>::pair;
        int count = 0;
};
template <typename First, typename Second> struct both {
        using first_type = First;
        using second_type = Second;
        First first;
        Second second;
        int third;
};

void what_is_more_than_a_pair_is_kept()
{
        world world;
        auto &triples = *world.heap.construct<xac::vector<tripled>>("triples");
        auto &counts = *world.heap.construct<xac::vector<counted<int, int>>>("counts");
        auto &plain = *world.heap.construct<xac::vector<both<int, int>>>("plain");
        auto &pairs = *world.heap.construct<xac::map<int, xac::string>>("pairs");
        auto &matches = *world.heap.construct<xac::vector<std::csub_match>>("matches");
        xac::heap other(world.env, "other", FLAGS);
        xac::atomically(world.env, [&] {
                tripled one(1, LONG_TEXT);
                one.third = 3;
                triples.push_back(one);
                triples.push_back(std::move(one));
                triples.emplace_back(2, LONG_TEXT);
                CHECK(triples[0].third == 3 && triples[1].third == 3 && triples[2].third == 0);
                CHECK(triples[0].second == LONG_TEXT && triples[2].first == 2);
                counted<int, int> two(1, 2);
                two.count = 3;
                counts.push_back(two);
                CHECK(counts[0].count == 3 && counts[0].second == 2);
                plain.push_back(both<int, int>{ 1, 2, 3 });
                CHECK(plain[0].third == 3);
                pairs.insert(triples[2]); /* made of one, a pair is taken apart */
                CHECK(lies_in(world.heap, pairs[2].data()));
                std::csub_match match;
                match.matched = true;
                matches.push_back(match);
                CHECK(matches[0].matched);
        });
        check_faults(world.env);
}

void a_heap_that_is_not_open_is_told()
{
        xac::string orphan;
        CHECK(code_of([&] { orphan = LONG_TEXT; }) == XAC_NOVIEW);
        world world;
        CHECK(code_of([&] { orphan = LONG_TEXT; }) == XAC_NOVIEW);
        auto of_heap = world.heap.get_allocator<char>();
        world.heap.close();
        CHECK(code_of([&] { of_heap.allocate(1); }) == XAC_NOVIEW && !world.heap);
}

void too_much_is_bad_alloc()
{
        world world;
        auto &all = *world.heap.construct<xac::vector<char>>("all");
        CHECK(throws<xac::bad_alloc>([&] { xac::atomically(world.env, [&] { all.resize(size_t(1) << 40); }); }));
        CHECK(throws<std::bad_alloc>([&] { world.heap.get_allocator<long>().allocate(SIZE_MAX / 8); }));
        try {
                world.heap.get_allocator<char>().allocate(size_t(1) << 60);
        } catch (const xac::bad_alloc &what) {
                CHECK(what.code() == std::errc::not_enough_memory && *what.what());
        }
        struct alignas(256) line {
                char bytes[256];
        };
        auto lines = world.heap.get_allocator<line>();
        line *some = lines.allocate(3);
        CHECK(reinterpret_cast<uintptr_t>(some) % 256 == 0);
        lines.deallocate(some, 3);
        CHECK(world.objects() == 1);
}

/* ---- objects with names ---- */

struct account {
        account(long id_, const char *owner_) : id(id_), owner(owner_)
        {
                if (id < 0)
                        throw std::out_of_range("no such account");
        }
        long id;
        xac::string owner;
};

void names_have_types()
{
        world world;
        xac_heap_root root;
        CHECK(!world.heap.find<account>("one"));
        account *one = world.heap.find_or_construct<account>("one", 1L, LONG_TEXT);
        CHECK(world.heap.find_or_construct<account>("one", 2L, "another") == one &&
              world.heap.find<account>("one") == one);
        CHECK(xac::atomically(world.env, [&] { return one->id == 1 && one->owner == LONG_TEXT; }));
        CHECK(throws<xac::wrong_type>([&] { world.heap.find<long>("one"); }));
        CHECK(throws<xac::wrong_type>([&] { world.heap.find_or_construct<phone_book>("one"); }));
        CHECK(throws<xac::wrong_type>([&] { world.heap.destroy<phone_book>("one"); }));
        CHECK(code_of([&] { world.heap.construct<account>("one", 2L, "x"); }) == -EEXIST);
        CHECK(code_of([&] { world.heap.construct<int>(""); }) == -EINVAL);
        CHECK(throws<std::out_of_range>([&] { world.heap.construct<account>("two", -1L, LONG_TEXT); }));
        CHECK(!world.heap.find<account>("two") && world.objects() == 2);
        CHECK(xac_heap_root_find(world.heap.get(), "one", &root) == 0 && root.size == sizeof(account));
        CHECK(xac_heap_root_create(world.heap.get(), "older", sizeof(account) - 8, root.tag, &root) == 0);
        CHECK(throws<xac::wrong_type>([&] { world.heap.find<account>("older"); }));
        CHECK(world.heap.destroy<account>("one") && world.objects() == 1);
        check_faults(world.env);
}

void names_are_part_of_the_transaction()
{
        world world;
        CHECK(throws<int>([&] {
                xac::atomically(world.env, [&] {
                        world.heap.construct<phone_book>("phones")->emplace(LONG_TEXT, LONG_TEXT);
                        account *made = world.heap.construct<account>(xac::anonymous, 1L, LONG_TEXT);
                        CHECK(throws<std::out_of_range>([&] { world.heap.construct<account>("x", -1L, LONG_TEXT); }));
                        CHECK(made->owner == LONG_TEXT && world.heap.find<phone_book>("phones"));
                        throw 1;
                });
        }));
        CHECK(!world.heap.find<phone_book>("phones") && world.objects() == 0);
        account *made = world.heap.construct<account>(xac::anonymous, 1L, LONG_TEXT);
        CHECK(world.objects() == 2);
        world.heap.destroy_ptr(made);
        CHECK(world.objects() == 0);
        check_faults(world.env);
}

/* Else the name would lead to what is somebody else's by then. */
void destroy_ptr_removes_the_name()
{
        world world;
        account *one = world.heap.construct<account>("one", 1L, LONG_TEXT);
        account *two = world.heap.construct<account>("two", 2L, LONG_TEXT);
        CHECK(throws<int>([&] {
                xac::atomically(world.env, [&] {
                        world.heap.destroy_ptr(one);
                        CHECK(!world.heap.find<account>("one"));
                        throw 1;
                });
        }));
        CHECK(world.heap.find<account>("one") == one && world.objects() == 4);
        world.heap.destroy_ptr(one);
        CHECK(!world.heap.find<account>("one") && world.heap.find<account>("two") == two && world.objects() == 2);
        one = world.heap.find_or_construct<account>("one", 3L, LONG_TEXT);
        CHECK(xac::atomically(world.env, [&] { return one->id == 3 && one->owner == LONG_TEXT; }));
        world.heap.destroy_ptr(static_cast<const account *>(one));
        world.heap.destroy_ptr(two);
        CHECK(world.objects() == 0);
        check_faults(world.env);
}

void heaps_move()
{
        xac::environment env(place, XAC_CREATE | XAC_VOLATILE);
        xac::heap first(env, "heap", FLAGS), second;
        second = std::move(first);
        CHECK(!first && second);
        xac::heap third(std::move(second));
        auto &words = *third.construct<xac::vector<xac::string>>("words");
        xac::atomically(env, [&] { words.emplace_back(LONG_TEXT); });
        CHECK(code_of([&] { xac::atomically(env, [&] { third.close(); }); }) == -EBUSY);
        CHECK(third.check().live_objects == 3);
        third.close();
        third.close();
}

} // namespace

int main(int count, char **arguments)
{
        const test tests[] = {
                TEST(containers_live_in_the_file),
                TEST(exceptions_undo_changes_of_containers),
                TEST(lookups_write_nothing),
                TEST(elements_lie_where_their_container_does),
                TEST(pairs_in_pairs_lie_where_their_container_does),
                TEST(what_is_more_than_a_pair_is_kept),
                TEST(a_heap_that_is_not_open_is_told),
                TEST(too_much_is_bad_alloc),
                TEST(names_have_types),
                TEST(names_are_part_of_the_transaction),
                TEST(destroy_ptr_removes_the_name),
                TEST(heaps_move),
        };
        return count == 2 ? run_tests(arguments[1], tests) : 2;
}
