/* SPDX-License-Identifier: MIT */

/*
 * A phone book in C++: a std::map of std::string, as it is, in a file. Three processes enter numbers at once, in plain
 * serial code; each number is on disk when it is said to be there. Nobody enters one that somebody has already: an
 * exception undoes what was begun. Then the book is read, by a program that could have been started next year.
 */

#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.hpp>

struct phone_book {
        xac::map<xac::string, long> number_of;
        xac::map<long, xac::string> owner_of;
};

struct opened {
        xac::environment env{ "phones.xac", XAC_CREATE };
        xac::heap heap{ env, "heap", XAC_CREATE };
        phone_book &book = *heap.find_or_construct<phone_book>("book");

        void enter(const char *name, long number)
        {
                xac::atomically(env, [&] {
                        book.number_of[name] = number;
                        if (!book.owner_of.emplace(number, name).second)
                                throw std::runtime_error(std::string(name) + " cannot have that number");
                });
        }
};

static void enter_some(int process)
{
        static const char *const names[3] = { "Ada", "Grace", "Edsger" };
        opened phones;

        phones.enter(names[process], 1000 + process);
        for (int i = 0; i < 100; i++)
                phones.enter((names[process] + std::to_string(i)).c_str(), 2000 + 3 * i + process);
        try {
                phones.enter("Mallory", 1000 + process);
        } catch (const std::runtime_error &) {
                /* and Mallory is not among the names either */
        }
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

        opened phones;
        const phone_book &book = phones.book;
        std::string seen = xac::atomically(phones.env, XAC_RDONLY, [&] {
                return std::to_string(book.number_of.size()) + " names, " + std::to_string(book.owner_of.size()) +
                       " numbers; " + std::string(book.owner_of.at(1001)) + " has 1001, Edsger99 has " +
                       std::to_string(book.number_of.find("Edsger99")->second) + ", Mallory is " +
                       (book.number_of.count("Mallory") ? "there" : "not there");
        });
        std::cout << seen << "\n";
}
