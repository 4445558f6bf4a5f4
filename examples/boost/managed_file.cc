// SPDX-License-Identifier: MIT

/*
 * mapped_file.cc, moved from Boost.Interprocess to libxac by changing types: this comment and five lines are all that
 * is different. atomic_func() runs a transaction. A process that dies in it leaves nothing, and processes wait for each
 * other only where they touch the same pages. What it has done is on disk. Boost's containers stay as they are.
 */

#include <cstdlib>
#include <iostream>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <xac/managed_file.hpp>

namespace bc = boost::container;
namespace ipc = xac;

using file_type = ipc::managed_file;
template <typename T> using allocator = ipc::allocator<T>;

using text = bc::basic_string<char, std::char_traits<char>, allocator<char>>;
using numbers = bc::vector<long, allocator<long>>;
using book = bc::map<text, numbers, std::less<text>, allocator<std::pair<const text, numbers>>>;

static book *open_book(file_type &file)
{
        return file.find_or_construct<book>("book")(std::less<text>(), file.get_segment_manager());
}

static void enter(file_type &file, const char *name, long number)
{
        book *phones = open_book(file);
        auto change = [&] {
                const text key(name, file.get_segment_manager());
                auto found = phones->find(key);
                if (found == phones->end())
                        found = phones->emplace(key, numbers(file.get_segment_manager())).first;
                found->second.push_back(number);
        };
        file.atomic_func(change);
}

static void enter_some(int process)
{
        static const char *const names[] = { "Ada", "Grace", "Edsger",
                                             "Barbara, whose name is longer than the others" };
        file_type file(ipc::open_or_create, "phones", 1 << 20);

        for (int i = 0; i < 100; i++)
                enter(file, names[(process + i) % 4], 1000 * process + i);
}

int main()
{
        for (int process = 0; process < 3; process++)
                if (fork() == 0) {
                        enter_some(process);
                        return EXIT_SUCCESS;
                }
        for (int status; wait(&status) > 0;)
                if (status)
                        return EXIT_FAILURE;

        file_type file(ipc::open_only, "phones");
        const book *phones = open_book(file);
        std::string seen;
        auto look = [&] {
                seen.clear();
                for (const auto &[name, all] : *phones)
                        seen.append(name.begin(), name.end()).append(": " + std::to_string(all.size()) + " numbers\n");
        };
        file.atomic_func(look);
        std::cout << seen << (file.check_sanity() ? "and all is well\n" : "and it is damaged\n");
}
