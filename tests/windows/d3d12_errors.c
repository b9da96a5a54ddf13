/* SPDX-License-Identifier: MIT */
/* Direct3D 12 with CUDA: devices that do not match, objects that cannot be shared, handles and
 * names that lead nowhere, and each call underneath failing once. */
#include "cases12.h"

#include <string.h>

/* D3D12's adapter, as bytes. */
static void adapter_of(const scene *s, uint8_t out[8])
{
    culv_device_caps caps = culv_device_caps_init();
    OK(culv_device_get_caps(s->culvert, &caps));
    REQUIRE(caps.luid_valid && caps.node_mask == 1);
    memcpy(out, caps.luid.bytes, 8);
}

static void match(void)
{
    scene s;
    culv_device *other = NULL;
    culv_d3d12_device *d3d12 = NULL;
    culv_d3d12_device_desc desc = culv_d3d12_device_desc_init();
    uint8_t luid[8], wrong[8];
    scene_open(&s);
    adapter_of(&s, luid);
    memcpy(wrong, luid, sizeof wrong);
    wrong[0] ^= 0x40;
    desc.device = s.device;

    soft.play_luid(0, wrong, 1); /* CUDA has another adapter */
    REFUSES(culv_device_open_for_d3d12(s.device, NULL, &other), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_UNKNOWN);
    OK(culv_device_open_by_ordinal(0, NULL, &other));
    REFUSES(culv_d3d12_attach(other, &desc, &d3d12), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_MISMATCH);
    REQUIRE_SAYS("culv_device_open_for_d3d12()");
    culv_device_close(&other);

    soft.play_luid(0, NULL, 0); /* as in TCC mode */
    REFUSES(culv_device_open_for_d3d12(s.device, NULL, &other), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_UNKNOWN);
    OK(culv_device_open_by_ordinal(0, NULL, &other));
    REFUSES(culv_d3d12_attach(other, &desc, &d3d12), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_MISMATCH);
    REQUIRE_SAYS("tells no LUID");
    culv_device_close(&other);

    soft.play_luid(0, luid, 2); /* the same adapter, the other of two linked nodes */
    REFUSES(culv_device_open_for_d3d12(s.device, NULL, &other), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_GROUP);
    OK(culv_device_open_by_ordinal(0, NULL, &other));
    REFUSES(culv_d3d12_attach(other, &desc, &d3d12), CULV_ERROR_INVALID, CULV_REASON_DEVICE_GROUP);
    culv_device_close(&other);

    soft.play_luid(0, luid, 1);
    overlay_tell(OVERLAY_LINKED); /* Direct3D has both nodes */
    REFUSES(culv_device_open_for_d3d12(s.device, NULL, &other), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_GROUP);
    REFUSES(culv_d3d12_attach(s.culvert, &desc, &d3d12), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_GROUP);
    overlay_tell(OVERLAY_HONEST);
    REQUIRE(other == NULL && d3d12 == NULL);

    OK(culv_d3d12_attach(s.culvert, &desc, &d3d12)); /* twice is no mistake */
    culv_d3d12_detach(&d3d12);
    culv_d3d12_detach(&d3d12);
    culv_d3d12_detach(NULL);
    desc.device = NULL;
    REFUSES(culv_d3d12_attach(s.culvert, &desc, &d3d12), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    scene_close(&s);
}

/* A DXGI adapter, before there is a device. */
static void adapters(void)
{
    static const GUID iid_factory = {
        0x770aae78, 0xf26f, 0x4dba, {0xa8, 0x29, 0x25, 0x3c, 0x83, 0xd1, 0xb3, 0x87}};
    scene s;
    culv_device *other = NULL;
    culv_device_caps mine = culv_device_caps_init(), its = culv_device_caps_init();
    IDXGIFactory1 *factory = NULL;
    IDXGIAdapter *adapter = NULL;
    scene_open(&s);
    HR_OK(CreateDXGIFactory1(&iid_factory, (void **)&factory));
    HR_OK(IDXGIFactory1_EnumAdapters(factory, 0, &adapter));
    OK(culv_device_open_for_dxgi(adapter, NULL, &other));
    OK(culv_device_get_caps(s.culvert, &mine));
    OK(culv_device_get_caps(other, &its));
    REQUIRE(memcmp(&mine.uuid, &its.uuid, sizeof mine.uuid) == 0);
    culv_device_close(&other);
    REFUSES(culv_device_open_for_dxgi(NULL, NULL, &other), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    IDXGIAdapter_Release(adapter);
    IDXGIFactory1_Release(factory);
    scene_close(&s);
}

static void unshareable(void)
{
    scene s;
    scene_open(&s);
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_handle handle = {.type = CULV_HANDLE_NONE};
    culv_d3d12_memory_desc desc = culv_d3d12_memory_desc_init();
    ID3D12Resource *plain = scene_buffer(&s, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_NONE, 4096);
    ID3D12Resource *shared =
        scene_buffer(&s, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_SHARED, 4096);
    ID3D12Fence *fence = NULL;
    HR_OK(ID3D12Device_CreateFence(s.device, 0, D3D12_FENCE_FLAG_SHARED, &cases_iid_fence,
                                   (void **)&fence));

    REFUSES(culv_d3d12_memory_import(s.d3d12, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    desc.resource = plain;
    REFUSES(culv_d3d12_memory_import(s.d3d12, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D12_HEAP_FLAG_SHARED");
    REFUSES(culv_d3d12_export_dup(s.d3d12, (ID3D12DeviceChild *)s.queue, NULL, &handle),
            CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND);

    desc.resource = shared;
    overlay_tell(OVERLAY_WRAPPER);
    REFUSES(culv_d3d12_memory_import(s.d3d12, &desc, &memory), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("Streamline");
    REQUIRE_SAYS("scripts/wine-run");
    REFUSES(culv_d3d12_semaphore_import(s.d3d12, fence, NULL, &semaphore), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D12_FENCE_FLAG_SHARED");
    culv_d3d12_buffer_create_desc make = culv_d3d12_buffer_create_desc_init();
    make.size = 4096;
    REFUSES(culv_d3d12_buffer_create(s.d3d12, &make, &buffer), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_NOT_EXPORTABLE);
    overlay_tell(OVERLAY_REMOVED);
    REFUSES(culv_d3d12_memory_import(s.d3d12, &desc, &memory), CULV_ERROR_ASYNC,
            CULV_REASON_DEVICE_LOST);
    culv_error error = culv_error_init();
    culv_last_error(&error);
    REQUIRE(error.native_api == CULV_NATIVE_D3D && error.native_code == 0x887a0005);
    overlay_tell(OVERLAY_HONEST);
    make.size = 0;
    REFUSES(culv_d3d12_buffer_create(s.d3d12, &make, &buffer), CULV_ERROR_INVALID,
            CULV_REASON_SIZE);
    make.size = UINT64_MAX; /* more than an address has bits */
    REFUSES(culv_d3d12_buffer_create(s.d3d12, &make, &buffer), CULV_ERROR_INVALID,
            CULV_REASON_SIZE);

    REQUIRE(memory == NULL && semaphore == NULL && buffer == NULL);
    REQUIRE(handle.type == CULV_HANDLE_NONE);
    REQUIRE(ID3D12Fence_Release(fence) == 0);
    REQUIRE(ID3D12Resource_Release(plain) == 0 && ID3D12Resource_Release(shared) == 0);
    scene_close(&s);
}

/* Handles and names that lead to nothing, or to something else: nothing is consumed. */
static void bad_handles(void)
{
    static const wchar_t name[] = L"Local\\culvert d3d12 name", none[] = L"Local\\culvert no name";
    scene s;
    scene_open(&s);
    ID3D12Resource *resource =
        scene_buffer(&s, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_SHARED, 4096);
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_handle handle, again = {.type = CULV_HANDLE_NONE};
    OK(culv_d3d12_export_dup(s.d3d12, (ID3D12DeviceChild *)resource, name, &handle));
    REFUSES(culv_d3d12_export_dup(s.d3d12, (ID3D12DeviceChild *)resource, name, &again),
            CULV_ERROR_INVALID, CULV_REASON_VALUE);
    REQUIRE_SAYS("has the name 'Local\\culvert d3d12 name' already");
    REQUIRE(again.type == CULV_HANDLE_NONE);

    culv_memory_desc desc = culv_memory_desc_init();
    desc.size = 65536;
    /* A name that nobody has; the resource as a heap; more than there is. */
    desc.handle = culv_handle_win32_named(CULV_HANDLE_D3D12_RESOURCE, none);
    REFUSES(culv_memory_import_borrow(s.culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = culv_handle_win32(CULV_HANDLE_D3D12_HEAP, handle.value.win32);
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = handle;
    desc.size = 65537;
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.size = 0;
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_SIZE);
    desc.size = 65536;
    desc.handle.name = name; /* both */
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    desc.handle = culv_handle_win32(CULV_HANDLE_D3D12_RESOURCE, NULL);
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    /* Memory is no semaphore. */
    culv_semaphore_desc fence = culv_semaphore_desc_init();
    fence.type = CULV_SEMAPHORE_TIMELINE;
    fence.handle = handle;
    REFUSES(culv_semaphore_import_take(s.culvert, &fence, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);
    fence.handle = culv_handle_win32(CULV_HANDLE_D3D12_FENCE, handle.value.win32);
    REFUSES(culv_semaphore_import_take(s.culvert, &fence, &semaphore), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    fence.type = CULV_SEMAPHORE_BINARY;
    REFUSES(culv_semaphore_import_take(s.culvert, &fence, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);

    REQUIRE(scene_name_lives(name)); /* none of these has taken it */
    desc.handle = handle;
    culv_handle_close(&handle);
    REQUIRE(!scene_name_lives(name)); /* and none has kept it */
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_BAD);
    REQUIRE(memory == NULL && semaphore == NULL && overlay_references() == 0);
    REQUIRE(ID3D12Resource_Release(resource) == 0);
    scene_close(&s);
}

/* What the program has. */
typedef struct own_objects {
    ID3D12Resource *resource;
    ID3D12Resource *engine; /* a texture that is not shared */
    ID3D12Fence *fence;
} own_objects;

/* Makes one of each. */
static culv_result make_all(scene *s, const own_objects *o)
{
    culv_d3d12_buffer_create_desc buffer_desc = culv_d3d12_buffer_create_desc_init();
    culv_d3d12_image_create_desc image_desc = culv_d3d12_image_create_desc_init();
    culv_d3d12_memory_desc memory_desc = culv_d3d12_memory_desc_init();
    culv_buffer_desc map = culv_buffer_desc_init();
    culv_shared_buffer *made = NULL;
    culv_shared_image *image = NULL;
    culv_shared_semaphore *semaphore = NULL;
    culv_memory *memory = NULL;
    culv_buffer *buffer = NULL;
    culv_semaphore *own = NULL;
    culv_d3d12_shadow *shadow = NULL;
    culv_d3d12_shadow_desc shadow_desc = culv_d3d12_shadow_desc_init();
    const D3D12_RESOURCE_DESC what = scene_texture_desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                                        DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 1);
    image_desc.resource_desc = &what;
    buffer_desc.size = 4096;
    memory_desc.resource = o->resource;
    shadow_desc.resource = o->engine;
    map.size = 4096;
    culv_result result = culv_d3d12_buffer_create(s->d3d12, &buffer_desc, &made);
    if (result == CULV_OK) result = culv_d3d12_image_create(s->d3d12, &image_desc, &image);
    if (result == CULV_OK) result = culv_d3d12_semaphore_create(s->d3d12, NULL, &semaphore);
    if (result == CULV_OK) result = culv_d3d12_memory_import(s->d3d12, &memory_desc, &memory);
    if (result == CULV_OK) result = culv_buffer_map(memory, &map, &buffer);
    if (result == CULV_OK) result = culv_d3d12_semaphore_import(s->d3d12, o->fence, NULL, &own);
    if (result == CULV_OK) result = culv_d3d12_shadow_create(s->d3d12, &shadow_desc, &shadow);
    culv_d3d12_shadow_destroy(&shadow);
    culv_semaphore_destroy(&own);
    culv_buffer_unmap(&buffer);
    culv_memory_destroy(&memory);
    culv_shared_semaphore_destroy(&semaphore);
    culv_shared_image_destroy(&image);
    culv_shared_buffer_destroy(&made);
    return result;
}

/* Each call of the driver, and each of Direct3D's that the overlay has, fails once: the result says
 * so and nothing is left. */
static void torture(void)
{
    scene s;
    scene_open(&s);
    const D3D12_RESOURCE_DESC texture = scene_texture_desc(
        D3D12_RESOURCE_DIMENSION_TEXTURE2D, DXGI_FORMAT_R8G8B8A8_UNORM, 61, 33, 1, 1);
    own_objects o = {.resource =
                         scene_buffer(&s, D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_SHARED, 4096),
                     .engine = scene_texture(&s, D3D12_HEAP_FLAG_NONE, &texture)};
    HR_OK(ID3D12Device_CreateFence(s.device, 3, D3D12_FENCE_FLAG_SHARED, &cases_iid_fence,
                                   (void **)&o.fence));
    OK(make_all(&s, &o));
    const unsigned before = overlay_calls();
    OK(make_all(&s, &o));
    const unsigned calls = overlay_calls() - before;
    REQUIRE(calls == 10); /* four makes, six handles */
    for (unsigned n = 1; n <= calls; n++) {
        overlay_fail_at(n);
        REQUIRE(make_all(&s, &o) == CULV_ERROR_OUT_OF_MEMORY);
        overlay_fail_at(0);
        (void)culv_device_collect(s.culvert);
        REQUIRE(scene_driver_objects() == 0 && overlay_references() == 0);
    }
    unsigned failed = 0, n = 1;
    for (;; n++) {
        culv_soft_counts a = {.struct_size = sizeof a}, b = a;
        soft.counts(&a);
        soft.fail_at(n, CUDA_ERROR_OUT_OF_MEMORY);
        culv_result result = make_all(&s, &o);
        soft.counts(&b);
        soft.fail_at(0, 0);
        (void)culv_device_collect(s.culvert);
        REQUIRE(scene_driver_objects() == 0 && overlay_references() == 0);
        failed += result != CULV_OK;
        if (result == CULV_OK && b.calls - a.calls < n) break;
    }
    printf("  %u driver calls, %u of them failed the work\n", n - 1, failed);
    REQUIRE(failed >= 10);
    OK(make_all(&s, &o));
    REQUIRE(ID3D12Fence_Release(o.fence) == 0);
    REQUIRE(ID3D12Resource_Release(o.engine) == 0);
    REQUIRE(ID3D12Resource_Release(o.resource) == 0);
    scene_close(&s);
}

/* What was made lives on without its attachment, in any order. */
static void orders(void)
{
    for (int order = 0; order < 2; order++) {
        scene s;
        scene_open(&s);
        culv_d3d12_buffer_create_desc desc = culv_d3d12_buffer_create_desc_init();
        culv_shared_buffer *buffer = NULL;
        culv_shared_semaphore *semaphore = NULL;
        desc.size = 4096;
        OK(culv_d3d12_buffer_create(s.d3d12, &desc, &buffer));
        OK(culv_d3d12_semaphore_create(s.d3d12, NULL, &semaphore));
        culv_d3d12_detach(&s.d3d12);
        unsigned char put[64], got[64];
        scene_pattern(put, sizeof put, 9);
        scene_cuda_write(&s, culv_shared_buffer_pointer(buffer), put, sizeof put);
        scene_read(&s, culv_d3d12_buffer_resource(buffer), 0, got, sizeof got);
        REQUIRE(memcmp(put, got, sizeof put) == 0);
        if (order == 0) culv_shared_buffer_destroy(&buffer);
        culv_shared_semaphore_destroy(&semaphore);
        culv_shared_buffer_destroy(&buffer);
        scene_close(&s);
    }
}

const case12 cases_d3d12_errors[] = {
    {"match", match},
    {"adapters", adapters},
    {"unshareable", unshareable},
    {"bad_handles", bad_handles},
    {"torture", torture},
    {"orders", orders},
    {NULL, NULL},
};
