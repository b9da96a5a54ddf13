/* SPDX-License-Identifier: MIT */
/* The null back-end: everything that an API has to add, with as few native calls as there can
 * be. */
#include "null.h"
#include "base/handle.h"
#include "base/message.h"
#include "core/image.h"
#include "cuda/context.h"
#include "graphics/graphics_ring.h"
#include "graphics/match.h"
#include "pages.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct null_device {
    culvi_graphics base;
    null_native *native;
    uint32_t fallback;
};

static const culvi_words null_words = {
    .api = CULV_NATIVE_OS,
    .name = "null",
    .physical_device = "null device",
    .memory = "null memory",
    .semaphore = "null timeline",
    .size = "null_memory::size",
    .dedicated = "which all null memory is",
    .buffer_offset = "always 0",
    .image_offset = "always 0",
    .plane_offset = "it has no planes",
    .map_rows = "it has no such images",
    .read_call = "null_timeline_value",
    .wait_call = "null_timeline_wait",
    .signal_call = "null_timeline_signal",
    .attach_desc = "null_attach",
    .open_call = "null_device_open",
    .memory_desc = "null_memory_import",
    .memory_size = "size",
};

static null_native *native_of(const culvi_graphics *graphics)
{
    return ((const null_device *)graphics)->native;
}

static culv_result list(const void *source, const culvi_voice *voice, uint32_t *count,
                        culvi_adapter **out)
{
    const null_native *native = source;
    culvi_adapter *one = culvi_alloc(sizeof *one);
    if (one == NULL) return culvi_fail_host_memory(voice, NULL);
    one->native = native;
    one->nvidia = true;
    one->cause = "Its UUID was spoilt";
    snprintf(one->name, sizeof one->name, "null");
    memcpy(one->uuid.bytes, native->uuid.bytes, sizeof one->uuid.bytes);
    one->uuid.bytes[0] ^= native->uuid_xor;
    *count = 1;
    *out = one;
    return CULV_OK;
}

static void free_device(culvi_graphics *graphics)
{
    culvi_free(graphics);
}

static culv_result attach_again(culvi_graphics *graphics, culv_device *device, culvi_graphics **out)
{
    const null_device *mine = (const null_device *)graphics;
    null_device *again = NULL;
    culv_result result = null_attach(device, mine->native, mine->fallback, &again);
    if (result == CULV_OK) *out = &again->base;
    return result;
}

/* Only the twin imports the null API's timelines. */
static culv_result check_exports(const culvi_graphics *graphics, const char *label, bool semaphores)
{
    const null_native *native = native_of(graphics);
    if (!native->exports_nothing && (!semaphores || native->cu->software)) return CULV_OK;
    return culvi_fail(&graphics->device->voice, label, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_NOT_EXPORTABLE, "'%s' exports no %s", graphics->name,
                      semaphores ? "timelines" : "memory");
}

