/* SPDX-License-Identifier: MIT */
/* Multicast objects: where the twin plays devices that have them; NVIDIA's driver is only asked
 * whether it does, since making one may disturb others on a shared machine. Striped ranges
 * besides; and what is refused. */
#define TEST_GROUP "multicast."
#include "cuda/device.h"
#include "sparse_stage.h"

#include "culvert/extra/multicast.h"

#include <unistd.h>

/* Two devices of the twin that have multicast, with memory of each. */
#define MULTICAST_CHUNK ((uint64_t)2 << 20)

typedef struct multicast_stage {
    sparse_stage s;
    culv_device *devices[2];        /* the first is the stage's */
    culv_vmm_allocation *memory[2]; /* a chunk of each */
    culv_vmm_allocation *shared[2]; /* the same, that can be exported */
    culv_vmm_range *range;          /* of the first one's addresses */
    CUdeviceptr mapped[2];          /* the chunks of `memory` */
} multicast_stage;

/* Of both devices, with the opt-in. */
static culv_multicast_desc multicast_describe(uint64_t size)
{
    culv_multicast_desc d = culv_multicast_desc_init();
    d.num_devices = 2;
    d.opt_in = 1;
    d.size = size;
    d.label = "team";
    return d;
}

/* Skips on NVIDIA's driver: multicast objects are never made there. */
static void multicast_stage_open(multicast_stage *m)
{
    memset(m, 0, sizeof *m);
    raw_cuda_two_devices();
    const raw_cuda *cu = lib_driver();
    if (cu->SoftPlayAttribute == NULL)
        SKIP(
            "a multicast object sets up NVSwitches, which may disturb others on a shared machine: none is made on NVIDIA's driver");
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1);
    sparse_stage_open(&m->s);
    m->devices[0] = m->s.w.device;
    m->devices[1] = sparse_stage_second(&m->s);
    REQUIRE(m->devices[1] != NULL);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = 2 * MULTICAST_CHUNK;
    LIB_OK(culv_vmm_range_create(m->devices[0], &rd, &m->range));
    for (uint64_t i = 0; i < 2; i++) {
        const culv_vmm_access both[2] = {
            {.device = m->devices[0], .flags = CULV_VMM_ACCESS_READ_WRITE},
            {.device = m->devices[1], .flags = CULV_VMM_ACCESS_READ_WRITE}};
        culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
        d.size = MULTICAST_CHUNK;
        LIB_OK(culv_vmm_allocation_create(m->devices[i], &d, &m->memory[i]));
        LIB_OK(culv_vmm_map(m->range, i * MULTICAST_CHUNK, m->memory[i], both, 2));
        m->mapped[i] = culv_vmm_range_pointer(m->range) + i * MULTICAST_CHUNK;
        d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
        LIB_OK(culv_vmm_allocation_create(m->devices[i], &d, &m->shared[i]));
    }
}

static void multicast_stage_close(multicast_stage *m)
{
    LIB_OK(culv_vmm_unmap(m->range, 0, 2 * MULTICAST_CHUNK, NULL));
    LIB_OK(culv_vmm_range_destroy(&m->range));
    for (int i = 0; i < 2; i++) {
        culv_vmm_allocation_destroy(&m->memory[i]);
        culv_vmm_allocation_destroy(&m->shared[i]);
    }
    culv_device_close(&m->devices[1]);
    sparse_stage_close(&m->s);
}

/* All words of a chunk; the last one. */
static void multicast_write(const multicast_stage *m, CUdeviceptr at, uint32_t value)
{
    LIB_CU_OK(&m->s.w, m->s.w.cu->MemsetD32Async(at, value, MULTICAST_CHUNK / 4, m->s.stream));
    lib_finish(&m->s.w, m->s.stream);
}

static uint32_t multicast_read(const multicast_stage *m, CUdeviceptr at)
{
    uint32_t word = 0;
    LIB_CU_OK(&m->s.w, m->s.w.cu->MemcpyDtoH(&word, at + MULTICAST_CHUNK - 4, 4));
    return word;
}
#define MULTICAST_CASE(...)                                                                        \
    TEST_ON(multicast_stage, s, multicast_stage_open(s), multicast_stage_close(s), __VA_ARGS__)

