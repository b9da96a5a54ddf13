/* SPDX-License-Identifier: MIT */
/* Direct3D 11 with CUDA: buffers, textures, fences and keyed mutexes, with data both ways. */
#include "scene11.h"

enum { BYTES = 65536 + 256, SIDE = 48, LAYERS = 12, IMAGE = SIDE * SIDE * 4 * LAYERS };
static unsigned char put[IMAGE > BYTES ? IMAGE : BYTES], got[IMAGE > BYTES ? IMAGE : BYTES];

/* Whose turn it is, in each of the four rows. */
typedef struct turns {
    const scene11 *s;
    IDXGIKeyedMutex *mutex;
    culv_keyed_mutex *cuda;
} turns;

static turns turns_of(const scene11 *s, ID3D11Resource *resource, const scene11_row *row)
{
    turns t = {s, NULL, NULL};
    if (!row->mutex) return t;
    t.mutex = scene11_mutex(resource);
    OK(culv_d3d11_keyed_mutex_import(s->d3d11, resource, "turns", &t.cuda));
    return t;
}

/* Keys: 0 is Direct3D's turn, 1 is CUDA's. */
static void d3d_begins(const turns *t)
{
    if (t->mutex != NULL) REQUIRE(IDXGIKeyedMutex_AcquireSync(t->mutex, 0, SCENE_FAR_MS) == S_OK);
    if (t->mutex == NULL) overlay11_turn(t->s->device);
}

static void d3d_ends(const turns *t)
{
    if (t->mutex != NULL) REQUIRE(IDXGIKeyedMutex_ReleaseSync(t->mutex, 1) == S_OK);
    if (t->mutex == NULL) overlay11_turn(t->s->device);
}

static void cuda_begins(const turns *t)
{
    if (t->cuda != NULL)
        OK(culv_keyed_mutex_acquire(t->cuda, t->s->stream, 1, CULV_KEYED_MUTEX_INFINITE));
}

static void cuda_ends(const turns *t)
{
    if (t->cuda != NULL) OK(culv_keyed_mutex_release(t->cuda, t->s->stream, 0));
    scene_synchronize(t->s);
}

static void turns_end(turns *t)
{
    if (t->mutex != NULL) IDXGIKeyedMutex_Release(t->mutex);
    culv_keyed_mutex_destroy(&t->cuda, NULL);
    REQUIRE(t->cuda == NULL);
}

/* What both sides have: a buffer, or all layers of a texture of SIDE texels of four bytes. */
typedef struct shared {
    ID3D11Resource *resource;
    CUdeviceptr pointer; /* 0: a texture */
    CUarray array;
    size_t layer; /* bytes; a buffer has one */
    unsigned layers;
} shared;

static void d3d_copy(const scene11 *s, const shared *x, unsigned char *data, bool write)
{
    for (unsigned l = 0; l < x->layers; l++) {
        if (write)
            scene11_write(s, x->resource, l, data + l * x->layer, x->pointer != 0 ? 0 : SIDE * 4);
        else
            scene11_read(s, x->resource, l, data + l * x->layer);
    }
}

static void turn_cuda(const scene11 *s, const shared *x, unsigned char *data, bool write)
{
    if (x->pointer == 0)
        scene_cuda_copy(s, x->array, data, SIDE * 4, SIDE, x->layers, write);
    else if (write)
        scene_cuda_write(s, x->pointer, data, x->layer);
    else
        scene_cuda_read(s, x->pointer, data, x->layer);
}

