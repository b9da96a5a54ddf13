/* SPDX-License-Identifier: MIT */
/* culvert-check's timeline of both sides: Chrome's JSON of trace events, which Perfetto opens. */
#ifndef CHECK_TRACE_H_
#define CHECK_TRACE_H_

#include "model.h"

/* With the model's lock. Without --trace none of them does anything. */
void check_trace_begin(check_model *m, const char *path, unsigned long long most);
void check_trace_finding(const char *id, const char *sentence);
void check_trace_end(void);
void check_trace_forget(void); /* in a child of fork(), whose parent writes on */

/* A call of the program on this thread: what began at `since` ends now. */
uint64_t check_trace_now(void); /* nanoseconds; 0 without a timeline */
void check_trace_call(const char *call, uint64_t since);

#endif
