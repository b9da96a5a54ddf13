/* SPDX-License-Identifier: MIT */
/* What the two sides of a ring between processes share: their pages, and timelines in them. */
#ifndef CULVI_IPC_LINE_H_
#define CULVI_IPC_LINE_H_

#include "cuda/retire.h"
#include "culvert/ipc_ring.h"
#include "ipc/ipc_channel.h"

enum { CULVI_IPC_RUNS = 1, CULVI_IPC_STOPPED = 2 };                    /* of a ring */
enum { CULVI_IPC_JOINS = 0, CULVI_IPC_LIVES = 1, CULVI_IPC_LEFT = 2 }; /* of a consumer */
#define CULVI_IPC_PAGE_MAGIC UINT32_C(0x474e4952)

/* The producer's page; consumers map it without the right to write. */
typedef struct culvi_ipc_ring_page {
    uint32_t magic, slots;
    _Atomic uint32_t state;
    _Atomic uint32_t producer_waits; /* who gives a slot back wakes it */
    _Atomic uint64_t head;           /* frames that were released */
    /* Each slot has the number of the frame in it, and 1; 0: nothing to read */
    _Atomic uint64_t frames[CULV_RING_MAX_DEPTH];
    char apart[104];
    /* Frames that the producer's GPU has written, by a stream; 0: it does not tell */
    _Atomic uint64_t written;
} culvi_ipc_ring_page;

/* A consumer's page, which it and the producer write. The producer believes nothing of it beyond
 * what can harm that consumer alone. */
typedef struct culvi_ipc_consumer_page {
    _Atomic uint64_t ready; /* the timelines, when they are counters: written by streams */
    char apart[120];
    /* How far the consumer's GPU is: it reached this value. What the producer goes by, whoever has
     * the timelines. */
    _Atomic uint64_t done;
    char apart_too[120];
    _Atomic uint64_t next;  /* FIFO: frames below this number are given back */
    _Atomic uint64_t hold;  /* MAILBOX: the number of the frame that is held, and 1 */
    _Atomic uint32_t waits; /* who releases a frame wakes it */
    /* It counts from LIVES on, and no longer from LEFT on. A join that was given up never lived. */
    _Atomic uint32_t state;
    _Atomic uint64_t last[CULV_RING_MAX_DEPTH]; /* by slot: the value of done after its last use */
    /* Written by the producer: the number of the first frame that this consumer gets, and 1, once
     * it counts; and whether the producer has dropped it. */
    _Atomic uint64_t first;
    _Atomic uint32_t dropped;
    uint32_t reserved;
} culvi_ipc_consumer_page;

_Static_assert(sizeof(culvi_ipc_ring_page) <= CULVI_IPC_PAGE, "it is a page");
_Static_assert(sizeof(culvi_ipc_consumer_page) <= CULVI_IPC_PAGE, "it is a page");

/* Mapped, and registered with CUDA where streams use it. */
typedef struct culvi_ipc_pages {
    culv_device *device;
    char label[64];
    void *map;
    bool registered;
    CUdeviceptr at;                /* for streams; 0: they do not reach it */
    culvi_ipc_native native;       /* owned; or none */
    struct culvi_ipc_pages **kept; /* who may take them back, once they were left; or NULL */
    uint32_t user;                 /* of the process that left them */
    int32_t pid;
    culvi_tie tie;
    culvi_deferred deferred;
} culvi_ipc_pages;

/* Maps the pages; with `streams`, CUDA reaches them. The handle stays the caller's. */
culv_result culvi_ipc_pages_open(culv_device *device, culvi_ipc_native native, bool writable,
                                 bool streams, const char *label, culvi_ipc_pages **out);
/* Unmaps it. What CUDA reaches is left to a later collection, in which the driver waits for its
 * streams: those that used it may be gone, and a handle of a stream that is gone must not come near
 * a driver. *kept, if `kept` is not NULL, has it until then, or till culvi_ipc_pages_forget(). */
void culvi_ipc_pages_leave(culvi_ipc_pages **pages, culvi_ipc_pages **kept);
/* Takes back what *kept has, if it is of this process and its streams are done with it. */
culvi_ipc_pages *culvi_ipc_pages_take(culv_device *device, culvi_ipc_pages **kept, uint32_t user,
                                      int32_t pid);
void culvi_ipc_pages_forget(culv_device *device, culvi_ipc_pages **kept);

/* When to look again at what no message tells: at once a few times, and then less and less
 * often. *began is 0 at first. */
uint64_t culvi_ipc_soon(uint64_t *began, uint64_t until);

/* Returns the type of the handles that go with a join. */
static inline culv_handle_type culvi_ipc_join_type(const culvi_ipc_join *join)
{
    return (culv_handle_type)(join->handle_type != 0 ? join->handle_type
                                                     : (uint32_t)CULVI_HANDLE_OPAQUE);
}

/* A timeline as this process has it: a counter in a page, or a semaphore. */
typedef struct culvi_ipc_line {
    _Atomic uint64_t *word; /* NULL: a semaphore */
    CUdeviceptr at;
    culv_semaphore *semaphore; /* NULL: the graphics API of this process has it alone */
    culv_result (*signal)(void *context, uint64_t value);
    void *context;
    bool used;         /* by a stream */
    uint64_t waited;   /* the highest value that anything here may wait for */
    uint64_t signaled; /* the highest value that was handed out to be signaled here */
} culvi_ipc_line;

/* Refuses timelines whose handles are of two types, or of one that no timeline travels by. `where`
 * begins the message. */
culv_result culvi_ipc_timelines_check(const culvi_voice *voice, const char *label,
                                      const char *where, const culv_ipc_timelines *timelines);
/* Whether the driver has stream memory operations. */
bool culvi_ipc_can_count(const culv_device *device);
culv_result culvi_ipc_line_import(culv_device *device, const culv_handle *handle,
                                  const culv_uuid *exporter, const char *label,
                                  culvi_ipc_line *line);
/* The stream waits for the value, or signals it. */
typedef enum culvi_ipc_line_how { CULVI_IPC_WAITS, CULVI_IPC_SIGNALS } culvi_ipc_line_how;
culv_result culvi_ipc_line_use(culv_device *device, culvi_ipc_line *line, const char *label,
                               CUstream stream, uint64_t value, culvi_ipc_line_how how);
/* Who would signal is gone, or this side leaves: whoever waits here goes on. The log has `why`. */
void culvi_ipc_line_move_on(culv_device *device, culvi_ipc_line *line, const char *label,
                            const char *why);
/* A semaphore that streams used is left to a later collection, as pages are. */
void culvi_ipc_line_close(culvi_ipc_line *line);

/* What follows a timeline of a graphics API, which CUDA's host side cannot read: a stream of its
 * own waits there, and writes into a page. */
typedef struct culvi_ipc_watch {
    CUstream stream; /* NULL: nothing was followed yet */
    culvi_ipc_line to;
} culvi_ipc_watch;

/* Once the GPU has reached the value in `line`, it is in `watch->to`. */
culv_result culvi_ipc_watch_for(culv_device *device, culvi_ipc_watch *watch, culvi_ipc_line *line,
                                const char *label, uint64_t value);
/* Ends it. What it waits for is moved on. */
void culvi_ipc_watch_close(culv_device *device, culvi_ipc_watch *watch, culvi_ipc_line *line,
                           const char *label);

#endif
