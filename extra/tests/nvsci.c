/* SPDX-License-Identifier: MIT */
/* NvSci's objects in CUDA, on a driver and a library that play them: no machine here has them. */
#define TEST_GROUP "nvsci."
#include "library.h"
#include "played_nvsci.h"

#include "culvert/extra/nvsci.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

typedef struct stage {
    culv_device *device;
    nvsci_driver *driver;
    played_nvsci *library;
    void *handle;
    void *memory;
    played_buffer object;
} stage;

static void make_current(const stage *s, CUcontext context)
{
    LIB_CUDA(s->device, PFN_cuCtxSetCurrent_v4000, cuCtxSetCurrent, 4000);
    CU_OK(cuCtxSetCurrent(context));
}

static void stage_open(stage *s)
{
    char path[TEST_PATH_MAX];
    memset(s, 0, sizeof *s);
    s->driver = lib_open_played("lib/nvsci", "culvNvsciDriver", &s->device);
    s->handle = dlopen(test_path(path, "lib/nvsci/libnvscibuf.so.1"), RTLD_NOW);
    REQUIRE(s->handle != NULL);
    s->library = dlsym(s->handle, "culvPlayedNvsci");
    REQUIRE(s->library != NULL);
    REQUIRE(posix_memalign(&s->memory, (size_t)sysconf(_SC_PAGESIZE), BYTES) == 0);
    memset(s->memory, 7, BYTES);
    s->object = (played_buffer){PLAYED_BUFFER, PLAYED_READ_WRITE, s->memory, BYTES};
}

static void stage_close(stage *s)
{
    REQUIRE(s->driver->memories == 0 && s->driver->semaphores == 0 && s->driver->mappings == 0);
    REQUIRE_EQ(s->library->duplicates, s->library->freed);
    culv_device_close(&s->device);
    REQUIRE(s->device == NULL);
    free(s->memory);
    dlclose(s->handle);
}

#define NVSCI_CASE(...) TEST_ON(stage, s, stage_open(s), stage_close(s), __VA_ARGS__)

static culv_nvsci_buffer_desc desc_of(const stage *s)
{
    culv_nvsci_buffer_desc d = culv_nvsci_buffer_desc_init();
    d.object = &s->object;
    d.size = BYTES;
    d.label = "camera";
    return d;
}

NVSCI_CASE(buffers, .own = true, .smoke = true)
{
    LIB_CUDA(s->device, PFN_cuMemcpyDtoH_v3020, cuMemcpyDtoH, 3020);
    LIB_CUDA(s->device, PFN_cuMemcpyHtoD_v3020, cuMemcpyHtoD, 3020);
    for (int read_only = 0; read_only < 2; read_only++) {
        culv_nvsci_buffer *b = NULL;
        culv_nvsci_buffer_desc d = desc_of(s);
        d.read_only = (culv_bool)read_only;
        LIB_OK(culv_nvsci_buffer_import(s->device, &d, &b));
        REQUIRE_EQ(s->driver->perm, read_only ? PLAYED_READ_ONLY : PLAYED_READ_WRITE);
        REQUIRE_EQ(s->library->duplicates, (unsigned)read_only);
        CUdeviceptr p = 0, again = 0;
        LIB_OK(culv_nvsci_buffer_get_pointer(b, &p));
        LIB_OK(culv_nvsci_buffer_get_pointer(b, &again));
        REQUIRE(p != 0 && p == again && s->driver->mappings == 1);
        uint8_t bytes[64], more[64];
        memset(s->memory, 40 + read_only, BYTES); /* the camera writes */
        make_current(s, culv_device_context(s->device));
        CU_OK(cuMemcpyDtoH(bytes, p + BYTES - 64, sizeof bytes));
        for (size_t i = 0; i < sizeof bytes; i++)
            REQUIRE_EQ(bytes[i], 40 + read_only);
        memset(more, 99, sizeof more);
        CU_OK(cuMemcpyHtoD(p + 100, more, sizeof more));
        REQUIRE(memcmp((char *)s->memory + 100, more, sizeof more) == 0);
        make_current(s, NULL);
        CUarray none = NULL;
        culv_nvsci_array_desc ad = culv_nvsci_array_desc_init();
        ad.width = ad.height = 16;
        LIB_INVALID(culv_nvsci_buffer_get_array(b, &ad, &none), USAGE);
        culv_nvsci_buffer_destroy(&b);
        REQUIRE(b == NULL && s->driver->memories == 0 && s->driver->mappings == 0);
        REQUIRE_EQ(s->library->freed, (unsigned)read_only);
    }
    culv_nvsci_buffer_destroy(NULL);
}

