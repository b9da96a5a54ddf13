/* SPDX-License-Identifier: MIT */
/* Direct3D 11 on the rig: what Windows refuses, every method of what the rig adds, a texture that
 * cannot be shared, values that nobody reported, a removed device. */
#include "scene11.h"

#include <culvert/d3d_register.h>

static const GUID some_key = {
    0x2b7a1c11, 0x5d0e, 0x4d0f, {0x9b, 0x12, 0x44, 0x8e, 0x01, 0x6f, 0x3c, 0x5d}};

enum {
    NT = D3D11_RESOURCE_MISC_SHARED_NTHANDLE,
    SHARED = D3D11_RESOURCE_MISC_SHARED,
    MUTEX = D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX
};

/* soft/wine/overlay11.c has each rule's source. */
D11_CASE(rules)
{
    static const struct {
        UINT misc, levels;
        D3D11_USAGE usage;
        bool taken;
    } rows[] = {
        {SHARED, 1, D3D11_USAGE_DEFAULT, true},
        {NT | MUTEX, 1, D3D11_USAGE_DEFAULT, true},
        {NT | SHARED, 1, D3D11_USAGE_DEFAULT, true},
        {SHARED | MUTEX, 1, D3D11_USAGE_DEFAULT, false},
        {NT, 1, D3D11_USAGE_DEFAULT, false},
        {SHARED, 2, D3D11_USAGE_DEFAULT, false},
        {NT | MUTEX, 0, D3D11_USAGE_DEFAULT, false},
        {0, 3, D3D11_USAGE_DEFAULT, true},
        {SHARED, 1, D3D11_USAGE_DYNAMIC, false},
    };
    HANDLE handle = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        D3D11_TEXTURE2D_DESC desc = scene11_texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, 16, 8, 1,
                                                         rows[i].levels, rows[i].misc);
        ID3D11Texture2D *made = NULL;
        desc.Usage = rows[i].usage;
        if (desc.Usage == D3D11_USAGE_DYNAMIC) {
            desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
            desc.CPUAccessFlags = D3D11_CPU_ACCESS_WRITE;
        }
        const HRESULT hr = ID3D11Device_CreateTexture2D(s->device, &desc, NULL, &made);
        printf("  flags %#x, %u levels, usage %d: %#lx\n", rows[i].misc, rows[i].levels,
               (int)rows[i].usage, (unsigned long)hr);
        REQUIRE(rows[i].taken ? hr == S_OK : hr == E_INVALIDARG);
        if (made != NULL) ID3D11Texture2D_Release(made);
    }
    D3D11_TEXTURE3D_DESC volume = {.Width = 4,
                                   .Height = 4,
                                   .Depth = 4,
                                   .MipLevels = 1,
                                   .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                   .BindFlags = D3D11_BIND_SHADER_RESOURCE,
                                   .MiscFlags = SHARED};
    ID3D11Texture3D *none = NULL;
    REQUIRE(ID3D11Device_CreateTexture3D(s->device, &volume, NULL, &none) == E_INVALIDARG);

    /* Who owns a keyed mutex, and which handle a resource has. */
    ID3D11Texture2D *texture = scene11_texture(s, DXGI_FORMAT_R8G8B8A8_UNORM, 16, 8, 1, NT | MUTEX);
    ID3D11Resource *resource = scene11_of_texture(texture);
    IDXGIKeyedMutex *mutex = scene11_mutex(resource);
    IDXGIResource1 *dxgi = NULL;
    culv_keyed_mutex *cuda = NULL;
    HR_OK(ID3D11Resource_QueryInterface(resource, &IID_IDXGIResource1, (void **)&dxgi));
    REQUIRE(IDXGIResource1_GetSharedHandle(dxgi, &handle) == E_INVALIDARG);
    REQUIRE(IDXGIResource1_CreateSharedHandle(dxgi, NULL, DXGI_SHARED_RESOURCE_READ, NULL,
                                              &handle) == E_INVALIDARG);
    HR_OK(IDXGIResource1_CreateSharedHandle(dxgi, NULL, GENERIC_ALL, NULL, &handle));
    REQUIRE(CloseHandle(handle));
    OK(culv_d3d11_keyed_mutex_import(s->d3d11, resource, NULL, &cuda));
    REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 0) == E_FAIL);
    OK(culv_keyed_mutex_acquire(cuda, s->stream, 0, 0));
    REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 0) == E_FAIL); /* it is CUDA's */
    OK(culv_keyed_mutex_release(cuda, s->stream, 1));
    scene_synchronize(s);
    REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 0, 0) == (HRESULT)WAIT_TIMEOUT);
    REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 1, 0) == S_OK);
    REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 1, 0) == (HRESULT)WAIT_TIMEOUT);
    REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 0) == S_OK);
    culv_keyed_mutex_destroy(&cuda, NULL);
    IDXGIResource1_Release(dxgi);
    IDXGIKeyedMutex_Release(mutex);
    REQUIRE(ID3D11Texture2D_Release(texture) == 0);
}