/* Direct3D writes or draws, CUDA reads and writes, Direct3D reads. */
static void both_ways(const scene11 *s, const shared *x, const scene11_row *row, unsigned seed,
                      void (*draw)(const scene11 *s, ID3D11Resource *resource, void *expected))
{
    const size_t size = x->layer * x->layers;
    turns t = turns_of(s, x->resource, row);
    d3d_begins(&t);
    scene_pattern(put, size, seed);
    if (draw != NULL)
        draw(s, x->resource, put);
    else
        d3d_copy(s, x, put, true);
    d3d_ends(&t);
    cuda_begins(&t);
    turn_cuda(s, x, got, false);
    REQUIRE(memcmp(put, got, size) == 0);
    scene_pattern(put, size, seed + 100);
    turn_cuda(s, x, put, true);
    cuda_ends(&t);
    d3d_begins(&t);
    d3d_copy(s, x, got, false);
    REQUIRE(memcmp(put, got, size) == 0);
    d3d_ends(&t);
    turns_end(&t);
}

/* A buffer of each row. */
D11_CASE(buffers)
{
    for (unsigned i = 0; i < SCENE11_ROWS; i++) {
        ID3D11Buffer *native = scene11_buffer(s, BYTES, scene11_rows[i].misc);
        culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
        culv_buffer_desc map = culv_buffer_desc_init();
        culv_memory *memory = NULL, *again = NULL;
        culv_buffer *buffer = NULL;
        desc.object = (IUnknown *)scene11_of_buffer(native);
        map.size = BYTES;
        OK(culv_d3d_memory_import_shared(s->d3d11, &desc, &memory));
        OK(culv_d3d_memory_import_shared(s->d3d11, &desc, &again));
        REQUIRE(memory == again);
        culv_memory_destroy(&again);
        OK(culv_buffer_map(memory, &map, &buffer));
        const shared x = {(ID3D11Resource *)desc.object, culv_buffer_pointer(buffer), NULL, BYTES,
                          1};
        both_ways(s, &x, &scene11_rows[i], i + 1, NULL);
        culv_buffer_unmap(&buffer, NULL);
        culv_memory_destroy(&memory);
        REQUIRE(ID3D11Buffer_Release(native) == 0);
        printf("  %s\n", scene11_rows[i].name);
    }
}

/* A texture, an array, a cube and an array of cubes, of each row. */
D11_CASE(textures)
{
    static const struct kind {
        const char *name;
        unsigned layers;
        bool cube;
    } kinds[] = {{"2D", 1, false}, {"2D array", 3, false}, {"cube", 6, true}, {"cubes", 12, true}};
    for (unsigned i = 0; i < SCENE11_ROWS; i++)
        for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            ID3D11Texture2D *native = scene11_texture(s, DXGI_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE,
                                                      kinds[k].layers, scene11_rows[i].misc);
            culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
            culv_d3d_image_desc map = culv_d3d_image_desc_init();
            culv_memory *memory = NULL;
            culv_image *image = NULL;
            shared x = {scene11_of_texture(native), 0, NULL, (size_t)SIDE * SIDE * 4,
                        kinds[k].layers};
            desc.object = map.resource = (IUnknown *)x.resource;
            map.cube = kinds[k].cube;
            OK(culv_d3d_memory_import(s->d3d11, &desc, &memory));
            OK(culv_d3d_image_map(s->d3d11, memory, &map, &image));
            OK(culv_image_get_array(image, 0, &x.array));
            both_ways(s, &x, &scene11_rows[i], 20 * i + k, NULL);
            culv_image_unmap(&image, NULL);
            culv_memory_destroy(&memory);
            REQUIRE(ID3D11Texture2D_Release(native) == 0);
        }
}

static void draw(const scene11 *s, ID3D11Resource *resource, void *expected)
{
    static const FLOAT colour[4] = {1.0f, 0.0f, 0.2f, 1.0f};
    ID3D11RenderTargetView *view = NULL;
    HR_OK(ID3D11Device_CreateRenderTargetView(s->device, resource, NULL, &view));
    ID3D11DeviceContext_ClearRenderTargetView(s->context, view, colour);
    ID3D11RenderTargetView_Release(view);
    for (unsigned p = 0; p < SIDE * SIDE; p++)
        memcpy((char *)expected + p * 4, "\xff\0\x33\xff", 4);
}

