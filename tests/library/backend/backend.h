/* SPDX-License-Identifier: MIT */
/* What every back-end promises, tested once for all: suite*.c run over the table of functions that
 * a back-end's driver gives. A back-end is added by one file with such a table. */
#ifndef CULVERT_TESTS_BACKEND_H_
#define CULVERT_TESTS_BACKEND_H_

#include "harness.h"
#include "raw_cuda.h"

#include <culvert/culvert.h>

/* How the native device lies. */
typedef enum backend_lie {
    BACKEND_HONEST,
    BACKEND_STRANGER, /* tells the UUID of nobody's GPU */
    BACKEND_CLOSED,   /* exports nothing */
    BACKEND_ACROSS,   /* none: Culvert's device may be another GPU */
} backend_lie;

/* A ring with one buffer a slot, whose size is no whole number of words. */
enum {
    BACKEND_RING_WORDS = 251,
    BACKEND_RING_BYTES = 4 * BACKEND_RING_WORDS + 1,
    BACKEND_RING_FRAMES = 1024 /* from one check of what the API read to the next */
};
typedef struct backend_ring {
    uint32_t depth, fallback;
    unsigned way;          /* below ring_ways */
    culv_ring_side side;   /* the API's */
    culv_ring_waits waits; /* of the API's side, where it has a choice */
    uint32_t resources;    /* a slot's: 0 is one */
    const culv_ring_settings *settings;
} backend_ring;

/* Objects are the back-end's own structs. What makes one by Culvert answers Culvert's result and
 * writes *out on success alone; what is the test's own native work fails the case. Calls that a
 * back-end lacks are NULL. */
