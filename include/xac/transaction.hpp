/* SPDX-License-Identifier: MIT */
#ifndef XAC_TRANSACTION_HPP
#define XAC_TRANSACTION_HPP

/*
 * Environments, views and transactions in C++17: <xac/xac.h> with exceptions, and with owners that close what they own.
 *
 *         xac::environment bank("bank.xac", XAC_CREATE);
 *         xac::view<long> account(bank, "accounts", 1000);
 *
 *         long left = xac::atomically(bank, [&] {
 *                 account[7] -= amount;
 *                 account[900] += amount;
 *                 return account[7];
 *         });
 *
 * The body is run again when it lost a race: what it does to variables outside the views it does each time. It may
 * throw: then the transaction is undone, and the exception goes on to the caller.
 */

#include <xac/standard.hpp>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

#include <xac/xac.h>

namespace xac
{

/* ---- errors ---- */

namespace detail
{

class category final : public std::error_category
{
public:
        const char *name() const noexcept override
        {
                return "xac";
        }
        std::string message(int code) const override
        {
                return xac_strerror(code);
        }
        /* -errno is std::errc, too: error.code() == std::errc::no_such_file_or_directory. */
        std::error_condition default_error_condition(int code) const noexcept override
        {
                return code < 0 && code > -4096 ? std::error_condition(-code, std::generic_category())
                                                : std::error_condition(code, *this);
        }
};

} // namespace detail

inline const std::error_category &error_category() noexcept
{
        static const detail::category one;
        return one;
}

/* What a call of libxac returned. code().value() is the number: -errno or an XAC_... code. */
class error : public std::system_error
{
public:
        error(int code, const std::string &what) : std::system_error(code, error_category(), what)
        {
        }
};

/* A race was lost, and the body is not to be run again (xac::once). */
class conflict : public error
{
public:
        explicit conflict(const std::string &what) : error(XAC_CONFLICT, what)
        {
        }
};

namespace detail
{

/* The open transaction has lost: on its way to the outermost atomically() of that environment, which runs it again. */
class lost final : public conflict
{
public:
        explicit lost(xac_env *env) : conflict("the transaction"), in(env)
        {
        }
        xac_env *in;
};

inline void must(int err, const char *what)
{
        if (err)
                throw error(err, what);
}

} // namespace detail

/* ---- environments ---- */

class environment
{
public:
        environment() = default;
        /* Flags and options: xac_open(3). */
        explicit environment(const std::string &directory, int flags = 0, const xac_options *options = nullptr)
        {
                detail::must(xac_open(directory.c_str(), flags, options, &handle), directory.c_str());
        }
        environment(environment &&other) noexcept : handle(std::exchange(other.handle, nullptr))
        {
        }
        environment &operator=(environment &&other) noexcept
        {
                std::swap(handle, other.handle);
                return *this;
        }
        ~environment()
        {
                if (handle)
                        xac_close(handle);
        }

