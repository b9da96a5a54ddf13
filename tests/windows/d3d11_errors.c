/* SPDX-License-Identifier: MIT */
/* Direct3D 11 with CUDA: devices that do not match, objects that cannot be shared, handles and
 * names that lead nowhere, and each call underneath failing once. */
#include "cases11.h"

#include <string.h>

static void match(void)
{
    scene11 s;
    culv_device *other = NULL;
    culv_d3d11_device *d3d11 = NULL;
    culv_d3d11_device_desc desc = culv_d3d11_device_desc_init();
    culv_device_caps caps = culv_device_caps_init();
    uint8_t luid[8], wrong[8];
    scene11_open(&s);
    OK(culv_device_get_caps(s.culvert, &caps));
    REQUIRE(caps.luid_valid && caps.node_mask == 1);
    memcpy(luid, caps.luid.bytes, sizeof luid);
    memcpy(wrong, luid, sizeof wrong);
    wrong[0] ^= 0x40;
    desc.device = s.device;

    soft11.play_luid(0, wrong, 1); /* CUDA has another adapter */
    REFUSES(culv_device_open_for_d3d11(s.device, NULL, &other), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_UNKNOWN);
    OK(culv_device_open_by_ordinal(0, NULL, &other));
    REFUSES(culv_d3d11_attach(other, &desc, &d3d11), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_MISMATCH);
    REQUIRE_SAYS("culv_device_open_for_d3d11()");
    culv_device_close(&other);
    soft11.play_luid(0, luid, 2); /* the other of two linked nodes */
    REFUSES(culv_device_open_for_d3d11(s.device, NULL, &other), CULV_ERROR_NO_DEVICE,
            CULV_REASON_DEVICE_GROUP);
    OK(culv_device_open_by_ordinal(0, NULL, &other));
    REFUSES(culv_d3d11_attach(other, &desc, &d3d11), CULV_ERROR_INVALID, CULV_REASON_DEVICE_GROUP);
    culv_device_close(&other);
    soft11.play_luid(0, luid, 1);

    OK(culv_d3d11_attach(s.culvert, &desc, &d3d11)); /* twice is no mistake */
    culv_d3d11_detach(&d3d11);
    culv_d3d11_detach(&d3d11);
    culv_d3d11_detach(NULL);
    desc.device = NULL;
    REFUSES(culv_d3d11_attach(s.culvert, &desc, &d3d11), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_device_open_for_d3d11(NULL, NULL, &other), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    REQUIRE(other == NULL && d3d11 == NULL);
    scene11_close(&s);
}

static void unshareable(void)
{
    scene11 s;
    scene11_open(&s);
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_keyed_mutex *mutex = NULL;
    culv_shared_semaphore *made = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_handle handle = {.type = CULV_HANDLE_NONE};
    culv_d3d11_memory_desc desc = culv_d3d11_memory_desc_init();
    culv_d3d11_buffer_create_desc make = culv_d3d11_buffer_create_desc_init();
    ID3D11Buffer *plain = scene11_buffer(&s, 4096, 0);
    ID3D11Buffer *nt = scene11_buffer(&s, 4096, scene11_rows[1].misc);
    ID3D11Buffer *kmt = scene11_buffer(&s, 4096, scene11_rows[3].misc);
    ID3D11Texture2D *depth = scene11_texture(&s, DXGI_FORMAT_R32_FLOAT, 8, 8, 1, 0);
    ID3D11Fence *closed = cases11_fence(&s, 0, false), *fence = cases11_fence(&s, 0, true);

    REFUSES(culv_d3d11_memory_import(s.d3d11, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    desc.resource = scene11_of_buffer(plain);
    REFUSES(culv_d3d11_memory_import(s.d3d11, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D11_RESOURCE_MISC_SHARED");
    REFUSES(culv_d3d11_keyed_mutex_import(s.d3d11, scene11_of_buffer(nt), NULL, &mutex),
            CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX");
    REFUSES(culv_d3d11_semaphore_import(s.d3d11, closed, NULL, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_NOT_EXPORTABLE);
    REQUIRE_SAYS("D3D11_FENCE_FLAG_SHARED");
    REFUSES(culv_d3d11_export_dup(s.d3d11, (IUnknown *)s.device, NULL, &handle), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);
    REFUSES(culv_d3d11_export_dup(s.d3d11, (IUnknown *)kmt, L"Local\\culvert kmt", &handle),
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
        desc.resource = scene11_of_buffer(nt);
        REFUSES(culv_d3d11_memory_import(s.d3d11, &desc, &memory), classes[i], reasons[i]);
        desc.resource = scene11_of_buffer(kmt);
        REFUSES(culv_d3d11_memory_import(s.d3d11, &desc, &memory), classes[i], reasons[i]);
        REFUSES(culv_d3d11_buffer_create(s.d3d11, &make, &buffer), classes[i], reasons[i]);
        if (lies[i] == OVERLAY11_OLD)
            REFUSES(culv_d3d11_semaphore_create(s.d3d11, NULL, &made), classes[i], reasons[i]);
        else
            REFUSES(culv_d3d11_semaphore_import(s.d3d11, fence, NULL, &semaphore), classes[i],
                    reasons[i]);
        overlay11_tell(OVERLAY11_HONEST);
    }
    make.size = 0;
    REFUSES(culv_d3d11_buffer_create(s.d3d11, &make, &buffer), CULV_ERROR_INVALID,
            CULV_REASON_SIZE);
    make.size = UINT64_C(1) << 32;
    REFUSES(culv_d3d11_buffer_create(s.d3d11, &make, &buffer), CULV_ERROR_INVALID,
            CULV_REASON_SIZE);
    culv_d3d11_image_create_desc image_desc = culv_d3d11_image_create_desc_init();
    culv_shared_image *image = NULL;
    REFUSES(culv_d3d11_image_create(s.d3d11, &image_desc, &image), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);

    REQUIRE(memory == NULL && semaphore == NULL && mutex == NULL && buffer == NULL);
    REQUIRE(made == NULL && image == NULL && handle.type == CULV_HANDLE_NONE);
    REQUIRE(ID3D11Fence_Release(fence) == 0 && ID3D11Fence_Release(closed) == 0);
    REQUIRE(ID3D11Buffer_Release(plain) == 0 && ID3D11Buffer_Release(nt) == 0);
    REQUIRE(ID3D11Buffer_Release(kmt) == 0 && ID3D11Texture2D_Release(depth) == 0);
    scene11_close(&s);
}

/* Handles and names that lead to nothing, or to something else: nothing is consumed. */
static void bad_handles(void)
{
    static const wchar_t name[] = L"Local\\culvert d3d11 name", none[] = L"Local\\culvert no name";
    scene11 s;
    scene11_open(&s);
    ID3D11Buffer *plain = scene11_buffer(&s, 4096, scene11_rows[1].misc);
    ID3D11Fence *fence = cases11_fence(&s, 0, true);
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_keyed_mutex *mutex = NULL;
    culv_handle handle, again = {.type = CULV_HANDLE_NONE};
    OK(culv_d3d11_export_dup(s.d3d11, (IUnknown *)plain, name, &handle));
    REFUSES(culv_d3d11_export_dup(s.d3d11, (IUnknown *)plain, name, &again), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REFUSES(culv_d3d11_export_dup(s.d3d11, (IUnknown *)fence, name, &again), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    REQUIRE_SAYS("has the name 'Local\\culvert d3d11 name' already");

    culv_memory_desc desc = culv_memory_desc_init();
    desc.size = 4096;
    desc.handle = culv_handle_win32_named(CULV_HANDLE_D3D11_RESOURCE, none);
    REFUSES(culv_memory_import_borrow(s.culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = culv_handle_win32(CULV_HANDLE_D3D12_RESOURCE, handle.value.win32);
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = culv_handle_win32(CULV_HANDLE_D3D11_RESOURCE_KMT, (void *)(uintptr_t)0x77777);
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    desc.handle = culv_handle_win32_named(CULV_HANDLE_D3D11_RESOURCE_KMT, name);
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    desc.handle = handle;
    desc.size = 4097;
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    /* A buffer without a mutex as one; memory as a mutex's handle type; a mutex's as a fence. */
    culv_keyed_mutex_desc mutex_desc = culv_keyed_mutex_desc_init();
    mutex_desc.handle = culv_handle_win32(CULV_HANDLE_D3D11_KEYED_MUTEX, handle.value.win32);
    REFUSES(culv_keyed_mutex_import_take(s.culvert, &mutex_desc, &mutex), CULV_ERROR_DRIVER,
            CULV_REASON_HANDLE_REFUSED);
    mutex_desc.handle = handle;
    REFUSES(culv_keyed_mutex_import_take(s.culvert, &mutex_desc, &mutex), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);
    culv_semaphore_desc fence_desc = culv_semaphore_desc_init();
    fence_desc.type = CULV_SEMAPHORE_TIMELINE;
    fence_desc.handle = culv_handle_win32(CULV_HANDLE_D3D11_KEYED_MUTEX, handle.value.win32);
    REFUSES(culv_semaphore_import_take(s.culvert, &fence_desc, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);

    REQUIRE(scene11_name_lives(name)); /* none of these has taken it */
    desc.handle = handle;
    culv_handle_close(&handle);
    REQUIRE(!scene11_name_lives(name)); /* and none has kept it */
    desc.size = 4096;
    REFUSES(culv_memory_import_take(s.culvert, &desc, &memory), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_BAD);
    REQUIRE(memory == NULL && semaphore == NULL && mutex == NULL);
    REQUIRE(again.type == CULV_HANDLE_NONE && overlay11_references() == 0);
    REQUIRE(ID3D11Fence_Release(fence) == 0 && ID3D11Buffer_Release(plain) == 0);
    scene11_close(&s);
}

/* Makes one of each. */
static culv_result make_all(const scene11 *s, ID3D11Buffer *resource, ID3D11Fence *fence)
{
    culv_d3d11_buffer_create_desc buffer_desc = culv_d3d11_buffer_create_desc_init();
    culv_d3d11_image_create_desc image_desc = culv_d3d11_image_create_desc_init();
    culv_d3d11_memory_desc memory_desc = culv_d3d11_memory_desc_init();
    culv_shared_buffer *made = NULL;
    culv_shared_image *image = NULL;
    culv_shared_semaphore *semaphore = NULL;
    culv_memory *memory = NULL;
    culv_semaphore *own = NULL;
    culv_keyed_mutex *mutex = NULL;
    D3D11_TEXTURE2D_DESC what;
    memset(&what, 0, sizeof what);
    what.Width = what.Height = 16;
    what.MipLevels = what.ArraySize = what.SampleDesc.Count = 1;
    what.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    what.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    image_desc.resource_desc = &what;
    image_desc.kmt = 1;
    buffer_desc.size = 4096;
    memory_desc.resource = scene11_of_buffer(resource);
    culv_result result = culv_d3d11_buffer_create(s->d3d11, &buffer_desc, &made);
    if (result == CULV_OK) result = culv_d3d11_image_create(s->d3d11, &image_desc, &image);
    if (result == CULV_OK) result = culv_d3d11_semaphore_create(s->d3d11, NULL, &semaphore);
    if (result == CULV_OK) result = culv_d3d11_memory_import(s->d3d11, &memory_desc, &memory);
    if (result == CULV_OK)
        result = culv_d3d11_keyed_mutex_import(s->d3d11, memory_desc.resource, NULL, &mutex);
    if (result == CULV_OK) result = culv_d3d11_semaphore_import(s->d3d11, fence, NULL, &own);
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
    culv_semaphore_destroy(&own);
    culv_keyed_mutex_destroy(&mutex);
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
    scene11 s;
    scene11_open(&s);
    ID3D11Buffer *resource = scene11_buffer(&s, 4096, scene11_rows[0].misc);
    ID3D11Fence *fence = cases11_fence(&s, 3, true);
    OK(make_all(&s, resource, fence));
    const unsigned before = overlay11_calls();
    OK(make_all(&s, resource, fence));
    const unsigned calls = overlay11_calls() - before;
    REQUIRE(calls == 7); /* a fence, six handles */
    for (unsigned n = 1; n <= calls; n++) {
        overlay11_fail_at(n);
        REQUIRE(make_all(&s, resource, fence) == CULV_ERROR_OUT_OF_MEMORY);
        overlay11_fail_at(0);
        (void)culv_device_collect(s.culvert);
        REQUIRE(scene11_driver_objects() == 0 && overlay11_references() == 0);
    }
    unsigned failed = 0, n = 1;
    for (;; n++) {
        culv_soft_counts a = {.struct_size = sizeof a}, b = a;
        soft11.counts(&a);
        soft11.fail_at(n, CUDA_ERROR_OUT_OF_MEMORY);
        culv_result result = make_all(&s, resource, fence);
        soft11.counts(&b);
        soft11.fail_at(0, 0);
        (void)culv_device_collect(s.culvert);
        REQUIRE(scene11_driver_objects() == 0 && overlay11_references() == 0);
        failed += result != CULV_OK;
        if (result == CULV_OK && b.calls - a.calls < n) break;
    }
    printf("  %u driver calls, %u of them failed the work\n", n - 1, failed);
    REQUIRE(failed >= 10);
    OK(make_all(&s, resource, fence));
    REQUIRE(ID3D11Fence_Release(fence) == 0);
    REQUIRE(ID3D11Buffer_Release(resource) == 0);
    scene11_close(&s);
}

/* What was made lives on without its attachment, in any order. */
static void orders(void)
{
    for (int order = 0; order < 2; order++) {
        scene11 s;
        scene11_open(&s);
        culv_d3d11_buffer_create_desc desc = culv_d3d11_buffer_create_desc_init();
        culv_shared_buffer *buffer = NULL;
        culv_shared_semaphore *semaphore = NULL;
        desc.size = 4096;
        OK(culv_d3d11_buffer_create(s.d3d11, &desc, &buffer));
        OK(culv_d3d11_semaphore_create(s.d3d11, NULL, &semaphore));
        culv_d3d11_detach(&s.d3d11);
        static unsigned char put[4096], got[4096];
        scene11_pattern(put, sizeof put, 9);
        scene11_cuda_write(&s, culv_shared_buffer_pointer(buffer), put, sizeof put);
        overlay11_take();
        scene11_read(&s, culv_d3d11_buffer_resource(buffer), 0, got);
        REQUIRE(memcmp(put, got, sizeof put) == 0);
        if (order == 0) culv_shared_buffer_destroy(&buffer);
        culv_shared_semaphore_destroy(&semaphore);
        culv_shared_buffer_destroy(&buffer);
        scene11_close(&s);
    }
}

const case11 cases_d3d11_errors[] = {
    {"match", match},     {"unshareable", unshareable}, {"bad_handles", bad_handles},
    {"torture", torture}, {"orders", orders},           {NULL, NULL},
};