static uint32_t missing_of(const culv_multicast *object)
{
    return lib_allocation(culv_multicast_allocation(object)).missing_devices;
}

/* The one case that runs on hardware. */
SPARSE_CASE(asked)
{
    culv_multicast *none;
    uint64_t least = 77, best = 77;
    int supported = 0;
    const raw_cuda *cu = s->w.cu;
    CU_OK(cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    REQUIRE_EQ(culv_check_multicast(s->w.device) == CULV_OK, supported);
    culv_multicast_desc d = culv_multicast_desc_init();
    d.num_devices = 2;
    d.size = 2 << 20;
    const uint64_t before = sparse_driver_calls(cu);
    LIB_REFUSES(none, culv_multicast_create(s->w.device, &d, &none), INVALID, OPT_IN,
                "may disturb other programs");
    culv_multicast_import_desc id = culv_multicast_import_desc_init();
    id.num_devices = 2;
    id.size = 2 << 20;
    LIB_REFUSES(none, culv_multicast_import(s->w.device, &id, &none), INVALID, OPT_IN);
    REQUIRE_EQ(sparse_driver_calls(cu), before);
    if (supported) {
        LIB_OK(culv_multicast_get_granularity(s->w.device, &d, &least, &best));
        REQUIRE(least > 0 && best >= least && best % least == 0);
        MEASURED("library.multicast_granularity", "least %llu, recommended %llu",
                 (unsigned long long)least, (unsigned long long)best);
    } else {
        LIB_ERROR(culv_multicast_get_granularity(s->w.device, &d, &least, &best), UNSUPPORTED, VMM);
        REQUIRE(least == 77 && best == 77);
    }
    MEASURED("library.multicast_supported", "%d", supported);
}

/* Made, its team, bound, mapped, read through the object; the twin shows the memory of the device
 * that was added first. */
MULTICAST_CASE(team)
{
    culv_multicast *object = NULL;
    culv_vmm_range *range = NULL;
    culv_multicast_desc d = multicast_describe(3 << 20);
    LIB_OK(culv_multicast_create(s->s.w.device, &d, &object));
    culv_vmm_allocation *as_memory = culv_multicast_allocation(object);
    const culv_vmm_allocation_info info = lib_allocation(as_memory);
    REQUIRE(info.size == 2 * MULTICAST_CHUNK && info.requested == 3 << 20 && info.imported == 0);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = 4 * MULTICAST_CHUNK;
    LIB_OK(culv_vmm_range_create(s->s.w.device, &rd, &range));
    /* Nothing waits for who is missing. */
    for (uint32_t missing = 2; missing > 0; missing--) {
        REQUIRE_EQ(missing_of(object), missing);
        LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], 0, MULTICAST_CHUNK), NOT_READY);
        LIB_INVALID(
            culv_multicast_bind_address(object, 0, s->devices[0], s->mapped[0], MULTICAST_CHUNK),
            NOT_READY);
        LIB_INVALID(culv_vmm_map(range, 0, as_memory, NULL, 0), NOT_READY);
        LIB_OK(culv_multicast_add_device(object, s->devices[2 - missing]));
    }
    REQUIRE_EQ(missing_of(object), 0);
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_bind(object, 0, s->memory[i], 0, MULTICAST_CHUNK));
    const culv_vmm_access both[2] = {
        {.device = s->devices[0], .flags = CULV_VMM_ACCESS_READ_WRITE},
        {.device = s->devices[1], .flags = CULV_VMM_ACCESS_READ_WRITE}};
    LIB_OK(culv_vmm_map(range, 0, as_memory, both, 2));
    multicast_write(s, s->mapped[0], 0x31415926u);
    multicast_write(s, s->mapped[1], 0x27182818u);
    REQUIRE_EQ(multicast_read(s, culv_vmm_range_pointer(range)), 0x31415926u);
    multicast_write(s, culv_vmm_range_pointer(range), 0x16180339u);
    REQUIRE_EQ(multicast_read(s, s->mapped[0]), 0x16180339u);
    REQUIRE_EQ(multicast_read(s, s->mapped[1]), 0x27182818u);
    /* By address, at the other half; what is there goes on. */
    LIB_OK(culv_multicast_bind_address(object, MULTICAST_CHUNK, s->devices[1], s->mapped[1],
                                       MULTICAST_CHUNK));
    LIB_OK(culv_multicast_unbind(object, MULTICAST_CHUNK, s->devices[1], MULTICAST_CHUNK));
    LIB_OK(culv_multicast_unbind(object, 0, s->devices[1], MULTICAST_CHUNK));
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_multicast_destroy(&object); /* one binding is there yet */
    REQUIRE(object == NULL);
    culv_multicast_destroy(&object);
    culv_multicast_destroy(NULL);
}