static culv_result export_memory(const culvi_graphics *graphics, const char *label, uint64_t memory,
                                 culv_handle *out)
{
    const raw_cuda *cu = native_of(graphics)->cu;
    const null_memory *m = (const null_memory *)(uintptr_t)memory;
    int fd = -1;
    CUresult r =
        cu->MemExportToShareableHandle(&fd, m->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(graphics->device, label, r, "cuMemExportToShareableHandle",
                               CULV_REASON_NOT_EXPORTABLE, "the null memory could not be exported");
    *out = culv_handle_opaque_fd(fd);
    return CULV_OK;
}

static culv_result fail(const culvi_graphics *graphics, const char *label, int code,
                        const char *call, const char *what)
{
    return culvi_fail_native(&graphics->device->voice, label,
                             code == ENOMEM ? CULV_ERROR_OUT_OF_MEMORY : CULV_ERROR_DRIVER,
                             CULV_REASON_DRIVER_REFUSED, CULV_NATIVE_OS, code, call,
                             "%s: %s answered %d", what, call, code);
}

static culv_result export_semaphore(const culvi_graphics *graphics, const char *label,
                                    uint64_t semaphore, culv_handle *out)
{
    int fd = null_timeline_fd((const null_timeline *)(uintptr_t)semaphore);
    if (fd < 0)
        return fail(graphics, label, errno, "null_timeline_fd",
                    "the timeline could not be exported");
    *out = culv_handle_opaque_fd(fd);
    return CULV_OK;
}

/* What a call of the null API describes: a buffer by its size, an image as CUDA has it. */
typedef struct null_desc {
    uint64_t size;
    culv_image_desc image;
} null_desc;

static culv_result plan_native(culvi_graphics *graphics, culvi_plan *plan)
{
    const null_desc *d = plan->desc;
    plan->dedicated = true;
    plan->size = d->size;
    if (!plan->is_image) return CULV_OK;
    plan->image = d->image;
    plan->row = culvi_format_find((uint32_t)d->image.format);
    plan->arrays = true;
    if (plan->row != NULL)
        return culvi_format_supported(graphics->device, plan->row, d->image.texels, plan->label);
    return culvi_fail(&graphics->device->voice, plan->label, CULV_ERROR_INVALID, CULV_REASON_FORMAT,
                      "format is %u, which is none", (unsigned)d->image.format);
}

static culv_result make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    const char *call = NULL;
    const culv_image_desc *d = &plan->image;
    uint64_t size = plan->is_image
                        ? culvi_image_least_size(plan->row, d->width, d->height, d->depth,
                                                 d->array_layers, d->mip_levels)
                        : plan->size;
    null_memory *memory = culvi_alloc(sizeof *memory);
    if (memory == NULL) return culvi_fail_host_memory(&graphics->device->voice, plan->label);
    CUresult r = null_memory_create(native_of(graphics), size, memory, &call);
    if (r != CUDA_SUCCESS) {
        culvi_free(memory);
        return culvi_fail_cuda(graphics->device, plan->label, r, call, CULV_REASON_DRIVER_REFUSED,
                               "null memory could not be made");
    }
    uint64_t number = (uint64_t)(uintptr_t)memory;
    *out = (culvi_native){.object = number,
                          .memory = number,
                          .size = memory->size,
                          .is_image = plan->is_image,
                          .dedicated = plan->dedicated};
    return CULV_OK;
}

/* A stage is the host's pages, which go with the staging. */
static void unmake(culvi_graphics *graphics, const culvi_native *native)
{
    null_memory *memory = (null_memory *)(uintptr_t)native->memory;
    if (memory == NULL) return;
    null_memory_destroy(native_of(graphics), memory);
    culvi_free(memory);
}

static culv_result stage(culvi_graphics *graphics, const char *label, culvi_staging *staging,
                         culvi_native *out)
{
    staging->host = culvi_alloc_pages(staging->size, 4096, &staging->block);
    if (staging->host == NULL) return culvi_fail_host_memory(&graphics->device->voice, label);
    *out = (culvi_native){.object = (uint64_t)(uintptr_t)staging->host, .size = staging->size};
    return CULV_OK;
}

/* Each of its timelines is exportable. */
static culv_result make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                  bool exportable, uint64_t *out)
{
    null_timeline *timeline = NULL;
    if (plan->type != CULV_SEMAPHORE_TIMELINE)
        return culvi_fail(&graphics->device->voice, plan->label, CULV_ERROR_UNSUPPORTED,
                          CULV_REASON_NOT_EXPORTABLE, "the null API has only timelines");
    int code = null_timeline_create(native_of(graphics), plan->initial_value, &timeline);
    if (code != 0)
        return fail(graphics, plan->label, code, "null_timeline_create",
                    "a timeline could not be made");
    *out = (uint64_t)(uintptr_t)timeline;
    return CULV_OK;
}

static void unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    null_timeline_destroy((null_timeline *)(uintptr_t)semaphore);
}

static culv_result check_timelines(const culvi_graphics *graphics, const char *label,
                                   culvi_host_use use)
{
    return CULV_OK;
}

static int timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    return null_timeline_value((const null_timeline *)(uintptr_t)semaphore, out);
}

static int timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                         uint64_t timeout_ns)
{
    return null_timeline_wait((null_timeline *)(uintptr_t)semaphore, value, timeout_ns);
}

static int timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    return null_timeline_signal((null_timeline *)(uintptr_t)semaphore, value);
}

