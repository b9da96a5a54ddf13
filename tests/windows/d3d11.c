/* SPDX-License-Identifier: MIT */
/* Direct3D 11 with CUDA: buffers and textures by NT and KMT handles, with and without a keyed
 * mutex, with data both ways; and what the rig adds to Wine's. */
#include "scene.h"

#include <culvert/d3d12.h>
#include <culvert/d3d_register.h>

#include "d3d_cases.h"

enum { SIDE = 48, IMAGE = SIDE * SIDE * 4 };

static ID3D11Resource *texture_of(const native *s, DXGI_FORMAT format, UINT width, UINT height,
                                  UINT layers, UINT misc)
{
    const D3D11_TEXTURE2D_DESC desc = scene11_texture_desc(format, width, height, layers, 1, misc);
    return scene11_texture(s, &desc);
}

/* Direct3D's turn, in each of the four rows. Keys: 0 is Direct3D's turn, 1 is CUDA's. */
static void d3d_turn(const native *s, IDXGIKeyedMutex *mutex, bool begins)
{
    if (mutex == NULL)
        overlay11_turn(s->device);
    else
        REQUIRE((begins ? IDXGIKeyedMutex_AcquireSync(mutex, 0, SCENE_FAR_MS)
                        : IDXGIKeyedMutex_ReleaseSync(mutex, 1)) == S_OK);
}

/* What both sides have: a buffer, or all layers of a texture of SIDE texels of four bytes. */
typedef struct shared {
    ID3D11Resource *resource;
    CUdeviceptr pointer; /* 0: a texture */
    CUarray array;
    size_t layer; /* bytes; a buffer has one */
    unsigned layers;
} shared;

static void d3d_copy(const native *s, const shared *x, unsigned char *data, bool write)
{
    const UINT row = x->pointer != 0 ? 0 : SIDE * 4;
    for (unsigned l = 0; l < x->layers; l++)
        if (write)
            scene11_write(s, x->resource, l, data + l * x->layer, row);
        else
            scene11_read(s, x->resource, l, data + l * x->layer, row);
}

static void turn_cuda(const native *s, const shared *x, unsigned char *data, bool write)
{
    if (x->pointer == 0)
        scene_cuda_copy(s, x->array, data, SIDE * 4, SIDE, x->layers, write);
    else if (write)
        scene_cuda_write(s, x->pointer, data, x->layer);
    else
        scene_cuda_read(s, x->pointer, data, x->layer);
}

/* Red, which Direct3D draws. */
static void draw(const native *s, ID3D11Resource *resource, unsigned char *expected)
{
    static const FLOAT colour[4] = {1.0f, 0.0f, 0.2f, 1.0f};
    ID3D11RenderTargetView *view = NULL;
    HR_OK(ID3D11Device_CreateRenderTargetView(s->device, resource, NULL, &view));
    ID3D11DeviceContext_ClearRenderTargetView(s->context, view, colour);
    ID3D11RenderTargetView_Release(view);
    for (unsigned p = 0; p < SIDE * SIDE; p++)
        memcpy(expected + p * 4, "\xff\0\x33\xff", 4);
}

/* Direct3D writes or draws, CUDA reads and writes, Direct3D reads. */
static void both_ways(const native *s, const shared *x, const scene11_row *row, unsigned seed,
                      bool draws)
{
    const size_t size = x->layer * x->layers;
    IDXGIKeyedMutex *mutex = row->mutex ? scene11_mutex(x->resource) : NULL;
    culv_keyed_mutex *cuda = NULL;
    if (mutex != NULL) OK(culv_d3d11_keyed_mutex_import(s->d3d, x->resource, "turns", &cuda));
    d3d_turn(s, mutex, true);
    scene_pattern(put, size, seed);
    if (draws)
        draw(s, x->resource, put);
    else
        d3d_copy(s, x, put, true);
    d3d_turn(s, mutex, false);
    if (cuda != NULL) OK(culv_keyed_mutex_acquire(cuda, s->stream, 1, CULV_KEYED_MUTEX_INFINITE));
    turn_cuda(s, x, got, false);
    REQUIRE(memcmp(put, got, size) == 0);
    scene_pattern(put, size, seed + 100);
    turn_cuda(s, x, put, true);
    if (cuda != NULL) OK(culv_keyed_mutex_release(cuda, s->stream, 0));
    scene_synchronize(s);
    d3d_turn(s, mutex, true);
    d3d_copy(s, x, got, false);
    REQUIRE(memcmp(put, got, size) == 0);
    d3d_turn(s, mutex, false);
    if (mutex != NULL) IDXGIKeyedMutex_Release(mutex);
    culv_keyed_mutex_destroy(&cuda, NULL);
    REQUIRE(cuda == NULL);
}