NVSCI_CASE(images, .own = true)
{
    culv_nvsci_buffer *b = NULL;
    culv_nvsci_buffer_desc d = desc_of(s);
    LIB_OK(culv_nvsci_buffer_import(s->device, &d, &b));
    culv_nvsci_array_desc ad = culv_nvsci_array_desc_init();
    ad.width = 64;
    ad.height = 32;
    ad.cuda_format = CU_AD_FORMAT_UNSIGNED_INT8;
    ad.channels = 4;
    CUarray array = NULL, again = NULL;
    ad.offset = BYTES;
    LIB_INVALID(culv_nvsci_buffer_get_array(b, &ad, &array), RANGE);
    ad.offset = 0;
    LIB_OK(culv_nvsci_buffer_get_array(b, &ad, &array));
    LIB_OK(culv_nvsci_buffer_get_array(b, &ad, &again));
    REQUIRE(array != NULL && array == again && s->driver->levels == 1);
    LIB_CUDA(s->device, PFN_cuArrayGetDescriptor_v3020, cuArrayGetDescriptor, 3020);
    CUDA_ARRAY_DESCRIPTOR told;
    make_current(s, culv_device_context(s->device));
    CU_OK(cuArrayGetDescriptor(&told, array));
    make_current(s, NULL);
    REQUIRE(told.Width == 64 && told.Height == 32 && told.NumChannels == 4);
    CUdeviceptr none = 0;
    LIB_INVALID(culv_nvsci_buffer_get_pointer(b, &none), USAGE);
    culv_nvsci_buffer_destroy(&b);
}

/* A fence that CUDA signals after its work, and one that CUDA waits for. */
NVSCI_CASE(fences, .own = true)
{
    LIB_CUDA(s->device, PFN_cuStreamCreate_v2000, cuStreamCreate, 2000);
    LIB_CUDA(s->device, PFN_cuStreamDestroy_v4000, cuStreamDestroy, 4000);
    LIB_CUDA(s->device, PFN_cuStreamSynchronize_v2000, cuStreamSynchronize, 2000);
    LIB_CUDA(s->device, PFN_cuStreamQuery_v2000, cuStreamQuery, 2000);
    CUstream stream = NULL;
    played_sync object = {.magic = PLAYED_SYNC};
    played_fence fence = {NULL, 0};
    played_list list = {.magic = PLAYED_LIST};
    culv_nvsci_sync *sync = NULL;
    LIB_OK(culv_nvsci_get_sync_attributes(s->device, &list, CULV_NVSCI_SIGNALS | CULV_NVSCI_WAITS));
    REQUIRE(list.roles == 3 && list.device == 0);
    LIB_OK(culv_nvsci_sync_import(s->device, &object, &sync));
    make_current(s, culv_device_context(s->device));
    CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 1; i <= 4; i++) {
        const uint32_t flags = i % 2 == 0 ? CULV_NVSCI_SKIP_MEMSYNC : 0;
        LIB_OK(culv_nvsci_sync_signal(sync, &fence, flags, stream));
        REQUIRE(fence.sync == &object && fence.value == i);
        CU_OK(cuStreamSynchronize(stream));
        REQUIRE_EQ(atomic_load(&object.now), i);
        REQUIRE_EQ(s->driver->signal_flags, i % 2 == 0 ? 1 : 0);
    }
    played_fence theirs = {&object, 5}; /* another engine's */
    LIB_OK(culv_nvsci_sync_wait(sync, &theirs, CULV_NVSCI_SKIP_MEMSYNC, stream));
    REQUIRE_EQ(s->driver->wait_flags, 2);
    CU_IS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    atomic_store(&object.now, 5);
    CU_OK(cuStreamSynchronize(stream));
    LIB_OK(culv_nvsci_sync_wait(sync, &theirs, 0, stream));
    REQUIRE_EQ(s->driver->wait_flags, 0);
    CU_OK(cuStreamSynchronize(stream));
    CU_OK(cuStreamDestroy(stream));
    make_current(s, NULL);
    culv_nvsci_sync_destroy(&sync);
    culv_nvsci_sync_destroy(&sync);
}