typedef struct backend {
    const char *name;
    const char *memory_word; /* what messages call its memory */
    bool imports_anew;       /* memory_import() shares no import, or is told no size */
    bool copies_nothing;     /* buffers and images have no fallback */
    bool relays_nothing;     /* semaphores have none */
    /* The driver under test, with Culvert allowed to use the same one; the native device. */
    const raw_cuda *(*open)(void);
    void (*close)(void); /* fails the case when a native object is left */
    void (*lie)(backend_lie lie);
    /* Culvert's device that is the native one; its attachment. */
    culv_result (*device_open)(culv_device **out);
    culv_result (*attach)(culv_device *device, uint32_t fallback, void **out);
    void (*detach)(void **attachment);
    /* The caller's own memory, exportable, of `size` usable bytes. */
    void *(*memory_create)(uint64_t size);
    void (*memory_destroy)(void *memory);
    uint64_t (*memory_size)(const void *memory); /* of all of it, as an import must be told */
    void (*memory_write)(const void *memory, const void *data, size_t size);
    void (*memory_read)(const void *memory, void *data, size_t size);
    culv_result (*memory_import)(void *attachment, const void *memory, uint64_t size, bool shared,
                                 culv_memory **out);
    /* The caller's own timelines, exportable. */
    void *(*timeline_create)(uint64_t value);
    void (*timeline_destroy)(void *timeline);
    culv_result (*timeline_import)(void *attachment, void *timeline, culv_semaphore **out);
    void (*timeline_signal)(void *timeline, uint64_t value);
    bool (*timeline_wait)(void *timeline, uint64_t value, unsigned timeout_ms);
    uint64_t (*timeline_value)(void *timeline);
    /* Both halves. Writes and reads are the native side's; on the HOST path they end with its copy
     * to the host, or begin with the one from there. */
    culv_result (*buffer_create)(void *attachment, uint64_t size, uint32_t fallback, void **out);
    void (*buffer_destroy)(void **buffer, bool has_last_use, CUstream last_use);
    culv_buffer *(*buffer_cuda)(const void *buffer);
    void (*buffer_write)(void *buffer, const void *data, size_t size);
    void (*buffer_read)(void *buffer, void *data, size_t size);
    /* R32_UINT, 2D, one layer and level. */
    culv_result (*image_create)(void *attachment, uint32_t width, uint32_t height,
                                uint32_t fallback, void **out);
    void (*image_destroy)(void **image, bool has_last_use, CUstream last_use);
    culv_image *(*image_cuda)(const void *image);
    culv_result (*semaphore_create)(void *attachment, uint64_t value, uint32_t fallback,
                                    void **out);
    void (*semaphore_destroy)(void **semaphore, bool has_last_use, CUstream last_use);
    culv_semaphore *(*semaphore_cuda)(const void *semaphore);
    void *(*semaphore_timeline)(
        const void *semaphore); /* for timeline_signal(), _wait() and _value() alone */
    /* Rings, in each way that the API's can go; one ring at a time. The API's turn with a frame
     * writes suite_pattern() with that seed into the buffer, or requires it there, at the latest in
     * ring_check(), which forgets what it knows, and unless it is `right` asks for nothing. */
    unsigned ring_ways;
    bool signals_arrive;    /* a word is written before CUDA's signals to it */
    bool rings_of_the_twin; /* no other driver imports its timelines */
    bool rings_across;      /* Culvert's device may be another GPU */
    /* culv_ring_release() of the API's side is for a submission of the caller's, and a submission
     * within a burst is kept; and queues run it, so that the host waits for nothing. */
    bool ring_submits, ring_queues;
    /* 1 + the way in which CUDA's side, too, needs what ring_thread() makes current; 0: none. */
    unsigned ring_way_of_context;
    void (*ring_thread)(bool begins);
    culv_result (*ring_create)(void *attachment, const backend_ring *desc, culv_ring **out);
    /* Records the next release's work, so that only Culvert's calls are left. May be NULL. */
    void (*ring_record)(culv_ring *ring, const culv_ring_frame *frame, uint32_t seed);
    culv_result (*ring_release)(culv_ring *ring, culv_ring_frame *frame, uint32_t seed);
    bool (*ring_waits)(
        const culv_ring *ring);     /* the API's acquire, for CUDA's work; NULL: as told */
    void (*ring_check)(bool right); /* after finish(); NULL: the turns did all */
    void (*ring_end)(void);         /* after the ring is destroyed; may be NULL */
    /* Loses the native device, if it can, which is the answer; `told`: Culvert learns of it. */
    bool (*lose)(void *attachment, bool told);
    void (*finish)(void); /* waits for the API's own work; NULL: it has none on its way */
    /* Makes the native API's n-th call from now fail, as of a device that is lost where the API
     * tells that; 0: none. Returns how many it has made. NULL: its calls are the CUDA driver's. */
    uint64_t (*fail_at)(uint64_t n, bool lost);
} backend;

/* What each back-end has, as static functions of these names. */
#define BACKEND_FUNCTIONS                                                                          \
    .open = open_native, .close = close_native, .lie = lie, .device_open = device_open,            \
    .attach = attach, .detach = detach, .memory_create = memory_create,                            \
    .memory_destroy = memory_destroy, .memory_size = memory_size, .memory_write = memory_write,    \
    .memory_read = memory_read, .memory_import = memory_import,                                    \
    .timeline_create = timeline_create, .timeline_destroy = timeline_destroy,                      \
    .timeline_import = timeline_import, .timeline_signal = timeline_signal,                        \
    .timeline_wait = timeline_wait, .timeline_value = timeline_value,                              \
    .buffer_create = buffer_create, .buffer_destroy = buffer_destroy, .buffer_cuda = buffer_cuda,  \
    .buffer_write = buffer_write, .buffer_read = buffer_read, .image_create = image_create,        \
    .image_destroy = image_destroy, .image_cuda = image_cuda,                                      \
    .semaphore_create = semaphore_create, .semaphore_destroy = semaphore_destroy,                  \
    .semaphore_cuda = semaphore_cuda, .semaphore_timeline = semaphore_timeline

#define BACKEND_RINGS .ring_create = ring_create, .ring_release = ring_release

extern const backend backend_under_test;

#endif