/* What every table of the null API has. */
#define ALWAYS                                                                                     \
    .words = &null_words, .list = list, .free = free_device, .check_exports = check_exports,       \
    .export_memory = export_memory, .export_semaphore = export_semaphore, .plan = plan_native,     \
    .make = make, .unmake = unmake, .make_semaphore = make_semaphore,                              \
    .unmake_semaphore = unmake_semaphore, .check_timelines = check_timelines,                      \
    .timeline_value = timeline_value, .timeline_wait = timeline_wait,                              \
    .timeline_signal = timeline_signal, .fail = fail

static const culvi_graphics_api api = {ALWAYS, .attach_again = attach_again, .stage = stage};
static const culvi_graphics_api api_without_copies = {ALWAYS};

/* The calls ------------------------------------------------------------------------------------ */

culv_result null_device_open(null_native *native, culv_device **out)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = native->cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    culvi_adapter *adapter = NULL;
    uint32_t count = 0;
    culv_result result = list(native, NULL, &count, &adapter);
    if (result != CULV_OK) return result;
    result = culvi_match_open(&api, native, adapter, &desc, out);
    culvi_free(adapter);
    return result;
}

culv_result null_attach(culv_device *device, null_native *native, uint32_t fallback,
                        null_device **out)
{
    null_device *made = culvi_alloc(sizeof *made);
    if (made == NULL) return culvi_fail_host_memory(&device->voice, NULL);
    culvi_graphics_init(&made->base, native->copies_nothing ? &api_without_copies : &api, device,
                        "null");
    made->native = native;
    made->fallback = fallback;
    snprintf(made->base.name, sizeof made->base.name, "null");
    memcpy(made->base.uuid.bytes, native->uuid.bytes, sizeof made->base.uuid.bytes);
    made->base.uuid.bytes[0] ^= native->uuid_xor;
    culv_result result = culvi_graphics_identify(&made->base, fallback, false);
    if (result == CULV_OK && fallback == 0) result = check_exports(&made->base, "null", false);
    if (result != CULV_OK) {
        culvi_free(made);
        return result;
    }
    culvi_graphics_attached(&made->base);
    *out = made;
    return CULV_OK;
}

void null_detach(null_device **device)
{
    null_device *mine = *device;
    *device = NULL;
    if (mine != NULL) culvi_graphics_unref(&mine->base);
}

bool null_lose(void *attachment, bool told)
{
    if (told) culvi_graphics_lose(&((null_device *)attachment)->base);
    return false;
}

culv_result null_memory_import(null_device *device, const null_memory *memory, uint64_t size,
                               bool shared, culv_memory **out)
{
    culvi_memory_ask ask = {
        .label = "null", .memory = (uint64_t)(uintptr_t)memory, .size = size, .dedicated = true};
    culv_result result = culvi_graphics_check_shares(&device->base, ask.label, false);
    if (result != CULV_OK) return result;
    return shared ? culvi_graphics_acquire(&device->base, &ask, out)
                  : culvi_graphics_import(&device->base, &ask, out);
}

culv_result null_semaphore_import(null_device *device, null_timeline *timeline,
                                  culv_semaphore **out)
{
    culv_semaphore_desc import = culv_semaphore_desc_init();
    import.type = CULV_SEMAPHORE_TIMELINE;
    import.label = "null";
    return culvi_graphics_import_semaphore(&device->base, (uint64_t)(uintptr_t)timeline, &import,
                                           "null_semaphore_import", out);
}

culv_result null_buffer_create(null_device *device, uint64_t size, uint32_t fallback,
                               culv_shared_buffer **out)
{
    const null_desc desc = {.size = size};
    culvi_plan plan = {
        .label = "null", .desc = &desc, .desc_name = "null_buffer_create", .fallback = fallback};
    return culvi_shared_buffer_create(&device->base, &plan, out);
}

void null_buffer_write(const culv_shared_buffer *buffer, const void *data, size_t size)
{
    const culvi_pair *pair = &buffer->pair;
    null_memory_write(native_of(pair->graphics),
                      (const null_memory *)(uintptr_t)pair->native.memory, data, size);
    if (pair->stage.object != 0) memcpy((void *)(uintptr_t)pair->stage.object, data, size);
}

