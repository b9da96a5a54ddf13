/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: memory of cuMemAlloc and events for other processes (cuIpc...).
 *
 * A handle is plain bytes that name a file of the process that exported it, which is opened through
 * /proc. Memory moves to such a file at its first export. NVIDIA's driver shares the block that it
 * cut the memory from; the twin shares its pages. */
#include "semaphore_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { MEMORY = 0x4d, EVENT = 0x45 };
#define VERSION 2u

/* In CUipcMemHandle and CUipcEventHandle. Of the 16 words as many are not zero as with NVIDIA's
 * driver (measured: 10 and 3), and most are short: programs print them. Hence each "+ 1". */
struct bytes {
    uint32_t pid;
    uint32_t fd;    /* its number + 1; the kind in the uppermost 8 bits */
    uint32_t inode; /* the lower half */
    /* Of memory: */
    uint32_t inode_upper;   /* + 1 */
    uint32_t device, pages; /* a sum over the device's UUID; what the file has */
    uint32_t start;         /* in the file, + 1 */
    uint32_t size[2];       /* the lower half, and the upper half + 1 */
    uint32_t version;
};
_Static_assert(sizeof(struct bytes) <= sizeof(CUipcMemHandle), "a handle has room for it");
_Static_assert(sizeof(CUipcMemHandle) == sizeof(CUipcEventHandle), "both are plain bytes");

struct soft_ipc { /* of a range: its file, or where it comes from */
    struct soft_ipc *next;
    int fd;          /* the exporter's; -1 */
    unsigned opened; /* by cuIpcOpenMemHandle and not closed; 0: an exporter's */
    struct soft_context *context;
    uintptr_t start;
    struct bytes from;
};

struct place { /* what the handle of memory says */
    uint64_t room, start, size;
};

static struct soft_ipc *opened;

static bool describe(int fd, enum kind kind, struct bytes *out)
{
    uint64_t inode;
    if (fd < 0 || fd >= (1 << 24) - 1 || !soft_file_inode(fd, &inode)) return false;
    *out = (struct bytes){.pid = (uint32_t)getpid(),
                          .fd = ((uint32_t)fd + 1) | (uint32_t)kind << 24,
                          .inode = (uint32_t)inode};
    if (kind == MEMORY) out->inode_upper = (uint32_t)(inode >> 32) + 1;
    return true;
}

static int fd_of(const struct bytes *from)
{
    return (int)(from->fd & 0xffffff) - 1;
}

static bool is_kind(const struct bytes *from, enum kind kind)
{
    return from->fd >> 24 == (uint32_t)kind && fd_of(from) >= 0;
}

static bool is_file(const struct bytes *from, int fd)
{
    uint64_t inode = 0;
    return soft_file_inode(fd, &inode) && from->inode == (uint32_t)inode &&
           (is_kind(from, EVENT) || from->inode_upper == (uint32_t)(inode >> 32) + 1);
}

/* The exporter's file, opened anew; -1: the exporter or its file is gone. */
static int open_file(const struct bytes *from, uint64_t room)
{
    char path[64];
    uint64_t size = 0;
    snprintf(path, sizeof(path), "/proc/%u/fd/%d", (unsigned)from->pid, fd_of(from));
    const int fd = soft_open(path);
    if (fd < 0) return -1;
    if (is_file(from, fd) && soft_file_size(fd, &size) && size == room) return fd;
    soft_close(fd);
    return -1;
}

/* Whether it was exported here: another PID namespace has these numbers, too. */
static bool is_own(const struct bytes *from)
{
    return from->pid == (uint32_t)getpid() && is_file(from, fd_of(from));
}

static uint32_t sum_of_device(int device)
{
    uint32_t sum = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < sizeof(soft.devices[device].uuid); i++)
        sum = (sum ^ soft.devices[device].uuid[i]) * 16777619u;
    return sum;
}

static int device_of(const struct bytes *from)
{
    for (int i = 0; i < soft.device_count; i++)
        if (from->device == sum_of_device(i)) return i;
    return -1;
}

/* False: it is no handle of memory. */
static bool place_of(const struct bytes *from, struct place *out)
{
    if (!is_kind(from, MEMORY) || from->version != VERSION || from->start == 0 ||
        from->size[1] == 0)
        return false;
    out->room = (uint64_t)from->pages * soft_page_size();
    out->start = from->start - 1;
    out->size = from->size[0] | (uint64_t)(from->size[1] - 1) << 32;
    return out->size > 0 && out->start <= out->room && out->size <= out->room - out->start;
}

/* --- memory */

