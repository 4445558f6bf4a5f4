// SPDX-License-Identifier: MIT
//
// A C++ exception through xac_run, and through a scope, undoes what it leaves. Run by exceptions.sh.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <xac/xac.h>

static xac_env *env;
static std::uint64_t *words;

static void expect(bool is_right, const char *what)
{
        if (is_right)
                return;
        std::fprintf(stderr, "exceptions: not so: %s\n", what);
        std::exit(1);
}

static int add_and_throw(void *nested)
{
        words[0]++;
        if (nested)
                return xac_run(env, 0, add_and_throw, nullptr);
        throw std::runtime_error("left");
}

static int add(void *)
{
        words[0]++;
        return 0;
}

/* The child throws through what its parent has begun. */
static pid_t child = -1;

static int fork_and_throw(void *)
{
        words[0]++;
        child = fork();
        if (child == 0)
                throw std::runtime_error("forked");
        return child < 0;
}

static void expect_thrown_in_child()
{
        int status = -1;
        try {
                expect(xac_run(env, 0, fork_and_throw, nullptr) == 0, "the parent commits");
        } catch (const std::runtime_error &) {
                _exit(xend(env) == XAC_FORKED ? 0 : 1);
        }
        expect(waitpid(child, &status, 0) == child && status == 0, "the child catches it");
}

static void throw_in_scope()
{
        XAC_SCOPE(scope, env, 0);
        expect(scope.err == 0, "a scope begins");
        words[0]++;
        throw std::runtime_error("left");
}

template <class Body> static void expect_thrown(Body body)
{
        bool is_thrown = false;
        try {
                body();
        } catch (const std::runtime_error &) {
                is_thrown = true;
        }
        expect(is_thrown, "the exception arrives");
        expect(xac_txn_id(env) == 0, "no transaction is open then");
        expect(xend(env) == XAC_NOTXN, "nor is there one to end");
}

int main(int argc, char **argv)
{
        expect(argc == 2 && xac_open(argv[1], XAC_CREATE, nullptr, &env) == 0, "it opens");
        words = static_cast<std::uint64_t *>(xac_mmap(env, "words", 4096, 0));
        expect_thrown([] { xac_run(env, 0, add_and_throw, nullptr); });
        expect_thrown([] { xac_run(env, 0, add_and_throw, &env); });
        expect_thrown(throw_in_scope);
        expect(xac_run(env, 0, add, nullptr) == 0, "the next one commits");
        expect_thrown_in_child();
        expect(xbegin(env, XAC_RDONLY) == 0 && words[0] == 2 && xend(env) == 0, "they alone have taken effect");
        expect(xac_close(env) == 0, "it closes");
}