/* A buffer, a texture, an array, a cube and an array of cubes, of each row. */
D3D_CASE(textures)
{
    static const unsigned layers[] = {0 /* a buffer */, 1, 3, 6, 12};
    for (unsigned i = 0; i < SCENE11_ROWS; i++)
        for (unsigned k = 0; k < sizeof layers / sizeof layers[0]; k++) {
            const UINT misc = scene11_rows[i].misc;
            culv_d3d_image_desc map = culv_d3d_image_desc_init();
            culv_image *image = NULL;
            culv_buffer *buffer = NULL;
            shared x = {NULL, 0, NULL, layers[k] != 0 ? IMAGE : BYTES, layers[k]};
            x.resource = layers[k] == 0 ? scene11_buffer(s, BYTES, misc)
                                        : texture_of(s, DXGI_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE,
                                                     x.layers, misc);
            map.resource = (IUnknown *)x.resource;
            map.cube = layers[k] >= 6;
            culv_memory *memory = NATIVE(import)(s, x.resource, true), *const same = memory;
            culv_memory *again = NATIVE(import)(s, x.resource, true);
            REQUIRE(again == same);
            culv_memory_destroy(&again);
            if (layers[k] == 0) {
                buffer = scene_map(memory, 0, 0);
                x.pointer = culv_buffer_pointer(buffer);
                x.layers = 1;
            } else {
                OK(culv_d3d_image_map(s->d3d, memory, &map, &image));
                OK(culv_image_get_array(image, 0, 0, &x.array));
                culv_memory_destroy(&memory);
            }
            both_ways(s, &x, &scene11_rows[i], 20 * i + k, false);
            culv_image_unmap(&image, NULL);
            culv_buffer_unmap(&buffer, NULL);
            REQUIRE(ID3D11Resource_Release(x.resource) == 0);
        }
}

/* What Culvert makes; what Direct3D draws, CUDA reads. */
D3D_CASE(own)
{
    const D3D11_TEXTURE2D_DESC what =
        scene11_texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, 1, 1, 0);
    for (unsigned i = 0; i < SCENE11_ROWS; i++) {
        const scene11_row *row = &scene11_rows[i];
        culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
        culv_d3d_buffer_create_desc buffer_desc = culv_d3d_buffer_create_desc_init();
        culv_shared_image *image = NULL;
        culv_shared_buffer *buffer = NULL;
        image_desc.texture_desc = &what;
        image_desc.keyed_mutex = buffer_desc.keyed_mutex = row->mutex;
        image_desc.kmt = buffer_desc.kmt = !row->nt;
        buffer_desc.size = 4096;
        OK(culv_d3d_image_create(s->d3d, &image_desc, &image));
        OK(culv_d3d_buffer_create(s->d3d, &buffer_desc, &buffer));
        shared x = {(ID3D11Resource *)culv_d3d_image_resource(image), 0, NULL, IMAGE, 1};
        OK(culv_image_get_array(culv_shared_image_cuda(image), 0, 0, &x.array));
        both_ways(s, &x, row, i, true);
        x = (shared){(ID3D11Resource *)culv_d3d_buffer_resource(buffer),
                     culv_shared_buffer_pointer(buffer), NULL, 4096, 1};
        both_ways(s, &x, row, i + 70, false);
        culv_shared_image_destroy(&image, NULL);
        culv_shared_buffer_destroy(&buffer, &s->stream);
        scene_synchronize(s);
        (void)culv_device_collect(s->culvert);
        REQUIRE(image == NULL && buffer == NULL);
    }
}

