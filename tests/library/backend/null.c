/* SPDX-License-Identifier: MIT */
/* The null back-end: a graphics API that is none, to show all that a back-end adds, and its table
 * for the suite. Its memory is a VMM allocation of the CUDA driver's, its timeline a page that only
 * the software twin imports. */
#define TEST_GROUP "null."
#include "base/handle.h"
#include "base/message.h"
#include "core/image.h"
#include "cuda/context.h"
#include "graphics/graphics_ring.h"
#include "graphics/match.h"
#include "graphics/pair.h"
#include "pages.h"
#include "raw_cuda.h"
#include "shared_objects.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What a driver would have --------------------------------------------------------------------- */

/* The "native" device. */
static struct {
    const raw_cuda *cu;
    CUcontext context;
    CUuuid uuid;
    size_t granularity;
    uint8_t uuid_xor;     /* spoils what it tells */
    bool exports_nothing; /* as if it had been made without */
    bool copies_nothing;  /* as an API whose table has no copies */
} native;

/* "Native" memory, with an address for the native side's own reads and writes. */
typedef struct null_memory {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    size_t size;
} null_memory;

static const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .requestedHandleTypes =
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                               .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static const raw_cuda *open_native(void)
{
    char path[TEST_PATH_MAX];
    const raw_cuda *cu = raw_cuda_open();
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
    native.cu = cu;
    if (cu->software) REQUIRE(setenv("CULVERT_SOFT", "1", 1) == 0);
    CU_OK(cu->DeviceGetUuid(&native.uuid, 0));
    CU_OK(cu->DevicePrimaryCtxRetain(&native.context, 0));
    CU_OK(cu->MemGetAllocationGranularity(&native.granularity, &properties,
                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return cu;
}

static void close_native(void)
{
    const raw_cuda *cu = native.cu;
    CU_OK(cu->DevicePrimaryCtxRelease(0));
}

static void lie(backend_lie what)
{
    native.uuid_xor = what == BACKEND_STRANGER;
    native.exports_nothing = what == BACKEND_CLOSED;
}

static CUresult null_memory_create(uint64_t size, null_memory *out, const char **call)
{
    const raw_cuda *cu = native.cu;
    CUmemAccessDesc access = {.location = properties.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    null_memory made = {.size = (size / native.granularity + (size % native.granularity != 0)) *
                                native.granularity};
    *call = "cuMemCreate";
    CUresult r = cu->MemCreate(&made.handle, made.size, &properties, 0);
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

static void null_memory_destroy(null_memory *memory)
{
    const raw_cuda *cu = native.cu;
    if (memory->size == 0) return;
    RELEASE(cu->MemUnmap(memory->address, memory->size));
    RELEASE(cu->MemAddressFree(memory->address, memory->size));
    RELEASE(cu->MemRelease(memory->handle));
    *memory = (null_memory){.size = 0};
}

/* Any thread may call the null API. */
static void memory_write(const void *memory, const void *data, size_t size)
{
    const raw_cuda *cu = native.cu;
    CUcontext mine;
    CU_OK(cu->CtxPushCurrent(native.context));
    CU_OK(raw_cuda_upload(cu, ((const null_memory *)memory)->address, data, size));
    CU_OK(cu->CtxPopCurrent(&mine));
}

static void memory_read(const void *memory, void *data, size_t size)
{
    const raw_cuda *cu = native.cu;
    CUcontext mine;
    CU_OK(cu->CtxPushCurrent(native.context));
    CU_OK(cu->MemcpyDtoH(data, ((const null_memory *)memory)->address, size));
    CU_OK(cu->CtxPopCurrent(&mine));
}

static void *memory_create(uint64_t size)
{
    const char *call = NULL;
    null_memory *memory = calloc(1, sizeof *memory);
    REQUIRE(memory != NULL);
    CU_OK(null_memory_create(size, memory, &call));
    return memory;
}

static void memory_destroy(void *memory)
{
    null_memory_destroy(memory);
    free(memory);
}

static uint64_t memory_size(const void *memory)
{
    return ((const null_memory *)memory)->size;
}

/* "Native" timelines: 0, or an errno. */
typedef struct null_timeline {
    culv_soft_timeline *page;
    int fd;
} null_timeline;

static int null_timeline_create(uint64_t value, null_timeline **out)
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
    memcpy(timeline->page->device_uuid, native.uuid.bytes, sizeof timeline->page->device_uuid);
    atomic_store(&timeline->page->value, value);
    *out = timeline;
    return 0;

close_fd:
    close(timeline->fd);
free_timeline:
    free(timeline);
    return errno != 0 ? errno : ENOMEM;
}

static void timeline_destroy(void *timeline_)
{
    null_timeline *timeline = timeline_;
    munmap(timeline->page, CULV_SOFT_TIMELINE_SIZE);
    close(timeline->fd);
    free(timeline);
}

static uint64_t timeline_value(void *timeline)
{
    const uint64_t value = atomic_load(&((const null_timeline *)timeline)->page->value);
    CULV_SOFT_PAGE_ACQUIRE();
    return value;
}

static int null_timeline_signal(null_timeline *timeline, uint64_t value)
{
    culv_soft_timeline *page = timeline->page;
    if (atomic_load(&page->value) >= value) return EINVAL;
    CULV_SOFT_PAGE_RELEASE();
    atomic_store(&page->value, value);
    atomic_fetch_add(&page->seq, 1);
    (void)syscall(SYS_futex, (void *)&page->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    return 0;
}

/* ETIMEDOUT, which is positive, when it took longer. */
static int null_timeline_wait(null_timeline *timeline, uint64_t value, uint64_t timeout_ns)
{
    culv_soft_timeline *page = timeline->page;
    const struct timespec slice = {.tv_nsec = 10000000};
    for (uint64_t waited = 0;; waited += 10000000) {
        uint32_t seq = atomic_load(&page->seq);
        if (timeline_value(timeline) >= value) return 0;
        if (waited >= timeout_ns) return ETIMEDOUT;
        (void)syscall(SYS_futex, (void *)&page->seq, FUTEX_WAIT, seq, &slice, NULL, 0);
    }
}

static void *timeline_create(uint64_t value)
{
    null_timeline *timeline = NULL;
    REQUIRE_EQ(null_timeline_create(value, &timeline), 0);
    return timeline;
}

static void timeline_signal(void *timeline, uint64_t value)
{
    REQUIRE_EQ(null_timeline_signal(timeline, value), 0);
}

static bool timeline_wait(void *timeline, uint64_t value, unsigned timeout_ms)
{
    return null_timeline_wait(timeline, value, timeout_ms * UINT64_C(1000000)) == 0;
}

/* The API's table ------------------------------------------------------------------------------ */

typedef struct null_device {
    culvi_graphics base;
    uint32_t fallback;
} null_device;

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

static void free_device(culvi_graphics *graphics)
{
    culvi_free(graphics);
}

static culv_result attach(culv_device *device, uint32_t fallback, void **out);

static culv_result attach_again(culvi_graphics *graphics, culv_device *device, culvi_graphics **out)
{
    void *again = NULL;
    culv_result result = attach(device, ((const null_device *)graphics)->fallback, &again);
    if (result == CULV_OK) *out = &((null_device *)again)->base;
    return result;
}

/* Only the twin imports the null API's timelines. */
static culv_result check_exports(const culvi_graphics *graphics, const char *label, bool semaphores)
{
    if (!native.exports_nothing && (!semaphores || native.cu->software)) return CULV_OK;
    return culvi_fail(&graphics->device->voice, label, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_NOT_EXPORTABLE, "'%s' exports no %s", graphics->name,
                      semaphores ? "timelines" : "memory");
}

static culv_result export_memory(const culvi_graphics *graphics, const char *label, uint64_t memory,
                                 culv_handle *out)
{
    const null_memory *m = (const null_memory *)(uintptr_t)memory;
    int fd = -1;
    CUresult r = native.cu->MemExportToShareableHandle(&fd, m->handle,
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
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
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d",
                   ((const null_timeline *)(uintptr_t)semaphore)->fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return fail(graphics, label, errno, "open", "the timeline could not be exported");
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
    CUresult r = null_memory_create(size, memory, &call);
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
static void unmake(culvi_graphics *graphics, const culvi_native *made)
{
    if (made->memory != 0) null_memory_destroy((null_memory *)(uintptr_t)made->memory);
    culvi_free((void *)(uintptr_t)made->memory);
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
    int code = null_timeline_create(plan->initial_value, &timeline);
    if (code != 0)
        return fail(graphics, plan->label, code, "null_timeline_create",
                    "a timeline could not be made");
    *out = (uint64_t)(uintptr_t)timeline;
    return CULV_OK;
}

static void unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    timeline_destroy((void *)(uintptr_t)semaphore);
}

static culv_result check_timelines(const culvi_graphics *graphics, const char *label,
                                   culvi_host_use use)
{
    return CULV_OK;
}

static int read_semaphore(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    *out = timeline_value((void *)(uintptr_t)semaphore);
    return 0;
}

static int wait_for_semaphore(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                              uint64_t timeout_ns)
{
    return null_timeline_wait((null_timeline *)(uintptr_t)semaphore, value, timeout_ns);
}

static int signal_semaphore(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    return null_timeline_signal((null_timeline *)(uintptr_t)semaphore, value);
}

/* What every table of the null API has. */
#define ALWAYS                                                                                     \
    .words = &null_words, .free = free_device, .check_exports = check_exports,                     \
    .export_memory = export_memory, .export_semaphore = export_semaphore, .plan = plan_native,     \
    .make = make, .unmake = unmake, .make_semaphore = make_semaphore,                              \
    .unmake_semaphore = unmake_semaphore, .check_timelines = check_timelines,                      \
    .timeline_value = read_semaphore, .timeline_wait = wait_for_semaphore,                         \
    .timeline_signal = signal_semaphore, .fail = fail

static const culvi_graphics_api api = {ALWAYS, .attach_again = attach_again, .stage = stage};
static const culvi_graphics_api api_without_copies = {ALWAYS};

/* The calls, which an API's header would have -------------------------------------------------- */

static culv_result device_open(culv_device **out)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = native.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    culvi_adapter adapter = {.name = "null", .nvidia = true, .cause = "Its UUID was spoilt"};
    memcpy(adapter.uuid.bytes, native.uuid.bytes, sizeof adapter.uuid.bytes);
    adapter.uuid.bytes[0] ^= native.uuid_xor;
    return culvi_match_open(&null_words, &adapter, &desc, out);
}

static culv_result attach(culv_device *device, uint32_t fallback, void **out)
{
    null_device *made = culvi_alloc(sizeof *made);
    if (made == NULL) return culvi_fail_host_memory(&device->voice, NULL);
    culvi_graphics_init(&made->base, native.copies_nothing ? &api_without_copies : &api, device,
                        "null");
    made->fallback = fallback;
    snprintf(made->base.name, sizeof made->base.name, "null");
    memcpy(made->base.uuid.bytes, native.uuid.bytes, sizeof made->base.uuid.bytes);
    made->base.uuid.bytes[0] ^= native.uuid_xor;
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

static void detach(void **attachment)
{
    culvi_graphics *mine = *attachment;
    *attachment = NULL;
    if (mine != NULL) culvi_graphics_unref(mine);
}

static bool lose(void *attachment, bool told)
{
    if (told) culvi_graphics_lose(attachment);
    return false;
}

static culv_result memory_import(void *attachment, const void *memory, uint64_t size, bool shared,
                                 culv_memory **out)
{
    culvi_memory_ask ask = {
        .label = "null", .memory = (uint64_t)(uintptr_t)memory, .size = size, .dedicated = true};
    culv_result result = culvi_graphics_check_shares(attachment, ask.label, false);
    if (result != CULV_OK) return result;
    return (shared ? culvi_graphics_acquire : culvi_graphics_import)(attachment, &ask, out);
}

static culv_result timeline_import(void *attachment, void *timeline, culv_semaphore **out)
{
    culv_semaphore_desc import = culv_semaphore_desc_init();
    import.type = CULV_SEMAPHORE_TIMELINE;
    import.label = "null";
    return culvi_graphics_import_semaphore(attachment, (uint64_t)(uintptr_t)timeline, &import,
                                           "null_semaphore_import", out);
}

static culv_result buffer_create(void *attachment, uint64_t size, uint32_t fallback, void **out)
{
    const null_desc desc = {.size = size};
    culv_shared_buffer *made = NULL;
    culvi_plan plan = {
        .label = "null", .desc = &desc, .desc_name = "null_buffer_create", .fallback = fallback};
    const culv_result result = culvi_shared_buffer_create(attachment, &plan, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

/* On the HOST path with the copy to or from the pages. */
static void buffer_write(void *buffer, const void *data, size_t size)
{
    const culvi_pair *pair = &((const culv_shared_buffer *)buffer)->pair;
    memory_write((const void *)(uintptr_t)pair->native.memory, data, size);
    if (pair->stage.object != 0) memcpy((void *)(uintptr_t)pair->stage.object, data, size);
}

static void buffer_read(void *buffer, void *data, size_t size)
{
    const culvi_pair *pair = &((const culv_shared_buffer *)buffer)->pair;
    const void *memory = (const void *)(uintptr_t)pair->native.memory;
    if (pair->stage.object != 0)
        memory_write(memory, (const void *)(uintptr_t)pair->stage.object, size);
    memory_read(memory, data, size);
}

static culv_result image_create(void *attachment, uint32_t width, uint32_t height,
                                uint32_t fallback, void **out)
{
    null_desc desc = {.image = culv_image_desc_init()};
    culv_shared_image *made = NULL;
    desc.image.format = CULV_FORMAT_R32_UINT;
    desc.image.width = width;
    desc.image.height = height;
    desc.image.depth = desc.image.array_layers = desc.image.mip_levels = 1;
    culvi_plan plan = {
        .label = "null", .desc = &desc, .desc_name = "null_image_create", .fallback = fallback};
    const culv_result result = culvi_shared_image_create(attachment, &plan, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static culv_result semaphore_create(void *attachment, uint64_t value, uint32_t fallback, void **out)
{
    culv_shared_semaphore *made = NULL;
    culvi_semaphore_plan plan = {.label = "null",
                                 .desc_name = "null_semaphore_create",
                                 .fallback = fallback,
                                 .type = CULV_SEMAPHORE_TIMELINE,
                                 .initial_value = value};
    const culv_result result = culvi_shared_semaphore_create(attachment, &plan, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void *semaphore_timeline(const void *semaphore)
{
    return (void *)(uintptr_t)((const culv_shared_semaphore *)semaphore)->pair.native;
}

/* Rings between CUDA and the null API ---------------------------------------------------------- */

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
    void *buffer = NULL;
    culv_result result = buffer_create(base->graphics, *(const uint64_t *)description,
                                       ((null_ring *)base)->fallback, &buffer);
    if (result == CULV_OK) *out = buffer;
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
        void *buffer = base->resources[0].objects[j->slot];
        uint32_t words[BACKEND_RING_WORDS];
        suite_pattern(words, BACKEND_RING_WORDS, j->seed);
        if (base->side == CULV_RING_PRODUCER) {
            buffer_write(buffer, words, sizeof words);
            continue;
        }
        buffer_read(buffer, words, sizeof words);
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

static culv_result ring_create(void *attachment, const backend_ring *d, culv_ring **out)
{
    static const uint64_t size = BACKEND_RING_BYTES;
    null_ring *ring = calloc(1, sizeof *ring);
    REQUIRE(ring != NULL);
    ring->fallback = d->fallback;
    culv_result result = culvi_graphics_ring_check(&rings, attachment, "frames", d->depth, d->side,
                                                   d, d->resources != 0 ? d->resources : 1);
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

static culv_result ring_release(culv_ring *core, culv_ring_frame *frame, uint32_t seed)
{
    null_ring *ring = culvi_ring_of_api(core, &rings.ring, __func__);
    job *mine = &ring->jobs[frame->number % (2 * CULV_RING_MAX_DEPTH)];
    *mine = (job){frame->slot, seed};
    const culvi_graphics_work work = {.queue = ring, .commands = mine};
    return culvi_graphics_ring_submit(&ring->base, &work, frame, "null_ring_submit");
}

/* An API may have neither copies to another GPU nor copies through the host. */
TEST(without_copies)
{
    scene s;
    void *buffer = NULL, *semaphore = NULL;
    native.copies_nothing = true;
    suite_open(&s, BACKEND_CLOSED, CULV_FALLBACK_ANY);
    REFUSED(s.b->buffer_create(s.attachment, BYTES, CULV_FALLBACK_ANY, &buffer), UNSUPPORTED,
            NOT_EXPORTABLE, "Culvert has no copies through the host for null");
    REFUSED(s.b->buffer_create(s.attachment, BYTES, CULV_FALLBACK_PEER, &buffer), UNSUPPORTED, PEER,
            "Culvert has no copies to another GPU for null");
    REFUSED(s.b->semaphore_create(s.attachment, 0, CULV_FALLBACK_PEER, &semaphore), UNSUPPORTED,
            PEER);
    REQUIRE(buffer == NULL && semaphore == NULL);
    suite_close(&s);
    native.copies_nothing = false;
}

const backend backend_under_test = {
    .name = "null",
    .memory_word = "null memory",
    BACKEND_FUNCTIONS,
    BACKEND_RINGS,
    .ring_ways = 1,
    .rings_of_the_twin = true,
    .ring_submits = true,
    .lose = lose,
};
