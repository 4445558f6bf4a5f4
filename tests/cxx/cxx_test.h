/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CXX_CXX_TEST_H
#define TESTS_CXX_CXX_TEST_H

/*
 * What the tests of <xac/xac.hpp> share. A program is called with a directory, in which each of its tests has an
 * environment of its own, and runs them one after the other. What xac-c++ has compiled (COMPILED) takes no fault.
 */

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.hpp>

#define CHECK(condition)                                                                    \
        do {                                                                                \
                if (!(condition)) {                                                         \
                        std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
                        std::fflush(stdout);                                                \
                        std::_Exit(1);                                                      \
                }                                                                           \
        } while (0)

/* Whether it throws an E. */
template <typename E, typename F> bool throws(F &&body)
{
        try {
                body();
        } catch (const E &) {
                return true;
        }
        return false;
}

/* The number of the xac::error that it throws; 0: none. */
template <typename F> int code_of(F &&body)
{
        try {
                body();
        } catch (const xac::error &what) {
                return what.code().value();
        }
        return 0;
}

/* Another process: it goes on to the end of `work`, and has failed if that throws. */
class process
{
public:
        explicit process(const std::function<void()> &work) : id(fork())
        {
                if (id)
                        return;
                try {
                        work();
                        std::_Exit(0);
                } catch (const std::exception &what) {
                        std::printf("a process: %s\n", what.what());
                        std::fflush(stdout);
                        std::_Exit(1);
                }
        }
        void must_succeed() const
        {
                int status;
                CHECK(waitpid(id, &status, 0) == id && status == 0);
        }
        const pid_t id;
};

/* A process that commits something when it is told to: the transaction that tells it, and has read the same, loses. */
class rival
{
public:
        explicit rival(const std::function<void(const std::function<void()> &await)> &work)
            : told(make()), done(make()), other([this, &work] {
                      close(told.to);
                      work([this] { get(told); });
                      put(done);
              })
        {
        }
        void commit()
        {
                put(told);
                get(done);
                other.must_succeed();
        }

private:
        struct line {
                int from, to;
        };
        static line make()
        {
                int ends[2];
                CHECK(pipe(ends) == 0);
                return { ends[0], ends[1] };
        }
        static void put(line line)
        {
                CHECK(write(line.to, "", 1) == 1);
        }
        static void get(line line)
        {
                char byte;
                CHECK(read(line.from, &byte, 1) == 1);
        }

        const line told, done;
        const process other;
};

/* Where the environment of the running test lies. */
inline std::string place;

struct test {
        const char *name;
        void (*run)();
};

#define TEST(function)              \
        {                           \
#function, function \
        }

inline void check_faults(const xac::environment &env)
{
#ifdef COMPILED
        const xac_stats stats = env.stat();
        CHECK(stats.read_faults + stats.write_faults == 0);
#else
        (void)env;
#endif
}

template <size_t N> int run_tests(const char *directory, const test (&tests)[N])
{
        for (const test &test : tests) {
                place = std::string(directory) + "/" + test.name;
                test.run();
                std::printf("ok: %s\n", test.name);
                std::fflush(stdout);
        }
        return 0;
}

#endif