/* A turn moves what either side has written, and nothing else. */
D3D_CASE(turns_apart)
{
    culv_shared_buffer *both[2]; /* CUDA writes the first, Direct3D the second */
    ID3D11Fence *fence = scene11_fence(s, 0, false);
    for (int i = 0; i < 2; i++)
        both[i] = scene11_make_buffer(s, BYTES);
    scene_pattern(put, (size_t)2 * BYTES, 1);
    scene_cuda_write(s, culv_shared_buffer_pointer(both[0]), put, BYTES);
    scene11_write(s, (ID3D11Resource *)culv_d3d_buffer_resource(both[1]), 0, put + BYTES, 0);
    HR_OK(ID3D11DeviceContext4_Signal(s->context4, fence, 1));
    for (int i = 0; i < 2; i++) {
        scene_cuda_has(s, culv_shared_buffer_pointer(both[i]), put + i * BYTES, BYTES);
        scene11_read(s, (ID3D11Resource *)culv_d3d_buffer_resource(both[i]), 0, got, 0);
        REQUIRE(memcmp(got, put + i * BYTES, BYTES) == 0);
        culv_shared_buffer_destroy(&both[i], NULL);
    }
    ID3D11Fence_Release(fence);
}

/* Keys and time limits, on both sides. */
typedef struct later {
    IDXGIKeyedMutex *mutex;
    uint64_t key;
} later;

static DWORD WINAPI release_later(void *argument)
{
    const later *l = argument;
    Sleep(150);
    return IDXGIKeyedMutex_ReleaseSync(l->mutex, l->key) == S_OK ? 0 : 1;
}

D3D_CASE(mutexes)
{
    for (unsigned i = 0; i < SCENE11_ROWS; i += 2) { /* NT, KMT */
        ID3D11Resource *mine = scene11_buffer(s, 4096, scene11_rows[i].misc);
        IDXGIKeyedMutex *mutex = scene11_mutex(mine);
        culv_keyed_mutex *cuda = NULL;
        OK(culv_d3d11_keyed_mutex_import(s->d3d, mine, "key", &cuda));

        REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 0) == E_FAIL); /* it is nobody's */
        /* Direct3D holds it: CUDA's time is up, and it holds nothing. */
        REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 0, 0) == S_OK);
        REFUSES(culv_keyed_mutex_acquire(cuda, s->stream, 0, 0), TIMEOUT, NOT_READY);
        REFUSES(culv_keyed_mutex_acquire(cuda, s->stream, 0, 50), TIMEOUT, NOT_READY);
        scene_synchronize(s); /* no error stays in the stream */

        /* It is released with another key. */
        REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 5) == S_OK);
        REFUSES(culv_keyed_mutex_acquire(cuda, s->stream, 4, 20), TIMEOUT, NOT_READY);
        OK(culv_keyed_mutex_acquire(cuda, s->stream, 5, 0));
        REFUSES(culv_keyed_mutex_acquire(cuda, s->stream, 5, CULV_KEYED_MUTEX_INFINITE), INVALID,
                NOT_READY);

        /* CUDA holds it: WAIT_TIMEOUT passes SUCCEEDED() and is no success. */
        const HRESULT hr = IDXGIKeyedMutex_AcquireSync(mutex, 5, 20);
        REQUIRE(SUCCEEDED(hr) && hr != S_OK && hr == (HRESULT)WAIT_TIMEOUT);
        OK(culv_keyed_mutex_release(cuda, s->stream, 7));
        REFUSES(culv_keyed_mutex_release(cuda, s->stream, 7), INVALID, NOT_READY);
        REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 7, INFINITE) == S_OK);

        /* No limit: the other thread releases it. */
        later l = {mutex, UINT64_MAX};
        const HANDLE thread = scene_thread(release_later, &l);
        OK(culv_keyed_mutex_acquire(cuda, s->stream, UINT64_MAX, CULV_KEYED_MUTEX_INFINITE));
        scene_join(thread);
        OK(culv_keyed_mutex_release(cuda, s->stream, 0));
        scene_synchronize(s);
        culv_keyed_mutex_destroy(&cuda, &s->stream);
        scene_synchronize(s);
        (void)culv_device_collect(s->culvert);
        REQUIRE(cuda == NULL);
        culv_keyed_mutex_destroy(&cuda, NULL);
        culv_keyed_mutex_destroy(NULL, NULL);
        IDXGIKeyedMutex_Release(mutex);
        REQUIRE(ID3D11Resource_Release(mine) == 0);
    }
}

static void count_warning(void *user, culv_log_level level, const char *message)
{
    unsigned *warnings = user;
    printf("  %s\n", message);
    if (level == CULV_LOG_WARNING && strstr(message, "destroyed while CUDA holds it") != NULL)
        ++*warnings;
}