        /* What the destructor does, and throws what it says. It stays open where something is open in it (-EBUSY). */
        void close()
        {
                const int err = handle ? xac_close(handle) : 0;
                if (err != -EBUSY)
                        handle = nullptr;
                detail::must(err, "xac_close");
        }
        void sync()
        {
                detail::must(xac_sync(handle), "xac_sync");
        }
        void checkpoint()
        {
                detail::must(xac_checkpoint(handle), "xac_checkpoint");
        }
        xac_stats stat() const
        {
                xac_stats stats;
                detail::must(xac_stat(handle, &stats), "xac_stat");
                return stats;
        }
        /* For the functions of <xac/xac.h>. */
        xac_env *get() const noexcept
        {
                return handle;
        }
        explicit operator bool() const noexcept
        {
                return handle != nullptr;
        }

private:
        xac_env *handle = nullptr;
};

/* ---- views ---- */

/* This thread's view of a file as an array. It goes before its environment does, and while no transaction is open. */
template <typename T> class view
{
public:
        view() = default;
        view(const environment &env, const std::string &file, std::size_t count, int flags = 0) : owner(env.get())
        {
                void *mapped = xac_mmap(owner, file.c_str(), count * sizeof(T), flags);
                if (mapped == MAP_FAILED)
                        throw error(-errno, file);
                first = static_cast<T *>(mapped);
                length = count;
        }
        view(view &&other) noexcept
            : owner(other.owner), first(std::exchange(other.first, nullptr)), length(std::exchange(other.length, 0))
        {
        }
        view &operator=(view &&other) noexcept
        {
                std::swap(owner, other.owner);
                std::swap(first, other.first);
                std::swap(length, other.length);
                return *this;
        }
        ~view()
        {
                if (first)
                        xac_munmap(owner, const_cast<std::remove_cv_t<T> *>(first));
        }

        T *data() const noexcept
        {
                return first;
        }
        /* As many as were asked for. */
        std::size_t size() const noexcept
        {
                return length;
        }
        T &operator[](std::size_t i) const
        {
                return first[i];
        }
        T *begin() const noexcept
        {
                return first;
        }
        T *end() const noexcept
        {
                return first + length;
        }

private:
        xac_env *owner = nullptr;
        T *first = nullptr;
        std::size_t length = 0;
};

/* ---- transactions ---- */

/* A body that must not be repeated: atomically(env, xac::once([&] { ... })) throws xac::conflict if it has lost. */
template <typename F> struct once {
        explicit once(F body_) : body(std::move(body_))
        {
        }
        decltype(auto) operator()()
        {
                return body();
        }
        F body;
};

namespace detail
{

template <typename F> inline constexpr bool is_once = false;
template <typename F> inline constexpr bool is_once<once<F>> = true;

/* Memory of the transaction's, which it cannot leave with: <xac/heap.hpp> says which types have such. */
template <typename T, typename = void> struct lies_in_heap : std::false_type {
};

struct nothing {
};

/* A body and what it returned: by value, as what it refers to belongs to the transaction. */
template <typename F> struct call {
        using result = std::decay_t<std::invoke_result_t<F &>>;
        using kept = std::conditional_t<std::is_void_v<result>, nothing, result>;
        static_assert(!lies_in_heap<result>::value,
                      "the body returns an object whose memory is in the heap: return a copy in ordinary memory");

        void run()
        {
                if constexpr (std::is_void_v<result>)
                        body(), value.emplace();
                else
                        value.emplace(body());
        }
        result take()
        {
                if constexpr (!std::is_void_v<result>)
                        return std::move(*value);
        }

        xac_env *env;
        F &body;
        std::optional<kept> value{};
        std::exception_ptr no_memory{};
};

/* No memory in a transaction that is lost already is no reason: libxac has one, and says it instead of -ECANCELED, or
 * runs the body again. All other exceptions pass through xac_run(), which undoes on the way. */
template <typename F> int try_body(void *call_)
{
        auto &call = *static_cast<detail::call<F> *>(call_);
        try {
                call.run();
                return 0;
        } catch (const lost &what) {
                if (what.in != call.env)
                        throw;
                return XAC_CONFLICT;
        } catch (const std::bad_alloc &) {
                call.no_memory = std::current_exception();
                return -ECANCELED;
        }
}

[[noreturn]] inline void fail(xac_env *env, int err, bool is_nested)
{
        if (err == XAC_CONFLICT && is_nested)
                throw lost(env);
        if (err == XAC_CONFLICT)
                throw conflict("the transaction");
        throw error(err, "the transaction");
}

template <typename F> void run_until_done(call<F> &call, int flags)
{
        const bool is_nested = xac_txn_id(call.env) != 0;
        int err = xac_run(call.env, flags, try_body<F>, &call);
        if (err == -ECANCELED && call.no_memory)
                std::rethrow_exception(call.no_memory);
        if (err)
                fail(call.env, err, is_nested);
}

template <typename F> void run_once(call<F> &call, int flags)
{
        struct level {
                level(xac_env *env, int flags_) : scope(xac_scope_begin(env, flags_))
                {
                }
                level(const level &) = delete;
                ~level()
                {
                        xac_scope_leave(&scope); /* undoes it, if it has not ended */
                }
                xac_scope scope;
        };
        const bool is_nested = xac_txn_id(call.env) != 0;
        level level(call.env, flags | (is_nested ? XAC_NESTED : 0));
        must(level.scope.err, "xbegin");
        call.run();
        int err = xend(call.env);
        if (err)
                fail(call.env, err, is_nested);
}

} // namespace detail

/*
 * Runs the body in a transaction, and returns what it returns, by value. Flags: xbegin(3).
 *
 * When the transaction has lost a race, the body is run again, until it gets through; a xac::once is not. When the body
 * throws, the transaction is undone, and the exception goes on. What the body saw before it threw was one snapshot, as
 * always, of the time when the transaction began; it is not compared with what others have committed since.
 *
 * Inside a transaction it is a nested level: an exception undoes that level alone. If it has lost, so has the whole,
 * and an exception takes it to the outermost atomically(), which begins anew: so let pass what you do not know.
 */
template <typename F> auto atomically(xac_env *env, int flags, F &&body)
{
        detail::call<std::remove_reference_t<F>> call{ env, body };
        if constexpr (detail::is_once<std::decay_t<F>>)
                detail::run_once(call, flags);
        else
                detail::run_until_done(call, flags);
        return call.take();
}

template <typename F> auto atomically(const environment &env, int flags, F &&body)
{
        return atomically(env.get(), flags, std::forward<F>(body));
}

template <typename F> auto atomically(const environment &env, F &&body)
{
        return atomically(env.get(), 0, std::forward<F>(body));
}

/* For a body that cannot go on: undoes the whole transaction, sleeps until a commit has changed something that it had
 * read, and runs the body again. Of atomically() only, not of a xac::once. Throws xac::error: -ETIMEDOUT. */
[[noreturn]] inline void wait_for_change(const environment &env, const struct timespec *timeout = nullptr)
{
        const int err = xac_wait(env.get(), timeout);
        if (err == XAC_CONFLICT)
                throw detail::lost(env.get());
        throw error(err, "xac_wait");
}

} // namespace xac

#endif
