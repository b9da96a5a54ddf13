/* SPDX-License-Identifier: MIT */
/* What a process that hangs does, and the processes that it started. */
#ifndef CULVERT_TESTS_STATES_H_
#define CULVERT_TESTS_STATES_H_

#include <sys/types.h>

/* Writes of the process and of its descendants what each thread does: its name, its state, where in
 * the kernel it waits; and its stack where the machine has eu-stack (elfutils) and permits it. A
 * signal handler may call it. It takes a few seconds at most. */
void test_tell_states(int to, pid_t process);

#endif