/* What nobody can acquire any more is told. */
D3D_CASE(mutex_destroyed)
{
    unsigned warnings = 0;
    culv_device_desc device_desc = culv_device_desc_init();
    culv_device *device = NULL;
    device_desc.log.fn = count_warning;
    device_desc.log.user = &warnings;
    device_desc.log.level = CULV_LOG_WARNING;
    OK(culv_device_open_for_d3d((IUnknown *)s->device, &device_desc, &device));
    culv_d3d_device *d3d11 = scene11_attach(s, device);
    ID3D11Resource *mine = scene11_buffer(s, 4096, scene11_rows[0].misc);
    for (unsigned held = 0; held < 2; held++) {
        culv_keyed_mutex *mutex = NULL;
        OK(culv_d3d11_keyed_mutex_import(d3d11, mine, "key", &mutex));
        if (held) OK(culv_keyed_mutex_acquire(mutex, s->stream, 0, 0));
        culv_keyed_mutex_destroy(&mutex, NULL);
        REQUIRE(mutex == NULL && warnings == held);
    }
    REQUIRE(ID3D11Resource_Release(mine) == 0);
    culv_d3d_detach(&d3d11);
    culv_device_close(&device);
}

/* By an NT handle, taken or borrowed, by a name, and by a KMT handle. */
D3D_CASE(handles)
{
    static const wchar_t name[] = L"Local\\culvert d3d11 buffer";
    enum { PLAIN, NAMED, KMT, FORMS };
    for (int form = 0; form < FORMS; form++) {
        ID3D11Resource *mine = scene11_buffer(s, 4096, scene11_rows[form == KMT ? 2 : 0].misc);
        IDXGIKeyedMutex *mutex = scene11_mutex(mine);
        culv_keyed_mutex_desc mutex_desc = culv_keyed_mutex_desc_init();
        culv_keyed_mutex *cuda = NULL;
        culv_handle handle;
        OK(culv_d3d_export_dup(s->d3d, (IUnknown *)mine, form == KMT ? NULL : name, &handle));
        REQUIRE(handle.type ==
                (form == KMT ? CULV_HANDLE_D3D11_RESOURCE_KMT : CULV_HANDLE_D3D11_RESOURCE));
        const culv_handle by = form == NAMED ? culv_handle_win32_named(handle.type, name) : handle;
        mutex_desc.handle = by;
        mutex_desc.handle.type =
            form == KMT ? CULV_HANDLE_D3D11_KEYED_MUTEX_KMT : CULV_HANDLE_D3D11_KEYED_MUTEX;
        OK(culv_keyed_mutex_import(s->culvert, &mutex_desc, &cuda));
        culv_memory *memory = scene_import(s->culvert, by, 4096, false);
        REQUIRE(form == KMT || scene_name_lives(name));
        culv_handle_close(&handle);
        REQUIRE(!scene_name_lives(name)); /* nobody has kept the handle */
        culv_buffer *buffer = scene_map(memory, 0, 4096);
        REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 0, 0) == S_OK);
        scene_pattern(put, 4096, (unsigned)form);
        scene11_write(s, mine, 0, put, 0);
        REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 1) == S_OK);
        OK(culv_keyed_mutex_acquire(cuda, s->stream, 1, 0));
        scene_cuda_has(s, culv_buffer_pointer(buffer), put, 4096);
        OK(culv_keyed_mutex_release(cuda, s->stream, 0));
        scene_synchronize(s);
        culv_keyed_mutex_destroy(&cuda, NULL);
        culv_buffer_unmap(&buffer, NULL);
        IDXGIKeyedMutex_Release(mutex);
        REQUIRE(ID3D11Resource_Release(mine) == 0);
    }
}