void null_buffer_read(const culv_shared_buffer *buffer, void *data, size_t size)
{
    const culvi_pair *pair = &buffer->pair;
    const null_memory *memory = (const null_memory *)(uintptr_t)pair->native.memory;
    if (pair->stage.object != 0)
        null_memory_write(native_of(pair->graphics), memory,
                          (const void *)(uintptr_t)pair->stage.object, size);
    null_memory_read(native_of(pair->graphics), memory, data, size);
}

culv_result null_image_create(null_device *device, const culv_image_desc *desc, uint32_t fallback,
                              culv_shared_image **out)
{
    null_desc own = {.image = *desc};
    culvi_plan plan = {
        .label = "null", .desc = &own, .desc_name = "null_image_create", .fallback = fallback};
    if (own.image.depth == 0) own.image.depth = 1;
    if (own.image.array_layers == 0) own.image.array_layers = 1;
    if (own.image.mip_levels == 0) own.image.mip_levels = 1;
    return culvi_shared_image_create(&device->base, &plan, out);
}

culv_result null_semaphore_create(null_device *device, uint64_t value, uint32_t fallback,
                                  culv_shared_semaphore **out)
{
    culvi_semaphore_plan plan = {.label = "null",
                                 .desc_name = "null_semaphore_create",
                                 .fallback = fallback,
                                 .type = CULV_SEMAPHORE_TIMELINE,
                                 .initial_value = value};
    return culvi_shared_semaphore_create(&device->base, &plan, out);
}

null_timeline *null_semaphore_timeline(const culv_shared_semaphore *semaphore)
{
    return (null_timeline *)(uintptr_t)semaphore->pair.native;
}

/* The null API's own side: memory and timelines, as a driver would have them. */

static CUmemAllocationProp properties(const null_native *native)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, native->ordinal}};
}

