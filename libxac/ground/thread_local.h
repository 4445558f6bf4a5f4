/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_THREAD_LOCAL_H
#define LIBXAC_GROUND_THREAD_LOCAL_H

/* A thread's own variable that the fault handler reads, too: reading it must not allocate. Programs may load the
 * library late (dlopen), where there is little room for such variables: pointers. */
#define THREAD_TLS _Thread_local __attribute__((tls_model("initial-exec")))

#endif
