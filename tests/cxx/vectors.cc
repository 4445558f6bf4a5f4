/* SPDX-License-Identifier: MIT */

/* xac::rewired_vector against std::vector: the same random calls, and the same items. */

#include <iterator>
#include <random>
#include <sstream>
#include <vector>

#include <xac/rewire_vector.hpp>

#include "tests/cxx/cxx_test.h"

using numbers = xac::rewired_vector<std::uint32_t>;

static void check_same(const numbers &ours, const std::vector<std::uint32_t> &theirs)
{
        CHECK(ours.size() == theirs.size() && ours.empty() == theirs.empty() && ours.capacity() >= ours.size());
        CHECK(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end()));
        CHECK(std::equal(ours.rbegin(), ours.rend(), theirs.rbegin(), theirs.rend()));
}

static void random_calls()
{
        xac::rewire_memory memory;
        numbers ours(memory);
        std::vector<std::uint32_t> theirs;
        std::mt19937 random(12345);

        for (int step = 0; step < 4000; step++) {
                const std::uint32_t value = random();
                const std::size_t at = theirs.empty() ? 0 : random() % theirs.size();
                switch (random() % 12) {
                case 0: {
                        const std::vector<std::uint32_t> some(random() % 3000, value);
                        CHECK(*ours.insert(ours.begin() + at, value) == *theirs.insert(theirs.begin() + at, value));
                        ours.insert(ours.begin() + at, some.begin(), some.end());
                        theirs.insert(theirs.begin() + at, some.begin(), some.end());
                        break;
                }
                case 1:
                        if (!theirs.empty()) {
                                ours.erase(ours.begin() + at, ours.end() - (theirs.size() - at) / 2);
                                theirs.erase(theirs.begin() + at, theirs.end() - (theirs.size() - at) / 2);
                        }
                        break;
                case 2:
                        ours.resize(at, value);
                        theirs.resize(at, value);
                        ours.resize(at + 500, value);
                        theirs.resize(at + 500, value);
                        break;
                case 3:
                        ours.shrink_to_fit();
                        break;
                case 4:
                        if (!theirs.empty()) {
                                ours.push_back(ours.front()); /* it moves */
                                theirs.push_back(theirs.front());
                                ours.pop_back();
                                theirs.pop_back();
                        }
                        break;
                default:
                        for (int i = 0; i < 100; i++) {
                                ours.emplace_back(value + i);
                                theirs.emplace_back(value + i);
                        }
                }
                check_same(ours, theirs);
        }
}

static void copies_and_moves()
{
        xac::rewire_memory memory(XAC_REWIRE_HUGE_BYTES);
        numbers one(memory, 1000, 7u);
        numbers other = one;

        CHECK(one == other && one.data() != other.data());
        other[3] = 8;
        CHECK(one != other && one < other && one[3] == 7);
        const std::uint32_t *data = other.data();
        numbers third = std::move(other);
        CHECK(third.data() == data && other.empty() && other.begin() == other.end());
        other.push_back(1); // NOLINT(bugprone-use-after-move): as std::vector, it is empty
        CHECK(other.size() == 1);
        swap(one, third);
        CHECK(one[3] == 8 && third[3] == 7);
        one = third;
        CHECK(one == third);
        one.assign(5, one[0]);
        CHECK(one.size() == 5 && one.back() == 7);
}

/* They can be read once: who counts them first has nothing left. */
static void iterators_of_a_stream()
{
        using words = std::istream_iterator<std::uint32_t>;
        xac::rewire_memory memory;
        std::istringstream first("1 2 3 4 5"), second("7 8"), third("9"), none("");
        numbers ours(memory, words(first), words());

        check_same(ours, { 1, 2, 3, 4, 5 });
        CHECK(ours.insert(ours.begin() + 2, words(second), words()) == ours.begin() + 2);
        check_same(ours, { 1, 2, 7, 8, 3, 4, 5 });
        CHECK(ours.insert(ours.end(), words(none), words()) == ours.end());
        ours.assign(words(third), words());
        check_same(ours, { 9 });
        std::istringstream many(std::string(100000, '1').replace(0, 0, "1 "));
        many.exceptions(std::ios::failbit); /* one number too large, behind one that is not */
        CHECK(throws<std::ios::failure>([&] { ours.insert(ours.begin(), words(many), words()); }));
        check_same(ours, { 9 });
}

static void what_cannot_be_is_thrown()
{
        xac::rewire_memory memory(0, 64 << 10);
        numbers small(memory, 3, 1u);

        CHECK(throws<std::out_of_range>([&] { small.at(3); }));
        CHECK(throws<std::bad_alloc>([&] { small.reserve(1 << 20); }));
        CHECK(small.size() == 3 && small.at(2) == 1);
        CHECK(throws<std::system_error>([] { xac::rewire_memory(12345); }));
}

int main()
{
        random_calls();
        std::puts("ok: random calls");
        copies_and_moves();
        std::puts("ok: copies and moves");
        iterators_of_a_stream();
        std::puts("ok: iterators of a stream");
        what_cannot_be_is_thrown();
        std::puts("ok: what cannot be is thrown");
}