/* Another process's half. The twin exports no multicast objects: the import is of plain memory, as
 * which the driver then refuses it; the rest is the object's own count. */
MULTICAST_CASE(shared)
{
    culv_multicast *ours = NULL, *theirs = NULL;
    culv_handle handle;
    culv_multicast_desc d = multicast_describe(MULTICAST_CHUNK);
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    uint64_t best = 0;
    LIB_OK(culv_multicast_get_granularity(s->devices[0], &d, NULL, &best));
    d.size = best;
    LIB_OK(culv_multicast_create(s->devices[0], &d, &ours));
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(ours)).size, best);
    culv_result r =
        culv_vmm_export_dup(culv_multicast_allocation(ours), CULV_HANDLE_OPAQUE_FD, &handle);
    REQUIRE_EQ(r, CULV_ERROR_DRIVER);
    LIB_OK(culv_vmm_export_dup(s->shared[1], CULV_HANDLE_OPAQUE_FD, &handle));
    culv_multicast_import_desc id = culv_multicast_import_desc_init();
    id.handle = handle;
    id.num_devices = 2;
    id.opt_in = 1;
    id.size = MULTICAST_CHUNK;
    lib_fd watched = lib_fd_watch(handle.value.fd);
    LIB_OK(culv_multicast_import(s->devices[1], &id, &theirs));
    lib_fd_require_untouched(&watched);
    culv_multicast_destroy(&theirs);
    LIB_OK(culv_multicast_import(s->devices[1], &id, &theirs));
    lib_fd_require_untouched(&watched);
    lib_fd_done(&watched, true);
    REQUIRE_EQ(missing_of(theirs), 2);
    LIB_ERROR(culv_multicast_add_device(theirs, s->devices[1]), DRIVER, DRIVER_REFUSED);
    REQUIRE_EQ(missing_of(theirs), 2);
    LIB_OK(culv_multicast_mark_devices_added(theirs, 2));
    REQUIRE_EQ(missing_of(theirs), 0);
    /* Memory of a device that it did not add itself is none of its own. */
    LIB_INVALID(culv_multicast_bind(theirs, 0, s->shared[1], 0, MULTICAST_CHUNK), DEVICE_MISMATCH);
    LIB_INVALID(culv_multicast_bind(theirs, 0, s->memory[1], 0, MULTICAST_CHUNK), NOT_EXPORTABLE);
    LIB_INVALID(culv_multicast_mark_devices_added(ours, 3), VALUE);
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_add_device(ours, s->devices[i]));
    /* What cannot be exported is not bound to what can. */
    LIB_INVALID(culv_multicast_bind(ours, 0, s->memory[0], 0, MULTICAST_CHUNK), NOT_EXPORTABLE);
    LIB_OK(culv_multicast_bind(ours, 0, s->shared[0], 0, MULTICAST_CHUNK));
    culv_multicast_destroy(&ours);
    culv_multicast_destroy(&theirs);
}

/* R26: a range whose every other chunk is another device's. On hardware too, where two GPUs reach
 * one another. */
