/* SPDX-License-Identifier: MIT */
/* culvert-bench-ipc --hostile. */
#ifndef CULVERT_BENCH_IPC_HOSTILE_H_
#define CULVERT_BENCH_IPC_HOSTILE_H_

#include <stdbool.h>
#include <stdint.h>

/* Each attack lasts that long. `json`: a file, or NULL. The program's exit status. */
int hostile(uint64_t milliseconds, bool on_the_twin, const char *json);

#endif
