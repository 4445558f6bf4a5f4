/* SPDX-License-Identifier: MIT */
#ifndef XAC_STANDARD_HPP
#define XAC_STANDARD_HPP

/* What the headers of libxac for C++ ask of the compiler. Without run-time type information they work, too. */

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "libxac for C++ needs C++17: compile with -std=c++17 or a later standard"
#elif !defined(__cpp_exceptions)
#error "libxac for C++ says what has failed by exceptions, and begins a lost body anew by one: compile with -fexceptions, or call <xac/xac.h>"
#endif

#endif