TEST(striped, .title = "multicast.striped_range")
{
    enum { CHUNKS = 4 };
    sparse_stage s;
    culv_vmm_allocation *chunks[CHUNKS] = {NULL};
    culv_vmm_range *range = NULL;
    int can = 0;
    raw_cuda_two_devices();
    sparse_stage_open(&s);
    const raw_cuda *cu = s.w.cu;
    culv_device *devices[2] = {s.w.device, sparse_stage_second(&s)};
    if (devices[1] == NULL) SKIP("one CUDA device only");
    CU_OK(cu->DeviceCanAccessPeer(&can, 0, 1));
    if (!can) SKIP("devices 0 and 1 are no peers");
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = MULTICAST_CHUNK;
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = CHUNKS * MULTICAST_CHUNK;
    LIB_OK(culv_vmm_range_create(devices[0], &rd, &range));
    const culv_vmm_access both[2] = {{.device = devices[0], .flags = CULV_VMM_ACCESS_READ_WRITE},
                                     {.device = devices[1], .flags = CULV_VMM_ACCESS_READ_WRITE}};
    for (uint64_t i = 0; i < CHUNKS; i++) {
        LIB_OK(culv_vmm_allocation_create(devices[i % 2], &d, &chunks[i]));
        LIB_OK(culv_vmm_map(range, i * MULTICAST_CHUNK, chunks[i], both, 2));
    }
    /* Each device writes over all of it, and the other one reads that. */
    const CUdeviceptr base = culv_vmm_range_pointer(range);
    const size_t bytes = CHUNKS * MULTICAST_CHUNK;
    uint32_t *words = malloc(bytes);
    REQUIRE(words != NULL);
    for (int i = 0; i < 2; i++) {
        const lib_world writer = {
            .cu = cu, .device = devices[i], .context = culv_device_context(devices[i])};
        const lib_world reader = {
            .cu = cu, .device = devices[1 - i], .context = culv_device_context(devices[1 - i])};
        const uint32_t value = 0x10101010u + (uint32_t)i;
        CUstream stream = lib_stream(&writer);
        LIB_CU_OK(&writer, cu->MemsetD32Async(base, value, bytes / 4, stream));
        lib_finish(&writer, stream);
        lib_stream_destroy(&writer, stream);
        LIB_CU_OK(&reader, cu->MemcpyDtoH(words, base, bytes));
        for (size_t k = 0; k < bytes / 4; k++)
            REQUIRE_EQ(words[k], value);
    }
    free(words);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        culv_pointer_info info = culv_pointer_info_init();
        LIB_OK(culv_pointer_get_info(devices[0], base + i * MULTICAST_CHUNK, &info));
        REQUIRE_EQ(info.device, i % 2);
        culv_vmm_allocation_destroy(&chunks[i]);
    }
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_device_close(&devices[1]);
    sparse_stage_close(&s);
}

/* What is refused ------------------------------------------------------------------------------ */

#undef TEST_GROUP
#define TEST_GROUP "multicast_refused."

MULTICAST_CASE(objects)
{
    culv_device *device = s->devices[0];
    culv_multicast *none;
    uint64_t least = 77;
    culv_multicast_desc d = multicast_describe(MULTICAST_CHUNK);
#define ROW(change, class, why)                                                                    \
    SPOILT(d, change, LIB_REFUSES(none, culv_multicast_create(device, &d, &none), class, why))
    ROW(d.struct_size = 0, INVALID, STRUCT_SIZE);
    ROW(d.size = 0, INVALID, SIZE);
    ROW(d.size = UINT64_MAX, INVALID, SIZE);
    ROW(d.num_devices = 0, INVALID, VALUE);
    ROW(d.num_devices = 3, DRIVER, DRIVER_REFUSED); /* than the twin has: the driver says so */
    ROW(d.handle_types = 1u << CULV_HANDLE_DMA_BUF_FD, INVALID, HANDLE_TYPE);
    ROW(d.handle_types = 1u << CULV_HANDLE_OPAQUE_WIN32, UNSUPPORTED, HANDLE_TYPE);
    SPOILT(d, d.handle_types = 1u << CULV_HANDLE_OPAQUE_WIN32,
           LIB_ERROR(culv_multicast_get_granularity(device, &d, &least, NULL), UNSUPPORTED,
                     HANDLE_TYPE));
    REQUIRE_EQ(least, 77);
    SPOILT(device->tables[0].api.cuMulticastCreate, device->tables[0].api.cuMulticastCreate = NULL,
           {
               LIB_REFUSES(none, culv_multicast_create(device, &d, &none), UNSUPPORTED,
                           DRIVER_TOO_OLD);
               LIB_ERROR(culv_check_multicast(device), UNSUPPORTED, DRIVER_TOO_OLD);
           });
    SPOILT(device->caps.multicast, device->caps.multicast = 0,
           LIB_REFUSES(none, culv_multicast_create(device, &d, &none), UNSUPPORTED, VMM));
#undef ROW
    culv_multicast_import_desc id = culv_multicast_import_desc_init();
    id.opt_in = 1;
    id.num_devices = 2;
    id.size = MULTICAST_CHUNK;
#define ROW(change, why)                                                                           \
    SPOILT(id, change, LIB_REFUSES(none, culv_multicast_import(device, &id, &none), INVALID, why))
    ROW(id.num_devices = 0, VALUE);
    ROW(id.size = 0, SIZE);
    LIB_REFUSES(none, culv_multicast_import(device, &id, &none), INVALID, HANDLE_TYPE);
    ROW(id.handle = culv_handle_dma_buf_fd(0), HANDLE_TYPE);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    lib_fd watched = lib_fd_watch(ends[0]);
    ROW(id.handle = culv_handle_opaque_fd(ends[0]), HANDLE_KIND);
#undef ROW
    lib_fd_require_untouched(&watched);
    lib_fd_done(&watched, true);
    close(ends[1]);
    REQUIRE(culv_multicast_allocation(NULL) == NULL);
}