/* What the rig adds answers every method: by Wine's object, itself, or with E_NOTIMPL. */
D11_CASE(tables)
{
    ID3D11Device5 *device = NULL;
    ID3D11Device *back = NULL;
    ID3D11DeviceContext *context = NULL;
    IUnknown *a = NULL, *b = NULL;
    HR_OK(ID3D11Device_QueryInterface(s->device, &IID_ID3D11Device5, (void **)&device));
    HR_OK(ID3D11Device5_QueryInterface(device, &IID_IUnknown, (void **)&a));
    HR_OK(ID3D11Device_QueryInterface(s->device, &IID_IUnknown, (void **)&b));
    REQUIRE(a == b); /* one object */
    IUnknown_Release(a);
    IUnknown_Release(b);
    REQUIRE(ID3D11Device5_GetFeatureLevel(device) == D3D_FEATURE_LEVEL_11_0);
    ID3D11Device5_GetImmediateContext(device, &context);
    REQUIRE(context == s->context);
    ID3D11DeviceContext_Release(context);
    D3D11_BUFFER_DESC desc = {.ByteWidth = 64, .BindFlags = D3D11_BIND_SHADER_RESOURCE};
    ID3D11Buffer *buffer = NULL;
    HR_OK(ID3D11Device5_CreateBuffer(device, &desc, NULL, &buffer));
    ID3D11Buffer_Release(buffer);
    /* The last methods of newer interfaces. */
    ID3D11DeviceContext3 *newer = NULL;
    ID3D11Device5_GetImmediateContext3(device, &newer);
    DWORD cookie = 0;
    const HRESULT event = ID3D11Device5_RegisterDeviceRemovedEvent(device, NULL, &cookie);
    REQUIRE(newer == NULL && event == E_NOTIMPL);

    REQUIRE(ID3D11DeviceContext4_GetType(s->context4) == D3D11_DEVICE_CONTEXT_IMMEDIATE);
    ID3D11DeviceContext4_ClearState(s->context4);
    ID3D11DeviceContext4_Flush1(s->context4, D3D11_CONTEXT_TYPE_ALL, NULL);
    ID3D11DeviceContext4_Flush(s->context4);
    ID3D11DeviceContext4_GetDevice(s->context4, &back);
    REQUIRE(back == s->device);
    ID3D11Device_Release(back);

    ID3D11Fence *fence = scene11_fence(s, 3, true), *same = NULL;
    HANDLE handle = NULL;
    UINT value = 7, size = sizeof value;
    HR_OK(ID3D11Fence_SetPrivateData(fence, &some_key, sizeof value, &value));
    value = 0;
    HR_OK(ID3D11Fence_GetPrivateData(fence, &some_key, &size, &value));
    ID3D11Fence_GetDevice(fence, &back);
    REQUIRE(value == 7 && back == s->device);
    ID3D11Device_Release(back);
    HR_OK(ID3D11Fence_CreateSharedHandle(fence, NULL, GENERIC_ALL, NULL, &handle));
    HR_OK(ID3D11Device5_OpenSharedFence(device, handle, &IID_ID3D11Fence, (void **)&same));
    REQUIRE(same == fence && CloseHandle(handle));
    ID3D11Fence_Release(same);
    REQUIRE(ID3D11Fence_Release(fence) == 0);

    ID3D11Texture2D *texture = scene11_texture(s, DXGI_FORMAT_R8G8B8A8_UNORM, 8, 8, 1, MUTEX);
    IDXGIKeyedMutex *mutex = scene11_mutex(scene11_of_texture(texture));
    IDXGIResource1 *dxgi = NULL;
    IDXGISurface2 *surface = NULL;
    DXGI_USAGE usage = 0;
    UINT priority = 0;
    HR_OK(ID3D11Texture2D_QueryInterface(texture, &IID_IDXGIResource1, (void **)&dxgi));
    (void)IDXGIResource1_GetUsage(dxgi, &usage);
    (void)IDXGIResource1_GetEvictionPriority(dxgi, &priority);
    (void)IDXGIResource1_SetEvictionPriority(dxgi, priority);
    HR_OK(IDXGIResource1_SetPrivateData(dxgi, &some_key, sizeof value, &value));
    REQUIRE(IDXGIResource1_CreateSubresourceSurface(dxgi, 0, &surface) == E_NOTIMPL);
    HR_OK(IDXGIKeyedMutex_GetDevice(mutex, &IID_ID3D11Device, (void **)&back));
    REQUIRE(back == s->device);
    ID3D11Device_Release(back);
    IDXGIResource1_Release(dxgi);
    IDXGIKeyedMutex_Release(mutex);
    ID3D11Texture2D_Release(texture);
    ID3D11Device5_Release(device);
}

