// SPDX-License-Identifier: MIT

/*
 * Boost's containers while their thread has two heaps open: what is constructed inside a container lies in the heap of
 * the container, whichever is current. Boost.Container's maps hold pairs of a type of their own.
 */

#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <boost/unordered_map.hpp>

#include "tests/cxx/cxx_test.h"

namespace
{

namespace bc = boost::container;

using text = bc::basic_string<char, std::char_traits<char>, xac::allocator<char>>;
using texts = bc::vector<text, xac::allocator<text>>;
template <typename V> using map = bc::map<text, V, std::less<text>, xac::allocator<std::pair<const text, V>>>;
using flat_map = bc::flat_map<text, text, std::less<text>, xac::allocator<std::pair<text, text>>>;
using table = boost::unordered_map<text, text, boost::hash<text>, std::equal_to<text>,
                                   xac::allocator<std::pair<const text, text>>>;

struct all_kinds {
        texts some;
        bc::list<text, xac::allocator<text>> listed;
        map<text> named;
        map<texts> lists;
        flat_map flat;
        table hashed;
};

/* Has memory of its own. */
std::string longer(int number)
{
        return "a text that is longer than what fits into a string itself " + std::to_string(number);
}

void fill_vectors(all_kinds &all)
{
        all.some.emplace_back(longer(1).c_str());
        all.some.resize(5);
        all.some[3] = longer(2).c_str();
        all.listed.emplace_back(longer(3).c_str());
        all.listed.push_back(text(longer(4).c_str()));
}

template <typename Map> void fill_map(Map &map)
{
        map.emplace(longer(1).c_str(), longer(2).c_str());
        map[text(longer(3).c_str())] = longer(4).c_str();
        map.insert(std::make_pair(text(longer(5).c_str()), text(longer(6).c_str())));
        map.try_emplace(text(longer(7).c_str()), longer(8).c_str());
        map.try_emplace(text(longer(9).c_str()));
        map.emplace(std::piecewise_construct, std::forward_as_tuple(longer(10).c_str()),
                    std::forward_as_tuple(50, 'x'));
        CHECK(map.size() == 6 && map.at(text(longer(7).c_str())) == longer(8).c_str());
}

void elements_lie_in_the_heap_of_their_container()
{
        xac::environment env(place, XAC_CREATE | XAC_VOLATILE);
        xac::heap first(env, "first");
        all_kinds &all = *first.find_or_construct<all_kinds>("all");
        {
                xac::heap newest(env, "newest");
                xac::atomically(env, [&] {
                        fill_vectors(all);
                        fill_map(all.named);
                        fill_map(all.flat);
                        fill_map(all.hashed);
                        all.lists[text(longer(1).c_str())].emplace_back(longer(2).c_str());
                });
                CHECK(newest.check().live_objects == 0);
        }
        CHECK(first.check().live_objects > 30);
        xac::atomically(env, [&] { CHECK(all.named.at(text(longer(3).c_str())) == longer(4).c_str()); });
        first.destroy<all_kinds>("all");
        CHECK(first.check().live_objects == 0);
        check_faults(env);
}

} // namespace

int main(int count, char **arguments)
{
        const test tests[] = { TEST(elements_lie_in_the_heap_of_their_container) };
        return count == 2 ? run_tests(arguments[1], tests) : 2;
}