NVSCI_CASE(refused, .own = true)
{
    culv_nvsci_buffer *b = NULL;
    culv_nvsci_sync *sync = NULL;
    culv_nvsci_buffer_desc d = desc_of(s);
    played_sync object = {.magic = PLAYED_SYNC};
    played_fence fence = {NULL, 0};
    played_list list = {.magic = PLAYED_LIST};
#define REFUSED(...) LIB_REFUSES(b, culv_nvsci_buffer_import(s->device, &d, &b), __VA_ARGS__)
    d.object = NULL;
    REFUSED(INVALID, NULL_ARGUMENT);
    d = desc_of(s);
    d.size = 0;
    REFUSED(INVALID, SIZE);
    d.size = BYTES / 2; /* the played driver looks */
    REFUSED(DRIVER, HANDLE_REFUSED, "GpuId");
    d = desc_of(s);
    d.struct_size = 2;
    REFUSED(INVALID, STRUCT_SIZE);
    d = desc_of(s);
    d.read_only = 1;
    s->library->answer = 17;
    REFUSED(DRIVER, DRIVER_REFUSED, "17");
    s->library->answer = 0;
    s->driver->answer = CUDA_ERROR_NOT_SUPPORTED; /* the duplicate is given back */
    REFUSED(UNSUPPORTED, HANDLE_TYPE);
    REQUIRE(s->library->duplicates == 1 && s->library->freed == 1);
    s->driver->answer = CUDA_ERROR_NOT_SUPPORTED;
    LIB_REFUSES(sync, culv_nvsci_sync_import(s->device, &object, &sync), UNSUPPORTED, HANDLE_TYPE);
    s->driver->answer = CUDA_ERROR_OUT_OF_MEMORY;
    LIB_REFUSES(sync, culv_nvsci_sync_import(s->device, &object, &sync), OUT_OF_MEMORY,
                DEVICE_MEMORY);
    LIB_OK(culv_nvsci_sync_import(s->device, &object, &sync));
    LIB_INVALID(culv_nvsci_sync_signal(sync, &fence, 2, NULL), VALUE);
    LIB_INVALID(culv_nvsci_sync_wait(sync, &fence, 4, NULL), VALUE);
    LIB_INVALID(culv_nvsci_sync_wait(sync, NULL, 0, NULL), NULL_ARGUMENT);
    LIB_ERROR(culv_nvsci_sync_wait(sync, &fence, 0, NULL), DRIVER,
              DRIVER_REFUSED); /* nobody's fence */
    REQUIRE(fence.sync == NULL && object.next == 0);
    culv_nvsci_sync_destroy(&sync);
    LIB_INVALID(culv_nvsci_get_sync_attributes(s->device, &list, 0), VALUE);
    LIB_INVALID(culv_nvsci_get_sync_attributes(s->device, &list, 8), VALUE);
}

/* A driver that has nothing of NvSci: the twin, or a desktop GPU's. */
LIB_CASE(nowhere)
{
    int object[16] = {0};
    culv_nvsci_buffer *b = NULL;
    culv_nvsci_buffer_desc d = culv_nvsci_buffer_desc_init();
    d.object = object;
    d.size = BYTES;
    /* A real driver would read what it takes for NvSci's. */
    if (w->cu->software) {
        LIB_REFUSES(b, culv_nvsci_buffer_import(w->device, &d, &b), UNSUPPORTED, HANDLE_TYPE);
        LIB_ERROR(culv_nvsci_get_sync_attributes(w->device, object, 1), UNSUPPORTED, HANDLE_TYPE);
    }
    d.read_only = 1;
    LIB_REFUSES(b, culv_nvsci_buffer_import(w->device, &d, &b), UNSUPPORTED, LIBRARY);
}