/* An engine's texture, without a flag, TYPELESS or with levels: CUDA sees its twin. */
D11_CASE(shadow)
{
    static const struct row {
        const char *name;
        DXGI_FORMAT format;
        UINT width, height, layers, levels;
        bool cube, mutex;
    } rows[] = {
        {"TYPELESS", DXGI_FORMAT_R8G8B8A8_TYPELESS, 61, 33, 1, 1, false, false},
        {"with a mutex", DXGI_FORMAT_R8G8B8A8_TYPELESS, 61, 33, 1, 1, false, true},
        {"an array with levels", DXGI_FORMAT_R8G8B8A8_TYPELESS, 37, 19, 3, 3, false, false},
        {"a cube with levels", DXGI_FORMAT_R8G8B8A8_UNORM, 24, 24, 6, 2, true, false},
    };
    static unsigned char put[61 * 33 * 4 * 6], got[sizeof put];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        const D3D11_TEXTURE2D_DESC desc =
            scene11_texture_desc(r->format, r->width, r->height, r->layers, r->levels,
                                 r->cube ? D3D11_RESOURCE_MISC_TEXTURECUBE : 0);
        const size_t row = (size_t)r->width * 4, layer = row * r->height, all = layer * r->layers;
        culv_d3d_shadow_desc make = culv_d3d_shadow_desc_init();
        culv_d3d_memory_desc memory_desc = culv_d3d_memory_desc_init();
        culv_d3d_shadow *twin = NULL;
        culv_memory *memory = NULL;
        culv_keyed_mutex *cuda = NULL;
        IDXGIKeyedMutex *mutex = NULL;
        ID3D11Texture2D *engine = NULL;
        CUarray array;
        HR_OK(ID3D11Device_CreateTexture2D(s->device, &desc, NULL, &engine));
        ID3D11Resource *resource = scene11_of_texture(engine);
        memory_desc.object = make.resource = (IUnknown *)resource;
        REFUSES(culv_d3d_memory_import(s->d3d11, &memory_desc, &memory), CULV_ERROR_INVALID,
                CULV_REASON_NOT_EXPORTABLE);
        REQUIRE_SAYS("culv_d3d_shadow_create()");
        if (r->format == DXGI_FORMAT_R8G8B8A8_TYPELESS) {
            REFUSES(culv_d3d_shadow_create(s->d3d11, &make, &twin), CULV_ERROR_INVALID,
                    CULV_REASON_FORMAT);
            REQUIRE_SAYS("culv_d3d_shadow_desc.format is DXGI_FORMAT 0");
            REQUIRE_SAYS("DXGI_FORMAT 28 (R8G8B8A8_UNORM)");
            make.format = DXGI_FORMAT_R8G8B8A8_UNORM;
        }
        make.cube = r->cube;
        make.keyed_mutex = r->mutex;
        make.label = r->name;
        OK(culv_d3d_shadow_create(s->d3d11, &make, &twin));
        const culv_shared_image *image = culv_d3d_shadow_image(twin);
        ID3D11Resource *shared = (ID3D11Resource *)culv_d3d_image_resource(image);
        OK(culv_image_get_array(culv_shared_image_cuda(image), 0, &array));
        if (r->mutex) {
            mutex = scene11_mutex(shared);
            OK(culv_d3d11_keyed_mutex_import(s->d3d11, shared, NULL, &cuda));
            REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 0, 0) == S_OK);
        }
        scene_pattern(put, all, (unsigned)i + 1);
        for (UINT l = 0; l < r->layers; l++)
            scene11_write(s, resource, l * r->levels, put + l * layer, (UINT)row);
        REQUIRE(culv_d3d_shadow_copies(twin) == 0);
        OK(culv_d3d_shadow_record(twin, (IUnknown *)s->context, 0, 0));
        if (r->mutex) {
            REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 1) == S_OK);
            OK(culv_keyed_mutex_acquire(cuda, s->stream, 1, 0));
        } else {
            overlay11_turn(s->device);
        }
        scene_cuda_copy(s, array, got, row, r->height, r->layers, false);
        REQUIRE(memcmp(put, got, all) == 0);
        scene_pattern(put, all, (unsigned)i + 11);
        scene_cuda_copy(s, array, put, row, r->height, r->layers, true);
        if (r->mutex) {
            OK(culv_keyed_mutex_release(cuda, s->stream, 2));
            scene_synchronize(s);
            REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 2, 0) == S_OK);
        } else {
            overlay11_turn(s->device);
        }
        OK(culv_d3d_shadow_record(twin, (IUnknown *)s->context, 0, 1));
        REQUIRE(culv_d3d_shadow_copies(twin) == 2);
        for (UINT l = 0; l < r->layers; l++) {
            scene11_read(s, resource, l * r->levels, got);
            REQUIRE(memcmp(put + l * layer, got, layer) == 0);
        }
        culv_shared_image *owned = (culv_shared_image *)(uintptr_t)image;
        culv_shared_image_destroy(&owned, NULL);
        REQUIRE(owned != NULL && scene_reason_is(CULV_REASON_OWNED));
        if (r->mutex) {
            culv_keyed_mutex_destroy(&cuda, NULL);
            IDXGIKeyedMutex_Release(mutex);
        }
        culv_d3d_shadow_destroy(&twin);
        REQUIRE(twin == NULL && ID3D11Texture2D_Release(engine) == 0);
        printf("  %s\n", r->name);
    }
    /* What has no shadow, and a context of another device. */
    culv_d3d_shadow *twin = NULL;
    culv_d3d_shadow_desc make = culv_d3d_shadow_desc_init();
    ID3D11Buffer *buffer = scene11_buffer(s, 64, 0);
    ID3D11Texture2D *engine = scene11_texture(s, DXGI_FORMAT_R8G8B8A8_UNORM, 8, 8, 1, 0);
    REFUSES(culv_d3d_shadow_create(s->d3d11, &make, &twin), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    make.resource = (IUnknown *)scene11_of_buffer(buffer);
    REFUSES(culv_d3d_shadow_create(s->d3d11, &make, &twin), CULV_ERROR_INVALID, CULV_REASON_USAGE);
    make.resource = (IUnknown *)scene11_of_texture(engine);
    overlay11_fail_at(1); /* its handle is refused: nothing is left */
    REQUIRE(culv_d3d_shadow_create(s->d3d11, &make, &twin) == CULV_ERROR_OUT_OF_MEMORY);
    overlay11_fail_at(0);
    REQUIRE(twin == NULL);
    OK(culv_d3d_shadow_create(s->d3d11, &make, &twin));
    REFUSES(culv_d3d_shadow_record(twin, NULL, 0, 0), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    ID3D11Device *other = NULL;
    ID3D11DeviceContext *its = NULL;
    HR_OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION,
                            &other, NULL, &its));
    REFUSES(culv_d3d_shadow_record(twin, (IUnknown *)its, 0, 0), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_MISMATCH);
    REQUIRE(culv_d3d_shadow_copies(twin) == 0);
    D3D11_TEXTURE2D_DESC of_theirs;
    ID3D11Texture2D *theirs = NULL;
    culv_d3d_shadow *none = NULL;
    ID3D11Texture2D_GetDesc(engine, &of_theirs);
    HR_OK(ID3D11Device_CreateTexture2D(other, &of_theirs, NULL, &theirs));
    make.resource = (IUnknown *)scene11_of_texture(theirs);
    REFUSES(culv_d3d_shadow_create(s->d3d11, &make, &none), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_MISMATCH);
    ID3D11Texture2D_Release(theirs);
    make.resource = (IUnknown *)scene11_of_texture(engine);
    ID3D11DeviceContext_Release(its);
    ID3D11Device_Release(other);
    /* The same texture is registered: CUDA writes it that way, and reads the twin. */
    culv_registration *registered = NULL;
    CUarray array;
    OK(culv_d3d_register(s->culvert, (IUnknown *)make.resource, NULL, &registered));
    OK(culv_registration_map(&registered, 1, s->stream));
    OK(culv_registration_get_array(registered, 0, 0, &array));
    scene_pattern(put, 8 * 8 * 4, 77);
    scene_cuda_copy(s, array, put, 8 * 4, 8, 1, true);
    OK(culv_registration_unmap(&registered, 1, s->stream));
    OK(culv_d3d_shadow_record(twin, (IUnknown *)s->context, 0, 0));
    overlay11_turn(s->device);
    OK(culv_image_get_array(culv_shared_image_cuda(culv_d3d_shadow_image(twin)), 0, &array));
    scene_cuda_copy(s, array, got, 8 * 4, 8, 1, false);
    REQUIRE(memcmp(put, got, 8 * 8 * 4) == 0);
    culv_registration_destroy(&registered);
    culv_d3d_shadow_destroy(&twin);
    culv_d3d_shadow_destroy(&twin);
    culv_d3d_shadow_destroy(NULL);
    ID3D11Buffer_Release(buffer);
    REQUIRE(ID3D11Texture2D_Release(engine) == 0);
}

