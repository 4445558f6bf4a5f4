// SPDX-License-Identifier: MIT

/*
 * Boost's containers in a file, as they are, by xac::allocator: which pages of a text have which words. Three processes
 * read a part each, in plain serial code; a page is entered as a whole, or not at all. Then the index is read, by a
 * program that could have been started next year.
 */

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <boost/container/flat_set.hpp>
#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <boost/unordered_map.hpp>

#include <xac/xac.hpp>

namespace bc = boost::container;

using text = bc::basic_string<char, std::char_traits<char>, xac::allocator<char>>;
using pages = bc::flat_set<long, std::less<long>, xac::allocator<long>>;
using texts = bc::vector<text, xac::allocator<text>>;
template <typename K, typename V> using map = bc::map<K, V, std::less<K>, xac::allocator<std::pair<const K, V>>>;
template <typename K, typename V>
using table = boost::unordered_map<K, V, boost::hash<K>, std::equal_to<K>, xac::allocator<std::pair<const K, V>>>;

struct word_index {
        map<text, pages> pages_of;
        table<long, texts> words_on;
};

struct opened {
        xac::environment env{ "index.xac", XAC_CREATE };
        xac::heap heap{ env, "heap", XAC_CREATE };
        word_index &index = *heap.find_or_construct<word_index>("index");

        void enter(long page, const std::string &line)
        {
                xac::atomically(env, [&] {
                        std::istringstream words(line);
                        for (std::string word; words >> word;) {
                                const text key(word.c_str(), word.size());
                                index.pages_of[key].insert(page);
                                index.words_on[page].push_back(key);
                        }
                });
        }
};

static const char *const lines[] = { "a rose is a rose", "and a name is a name", "which is not a rose but its name" };

static void enter_part(int process)
{
        opened files;
        for (long page = process; page < 300; page += 3)
                files.enter(page, lines[page / 3 % 3]);
}

int main()
{
        for (int process = 0; process < 3; process++)
                if (fork() == 0) {
                        enter_part(process);
                        return EXIT_SUCCESS;
                }
        for (int status; wait(&status) > 0;)
                if (status)
                        return EXIT_FAILURE;

        opened files;
        const std::string seen = xac::atomically(files.env, XAC_RDONLY, [&] {
                std::ostringstream out;
                for (const auto &[word, where] : files.index.pages_of)
                        out << std::string(word.data(), word.size()) << " is on " << where.size() << " pages\n";
                for (const text &word : files.index.words_on.at(299))
                        out << std::string(word.data(), word.size()) << " ";
                return out.str();
        });
        std::cout << seen << "\n";
}
