/* SPDX-License-Identifier: MIT */

/*
 * Included by xac-c++ before everything else. libstdc++ has the members of std::string compiled in libstdc++.so; here
 * they are to be compiled where they are used, with translations. It provides for that itself: for its debug mode.
 */

#pragma GCC system_header /* the name that it defines is the library's */

#if defined(__cplusplus) && __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