static void refuse_other(native *s, culv_memory *memory, IUnknown *resource)
{
    culv_d3d_image_desc map = culv_d3d_image_desc_init();
    culv_d3d_buffer_create_desc buffer_desc = culv_d3d_buffer_create_desc_init();
    culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
    culv_d3d_semaphore_create_desc fence_desc = culv_d3d_semaphore_create_desc_init();
    culv_d3d12_ring_desc ring_desc = culv_d3d12_ring_desc_init();
    ID3D11Resource *plain = texture_of(s, DXGI_FORMAT_R8G8B8A8_UNORM, 8, 8, 1, 0);
    culv_d3d_shadow_desc shadow_desc = culv_d3d_shadow_desc_init();
    culv_image *image = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_shared_image *made = NULL;
    culv_shared_semaphore *semaphore = NULL;
    culv_d3d_shadow *shadow = NULL;
    culv_ring *ring = NULL;
    uint64_t size = 77;
    map.resource = resource;
    map.offset = 256;
    REFUSES_SO(culv_d3d_image_map(s->d3d, memory, &map, &image), INVALID, VALUE,
               "culv_d3d_image_desc.offset is Direct3D 12's, and the device is an ID3D11Device");
    buffer_desc.size = 4096;
    buffer_desc.resource_flags = 4;
    REFUSES(culv_d3d_buffer_create(s->d3d, &buffer_desc, &buffer), INVALID, VALUE);
    image_desc.resource_desc = (const struct D3D12_RESOURCE_DESC *)&size;
    REFUSES(culv_d3d_image_create(s->d3d, &image_desc, &made), INVALID, VALUE);
    fence_desc.fallback = CULV_FALLBACK_HOST;
    REFUSES(culv_d3d_semaphore_create(s->d3d, &fence_desc, &semaphore), INVALID, VALUE);
    shadow_desc.resource = (IUnknown *)plain;
    OK(culv_d3d_shadow_create(s->d3d, &shadow_desc, &shadow));
    REFUSES(culv_d3d_shadow_record(shadow, (IUnknown *)s->context, 1, 0), INVALID, VALUE);
    REFUSES(culv_d3d_shadow_record(shadow, (IUnknown *)plain, 0, 0), INVALID, HANDLE_KIND);
    culv_d3d_shadow_destroy(&shadow);
    ring_desc.max_depth = 2;
    REFUSES_SO(culv_d3d12_ring_create(s->d3d, &ring_desc, &ring), INVALID, VALUE, "Direct3D 12");
    REQUIRE(image == NULL && buffer == NULL && made == NULL && semaphore == NULL && size == 77);
    REQUIRE(ID3D11Resource_Release(plain) == 0);
}

/* An image that has a mutex, by KMT handles. */
static culv_result more_torture(native *s)
{
    const D3D11_TEXTURE2D_DESC what =
        scene11_texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16, 1, 1, 0);
    culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
    culv_shared_image *image = NULL;
    culv_keyed_mutex *mutex = NULL;
    desc.texture_desc = &what;
    desc.kmt = desc.keyed_mutex = 1;
    culv_result result = culv_d3d_image_create(s->d3d, &desc, &image);
    if (result == CULV_OK)
        result = culv_d3d11_keyed_mutex_import(
            s->d3d, (ID3D11Resource *)culv_d3d_image_resource(image), NULL, &mutex);
    if (result == CULV_OK) result = culv_keyed_mutex_acquire(mutex, s->stream, 0, 0);
    const bool held = result == CULV_OK;
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

static bool more_work(native *s)
{
    TRY(more_torture(s));
    return true;
}

static bool write_frame(native *s, void *resource, const void *data)
{
    scene11_write(s, resource, 0, data, 0);
    return true;
}

/* Shadows -------------------------------------------------------------------------------------- */

static IUnknown *engine_texture(native *s, const engine *e)
{
    const D3D11_TEXTURE2D_DESC desc = scene11_texture_desc(
        e->format, e->width, e->height, e->layers, e->levels,
        (e->cube ? D3D11_RESOURCE_MISC_TEXTURECUBE : 0) | (e->shared ? scene11_rows[1].misc : 0));
    return (IUnknown *)scene11_texture(s, &desc);
}

static void use_texture(native *s, IUnknown *texture, const engine *e, void *data, bool write)
{
    ID3D11Resource *resource = (ID3D11Resource *)(void *)texture;
    const UINT row = e->width * e->texel;
    if (e->shared) overlay11_turn(s->device);
    for (UINT l = 0; l < e->layers; l++) {
        unsigned char *layer = (unsigned char *)data + (size_t)l * row * e->height;
        if (write)
            scene11_write(s, resource, l * e->levels, layer, row);
        else
            scene11_read(s, resource, l * e->levels, layer, row);
    }
    if (e->shared) overlay11_turn(s->device);
}

static void record(native *s, culv_d3d_shadow *shadow, bool from_twin)
{
    if (from_twin) overlay11_turn(s->device);
    OK(culv_d3d_shadow_record(shadow, (IUnknown *)s->context, 0, from_twin));
    if (!from_twin) overlay11_turn(s->device);
}