/* A removed device ----------------------------------------------------------------------------- */

typedef struct program {
    scene11 s; /* its CUDA stays */
    culv_shared_image *image;
    culv_shared_semaphore *fence;
    culv_keyed_mutex *cuda;
    culv_shared_buffer *buffer;
    IDXGIKeyedMutex *mutex;
} program;

enum { SIDE = 16, IMAGE = SIDE * SIDE * 4 };
#define HR_TRY(call)                                                                               \
    do {                                                                                           \
        const HRESULT try_ = (call);                                                               \
        if (try_ == DXGI_REMOVED) return false;                                                    \
        HR_OK(try_);                                                                               \
    } while (0)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const culv_result try_ = (call);                                                           \
        if (try_ == CULV_ERROR_ASYNC && scene_reason_is(CULV_REASON_DEVICE_LOST)) return false;    \
        OK(try_);                                                                                  \
    } while (0)

static bool work(program *p, const unsigned char *data, unsigned char *got)
{
    const D3D11_TEXTURE2D_DESC what =
        scene11_texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, 1, 1, 0);
    culv_d3d_image_create_desc image = culv_d3d_image_create_desc_init();
    culv_d3d_buffer_create_desc buffer = culv_d3d_buffer_create_desc_init();
    CUarray array;
    image.texture_desc = &what;
    buffer.size = 4096;
    buffer.keyed_mutex = 1;
    TRY(culv_d3d_image_create(p->s.d3d11, &image, &p->image));
    TRY(culv_d3d_buffer_create(p->s.d3d11, &buffer, &p->buffer));
    TRY(culv_d3d_semaphore_create(p->s.d3d11, NULL, &p->fence));
    TRY(culv_d3d11_keyed_mutex_import(
        p->s.d3d11, (ID3D11Resource *)culv_d3d_buffer_resource(p->buffer), NULL, &p->cuda));
    p->mutex = scene11_mutex((ID3D11Resource *)culv_d3d_buffer_resource(p->buffer));
    culv_semaphore *cuda = culv_shared_semaphore_cuda(p->fence);
    OK(culv_image_get_array(culv_shared_image_cuda(p->image), 0, &array));
    HR_TRY(IDXGIKeyedMutex_AcquireSync(p->mutex, 0, 0));
    HR_TRY(IDXGIKeyedMutex_ReleaseSync(p->mutex, 0));
    for (uint64_t i = 0; i < 3; i++) {
        ID3D11Resource *resource = (ID3D11Resource *)culv_d3d_image_resource(p->image);
        scene11_write(&p->s, resource, 0, data, SIDE * 4);
        OK(culv_semaphore_wait(cuda, p->s.stream, 2 * i + 1));
        HR_TRY(ID3D11DeviceContext4_Signal(
            p->s.context4, (ID3D11Fence *)culv_d3d_semaphore_fence(p->fence), 2 * i + 1));
        culv_semaphore_mark_value(cuda, 2 * i + 1);
        scene_cuda_copy(&p->s, array, got, SIDE * 4, SIDE, 1, false);
        OK(culv_semaphore_signal(cuda, p->s.stream, 2 * i + 2));
        HR_TRY(ID3D11DeviceContext4_Wait(
            p->s.context4, (ID3D11Fence *)culv_d3d_semaphore_fence(p->fence), 2 * i + 2));
    }
    return true;
}