MULTICAST_CASE(devices_and_bindings)
{
    const uint64_t chunk = MULTICAST_CHUNK;
    culv_multicast *object = NULL;
    culv_vmm_allocation *pool = NULL;
    culv_multicast_desc d = multicast_describe(2 * chunk);
    LIB_OK(culv_multicast_create(s->devices[0], &d, &object));
    LIB_OK(culv_multicast_add_device(object, s->devices[0]));
    LIB_INVALID(culv_multicast_add_device(object, s->devices[0]), VALUE, "was added already");
    s->devices[1]->caps.multicast = 0;
    LIB_ERROR(culv_multicast_add_device(object, s->devices[1]), UNSUPPORTED, VMM);
    s->devices[1]->caps.multicast = 1;
    LIB_OK(culv_multicast_mark_devices_added(object, 1)); /* of another process, it says */
    LIB_INVALID(culv_multicast_add_device(object, s->devices[1]), VALUE,
                "all of the object's 2 devices");
    culv_multicast_destroy(&object);

    LIB_OK(culv_multicast_create(s->devices[0], &d, &object));
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_add_device(object, s->devices[i]));
    LIB_INVALID(culv_multicast_bind(object, 0, NULL, 0, chunk), NULL_ARGUMENT);
    LIB_INVALID(culv_multicast_bind(object, 4096, s->memory[0], 0, chunk), VALUE);
    LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], 4096, chunk), VALUE);
    LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], 0, 0), VALUE);
    LIB_INVALID(culv_multicast_bind(object, 2 * chunk, s->memory[0], 0, chunk), RANGE);
    LIB_INVALID(culv_multicast_bind(object, chunk, s->memory[0], 0, 2 * chunk), RANGE);
    LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], 0, 2 * chunk), RANGE);
    LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], chunk, chunk), RANGE);
    pool = sparse_pool(&s->s, 1);
    LIB_INVALID(culv_multicast_bind(object, 0, pool, 0, chunk), USAGE);
    culv_vmm_allocation_destroy(&pool);
    LIB_INVALID(culv_multicast_bind(object, 0, culv_multicast_allocation(object), 0, chunk), USAGE);
    culv_multicast *other = NULL; /* that waits for nobody any more */
    LIB_OK(culv_multicast_create(s->devices[0], &d, &other));
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_add_device(other, s->devices[i]));
    LIB_INVALID(culv_multicast_bind(object, 0, culv_multicast_allocation(other), 0, chunk), USAGE);
    culv_vmm_allocation *part = culv_multicast_allocation(other);
    lib_forget_error();
    culv_vmm_allocation_destroy(&part);
    REQUIRE(part != NULL);
    LIB_SAYS("culv_multicast_destroy() destroys both");
    culv_multicast_destroy(&other);
    LIB_OK(culv_multicast_bind(object, 0, s->memory[0], 0, chunk));
    LIB_ERROR(culv_multicast_bind(object, 0, s->shared[0], 0, chunk), BUSY, MAPPED);
    LIB_ERROR(culv_multicast_bind_address(object, 0, s->devices[0], s->mapped[0], chunk), BUSY,
              MAPPED);
    LIB_INVALID(culv_multicast_bind_address(object, 0, s->devices[0], 0, chunk), NULL_ARGUMENT);
    LIB_INVALID(culv_multicast_bind_address(object, 0, s->devices[0], s->mapped[0] + 64, chunk),
                VALUE);
    LIB_INVALID(culv_multicast_bind_address(object, chunk, s->devices[1], s->mapped[0], chunk),
                DEVICE_MISMATCH, "lies on CUDA device 0");
    LIB_INVALID(culv_multicast_unbind(object, 0, s->devices[1], chunk), NOT_MAPPED);
    LIB_INVALID(culv_multicast_unbind(object, 0, s->devices[0], 2 * chunk), NOT_MAPPED);
    LIB_INVALID(culv_multicast_unbind(object, 0, NULL, chunk), NULL_ARGUMENT);
    LIB_OK(culv_multicast_unbind(object, 0, s->devices[0], chunk));
    LIB_INVALID(culv_multicast_unbind(object, 0, s->devices[0], chunk), NOT_MAPPED);
    culv_multicast_destroy(&object);
}

