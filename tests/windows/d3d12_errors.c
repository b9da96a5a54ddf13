/* SPDX-License-Identifier: MIT */
/* Direct3D 12 with CUDA: devices that do not match, objects that cannot be shared, handles and
 * names that lead nowhere, and each call underneath failing once. */
#include "scene12.h"

#include <culvert/d3d_register.h>

#define FENCE(name) ID3D12Fence##name
#define FENCE_NAME  "ID3D12Fence"
#define NATIVE      scene
#define NATIVE_CASE D12_CASE
#define ATTACHED(s) (s)->d3d12

static culv_result open_for(ID3D12Device *device, culv_device **out)
{
    return culv_device_open_for_d3d((IUnknown *)device, NULL, out);
}

static ID3D12Fence *make_fence(scene *s, uint64_t value)
{
    ID3D12Fence *fence = NULL;
    HR_OK(ID3D12Device_CreateFence(s->device, value, D3D12_FENCE_FLAG_SHARED, &IID_ID3D12Fence,
                                   (void **)&fence));
    return fence;
}

static HRESULT signal_fence(scene *s, ID3D12Fence *fence, uint64_t value)
{
    return ID3D12CommandQueue_Signal(s->queue, fence, value);
}

static void read_buffer(scene *s, const culv_shared_buffer *buffer, void *data, size_t size)
{
    scene_read(s, (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, data, size);
}

static void refuse_other(scene *s, culv_memory *memory, IUnknown *resource)
{
    culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
    culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
    culv_d3d_shadow_desc shadow_desc = culv_d3d_shadow_desc_init();
    culv_memory *again = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_shared_image *image = NULL;
    culv_d3d_shadow *shadow = NULL;
    culv_keyed_mutex *mutex = NULL;
    (void)memory;
    import.object = resource;
    import.size = 65536;
    REFUSES(culv_d3d_memory_import(s->d3d12, &import, &again), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REQUIRE_SAYS("culv_d3d_memory_desc.size is Direct3D 11's, and the device is an ID3D12Device");
    for (int i = 0; i < 5; i++) {
        culv_d3d_buffer_create_desc d = culv_d3d_buffer_create_desc_init();
        d.size = 4096;
        d.bind_flags = i == 0;
        d.misc_flags = i == 1;
        d.stride = i == 2;
        d.keyed_mutex = i == 3;
        d.kmt = i == 4;
        REFUSES(culv_d3d_buffer_create(s->d3d12, &d, &buffer), CULV_ERROR_INVALID,
                CULV_REASON_VALUE);
    }
    image_desc.texture_desc = (const struct D3D11_TEXTURE2D_DESC *)&import;
    REFUSES(culv_d3d_image_create(s->d3d12, &image_desc, &image), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    shadow_desc.resource = resource;
    shadow_desc.keyed_mutex = 1;
    REFUSES(culv_d3d_shadow_create(s->d3d12, &shadow_desc, &shadow), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REFUSES(
        culv_d3d11_keyed_mutex_import(s->d3d12, (struct ID3D11Resource *)resource, NULL, &mutex),
        CULV_ERROR_INVALID, CULV_REASON_VALUE);
    REQUIRE_SAYS("Direct3D 11");
    REQUIRE(again == NULL && buffer == NULL && image == NULL && shadow == NULL && mutex == NULL);
}

#include "d3d_cases.h"

/* A DXGI adapter, before there is a device. */
D12_CASE(adapters)
{
    culv_device *other = NULL;
    culv_device_caps mine = culv_device_caps_init(), its = culv_device_caps_init();
    IDXGIFactory1 *factory = NULL;
    IDXGIAdapter *adapter = NULL;
    HR_OK(CreateDXGIFactory1(&IID_IDXGIFactory1, (void **)&factory));
    HR_OK(IDXGIFactory1_EnumAdapters(factory, 0, &adapter));
    OK(culv_device_open_for_d3d((IUnknown *)adapter, NULL, &other));
    OK(culv_device_get_caps(s->culvert, &mine));
    OK(culv_device_get_caps(other, &its));
    REQUIRE(memcmp(&mine.uuid, &its.uuid, sizeof mine.uuid) == 0);
    culv_device_close(&other);
    REFUSES(culv_device_open_for_d3d(NULL, NULL, &other), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    IDXGIAdapter_Release(adapter);
    IDXGIFactory1_Release(factory);

    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    culv_d3d_device *d3d12 = NULL;
    desc.device = (IUnknown *)s->device;
    overlay_tell(OVERLAY_LINKED); /* Direct3D has both of two nodes */
    REFUSES(culv_device_open_for_d3d((IUnknown *)s->device, NULL, &other), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_GROUP);
    REFUSES(culv_d3d_attach(s->culvert, &desc, &d3d12), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_GROUP);
    overlay_tell(OVERLAY_HONEST);
    REQUIRE(other == NULL && d3d12 == NULL);
}

D12_CASE(unshareable)
{
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_handle handle = {.type = CULV_HANDLE_NONE};
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    ID3D12Resource *plain = scene_buffer(s, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_NONE, 4096);
    ID3D12Resource *shared = scene_buffer(s, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_SHARED, 4096);
    ID3D12Fence *fence = make_fence(s, 0);

    REFUSES(culv_d3d_memory_import(s->d3d12, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    desc.object = (IUnknown *)plain;
    REFUSES(culv_d3d_memory_import(s->d3d12, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D12_HEAP_FLAG_SHARED");
    REFUSES(culv_d3d_export_dup(s->d3d12, (IUnknown *)s->queue, NULL, &handle), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);

    desc.object = (IUnknown *)shared;
    overlay_tell(OVERLAY_WRAPPER);
    REFUSES(culv_d3d_memory_import(s->d3d12, &desc, &memory), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("Streamline");
    REQUIRE_SAYS("scripts/wine-run");
    REFUSES(culv_d3d_semaphore_import(s->d3d12, (IUnknown *)fence, NULL, &semaphore),
            CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D12_FENCE_FLAG_SHARED");
    culv_d3d_buffer_create_desc make = culv_d3d_buffer_create_desc_init();
    make.size = 4096;
    REFUSES(culv_d3d_buffer_create(s->d3d12, &make, &buffer), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_NOT_EXPORTABLE);
    overlay_tell(OVERLAY_REMOVED);
    REFUSES(culv_d3d_memory_import(s->d3d12, &desc, &memory), CULV_ERROR_ASYNC,
            CULV_REASON_DEVICE_LOST);
    culv_error error = culv_error_init();
    culv_last_error(&error);
    REQUIRE(error.native_api == CULV_NATIVE_D3D && error.native_code == 0x887a0005);
    overlay_tell(OVERLAY_HONEST);
    make.size = 0;
    REFUSES(culv_d3d_buffer_create(s->d3d12, &make, &buffer), CULV_ERROR_INVALID, CULV_REASON_SIZE);
    make.size = UINT64_MAX; /* more than an address has bits */
    REFUSES(culv_d3d_buffer_create(s->d3d12, &make, &buffer), CULV_ERROR_INVALID, CULV_REASON_SIZE);

    REQUIRE(memory == NULL && semaphore == NULL && buffer == NULL);
    REQUIRE(handle.type == CULV_HANDLE_NONE);
    REQUIRE(ID3D12Fence_Release(fence) == 0);
    REQUIRE(ID3D12Resource_Release(plain) == 0 && ID3D12Resource_Release(shared) == 0);
}

/* Handles and names that lead to nothing, or to something else: nothing is consumed. */
D12_CASE(bad_handles)
{
    static const wchar_t name[] = L"Local\\culvert d3d12 name", none[] = L"Local\\culvert no name";
    ID3D12Resource *resource =
        scene_buffer(s, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_SHARED, 4096);
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_handle handle, again = {.type = CULV_HANDLE_NONE};
    OK(culv_d3d_export_dup(s->d3d12, (IUnknown *)resource, name, &handle));
    REFUSES(culv_d3d_export_dup(s->d3d12, (IUnknown *)resource, name, &again), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REQUIRE_SAYS("has the name 'Local\\culvert d3d12 name' already");
    REQUIRE(again.type == CULV_HANDLE_NONE);

    culv_memory_desc desc = culv_memory_desc_init();
    desc.size = 65536;
    /* A name that nobody has; the resource as a heap; more than there is. */
    desc.handle = culv_handle_win32_named(CULV_HANDLE_D3D12_RESOURCE, none);
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = culv_handle_win32(CULV_HANDLE_D3D12_HEAP, handle.value.win32);
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    REQUIRE_SAYS("it must be an NT handle of an ID3D12Heap of this same GPU");
    desc.handle = handle;
    desc.size = 65537;
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.size = 0;
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_INVALID, CULV_REASON_SIZE);
    desc.size = 65536;
    desc.handle.name = name; /* both */
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    desc.handle = culv_handle_win32(CULV_HANDLE_D3D12_RESOURCE, NULL);
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    /* Memory is no semaphore. */
    culv_semaphore_desc fence = culv_semaphore_desc_init();
    fence.type = CULV_SEMAPHORE_TIMELINE;
    fence.handle = handle;
    REFUSES(culv_semaphore_import(s->culvert, &fence, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);
    fence.handle = culv_handle_win32(CULV_HANDLE_D3D12_FENCE, handle.value.win32);
    REFUSES(culv_semaphore_import(s->culvert, &fence, &semaphore), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    fence.type = CULV_SEMAPHORE_BINARY;
    REFUSES(culv_semaphore_import(s->culvert, &fence, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);

    REQUIRE(scene_name_lives(name)); /* none of these has taken it */
    desc.handle = handle;
    culv_handle_close(&handle);
    REQUIRE(!scene_name_lives(name)); /* and none has kept it */
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_BAD);
    REQUIRE(memory == NULL && semaphore == NULL && overlay_references() == 0);
    REQUIRE(ID3D12Resource_Release(resource) == 0);
}

typedef struct engines {
    scene *s;
    ID3D12Resource *texture; /* which is not shared */
} engines;

static culv_result make_shadow(void *user)
{
    const engines *e = user;
    culv_d3d_shadow *shadow = NULL;
    culv_d3d_shadow_desc desc = culv_d3d_shadow_desc_init();
    desc.resource = (IUnknown *)e->texture;
    const culv_result result = culv_d3d_shadow_create(e->s->d3d12, &desc, &shadow);
    culv_d3d_shadow_destroy(&shadow);
    return result;
}

static void require_none(void *user)
{
    const engines *e = user;
    (void)culv_device_collect(e->s->culvert);
    REQUIRE(scene_driver_objects() == 0 && overlay_references() == 0);
}

/* What other back-ends have not; the rest is the back-end suite's. */
D12_CASE(torture)
{
    const D3D12_RESOURCE_DESC texture = scene_texture_desc(
        D3D12_RESOURCE_DIMENSION_TEXTURE2D, DXGI_FORMAT_R8G8B8A8_UNORM, 61, 33, 1, 1);
    engines e = {s, scene_texture(s, D3D12_HEAP_FLAG_NONE, &texture)};
    const scene_tortured t = {.work = make_shadow,
                              .require_none = require_none,
                              .user = &e,
                              .fail_at = overlay_fail_at,
                              .calls = overlay_calls,
                              .native = 2, /* a resource and its handle */
                              .least = 3};
    scene_torture(&t);
    REQUIRE(ID3D12Resource_Release(e.texture) == 0);
}