/* Some call finds the device removed, each in turn; CUDA goes on with a new ID3D11Device. */
TEST(removed)
{
    static unsigned char data[IMAGE], got[IMAGE];
    program p;
    culv_d3d_device_desc attach = culv_d3d_device_desc_init();
    unsigned times = 0, all = 0;
    memset(&p, 0, sizeof p);
    scene11_open(&p.s);
    for (unsigned n = 1;; n += 2) {
        scene_pattern(data, sizeof data, n);
        memset(got, 0, sizeof got);
        overlay_remove_at(n);
        const bool done = work(&p, data, got);
        all = overlay_counted();
        overlay_remove_at(0);
        if (!done) {
            ID3D11Fence *fence = (ID3D11Fence *)culv_d3d_semaphore_fence(p.fence);
            REQUIRE(ID3D11Device_GetDeviceRemovedReason(p.s.device) == DXGI_HUNG);
            REQUIRE(fence == NULL || ID3D11Fence_GetCompletedValue(fence) == UINT64_MAX);
            if (fence != NULL) /* OK would say that somebody signaled it */
                REFUSES(culv_shared_semaphore_wait_on_host(p.fence, 7, 0), CULV_ERROR_ASYNC,
                        CULV_REASON_DEVICE_LOST);
            OK(culv_d3d_device_lost(p.s.d3d11));
            times++;
        } else {
            REQUIRE(memcmp(data, got, sizeof data) == 0);
        }
        scene_synchronize(&p.s);
        if (p.mutex != NULL) IDXGIKeyedMutex_Release(p.mutex);
        culv_keyed_mutex_destroy(&p.cuda, NULL);
        culv_shared_semaphore_destroy(&p.fence, NULL);
        culv_shared_buffer_destroy(&p.buffer, NULL);
        culv_shared_image_destroy(&p.image, NULL);
        p.mutex = NULL;
        if (done) break;
        culv_d3d_detach(&p.s.d3d11);
        (void)culv_device_collect(p.s.culvert);
        REQUIRE(overlay11_references() == 0);
        overlay11_clear();
        ID3D11DeviceContext4_Release(p.s.context4);
        ID3D11DeviceContext_Release(p.s.context);
        REQUIRE(ID3D11Device_Release(p.s.device) == 0);
        scene11 again;
        scene11_open_device(&again); /* a new device, the same CUDA */
        p.s.device = again.device;
        p.s.context = again.context;
        p.s.context4 = again.context4;
        attach.device = (IUnknown *)p.s.device;
        OK(culv_d3d_attach(p.s.culvert, &attach, &p.s.d3d11));
    }
    printf("  removed %u times; %u calls are counted\n", times, all);
    REQUIRE(times >= 6 && times == (all + 1) / 2);
    scene11_close(&p.s);
}

/* CUDA waits for a fence of a device that goes, and then has every value: nobody signaled it. The
 * program knows of no loss and destroys the fence, whose end asks the host's side of it. */
D11_CASE(removed_unnoticed)
{
    culv_shared_semaphore *made = NULL;
    OK(culv_d3d_semaphore_create(s->d3d11, NULL, &made));
    ID3D11Fence *fence = (ID3D11Fence *)culv_d3d_semaphore_fence(made);
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(made), s->stream, 9));
    REQUIRE(s->cu->cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY);
    overlay_remove_at(1);
    REQUIRE(ID3D11DeviceContext4_Signal(s->context4, fence, 1) == DXGI_REMOVED);
    overlay_remove_at(0);
    REQUIRE(ID3D11Fence_GetCompletedValue(fence) == UINT64_MAX);
    culv_shared_semaphore_destroy(&made, NULL);
    for (int i = 0; i < SCENE_FAR_MS && s->cu->cuStreamQuery(s->stream) != CUDA_SUCCESS; i++)
        Sleep(1);
    CU_OK(s->cu->cuStreamQuery(s->stream));
}