void null_native_open(null_native *native)
{
    const raw_cuda *cu = native->cu;
    CUmemAllocationProp p = properties(native);
    CU_OK(cu->DeviceGetUuid(&native->uuid, native->ordinal));
    CU_OK(cu->DevicePrimaryCtxRetain(&native->context, native->ordinal));
    CU_OK(cu->MemGetAllocationGranularity(&native->granularity, &p,
                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

void null_native_close(null_native *native)
{
    const raw_cuda *cu = native->cu;
    CU_OK(cu->DevicePrimaryCtxRelease(native->ordinal));
}

/* Any thread may call the null API. */
static void enter(const null_native *native)
{
    const raw_cuda *cu = native->cu;
    CU_OK(cu->CtxPushCurrent(native->context));
}

static void leave(const null_native *native)
{
    const raw_cuda *cu = native->cu;
    CUcontext mine;
    CU_OK(cu->CtxPopCurrent(&mine));
}

CUresult null_memory_create(const null_native *native, uint64_t size, null_memory *out,
                            const char **call)
{
    const raw_cuda *cu = native->cu;
    CUmemAllocationProp p = properties(native);
    CUmemAccessDesc access = {.location = p.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    null_memory made = {.size = (size / native->granularity + (size % native->granularity != 0)) *
                                native->granularity};
    *call = "cuMemCreate";
    CUresult r = cu->MemCreate(&made.handle, made.size, &p, 0);
    if (r != CUDA_SUCCESS) return r;
    *call = "cuMemAddressReserve";
    r = cu->MemAddressReserve(&made.address, made.size, 0, 0, 0);
    if (r != CUDA_SUCCESS) goto release;
    *call = "cuMemMap";
    r = cu->MemMap(made.address, made.size, 0, made.handle, 0);
    if (r != CUDA_SUCCESS) goto free_address;
    *call = "cuMemSetAccess";
    r = cu->MemSetAccess(made.address, made.size, &access, 1);
    if (r == CUDA_SUCCESS) {
        *out = made;
        return r;
    }
    CU_OK(cu->MemUnmap(made.address, made.size));
free_address:
    CU_OK(cu->MemAddressFree(made.address, made.size));
release:
    CU_OK(cu->MemRelease(made.handle));
    return r;
}

/* A release that a test makes fail is tried again. */
#define RELEASE(call)                                                                              \
    do {                                                                                           \
        if ((call) != CUDA_SUCCESS) CU_OK(call);                                                   \
    } while (0)

void null_memory_destroy(const null_native *native, null_memory *memory)
{
    const raw_cuda *cu = native->cu;
    if (memory->size == 0) return;
    RELEASE(cu->MemUnmap(memory->address, memory->size));
    RELEASE(cu->MemAddressFree(memory->address, memory->size));
    RELEASE(cu->MemRelease(memory->handle));
    *memory = (null_memory){.size = 0};
}

void null_memory_write(const null_native *native, const null_memory *memory, const void *data,
                       size_t size)
{
    enter(native);
    CU_OK(raw_cuda_upload(native->cu, memory->address, data, size));
    leave(native);
}

void null_memory_read(const null_native *native, const null_memory *memory, void *data, size_t size)
{
    const raw_cuda *cu = native->cu;
    enter(native);
    CU_OK(cu->MemcpyDtoH(data, memory->address, size));
    leave(native);
}

/* Timelines ------------------------------------------------------------------------------------ */

struct null_timeline {
    culv_soft_timeline *page;
    int fd;
};

int null_timeline_create(const null_native *native, uint64_t value, null_timeline **out)
{
    null_timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline == NULL) return ENOMEM;
    timeline->fd = memfd_create("null timeline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (timeline->fd < 0) goto free_timeline;
    if (ftruncate(timeline->fd, CULV_SOFT_TIMELINE_SIZE) != 0 ||
        fcntl(timeline->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        goto close_fd;
    void *page =
        mmap(NULL, CULV_SOFT_TIMELINE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, timeline->fd, 0);
    if (page == MAP_FAILED) goto close_fd;
    timeline->page = page;
    memcpy(timeline->page->magic, CULV_SOFT_TIMELINE_MAGIC, sizeof timeline->page->magic);
    memcpy(timeline->page->device_uuid, native->uuid.bytes, sizeof timeline->page->device_uuid);
    atomic_store(&timeline->page->value, value);
    *out = timeline;
    return 0;

close_fd:
    close(timeline->fd);
free_timeline:
    free(timeline);
    return errno != 0 ? errno : ENOMEM;
}

void null_timeline_destroy(null_timeline *timeline)
{
    munmap(timeline->page, CULV_SOFT_TIMELINE_SIZE);
    close(timeline->fd);
    free(timeline);
}

int null_timeline_fd(const null_timeline *timeline)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", timeline->fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

int null_timeline_value(const null_timeline *timeline, uint64_t *out)
{
    *out = atomic_load(&timeline->page->value);
    CULV_SOFT_PAGE_ACQUIRE();
    return 0;
}

int null_timeline_signal(null_timeline *timeline, uint64_t value)
{
    culv_soft_timeline *page = timeline->page;
    if (atomic_load(&page->value) >= value) return EINVAL;
    CULV_SOFT_PAGE_RELEASE();
    atomic_store(&page->value, value);
    atomic_fetch_add(&page->seq, 1);
    (void)syscall(SYS_futex, (void *)&page->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    return 0;
}

int null_timeline_wait(null_timeline *timeline, uint64_t value, uint64_t timeout_ns)
{
    culv_soft_timeline *page = timeline->page;
    const struct timespec slice = {.tv_nsec = 10000000};
    for (uint64_t waited = 0;; waited += 10000000) {
        uint32_t seq = atomic_load(&page->seq);
        uint64_t now = 0;
        (void)null_timeline_value(timeline, &now);
        if (now >= value) return 0;
        if (waited >= timeout_ns) return ETIMEDOUT;
        (void)syscall(SYS_futex, (void *)&page->seq, FUTEX_WAIT, seq, &slice, NULL, 0);
    }
}

/* Rings between CUDA and the null API, for suite_rings.c. */

/* A "command list": a frame that the null side writes or reads. */
typedef struct job {
    uint32_t slot, seed;
} job;

typedef struct null_ring {
    culvi_graphics_ring base;
    uint32_t fallback;
    job jobs[2 * CULV_RING_MAX_DEPTH];
} null_ring;

static culv_result make_object(culvi_graphics_ring *base, const void *description, uint32_t slot,
                               culvi_pair **out)
{
    culv_shared_buffer *buffer = NULL;
    culv_result result =
        null_buffer_create((null_device *)base->graphics, *(const uint64_t *)description,
                           ((null_ring *)base)->fallback, &buffer);
    if (result == CULV_OK) *out = (culvi_pair *)buffer;
    return result;
}

static null_timeline *timeline_of(const culvi_graphics_ring *base, culv_ring_side side)
{
    return (null_timeline *)(uintptr_t)base->timelines[side].pair->native;
}

/* The null API's queue does all of it at once. */
static culv_result submit(culvi_graphics_ring *base, const culvi_graphics_work *work,
                          uint32_t count, uint64_t wait, uint64_t signal)
{
    null_ring *ring = (null_ring *)base;
    REQUIRE(work->queue == ring);
    if (wait != 0)
        REQUIRE_EQ(null_timeline_wait(timeline_of(base, culvi_graphics_ring_cuda_side(base)), wait,
                                      TEST_FAR_MS * UINT64_C(1000000)),
                   0);
    for (uint32_t i = 0; i < count; i++) {
        const job *j = base->pending[i];
        const culv_shared_buffer *buffer =
            (const culv_shared_buffer *)base->resources[0].objects[j->slot];
        uint32_t words[BACKEND_RING_WORDS];
        suite_pattern(words, BACKEND_RING_WORDS, j->seed);
        if (base->side == CULV_RING_PRODUCER) {
            null_buffer_write(buffer, words, sizeof words);
            continue;
        }
        null_buffer_read(buffer, words, sizeof words);
        REQUIRE_PATTERN(words, BACKEND_RING_WORDS, j->seed);
    }
    if (signal != 0) REQUIRE_EQ(null_timeline_signal(timeline_of(base, base->side), signal), 0);
    return CULV_OK;
}

static culv_result destroy(void *ring, const CUstream *last_use, const char *call)
{
    culvi_graphics_ring_unmake(&((null_ring *)ring)->base, last_use);
    free(ring);
    return CULV_OK;
}

static const culvi_graphics_ring_api rings = {.desc = "null_ring_desc",
                                              .attachment = "null_device",
                                              .ring = {.create_call = "null_ring_create",
                                                       .submit_call = "null_ring_submit",
                                                       .acquire = culvi_graphics_ring_acquire,
                                                       .release = culvi_graphics_ring_release,
                                                       .flush = culvi_graphics_ring_flush,
                                                       .objects = culvi_graphics_ring_objects,
                                                       .destroy = destroy},
                                              .make_object = make_object,
                                              .submit = submit};

culv_result null_ring_create(void *attachment, const backend_ring *d, culv_ring **out)
{
    static const uint64_t size = BACKEND_RING_BYTES;
    null_ring *ring = calloc(1, sizeof *ring);
    REQUIRE(ring != NULL);
    ring->fallback = d->fallback;
    culv_result result = culvi_graphics_ring_check(&rings, attachment, "frames", d->depth, d->side,
                                                   d->resources != 0 ? d->resources : 1);
    culvi_graphics_ring_init(&ring->base, &rings, attachment, d->depth, d->side, "frames");
    if (result == CULV_OK) result = culvi_graphics_ring_set_waits(&ring->base, d->waits);
    if (result == CULV_OK) result = culvi_graphics_ring_make_timelines(&ring->base, d->fallback);
    if (result == CULV_OK)
        result = culvi_graphics_ring_make_resource(&ring->base, &size, false, true);
    if (result == CULV_OK) result = culvi_graphics_ring_make_core(&ring->base, d->settings);
    if (result != CULV_OK) {
        (void)destroy(ring, NULL, NULL);
        return result;
    }
    *out = ring->base.core;
    return CULV_OK;
}

culv_result null_ring_release(culv_ring *core, culv_ring_frame *frame, uint32_t seed)
{
    null_ring *ring = culvi_ring_of_api(core, &rings.ring, __func__);
    job *mine = &ring->jobs[frame->number % (2 * CULV_RING_MAX_DEPTH)];
    *mine = (job){frame->slot, seed};
    const culvi_graphics_work work = {.queue = ring, .commands = mine};
    return culvi_graphics_ring_submit(&ring->base, &work, frame, "null_ring_submit");
}
