/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what external semaphores do to the pages behind them. */
#ifndef SOFT_SEMAPHORE_PAGE_H_
#define SOFT_SEMAPHORE_PAGE_H_

#include "vmm.h"

#include "../shared/pages.h"

enum soft_page_kind {
    SOFT_PAGE_TIMELINE,
    SOFT_PAGE_COUNTED,     /* a binary one of the layer's, or played by a test */
    SOFT_PAGE_SWIFTSHADER, /* a binary one that SwiftShader exported */
    SOFT_PAGE_MUTEX        /* Windows': a keyed mutex */
};

/* Seen, not promised; partner.c tries it. */
struct soft_swiftshader_semaphore {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int references; /* who is last takes mutex and changed away */
    bool signaled;
};

union soft_page {
    culv_soft_timeline timeline;
    culv_soft_counted counted;
    struct soft_swiftshader_semaphore swiftshader;
};

/* NULL when the fd is no semaphore of this kind. soft_page_leave() before it is unmapped. */
union soft_page *soft_page_map(int fd, enum soft_page_kind kind, void **map, size_t *map_size);
void soft_page_leave(union soft_page *page, enum soft_page_kind kind);
/* Of a counted one: the number of a signal, or wait, that is submitted. 0: of a signal while there
 * is one that nothing was told to wait for, which changes nothing (measured). */
uint64_t soft_page_number(union soft_page *page, bool waits);
void soft_page_number_back(union soft_page *page, bool waits); /* it was not, after all */
/* By CUDA. `value` is a timeline's, or a counted one's number. */
CUresult soft_page_signal(union soft_page *page, enum soft_page_kind kind, uint64_t value);
/* By CUDA; takes a binary semaphore's signal. Given up once the context ends
 * (CUDA_ERROR_CONTEXT_IS_DESTROYED) or has failed. */
CUresult soft_page_wait(union soft_page *page, enum soft_page_kind kind, uint64_t value,
                        const struct soft_context *context);

/* Memory and events that other processes open by handles of plain bytes. */

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