/* What Culvert makes; what Direct3D draws, CUDA reads. */
D11_CASE(own)
{
    for (unsigned i = 0; i < SCENE11_ROWS; i++) {
        const scene11_row *row = &scene11_rows[i];
        const D3D11_TEXTURE2D_DESC what =
            scene11_texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, 1, 1, 0);
        culv_d3d_image_create_desc image_desc = culv_d3d_image_create_desc_init();
        culv_d3d_buffer_create_desc buffer_desc = culv_d3d_buffer_create_desc_init();
        culv_shared_image *image = NULL;
        culv_shared_buffer *buffer = NULL;
        image_desc.texture_desc = &what;
        image_desc.keyed_mutex = buffer_desc.keyed_mutex = row->mutex;
        image_desc.kmt = buffer_desc.kmt = !row->nt;
        buffer_desc.size = 4096;
        OK(culv_d3d_image_create(s->d3d11, &image_desc, &image));
        OK(culv_d3d_buffer_create(s->d3d11, &buffer_desc, &buffer));
        culv_buffer *cuda = culv_shared_buffer_cuda(buffer);
        REQUIRE(culv_buffer_size(cuda) == 4096);
        REQUIRE(culv_buffer_sharing(cuda) == CULV_SHARING_SHARED);
        shared x = {(ID3D11Resource *)culv_d3d_image_resource(image), 0, NULL,
                    (size_t)SIDE * SIDE * 4, 1};
        OK(culv_image_get_array(culv_shared_image_cuda(image), 0, &x.array));
        both_ways(s, &x, row, i, draw);
        x = (shared){(ID3D11Resource *)culv_d3d_buffer_resource(buffer),
                     culv_shared_buffer_pointer(buffer), NULL, 4096, 1};
        both_ways(s, &x, row, i + 70, NULL);
        culv_buffer_unmap(&cuda, NULL); /* refused: it is the buffer's */
        REQUIRE(cuda != NULL && scene_reason_is(CULV_REASON_OWNED));
        REQUIRE_SAYS("culv_shared_buffer_destroy");
        culv_shared_image_destroy(&image, NULL);
        culv_shared_buffer_destroy(&buffer, &s->stream);
        scene_synchronize(s);
        (void)culv_device_collect(s->culvert);
        REQUIRE(image == NULL && buffer == NULL);
    }
}

/* TYPELESS textures, as Unity hands them out: the caller names the format. */
D11_CASE(typeless)
{
    ID3D11Texture2D *native =
        scene11_texture(s, DXGI_FORMAT_R32G32B32A32_TYPELESS, 16, 8, 1,
                        D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_NTHANDLE);
    ID3D11Resource *resource = scene11_of_texture(native);
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    culv_d3d_image_desc map = culv_d3d_image_desc_init();
    culv_memory *memory = NULL;
    culv_image *image = NULL;
    culv_image_desc seen = culv_image_desc_init();
    CUarray array = NULL;
    desc.object = map.resource = (IUnknown *)resource;
    OK(culv_d3d_memory_import(s->d3d11, &desc, &memory));
    REFUSES(culv_d3d_image_map(s->d3d11, memory, &map, &image), CULV_ERROR_INVALID,
            CULV_REASON_FORMAT);
    REQUIRE_SAYS("R32G32B32A32_FLOAT");
    map.format = DXGI_FORMAT_R8G8B8A8_UNORM;
    REFUSES(culv_d3d_image_map(s->d3d11, memory, &map, &image), CULV_ERROR_INVALID,
            CULV_REASON_FORMAT);
    map.format = DXGI_FORMAT_R32G32B32A32_FLOAT;
    ID3D11Texture2D *twin =
        scene11_texture(s, DXGI_FORMAT_R32G32B32A32_TYPELESS, 16, 8, 1,
                        D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_NTHANDLE);
    map.resource = (IUnknown *)scene11_of_texture(twin); /* CUDA would write the other one */
    REFUSES(culv_d3d_image_map(s->d3d11, memory, &map, &image), CULV_ERROR_INVALID,
            CULV_REASON_RANGE);
    REQUIRE_SAYS("another resource than the one whose memory");
    REQUIRE(ID3D11Texture2D_Release(twin) == 0);
    map.resource = (IUnknown *)resource;
    OK(culv_d3d_image_map(s->d3d11, memory, &map, &image));
    OK(culv_image_get_desc(image, &seen));
    REQUIRE(seen.format == culv_format_from_dxgi(DXGI_FORMAT_R32G32B32A32_FLOAT));
    REQUIRE(seen.color_attachment);
    OK(culv_image_get_array(image, 0, &array));
    scene_pattern(put, 16 * 8 * 16, 5);
    scene_cuda_copy(s, array, put, 16 * 16, 8, 1, true);
    overlay11_turn(s->device);
    scene11_read(s, resource, 0, got);
    REQUIRE(memcmp(put, got, 16 * 8 * 16) == 0);
    culv_image_unmap(&image, NULL);
    culv_memory_destroy(&memory);
    REQUIRE(ID3D11Texture2D_Release(native) == 0);
}