/* Makes the first call of that name fail. The first of all asks whether the context is still there,
 * and may fail. */
#define PLAY(m, code, wanted, made, why)                                                           \
    do {                                                                                           \
        culv_result r_ = CULV_OK;                                                                  \
        for (uint64_t n_ = 2; n_ < 16; n_++) {                                                     \
            (m)->s.w.cu->SoftFailAt(n_, (code));                                                   \
            r_ = (made);                                                                           \
            const char *call_ = (m)->s.w.cu->SoftFailedCall();                                     \
            REQUIRE(call_ != NULL && r_ != CULV_OK);                                               \
            if (strcmp(call_, (wanted)) == 0) break;                                               \
        }                                                                                          \
        (m)->s.w.cu->SoftFailAt(0, 0);                                                             \
        culv_error e_ = culv_error_init();                                                         \
        culv_last_error(&e_);                                                                      \
        REQUIRE_EQ(r_, CULV_ERROR_DRIVER);                                                         \
        REQUIRE_EQ(e_.reason, (why));                                                              \
        REQUIRE_EQ(e_.native_code, (code));                                                        \
        REQUIRE_EQ_STR(e_.native_call, (wanted));                                                  \
    } while (0)

/* What is wrong with the system comes in words of its own. */
MULTICAST_CASE(system_says)
{
    culv_multicast *object = NULL;
    const culv_multicast_desc d = multicast_describe(MULTICAST_CHUNK);
    PLAY(s, CUDA_ERROR_SYSTEM_NOT_READY, "cuMulticastCreate",
         culv_multicast_create(s->devices[0], &d, &object), CULV_REASON_NOT_READY);
    LIB_SAYS("system software");
    REQUIRE(object == NULL);
    LIB_OK(culv_multicast_create(s->devices[0], &d, &object));
    PLAY(s, CUDA_ERROR_SYSTEM_NOT_READY, "cuMulticastAddDevice",
         culv_multicast_add_device(object, s->devices[0]), CULV_REASON_NOT_READY);
    REQUIRE_EQ(missing_of(object), 2);
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_add_device(object, s->devices[i]));
    PLAY(s, CUDA_ERROR_SYSTEM_NOT_READY, "cuMulticastBindMem",
         culv_multicast_bind(object, 0, s->memory[0], 0, MULTICAST_CHUNK), CULV_REASON_NOT_READY);
    PLAY(s, CUDA_ERROR_ILLEGAL_STATE, "cuMulticastBindMem",
         culv_multicast_bind(object, 0, s->memory[0], 0, MULTICAST_CHUNK),
         CULV_REASON_DRIVER_REFUSED);
    LIB_SAYS("illegal state");
    PLAY(s, CUDA_ERROR_ILLEGAL_STATE, "cuMulticastBindAddr",
         culv_multicast_bind_address(object, 0, s->devices[0], s->mapped[0], MULTICAST_CHUNK),
         CULV_REASON_DRIVER_REFUSED);
    LIB_OK(culv_multicast_bind(object, 0, s->memory[0], 0, MULTICAST_CHUNK));
    culv_multicast_destroy(&object);
}
