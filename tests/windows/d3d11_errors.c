/* SPDX-License-Identifier: MIT */
/* Direct3D 11 with CUDA: devices that do not match, objects that cannot be shared, handles and
 * names that lead nowhere, and each call underneath failing once. */
#include "scene11.h"

#include <culvert/d3d12_ring.h>
#include <culvert/d3d_register.h>

#define FENCE(name) ID3D11Fence##name
#define FENCE_NAME  "ID3D11Fence"
#define NATIVE      scene11
#define NATIVE_CASE D11_CASE
#define ATTACHED(s) (s)->d3d11

static culv_result open_for(ID3D11Device *device, culv_device **out)
{
    return culv_device_open_for_d3d((IUnknown *)device, NULL, out);
}

static ID3D11Fence *make_fence(scene11 *s, uint64_t value)
{
    return scene11_fence(s, value, true);
}

static HRESULT signal_fence(scene11 *s, ID3D11Fence *fence, uint64_t value)
{
    return ID3D11DeviceContext4_Signal(s->context4, fence, value);
}

static void read_buffer(scene11 *s, const culv_shared_buffer *buffer, void *data, size_t size)
{
    (void)size;
    overlay11_turn(s->device);
    scene11_read(s, (ID3D11Resource *)culv_d3d_buffer_resource(buffer), 0, data);
}