/* CUDA waits until the context has signaled, and the context until CUDA has. */
D11_CASE(fences)
{
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    culv_semaphore *imported = NULL;
    desc.size = BYTES;
    OK(culv_d3d_buffer_create(s->d3d11, &desc, &buffer));
    OK(culv_d3d_semaphore_create(s->d3d11, NULL, &semaphore));
    ID3D11Fence *fence = (ID3D11Fence *)culv_d3d_semaphore_fence(semaphore);
    culv_semaphore *cuda = culv_shared_semaphore_cuda(semaphore);
    ID3D11Resource *resource = (ID3D11Resource *)culv_d3d_buffer_resource(buffer);

    CUdeviceptr copy = 0; /* a copy to the host would block this thread */
    CU_OK(s->cu->cuMemAlloc(&copy, BYTES));
    OK(culv_semaphore_wait(cuda, s->stream, 1));
    CU_OK(s->cu->cuMemcpyDtoDAsync(copy, culv_shared_buffer_pointer(buffer), BYTES, s->stream));
    Sleep(100); /* a stream that did not wait would be ready by then */
    REQUIRE(s->cu->cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY);
    scene_pattern(put, BYTES, 2);
    scene11_write(s, resource, 0, put, 0);
    HR_OK(ID3D11DeviceContext4_Signal(s->context4, fence, 1));
    scene_cuda_read(s, copy, got, BYTES);
    REQUIRE(memcmp(put, got, BYTES) == 0);
    CU_OK(s->cu->cuMemFree(copy));

    scene_pattern(put, BYTES, 3);
    CU_OK(s->cu->cuMemcpyHtoDAsync(culv_shared_buffer_pointer(buffer), put, BYTES, s->stream));
    OK(culv_semaphore_signal(cuda, s->stream, 2));
    HR_OK(ID3D11DeviceContext4_Wait(s->context4, fence, 2));
    scene11_read(s, resource, 0, got);
    REQUIRE(memcmp(put, got, BYTES) == 0);
    REQUIRE(ID3D11Fence_GetCompletedValue(fence) == 2);
    REFUSES(culv_semaphore_signal(cuda, s->stream, 2), CULV_ERROR_INVALID,
            CULV_REASON_TIMELINE_BACKWARDS);

    ID3D11Fence *mine = scene11_fence(s, 40, true);
    OK(culv_d3d_semaphore_import(s->d3d11, (IUnknown *)mine, "mine", &imported));
    REQUIRE(culv_semaphore_last_value(imported) == 40);
    REFUSES(culv_semaphore_signal(imported, s->stream, 40), CULV_ERROR_INVALID,
            CULV_REASON_TIMELINE_BACKWARDS);
    OK(culv_semaphore_signal(imported, s->stream, 41));
    scene_synchronize(s);
    REQUIRE(ID3D11Fence_GetCompletedValue(mine) == 41);
    culv_semaphore_destroy(&imported, NULL);
    REQUIRE(ID3D11Fence_Release(mine) == 0);

    culv_semaphore *owned = cuda;
    culv_semaphore_destroy(&owned, NULL);
    REQUIRE(owned != NULL && scene_reason_is(CULV_REASON_OWNED));
    culv_shared_semaphore_destroy(&semaphore, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
}

/* A turn with one buffer leaves alone what the other side does meanwhile with another one. */
D11_CASE(turns_apart)
{
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    culv_shared_buffer *buffers[2];
    ID3D11Resource *native[2];
    desc.size = BYTES;
    for (int i = 0; i < 2; i++) {
        OK(culv_d3d_buffer_create(s->d3d11, &desc, &buffers[i]));
        native[i] = (ID3D11Resource *)culv_d3d_buffer_resource(buffers[i]);
    }
    ID3D11Fence *fence = scene11_fence(s, 0, false);
    for (unsigned turn = 1; turn <= 4; turn++) { /* both ways of the context's turns, twice */
        unsigned char *const theirs = put, *const mine = put + BYTES;
        scene_pattern(put, (size_t)2 * BYTES, turn);
        scene_cuda_write(s, culv_shared_buffer_pointer(buffers[1]), mine, BYTES);
        scene11_write(s, native[0], 0, theirs, 0);
        if (turn % 2 != 0)
            HR_OK(ID3D11DeviceContext4_Signal(s->context4, fence, turn));
        else
            HR_OK(ID3D11DeviceContext4_Wait(s->context4, fence, turn - 1));
        for (int i = 0; i < 2; i++) {
            scene_cuda_read(s, culv_shared_buffer_pointer(buffers[i]), got, BYTES);
            REQUIRE(memcmp(got, i == 0 ? theirs : mine, BYTES) == 0);
            scene11_read(s, native[i], 0, got);
            REQUIRE(memcmp(got, i == 0 ? theirs : mine, BYTES) == 0);
        }
    }
    ID3D11Fence_Release(fence);
    for (int i = 0; i < 2; i++)
        culv_shared_buffer_destroy(&buffers[i]);
}

/* CUDA waits for fences of a device that is removed, one of Culvert's and one that was imported. It
 * is told, and goes on; so it does when it waits again, and the fence is destroyed. */
D11_CASE(lost)
{
    culv_shared_semaphore *made = NULL;
    culv_semaphore *imported = NULL;
    ID3D11Fence *mine = scene11_fence(s, 40, true);
    OK(culv_d3d_semaphore_create(s->d3d11, NULL, &made));
    OK(culv_d3d_semaphore_import(s->d3d11, (IUnknown *)mine, "mine", &imported));
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(made), s->stream, 3));
    OK(culv_semaphore_wait(imported, s->stream, 50));
    REQUIRE(s->cu->cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY);
    OK(culv_d3d_device_lost(s->d3d11));
    scene_synchronize(s);
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(made), s->stream, 7));
    culv_shared_semaphore_destroy(&made, NULL);
    scene_synchronize(s);
    culv_semaphore_destroy(&imported, NULL);
    REQUIRE(ID3D11Fence_Release(mine) == 0);
    REFUSES(culv_d3d_device_lost(NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
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

TEST(mutexes)
{
    for (unsigned i = 0; i < SCENE11_ROWS; i += 2) { /* NT, KMT */
        scene11 s;
        scene11_open(&s);
        ID3D11Buffer *native = scene11_buffer(&s, 4096, scene11_rows[i].misc);
        IDXGIKeyedMutex *mutex = scene11_mutex(scene11_of_buffer(native));
        culv_keyed_mutex *cuda = NULL;
        DWORD code = 99;
        OK(culv_d3d11_keyed_mutex_import(s.d3d11, scene11_of_buffer(native), "key", &cuda));
        REQUIRE(!culv_keyed_mutex_is_held(cuda));

        /* Direct3D holds it: CUDA's time is up, and it holds nothing. */
        REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 0, 0) == S_OK);
        REFUSES(culv_keyed_mutex_acquire(cuda, s.stream, 0, 0), CULV_ERROR_TIMEOUT,
                CULV_REASON_NOT_READY);
        REFUSES(culv_keyed_mutex_acquire(cuda, s.stream, 0, 50), CULV_ERROR_TIMEOUT,
                CULV_REASON_NOT_READY);
        REQUIRE(!culv_keyed_mutex_is_held(cuda));
        scene_synchronize(&s); /* no error stays in the stream */

        /* It is released with another key. */
        REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 5) == S_OK);
        REFUSES(culv_keyed_mutex_acquire(cuda, s.stream, 4, 20), CULV_ERROR_TIMEOUT,
                CULV_REASON_NOT_READY);
        OK(culv_keyed_mutex_acquire(cuda, s.stream, 5, 0));
        REQUIRE(culv_keyed_mutex_is_held(cuda));
        REFUSES(culv_keyed_mutex_acquire(cuda, s.stream, 5, CULV_KEYED_MUTEX_INFINITE),
                CULV_ERROR_INVALID, CULV_REASON_NOT_READY);

        /* CUDA holds it: WAIT_TIMEOUT passes SUCCEEDED() and is no success. */
        const HRESULT hr = IDXGIKeyedMutex_AcquireSync(mutex, 5, 20);
        REQUIRE(SUCCEEDED(hr) && hr != S_OK && hr == (HRESULT)WAIT_TIMEOUT);
        OK(culv_keyed_mutex_release(cuda, s.stream, 7));
        REFUSES(culv_keyed_mutex_release(cuda, s.stream, 7), CULV_ERROR_INVALID,
                CULV_REASON_NOT_READY);
        REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 7, INFINITE) == S_OK);

        /* No limit: the other thread releases it. */
        later l = {mutex, UINT64_MAX};
        const HANDLE thread = CreateThread(NULL, 0, release_later, &l, 0, NULL);
        REQUIRE(thread != NULL);
        OK(culv_keyed_mutex_acquire(cuda, s.stream, UINT64_MAX, CULV_KEYED_MUTEX_INFINITE));
        REQUIRE(WaitForSingleObject(thread, SCENE_FAR_MS) == WAIT_OBJECT_0);
        REQUIRE(GetExitCodeThread(thread, &code) && code == 0);
        CloseHandle(thread);
        OK(culv_keyed_mutex_release(cuda, s.stream, 0));
        scene_synchronize(&s);
        culv_keyed_mutex_destroy(&cuda, &s.stream);
        scene_synchronize(&s);
        (void)culv_device_collect(s.culvert);
        REQUIRE(cuda == NULL);
        culv_keyed_mutex_destroy(&cuda, NULL);
        culv_keyed_mutex_destroy(NULL, NULL);
        IDXGIKeyedMutex_Release(mutex);
        REQUIRE(ID3D11Buffer_Release(native) == 0);
        scene11_close(&s);
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
D11_CASE(mutex_destroyed)
{
    unsigned warnings = 0;
    culv_device_desc device_desc = culv_device_desc_init();
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    culv_device *device = NULL;
    culv_d3d_device *d3d11 = NULL;
    device_desc.log.fn = count_warning;
    device_desc.log.user = &warnings;
    device_desc.log.level = CULV_LOG_WARNING;
    OK(culv_device_open_for_d3d((IUnknown *)s->device, &device_desc, &device));
    desc.device = (IUnknown *)s->device;
    OK(culv_d3d_attach(device, &desc, &d3d11));
    ID3D11Buffer *native = scene11_buffer(s, 4096, scene11_rows[0].misc);
    for (unsigned held = 0; held < 2; held++) {
        culv_keyed_mutex *mutex = NULL;
        OK(culv_d3d11_keyed_mutex_import(d3d11, scene11_of_buffer(native), "key", &mutex));
        if (held) OK(culv_keyed_mutex_acquire(mutex, s->stream, 0, 0));
        culv_keyed_mutex_destroy(&mutex, NULL);
        REQUIRE(mutex == NULL && warnings == held);
    }
    REQUIRE(ID3D11Buffer_Release(native) == 0);
    culv_d3d_detach(&d3d11);
    culv_device_close(&device);
}