/* One with a mutex; what has none; a context and a texture of another device. */
D3D_CASE(shadow)
{
    const engine e = {"", DXGI_FORMAT_R8G8B8A8_UNORM, 4, 61, 33, 1, 1, false, false};
    culv_d3d_shadow_desc make = culv_d3d_shadow_desc_init();
    culv_d3d_shadow *twin = NULL, *none = NULL;
    culv_keyed_mutex *cuda = NULL;
    IUnknown *texture = engine_texture(s, &e);
    make.resource = texture;
    make.keyed_mutex = 1;
    OK(culv_d3d_shadow_create(s->d3d, &make, &twin));
    ID3D11Resource *resource =
        (ID3D11Resource *)culv_d3d_image_resource(culv_d3d_shadow_image(twin));
    IDXGIKeyedMutex *mutex = scene11_mutex(resource);
    OK(culv_d3d11_keyed_mutex_import(s->d3d, resource, NULL, &cuda));
    REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 0, 0) == S_OK);
    OK(culv_d3d_shadow_record(twin, (IUnknown *)s->context, 0, 0));
    REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 1) == S_OK);
    OK(culv_keyed_mutex_acquire(cuda, s->stream, 1, 0));
    OK(culv_keyed_mutex_release(cuda, s->stream, 0));
    culv_keyed_mutex_destroy(&cuda, NULL);
    IDXGIKeyedMutex_Release(mutex);
    culv_d3d_shadow_destroy(&twin);

    make.keyed_mutex = 0;
    OK(culv_d3d_shadow_create(s->d3d, &make, &twin));
    ID3D11DeviceContext *its = NULL;
    native of_other = *s;
    HR_OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION,
                            &of_other.device, NULL, &its));
    REFUSES(culv_d3d_shadow_record(twin, (IUnknown *)its, 0, 0), INVALID, DEVICE_MISMATCH);
    for (int i = 0; i < 2; i++) { /* a buffer, and another device's */
        make.resource = i == 0 ? scene11_memory(s, 64, false) : engine_texture(&of_other, &e);
        REFUSES_AS(culv_d3d_shadow_create(s->d3d, &make, &none), CULV_ERROR_INVALID,
                   i == 0 ? CULV_REASON_USAGE : CULV_REASON_DEVICE_MISMATCH, "");
        IUnknown_Release(make.resource);
    }
    ID3D11DeviceContext_Release(its);
    ID3D11Device_Release(of_other.device);

    culv_d3d_shadow_destroy(&twin);
    REQUIRE(IUnknown_Release(texture) == 0);
}

/* The rig -------------------------------------------------------------------------------------- */

enum {
    NT = D3D11_RESOURCE_MISC_SHARED_NTHANDLE,
    SHARED = D3D11_RESOURCE_MISC_SHARED,
    MUTEX = D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX
};

/* soft/wine/overlay11.c has each rule's source. */
D3D_CASE(rules)
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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        D3D11_TEXTURE2D_DESC desc = scene11_texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, 16, 8, 1,
                                                         rows[i].levels, rows[i].misc);
        desc.Usage = rows[i].usage;
        if (desc.Usage == D3D11_USAGE_DYNAMIC) {
            desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
            desc.CPUAccessFlags = D3D11_CPU_ACCESS_WRITE;
        }
        ID3D11Resource *made = scene11_texture(s, &desc);
        printf("  flags %#x, %u levels, usage %d: %s\n", rows[i].misc, rows[i].levels,
               (int)rows[i].usage, made != NULL ? "taken" : "refused");
        REQUIRE(rows[i].taken == (made != NULL));
        if (made != NULL) ID3D11Resource_Release(made);
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
    ID3D11Resource *nt = texture_of(s, DXGI_FORMAT_R8G8B8A8_UNORM, 16, 8, 1, NT | MUTEX);
    IDXGIResource1 *dxgi = NULL;
    HANDLE handle = NULL;
    HR_OK(ID3D11Resource_QueryInterface(nt, &IID_IDXGIResource1, (void **)&dxgi));
    REQUIRE(IDXGIResource1_GetSharedHandle(dxgi, &handle) == E_INVALIDARG);
    IDXGIResource1_Release(dxgi);
    REQUIRE(ID3D11Resource_Release(nt) == 0);
}