static void refuse_other(scene11 *s, culv_memory *memory, IUnknown *resource)
{
    culv_d3d_image_desc map = culv_d3d_image_desc_init();
    culv_d3d_buffer_create_desc buffer_desc = culv_d3d_buffer_create_desc_init();
    culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
    culv_d3d_semaphore_create_desc fence_desc = culv_d3d_semaphore_create_desc_init();
    culv_d3d12_ring_desc ring_desc = culv_d3d12_ring_desc_init();
    ID3D11Texture2D *engine = scene11_texture(s, DXGI_FORMAT_R8G8B8A8_UNORM, 8, 8, 1, 0);
    culv_d3d_shadow_desc shadow_desc = culv_d3d_shadow_desc_init();
    culv_image *image = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_shared_image *shared = NULL;
    culv_shared_semaphore *semaphore = NULL;
    culv_d3d_shadow *shadow = NULL;
    culv_ring *ring = NULL;
    uint64_t size = 77;
    map.resource = resource;
    map.offset = 256;
    REFUSES(culv_d3d_image_map(s->d3d11, memory, &map, &image), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REQUIRE_SAYS("culv_d3d_image_desc.offset is Direct3D 12's, and the device is an ID3D11Device");
    buffer_desc.size = 4096;
    buffer_desc.resource_flags = 4;
    REFUSES(culv_d3d_buffer_create(s->d3d11, &buffer_desc, &buffer), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    image_desc.resource_desc = (const struct D3D12_RESOURCE_DESC *)&size;
    REFUSES(culv_d3d_image_create(s->d3d11, &image_desc, &shared), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    fence_desc.fallback = CULV_FALLBACK_HOST;
    REFUSES(culv_d3d_semaphore_create(s->d3d11, &fence_desc, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    shadow_desc.resource = (IUnknown *)engine;
    OK(culv_d3d_shadow_create(s->d3d11, &shadow_desc, &shadow));
    REFUSES(culv_d3d_shadow_record(shadow, (IUnknown *)s->context, 1, 0), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REFUSES(culv_d3d_shadow_record(shadow, (IUnknown *)engine, 0, 0), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);
    REQUIRE(culv_d3d_shadow_copies(shadow) == 0);
    culv_d3d_shadow_destroy(&shadow);
    REFUSES(culv_d3d12_get_allocation_size(s->d3d11, (struct ID3D12Resource *)resource, &size),
            CULV_ERROR_INVALID, CULV_REASON_VALUE);
    ring_desc.max_depth = 2;
    REFUSES(culv_d3d12_ring_create(s->d3d11, &ring_desc, &ring), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REQUIRE_SAYS("Direct3D 12");
    REQUIRE(image == NULL && buffer == NULL && shared == NULL && semaphore == NULL && size == 77);
    REQUIRE(ID3D11Texture2D_Release(engine) == 0);
}

#include "d3d_cases.h"

D11_CASE(unshareable)
{
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_keyed_mutex *mutex = NULL;
    culv_shared_semaphore *made = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_handle handle = {.type = CULV_HANDLE_NONE};
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    culv_d3d_buffer_create_desc make = culv_d3d_buffer_create_desc_init();
    ID3D11Buffer *plain = scene11_buffer(s, 4096, 0);
    ID3D11Buffer *nt = scene11_buffer(s, 4096, scene11_rows[1].misc);
    ID3D11Buffer *kmt = scene11_buffer(s, 4096, scene11_rows[3].misc);
    ID3D11Texture2D *depth = scene11_texture(s, DXGI_FORMAT_R32_FLOAT, 8, 8, 1, 0);
    ID3D11Fence *closed = scene11_fence(s, 0, false), *fence = scene11_fence(s, 0, true);

    REFUSES(culv_d3d_memory_import(s->d3d11, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    desc.object = (IUnknown *)scene11_of_buffer(plain);
    REFUSES(culv_d3d_memory_import(s->d3d11, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D11_RESOURCE_MISC_SHARED");
    REFUSES(culv_d3d11_keyed_mutex_import(s->d3d11, scene11_of_buffer(nt), NULL, &mutex),
            CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX");
    REFUSES(culv_d3d_semaphore_import(s->d3d11, (IUnknown *)closed, NULL, &semaphore),
            CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D11_FENCE_FLAG_SHARED");
    REFUSES(culv_d3d_export_dup(s->d3d11, (IUnknown *)s->device, NULL, &handle), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);
    REFUSES(culv_d3d_export_dup(s->d3d11, (IUnknown *)kmt, L"Local\\culvert kmt", &handle),
            CULV_ERROR_INVALID, CULV_REASON_VALUE);

    static const overlay11_lie lies[] = {OVERLAY11_WRAPPER, OVERLAY11_UNSHARABLE, OVERLAY11_REMOVED,
                                         OVERLAY11_OLD};
    static const culv_result classes[] = {CULV_ERROR_UNSUPPORTED, CULV_ERROR_INVALID,
                                          CULV_ERROR_ASYNC, CULV_ERROR_UNSUPPORTED};
    static const culv_reason reasons[] = {CULV_REASON_NOT_EXPORTABLE, CULV_REASON_NOT_EXPORTABLE,
                                          CULV_REASON_DEVICE_LOST, CULV_REASON_NOT_EXPORTABLE};
    make.size = 4096;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        overlay11_tell(lies[i]);
        desc.object = (IUnknown *)scene11_of_buffer(nt);
        REFUSES(culv_d3d_memory_import(s->d3d11, &desc, &memory), classes[i], reasons[i]);
        desc.object = (IUnknown *)scene11_of_buffer(kmt);
        REFUSES(culv_d3d_memory_import(s->d3d11, &desc, &memory), classes[i], reasons[i]);
        REFUSES(culv_d3d_buffer_create(s->d3d11, &make, &buffer), classes[i], reasons[i]);
        if (lies[i] == OVERLAY11_OLD)
            REFUSES(culv_d3d_semaphore_create(s->d3d11, NULL, &made), classes[i], reasons[i]);
        else
            REFUSES(culv_d3d_semaphore_import(s->d3d11, (IUnknown *)fence, NULL, &semaphore),
                    classes[i], reasons[i]);
        overlay11_tell(OVERLAY11_HONEST);
    }
    make.size = 0;
    REFUSES(culv_d3d_buffer_create(s->d3d11, &make, &buffer), CULV_ERROR_INVALID, CULV_REASON_SIZE);
    make.size = UINT64_C(1) << 32;
    REFUSES(culv_d3d_buffer_create(s->d3d11, &make, &buffer), CULV_ERROR_INVALID, CULV_REASON_SIZE);
    culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
    culv_shared_image *image = NULL;
    REFUSES(culv_d3d_image_create(s->d3d11, &image_desc, &image), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);

    REQUIRE(memory == NULL && semaphore == NULL && mutex == NULL && buffer == NULL);
    REQUIRE(made == NULL && image == NULL && handle.type == CULV_HANDLE_NONE);
    REQUIRE(ID3D11Fence_Release(fence) == 0 && ID3D11Fence_Release(closed) == 0);
    REQUIRE(ID3D11Buffer_Release(plain) == 0 && ID3D11Buffer_Release(nt) == 0);
    REQUIRE(ID3D11Buffer_Release(kmt) == 0 && ID3D11Texture2D_Release(depth) == 0);
}

/* Handles and names that lead to nothing, or to something else: nothing is consumed. */
D11_CASE(bad_handles)
{
    static const wchar_t name[] = L"Local\\culvert d3d11 name", none[] = L"Local\\culvert no name";
    ID3D11Buffer *plain = scene11_buffer(s, 4096, scene11_rows[1].misc);
    ID3D11Fence *fence = scene11_fence(s, 0, true);
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_keyed_mutex *mutex = NULL;
    culv_handle handle, again = {.type = CULV_HANDLE_NONE};
    OK(culv_d3d_export_dup(s->d3d11, (IUnknown *)plain, name, &handle));
    REFUSES(culv_d3d_export_dup(s->d3d11, (IUnknown *)plain, name, &again), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REFUSES(culv_d3d_export_dup(s->d3d11, (IUnknown *)fence, name, &again), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REQUIRE_SAYS("has the name 'Local\\culvert d3d11 name' already");

    culv_memory_desc desc = culv_memory_desc_init();
    desc.size = 4096;
    desc.handle = culv_handle_win32_named(CULV_HANDLE_D3D11_RESOURCE, none);
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = culv_handle_win32(CULV_HANDLE_D3D12_RESOURCE, handle.value.win32);
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = culv_handle_win32(CULV_HANDLE_D3D11_RESOURCE_KMT, (void *)(uintptr_t)0x77777);
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = culv_handle_win32_named(CULV_HANDLE_D3D11_RESOURCE_KMT, name);
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    desc.handle = handle;
    desc.size = 4097;
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    /* A buffer without a mutex as one; memory as a mutex's handle type; a mutex's as a fence. */
    culv_keyed_mutex_desc mutex_desc = culv_keyed_mutex_desc_init();
    mutex_desc.handle = culv_handle_win32(CULV_HANDLE_D3D11_KEYED_MUTEX, handle.value.win32);
    REFUSES(culv_keyed_mutex_import(s->culvert, &mutex_desc, &mutex), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    mutex_desc.handle = handle;
    REFUSES(culv_keyed_mutex_import(s->culvert, &mutex_desc, &mutex), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);
    culv_semaphore_desc fence_desc = culv_semaphore_desc_init();
    fence_desc.type = CULV_SEMAPHORE_TIMELINE;
    fence_desc.handle = culv_handle_win32(CULV_HANDLE_D3D11_KEYED_MUTEX, handle.value.win32);
    REFUSES(culv_semaphore_import(s->culvert, &fence_desc, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);

    REQUIRE(scene_name_lives(name)); /* none of these has taken it */
    desc.handle = handle;
    culv_handle_close(&handle);
    REQUIRE(!scene_name_lives(name)); /* and none has kept it */
    desc.size = 4096;
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_BAD);
    REQUIRE(memory == NULL && semaphore == NULL && mutex == NULL);
    REQUIRE(again.type == CULV_HANDLE_NONE && overlay11_references() == 0);
    REQUIRE(ID3D11Fence_Release(fence) == 0 && ID3D11Buffer_Release(plain) == 0);
}

typedef struct mutexed {
    scene11 *s;
    ID3D11Resource *resource;
} mutexed;

static culv_result use_mutex(void *user)
{
    const scene11 *s = ((mutexed *)user)->s;
    const D3D11_TEXTURE2D_DESC what =
        scene11_texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16, 1, 1, 0);
    culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
    culv_shared_image *image = NULL;
    culv_keyed_mutex *mutex = NULL;
    desc.texture_desc = &what;
    desc.kmt = 1;
    culv_result result = culv_d3d_image_create(s->d3d11, &desc, &image);
    if (result == CULV_OK)
        result = culv_d3d11_keyed_mutex_import(s->d3d11, ((mutexed *)user)->resource, NULL, &mutex);
    if (result == CULV_OK) result = culv_keyed_mutex_acquire(mutex, s->stream, 0, 0);
    const bool held = culv_keyed_mutex_is_held(mutex);
    if (result == CULV_OK) {
        result = culv_keyed_mutex_release(mutex, s->stream, 0);
        /* Once more if that one failed: the mutex is still CUDA's, and must come back. */
        if (result != CULV_OK) OK(culv_keyed_mutex_release(mutex, s->stream, 0));
    }
    REQUIRE(result != CULV_OK || held);
    /* The first may be the call that is made to fail. */
    (void)s->cu->cuStreamSynchronize(s->stream);
    (void)s->cu->cuStreamSynchronize(s->stream);
    culv_keyed_mutex_destroy(&mutex, NULL);
    culv_shared_image_destroy(&image, NULL);
    return result;
}

static void require_none(void *user)
{
    (void)culv_device_collect(((mutexed *)user)->s->culvert);
    REQUIRE(scene_driver_objects() == 0 && overlay11_references() == 0);
}

/* What other back-ends have not; the rest is the back-end suite's. */
D11_CASE(torture)
{
    ID3D11Buffer *buffer = scene11_buffer(s, 4096, scene11_rows[0].misc);
    mutexed m = {s, scene11_of_buffer(buffer)};
    const scene_tortured t = {.work = use_mutex,
                              .require_none = require_none,
                              .user = &m,
                              .fail_at = overlay11_fail_at,
                              .calls = overlay11_calls,
                              .native = 2, /* handles */
                              .least = 6};
    scene_torture(&t);
    REQUIRE(ID3D11Buffer_Release(buffer) == 0);
}