/* By an NT handle, taken or borrowed, by a name, and by a KMT handle. */
TEST(handles)
{
    static const wchar_t name[] = L"Local\\culvert d3d11 buffer";
    enum { PLAIN, NAMED, KMT, FORMS };
    for (int form = 0; form < FORMS; form++) {
        scene11 s;
        scene11_open(&s);
        ID3D11Buffer *native = scene11_buffer(&s, 4096, scene11_rows[form == KMT ? 2 : 0].misc);
        ID3D11Resource *resource = scene11_of_buffer(native);
        IDXGIKeyedMutex *mutex = scene11_mutex(resource);
        culv_memory_desc desc = culv_memory_desc_init();
        culv_keyed_mutex_desc mutex_desc = culv_keyed_mutex_desc_init();
        culv_buffer_desc map = culv_buffer_desc_init();
        culv_memory *memory = NULL;
        culv_buffer *buffer = NULL;
        culv_keyed_mutex *cuda = NULL;
        culv_handle handle;
        OK(culv_d3d_export_dup(s.d3d11, (IUnknown *)native, form == KMT ? NULL : name, &handle));
        REQUIRE(handle.type ==
                (form == KMT ? CULV_HANDLE_D3D11_RESOURCE_KMT : CULV_HANDLE_D3D11_RESOURCE));
        desc.handle = handle;
        if (form == NAMED) desc.handle = culv_handle_win32_named(handle.type, name);
        desc.size = map.size = 4096;
        mutex_desc.handle = desc.handle;
        mutex_desc.handle.type =
            form == KMT ? CULV_HANDLE_D3D11_KEYED_MUTEX_KMT : CULV_HANDLE_D3D11_KEYED_MUTEX;
        OK(culv_keyed_mutex_import(s.culvert, &mutex_desc, &cuda));
        OK(culv_memory_import(s.culvert, &desc, &memory));
        REQUIRE(form == KMT || scene_name_lives(name));
        culv_handle_close(&handle);
        REQUIRE(!scene_name_lives(name)); /* nobody has kept the handle */
        OK(culv_buffer_map(memory, &map, &buffer));
        REQUIRE(IDXGIKeyedMutex_AcquireSync(mutex, 0, 0) == S_OK);
        scene_pattern(put, 4096, (unsigned)form);
        scene11_write(&s, resource, 0, put, 0);
        REQUIRE(IDXGIKeyedMutex_ReleaseSync(mutex, 1) == S_OK);
        OK(culv_keyed_mutex_acquire(cuda, s.stream, 1, 0));
        scene_cuda_read(&s, culv_buffer_pointer(buffer), got, 4096);
        REQUIRE(memcmp(put, got, 4096) == 0);
        OK(culv_keyed_mutex_release(cuda, s.stream, 0));
        scene_synchronize(&s);
        culv_keyed_mutex_destroy(&cuda, NULL);
        culv_buffer_unmap(&buffer, NULL);
        culv_memory_destroy(&memory);
        IDXGIKeyedMutex_Release(mutex);
        REQUIRE(ID3D11Buffer_Release(native) == 0);
        scene11_close(&s);
    }
}