void soft_ipc_free(struct soft_ipc *ipc)
{
    for (struct soft_ipc **at = &opened; *at != NULL; at = &(*at)->next) {
        if (*at != ipc) continue;
        *at = ipc->next;
        break;
    }
    if (ipc->fd >= 0) soft_close(ipc->fd);
    free(ipc);
}

/* Puts a file under the range's pages. Nothing of its context runs meanwhile. */
static CUresult share(struct soft_range *range)
{
    const size_t page = soft_page_size(), skip = range->start % page;
    const size_t room = (skip + range->size + page - 1) / page * page;
    struct soft_ipc *ipc = calloc(1, sizeof(*ipc));
    if (ipc == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    ipc->fd = soft_make_file("culvert cuIpc memory", room);
    void *first = (void *)(range->start - skip);
    if (ipc->fd < 0 || !describe(ipc->fd, MEMORY, &ipc->from) || room / page > UINT32_MAX ||
        !soft_write_at(ipc->fd, first, room, 0) || !soft_map_over(first, room, ipc->fd)) {
        soft_ipc_free(ipc);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    ipc->from.device = sum_of_device(range->device);
    ipc->from.pages = (uint32_t)(room / page);
    ipc->from.start = (uint32_t)skip + 1;
    ipc->from.size[0] = (uint32_t)range->size;
    ipc->from.size[1] = (uint32_t)((uint64_t)range->size >> 32) + 1;
    ipc->from.version = VERSION;
    range->ipc = ipc;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_range *range = soft_range_find((uintptr_t)dptr);
    if (pHandle == NULL || range == NULL || range->kind != SOFT_RANGE_DEVICE || range->managed)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (range->ipc == NULL) {
        /* Here alone the twin waits where NVIDIA's driver does not: no work may write to the pages
         * while they move to the file. */
        soft_context_wait_holding(range->context);
        range = soft_range_find((uintptr_t)dptr);
        if (range == NULL || range->kind != SOFT_RANGE_DEVICE)
            return soft_end(CUDA_ERROR_INVALID_VALUE);
        SOFT_STEP(range->ipc == NULL ? share(range) : CUDA_SUCCESS);
    }
    memset(pHandle, 0, sizeof(*pHandle));
    memcpy(pHandle, &range->ipc->from, sizeof(range->ipc->from));
    return soft_end(CUDA_SUCCESS);
}

static CUresult open_memory(struct soft_context *context, const struct bytes *from,
                            const struct place *place, CUdeviceptr *out)
{
    struct soft_range range = {
        .size = (size_t)place->size, .kind = SOFT_RANGE_OPENED, .context = context};
    const int fd = open_file(from, place->room);
    if (fd < 0) return CUDA_ERROR_MAP_FAILED;
    struct soft_ipc *ipc = calloc(1, sizeof(*ipc));
    void *first = ipc == NULL
                      ? NULL
                      : soft_map_file_guarded(fd, (size_t)place->room, &range.map, &range.map_size);
    soft_close(fd);
    if (first == NULL) {
        free(ipc);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    range.start = (uintptr_t)first + (size_t)place->start;
    *ipc = (struct soft_ipc){
        .fd = -1, .opened = 1, .context = context, .start = range.start, .from = *from};
    range.ipc = ipc;
    const CUresult result = soft_range_add(&range);
    if (result != CUDA_SUCCESS) {
        soft_unmap(range.map, range.map_size);
        free(ipc);
        return result;
    }
    ipc->next = opened;
    opened = ipc;
    *out = range.start;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                       unsigned int Flags)
{
    struct bytes from;
    struct place place;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    memcpy(&from, &handle, sizeof(from));
    if (pdptr == NULL || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || !place_of(&from, &place))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* Not where it was exported: cuda.h's words for it are about contexts. */
    if (is_own(&from)) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    const int device = device_of(&from);
    if (device < 0) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    if (device != context->device && soft.peers_barred)
        return soft_end(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    for (struct soft_ipc *i = opened; i != NULL; i = i->next) {
        if (i->context != context || memcmp(&i->from, &from, sizeof(from)) != 0) continue;
        i->opened++; /* cuda.h: the same pointer again, counted */
        *pdptr = i->start;
        return soft_end(CUDA_SUCCESS);
    }
    return soft_end(open_memory(context, &from, &place, pdptr));
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_range *range = soft_range_find((uintptr_t)dptr);
    if (range == NULL || range->kind != SOFT_RANGE_OPENED || range->start != dptr)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (range->ipc->opened > 1) {
        range->ipc->opened--;
        return soft_end(CUDA_SUCCESS);
    }
    soft_context_wait_holding(range->context);
    range = soft_range_find((uintptr_t)dptr);
    if (range == NULL || range->kind != SOFT_RANGE_OPENED || range->start != dptr)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    soft_range_remove(range);
    return soft_end(CUDA_SUCCESS);
}

/* --- events */

/* A page that counts records of the event and those that were reached. */
struct soft_ipc_event {
    unsigned refs;
    int fd;
    void *map;
    size_t map_size;
    struct event_page *page;
    struct bytes bytes;
};

struct event_page {
    union soft_page done; /* a timeline: the highest record that was reached */
    _Atomic uint64_t recorded;
};
_Static_assert(sizeof(struct event_page) <= CULV_SOFT_TIMELINE_SIZE, "it is a page");

struct event_op {
    struct soft_op op;
    struct soft_ipc_event *event;
    uint64_t value;
    bool waits;
};

void soft_ipc_event_ref(struct soft_ipc_event *event)
{
    event->refs++;
}

void soft_ipc_event_unref(struct soft_ipc_event *event)
{
    if (event == NULL || --event->refs > 0) return;
    soft_unmap(event->map, event->map_size);
    soft_close(event->fd);
    free(event);
}

/* Takes the fd, also when it fails. */
static struct soft_ipc_event *event_of(int fd, const struct bytes *bytes)
{
    struct soft_ipc_event *event = calloc(1, sizeof(*event));
    if (event != NULL)
        event->page = soft_map_file(fd, 0, CULV_SOFT_TIMELINE_SIZE, &event->map, &event->map_size);
    if (event == NULL || event->page == NULL) {
        free(event);
        soft_close(fd);
        return NULL;
    }
    event->refs = 1;
    event->fd = fd;
    event->bytes = *bytes;
    return event;
}

struct soft_ipc_event *soft_ipc_event_new(void)
{
    struct bytes bytes;
    const int fd = soft_make_file("culvert cuIpc event", CULV_SOFT_TIMELINE_SIZE);
    if (fd < 0) return NULL;
    if (!describe(fd, EVENT, &bytes)) {
        soft_close(fd);
        return NULL;
    }
    return event_of(fd, &bytes);
}

CUresult soft_ipc_event_open(const CUipcEventHandle *handle, struct soft_ipc_event **out)
{
    struct bytes from;
    memcpy(&from, handle, sizeof(from));
    if (!is_kind(&from, EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    if (is_own(&from)) return CUDA_ERROR_INVALID_CONTEXT;
    const int fd = open_file(&from, CULV_SOFT_TIMELINE_SIZE);
    if (fd < 0) return CUDA_ERROR_MAP_FAILED;
    *out = event_of(fd, &from);
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void soft_ipc_event_describe(const struct soft_ipc_event *event, CUipcEventHandle *out)
{
    memset(out, 0, sizeof(*out));
    memcpy(out, &event->bytes, sizeof(event->bytes));
}

uint64_t soft_ipc_event_recorded(const struct soft_ipc_event *event)
{
    return atomic_load(&event->page->recorded);
}

bool soft_ipc_event_reached(const struct soft_ipc_event *event, uint64_t value)
{
    return atomic_load(&event->page->done.timeline.value) >= value;
}

void soft_ipc_event_sleep(const struct soft_ipc_event *event, uint64_t value)
{
    _Atomic uint32_t *seq = &event->page->done.timeline.seq;
    const uint32_t seen = atomic_load(seq);
    if (!soft_ipc_event_reached(event, value)) soft_futex_wait(seq, seen, 20);
}

static CUresult run(struct soft_op *base)
{
    const struct event_op *op = (const struct event_op *)(const void *)base;
    if (op->waits)
        return soft_page_wait(&op->event->page->done, SOFT_PAGE_TIMELINE, op->value,
                              soft_stream_context(base->stream));
    return soft_page_signal(&op->event->page->done, SOFT_PAGE_TIMELINE, op->value);
}

static void retire(struct soft_op *base)
{
    soft_ipc_event_unref(((struct event_op *)(void *)base)->event);
}

static CUresult submit(struct soft_ipc_event *event, struct soft_stream *stream, bool waits)
{
    struct event_op *op = soft_op_new(sizeof(*op), run, retire);
    if (op == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    event->refs++;
    op->event = event;
    op->waits = waits;
    op->value =
        waits ? soft_ipc_event_recorded(event) : atomic_fetch_add(&event->page->recorded, 1) + 1;
    return soft_submit(stream, op);
}

CUresult soft_ipc_event_record(struct soft_ipc_event *event, struct soft_stream *stream)
{
    return submit(event, stream, false);
}

CUresult soft_ipc_event_wait(struct soft_ipc_event *event, struct soft_stream *stream)
{
    if (soft_ipc_event_reached(event, soft_ipc_event_recorded(event)))
        return soft_stream_start(stream) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    return submit(event, stream, true);
}
