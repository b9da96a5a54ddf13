/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: memory and events that other processes open by handles of plain bytes. */
#ifndef SOFT_IPC_H_
#define SOFT_IPC_H_

#include "semaphore_page.h"
#include "vmm.h"

/* An event that other processes record and wait for, too. Its counts lie in a page that they
 * share: a wait is for the last record that was submitted anywhere before it. */
struct soft_ipc_event *soft_ipc_event_new(void);
CUresult soft_ipc_event_open(const CUipcEventHandle *handle, struct soft_ipc_event **out);
void soft_ipc_event_ref(struct soft_ipc_event *event);
void soft_ipc_event_unref(struct soft_ipc_event *event);
void soft_ipc_event_describe(const struct soft_ipc_event *event, CUipcEventHandle *out);
uint64_t soft_ipc_event_recorded(const struct soft_ipc_event *event);
bool soft_ipc_event_reached(const struct soft_ipc_event *event, uint64_t value);
/* Unlocked: until it is reached, or a little while. */
void soft_ipc_event_sleep(const struct soft_ipc_event *event, uint64_t value);
CUresult soft_ipc_event_record(struct soft_ipc_event *event, struct soft_stream *stream);
CUresult soft_ipc_event_wait(struct soft_ipc_event *event, struct soft_stream *stream);

#endif
