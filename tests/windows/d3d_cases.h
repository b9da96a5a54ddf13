/* SPDX-License-Identifier: MIT */
/* The cases that Direct3D 11 and 12 have in common. d3d11.c and d3d12.c include it, and have
 * functions of their own for it. */

/* Asks for what only the other API has. */
static void refuse_other(native *s, culv_memory *memory, IUnknown *resource);
static culv_result more_torture(native *s);

enum { BYTES = 65536 + 256 };
static unsigned char put[8 * BYTES], got[8 * BYTES];

/* Devices -------------------------------------------------------------------------------------- */

/* CUDA's device is no adapter of Direct3D's, or only a part of one. */
D3D_CASE(match)
{
    static const struct {
        bool told;
        uint8_t flips;
        unsigned nodes;
        culv_reason open, attach;
        const char *says;
    } rows[] = {
        {true, 0x40, 1, CULV_REASON_DEVICE_UNKNOWN, CULV_REASON_DEVICE_MISMATCH,
         "culv_device_open_for_d3d()"},
        {false, 0, 0, CULV_REASON_DEVICE_UNKNOWN, CULV_REASON_DEVICE_MISMATCH,
         "tells no LUID"}, /* as in TCC mode */
        {true, 0, 2, CULV_REASON_DEVICE_GROUP, CULV_REASON_DEVICE_GROUP,
         ""}, /* the other of two linked nodes */
    };
    culv_device_caps caps = culv_device_caps_init();
    culv_device *other = NULL;
    culv_d3d_device *attached = NULL;
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    IUnknown *const device = (IUnknown *)s->device;
    uint8_t luid[8];
    OK(culv_device_get_caps(s->culvert, &caps));
    REQUIRE(caps.luid_valid && caps.node_mask == 1);
    memcpy(luid, caps.luid.bytes, sizeof luid);
    desc.device = device;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        luid[0] ^= rows[i].flips;
        soft.play_luid(0, rows[i].told ? luid : NULL, rows[i].nodes);
        REFUSES_AS(culv_device_open_for_d3d(device, NULL, &other), CULV_ERROR_NO_DEVICE,
                   rows[i].open, "");
        OK(culv_device_open_by_ordinal(0, NULL, &other));
        REFUSES_AS(culv_d3d_attach(other, &desc, &attached), CULV_ERROR_INVALID, rows[i].attach,
                   rows[i].says);
        culv_device_close(&other);
        luid[0] ^= rows[i].flips;
    }
    soft.play_luid(0, luid, 1);
    REQUIRE(other == NULL && attached == NULL);
    OK(culv_d3d_attach(s->culvert, &desc, &attached)); /* twice is no mistake */
    culv_d3d_detach(&attached);
    culv_d3d_detach(&attached);
    culv_d3d_detach(NULL);
    desc.device = NULL;
    REFUSES(culv_d3d_attach(s->culvert, &desc, &attached), INVALID, NULL_ARGUMENT);
    REFUSES(culv_device_open_for_d3d(NULL, NULL, &other), INVALID, NULL_ARGUMENT);
    REQUIRE(other == NULL && attached == NULL);
}

static native_fence *fence_of(const culv_shared_semaphore *semaphore)
{
    return (native_fence *)culv_d3d_semaphore_fence(semaphore);
}

/* Objects of other kinds, and what only the other API has. */
D3D_CASE(kinds_of_objects)
{
    IUnknown *const device = (IUnknown *)s->device;
    native_fence *fence = NATIVE(fence)(s, 0, true);
    IUnknown *const no_device = (IUnknown *)fence;
    culv_d3d_device_desc attach = culv_d3d_device_desc_init();
    culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
    culv_d3d_image_desc map = culv_d3d_image_desc_init();
    culv_d3d_shadow_desc shadow_desc = culv_d3d_shadow_desc_init();
    culv_device *other = NULL;
    culv_d3d_device *attached = NULL;
    culv_memory *memory = NULL;
    culv_image *image = NULL;
    culv_semaphore *semaphore = NULL;
    culv_d3d_shadow *shadow = NULL;
    culv_registration *registration = NULL;
    REFUSES(culv_device_open_for_d3d(no_device, NULL, &other), INVALID, VALUE);
    attach.device = no_device;
    REFUSES(culv_d3d_attach(s->culvert, &attach, &attached), INVALID, VALUE);
    import.object = map.resource = shadow_desc.resource = device;
    REFUSES(culv_d3d_memory_import(s->d3d, &import, &memory), INVALID, HANDLE_KIND);
    REFUSES_SO(culv_d3d_semaphore_import(s->d3d, device, NULL, &semaphore), INVALID, HANDLE_KIND,
               "the object is no " FENCE_NAME);
    REFUSES(culv_d3d_shadow_create(s->d3d, &shadow_desc, &shadow), INVALID, HANDLE_KIND);
    REFUSES(culv_d3d_register(s->culvert, device, NULL, &registration), INVALID, HANDLE_KIND);
    culv_shared_buffer *buffer = NATIVE(make_buffer)(s, 4096);
    memory = NATIVE(import)(s, culv_d3d_buffer_resource(buffer), false);
    REFUSES(culv_d3d_image_map(s->d3d, memory, &map, &image), INVALID, HANDLE_KIND);
    refuse_other(s, memory, culv_d3d_buffer_resource(buffer));
    culv_memory_destroy(&memory);
    culv_shared_buffer_destroy(&buffer, NULL);
    REQUIRE(other == NULL && attached == NULL && image == NULL && semaphore == NULL);
    REQUIRE(shadow == NULL && registration == NULL);
    REQUIRE(FENCE(Release)(fence) == 0);
}

/* Fences --------------------------------------------------------------------------------------- */

/* Direct3D's signal is done and nobody reported it: CUDA's must exceed it all the same. */
D3D_CASE(unreported)
{
    for (int imported = 0; imported < 2; imported++) {
        culv_shared_semaphore *made = NULL;
        culv_semaphore *mine = NULL;
        native_fence *fence = NULL;
        if (imported) {
            fence = NATIVE(fence)(s, 1, true);
            OK(culv_d3d_semaphore_import(s->d3d, (IUnknown *)fence, "queue's", &mine));
        } else {
            OK(culv_d3d_semaphore_create(s->d3d, NULL, &made));
            fence = fence_of(made);
        }
        culv_semaphore *cuda = imported ? mine : culv_shared_semaphore_cuda(made);
        OK(culv_semaphore_signal(cuda, s->stream, 3));
        scene_synchronize(s);
        HR_OK(NATIVE(signal)(s, fence, 5));
        REQUIRE(NATIVE(reach)(fence, 5, SCENE_FAR_MS));
        REFUSES_SO(culv_semaphore_signal(cuda, s->stream, 4), INVALID, TIMELINE_BACKWARDS,
                   "5, at which the " FENCE_NAME " is already (" FENCE_NAME "::GetCompletedValue)");
        REFUSES(culv_semaphore_signal(cuda, s->stream, 5), INVALID, TIMELINE_BACKWARDS);
        REFUSES(culv_semaphore_signal(cuda, s->stream, UINT64_MAX), INVALID, VALUE);
        scene_synchronize(s);
        REQUIRE(FENCE(GetCompletedValue)(fence) == 5);
        OK(culv_semaphore_signal(cuda, s->stream, 6));
        scene_synchronize(s);
        REQUIRE(FENCE(GetCompletedValue)(fence) == 6);
        culv_semaphore_destroy(&mine, NULL);
        culv_shared_semaphore_destroy(&made, NULL);
        if (imported) REQUIRE(FENCE(Release)(fence) == 0);
    }
}

/* Memory --------------------------------------------------------------------------------------- */

/* A tensor alone keeps what was imported, but it is not found again: the program may have released
 * the resource by then, and another one may have its address. */
D3D_CASE(tensors)
{
    culv_shared_buffer *owner = NATIVE(make_buffer)(s, 4096);
    culv_buffer *buffers[2];
    culv_dl_managed_tensor_versioned *tensor = NULL;
    culv_device_counts none = culv_device_counts_init(), now = none;
    OK(culv_device_get_counts(s->culvert, &none));
    for (unsigned i = 0; i < 2; i++) {
        buffers[i] = scene_map(NATIVE(import)(s, culv_d3d_buffer_resource(owner), true), 0, 0);
        OK(culv_device_get_counts(s->culvert, &now));
        REQUIRE(now.memories == none.memories + i + 1);
        if (i == 0) {
            OK(culv_buffer_get_dlpack(buffers[0], NULL, &tensor));
            culv_buffer_unmap(&buffers[0], NULL);
        }
    }
    scene_pattern(put, 4096, 5);
    scene_cuda_write(s, culv_buffer_pointer(buffers[1]), put, 4096);
    scene_cuda_has(s, (CUdeviceptr)(uintptr_t)tensor->dl_tensor.data, put, 4096);
    tensor->deleter(tensor);
    culv_buffer_unmap(&buffers[1], NULL);
    culv_shared_buffer_destroy(&owner, NULL);
}

D3D_CASE(unshareable)
{
    static const struct {
        int lie;
        bool fences; /* there are some, which cannot be shared; else there are none */
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {LIE(WRAPPER), true, WHY(UNSUPPORTED, NOT_EXPORTABLE)},
        {LIE(REMOVED), true, WHY(ASYNC, DEVICE_LOST)},
#if D3D == 11
        {LIE(UNSHARABLE), true, WHY(INVALID, NOT_EXPORTABLE)},
        {LIE(OLD), false, WHY(UNSUPPORTED, NOT_EXPORTABLE)},
#endif
    };
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    culv_shared_semaphore *fence = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_handle handle = {.type = CULV_HANDLE_NONE};
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    culv_d3d_buffer_create_desc make = culv_d3d_buffer_create_desc_init();
    IUnknown *plain = NATIVE(memory)(s, 4096, false), *shared = NATIVE(memory)(s, 4096, true);
    IUnknown *fences[] = {(IUnknown *)NATIVE(fence)(s, 0, false),
                          (IUnknown *)NATIVE(fence)(s, 0, true)};
    REFUSES(culv_d3d_memory_import(s->d3d, &desc, &memory), INVALID, NULL_ARGUMENT);
    desc.object = plain;
    REFUSES_SO(culv_d3d_memory_import(s->d3d, &desc, &memory), INVALID, NOT_EXPORTABLE,
               D3D == 11 ? "D3D11_RESOURCE_MISC_SHARED" : "D3D12_HEAP_FLAG_SHARED");
    REFUSES_SO(culv_d3d_semaphore_import(s->d3d, fences[0], NULL, &semaphore), INVALID,
               NOT_EXPORTABLE, D3D == 11 ? "D3D11_FENCE_FLAG_SHARED" : "D3D12_FENCE_FLAG_SHARED");
    REFUSES(culv_d3d_export_dup(s->d3d, (IUnknown *)s->device, NULL, &handle), INVALID,
            HANDLE_KIND);
    make.size = 4096;
    desc.object = shared;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_error error = culv_error_init();
        OVERLAY(tell)(rows[i].lie);
        REFUSES_AS(culv_d3d_memory_import(s->d3d, &desc, &memory), rows[i].result, rows[i].reason,
                   "");
        culv_last_error(&error);
        if (rows[i].result == CULV_ERROR_ASYNC)
            REQUIRE(error.native_api == CULV_NATIVE_D3D && error.native_code == 0x887a0005);
        if (D3D == 12 && rows[i].result == CULV_ERROR_UNSUPPORTED)
            REQUIRE(strstr(error.message, "Streamline") && strstr(error.message, "wine-run"));
        REFUSES_AS(culv_d3d_buffer_create(s->d3d, &make, &buffer), rows[i].result, rows[i].reason,
                   "");
        REFUSES_AS(rows[i].fences ? culv_d3d_semaphore_import(s->d3d, fences[1], NULL, &semaphore)
                                  : culv_d3d_semaphore_create(s->d3d, NULL, &fence),
                   rows[i].result, rows[i].reason, "");
        OVERLAY(tell)(LIE(HONEST));
    }
    make.size = 0;
    REFUSES(culv_d3d_buffer_create(s->d3d, &make, &buffer), INVALID, SIZE);
    make.size = D3D == 11 ? UINT64_C(1) << 32 : UINT64_MAX; /* more than an address has bits */
    REFUSES(culv_d3d_buffer_create(s->d3d, &make, &buffer), INVALID, SIZE);
    REQUIRE(memory == NULL && semaphore == NULL && buffer == NULL && fence == NULL);
    REQUIRE(handle.type == CULV_HANDLE_NONE);
    REQUIRE(IUnknown_Release(plain) == 0 && IUnknown_Release(shared) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(IUnknown_Release(fences[i]) == 0);
}

/* Handles and names that lead to nothing, or to something else: nothing is consumed. What is no
 * handle at all is handles.wrong_handles'. */
D3D_CASE(bad_handles)
{
    static const wchar_t name[] = L"Local\\culvert d3d name", none[] = L"Local\\culvert no name";
    enum { SIZE = D3D == 11 ? 4096 : 65536 };
    IUnknown *resource = NATIVE(memory)(s, 4096, true);
    IUnknown *fence = (IUnknown *)NATIVE(fence)(s, 0, true);
    culv_memory *memory = NULL;
    culv_keyed_mutex *mutex = NULL;
    culv_keyed_mutex_desc mutex_desc = culv_keyed_mutex_desc_init();
    culv_handle handle, again = {.type = CULV_HANDLE_NONE};
    OK(culv_d3d_export_dup(s->d3d, resource, name, &handle));
    REFUSES(culv_d3d_export_dup(s->d3d, resource, name, &again), INVALID, VALUE);
    REFUSES_SO(culv_d3d_export_dup(s->d3d, fence, name, &again), INVALID, VALUE,
               "has the name 'Local\\culvert d3d name' already");
    void *const nt = handle.value.win32;
    const struct {
        culv_handle handle;
        uint64_t size;
        const char *says;
    } rows[] = {
        {culv_handle_win32_named(HANDLE_OF(RESOURCE), none), SIZE, ""},
        {culv_handle_win32(D3D == 11 ? CULV_HANDLE_D3D12_RESOURCE : CULV_HANDLE_D3D11_RESOURCE, nt),
         SIZE, ""},
        {culv_handle_win32(CULV_HANDLE_D3D12_HEAP, nt), SIZE,
         "it must be an NT handle of an ID3D12Heap of this same GPU"},
        {culv_handle_win32(CULV_HANDLE_D3D11_RESOURCE_KMT, (void *)(uintptr_t)0x77777), SIZE, ""},
        {handle, SIZE + 1, ""},
    };
    culv_memory_desc desc = culv_memory_desc_init();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        desc.handle = rows[i].handle;
        desc.size = rows[i].size;
        REFUSES_SO(culv_memory_import(s->culvert, &desc, &memory), DRIVER, HANDLE_REFUSED,
                   rows[i].says);
    }
    mutex_desc.handle = handle; /* memory without a mutex */
    REFUSES(culv_keyed_mutex_import(s->culvert, &mutex_desc, &mutex), INVALID, HANDLE_TYPE);
    mutex_desc.handle.type = CULV_HANDLE_D3D11_KEYED_MUTEX;
    REFUSES(culv_keyed_mutex_import(s->culvert, &mutex_desc, &mutex), DRIVER, HANDLE_REFUSED);
    REQUIRE(scene_name_lives(name)); /* none of these has taken it */
    desc.handle = handle;
    desc.size = SIZE;
    culv_handle_close(&handle);
    REQUIRE(!scene_name_lives(name)); /* and none has kept it */
    REFUSES(culv_memory_import(s->culvert, &desc, &memory), INVALID, HANDLE_BAD);
    REQUIRE(memory == NULL && mutex == NULL);
    REQUIRE(again.type == CULV_HANDLE_NONE && OVERLAY(references)() == 0);
    REQUIRE(IUnknown_Release(fence) == 0 && IUnknown_Release(resource) == 0);
}

/* Textures that engines have ------------------------------------------------------------------- */

/* Without a flag, TYPELESS or with levels. */
typedef struct engine {
    const char *name;
    DXGI_FORMAT format;
    unsigned texel, width, height, layers, levels;
    bool cube, shared;
} engine;

/* One of the caller's; Direct3D writes or reads its layers' first level; and records a copy, which
 * is done when it is CUDA's turn, or was. */
static IUnknown *engine_texture(native *s, const engine *e);
static void use_texture(native *s, IUnknown *texture, const engine *e, void *data, bool write);
static void record(native *s, culv_d3d_shadow *shadow, bool from_twin);

/* Formats that engines share, TYPELESS ones among them, for which the caller names one. Which ones
 * are legal: library-images.d3d.typeless. */
D3D_CASE(formats)
{
#define ROW(resource, named, seen, bytes)                                                          \
    {                                                                                              \
        DXGI_FORMAT_##resource, DXGI_FORMAT_##named, CULV_FORMAT_##seen, bytes                     \
    }
    static const struct {
        DXGI_FORMAT resource, named;
        culv_format seen;
        unsigned bytes;
    } rows[] = {
        ROW(R8G8B8A8_UNORM, UNKNOWN, R8G8B8A8_UNORM, 4),
        ROW(R16G16B16A16_FLOAT, UNKNOWN, R16G16B16A16_SFLOAT, 8),
        ROW(R32_FLOAT, UNKNOWN, R32_SFLOAT, 4),
        ROW(R8_UNORM, UNKNOWN, R8_UNORM, 1),
        ROW(R32G32B32A32_TYPELESS, R32G32B32A32_FLOAT, R32G32B32A32_SFLOAT, 16), /* Unity's */
        ROW(R8G8B8A8_TYPELESS, R8G8B8A8_UNORM_SRGB, R8G8B8A8_SRGB, 4),
        ROW(B8G8R8A8_TYPELESS, B8G8R8A8_UNORM, B8G8R8A8_UNORM, 4),
    };
#undef ROW
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const engine e = {"", rows[i].resource, rows[i].bytes, 41, 23, 1, 1, false, true};
        const size_t row = (size_t)e.width * e.texel, all = row * e.height;
        IUnknown *resource = engine_texture(s, &e), *other = engine_texture(s, &e);
        culv_memory *memory = NATIVE(import)(s, resource, false);
        culv_image *image = NULL;
        culv_image_desc is = culv_image_desc_init();
        culv_d3d_image_desc map = culv_d3d_image_desc_init();
        CUarray array = NULL;
        map.format = (uint32_t)rows[i].named;
        map.resource = other; /* CUDA would write the other one */
        REFUSES_SO(culv_d3d_image_map(s->d3d, memory, &map, &image), INVALID, RANGE,
                   "another resource than the one whose memory");
        REQUIRE(IUnknown_Release(other) == 0);
        map.resource = resource;
        OK(culv_d3d_image_map(s->d3d, memory, &map, &image));
        OK(culv_image_get_desc(image, &is));
        REQUIRE(is.format == rows[i].seen && is.color_attachment == (D3D == 11));
        OK(culv_image_get_array(image, 0, 0, &array));
        scene_pattern(put, 2 * all, (unsigned)i);
        use_texture(s, resource, &e, put, true);
        scene_cuda_copy(s, array, got, row, e.height, 1, false);
        scene_cuda_copy(s, array, put + all, row, e.height, 1, true);
        use_texture(s, resource, &e, got + all, false);
        REQUIRE(memcmp(put, got, 2 * all) == 0);
        culv_image_unmap(&image, NULL);
        culv_memory_destroy(&memory);
        REQUIRE(IUnknown_Release(resource) == 0);
    }
}

/* CUDA sees a twin of one. */
D3D_CASE(shadows)
{
    static const engine rows[] = {
        {"TYPELESS", DXGI_FORMAT_R8G8B8A8_TYPELESS, 4, 61, 33, 1, 1, false, false},
        {"an array with levels", DXGI_FORMAT_R8G8B8A8_TYPELESS, 4, 37, 19, 3, D3D == 11 ? 3 : 1,
         false, false},
        {"a cube with levels", DXGI_FORMAT_R8G8B8A8_UNORM, 4, 24, 24, 6, D3D == 11 ? 2 : 1, true,
         false},
    };
    culv_d3d_shadow *twin = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const engine *e = &rows[i];
        const size_t row = (size_t)e->width * 4, all = row * e->height * e->layers;
        culv_d3d_shadow_desc make = culv_d3d_shadow_desc_init();
        culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
        culv_memory *memory = NULL;
        CUarray array;
        IUnknown *texture = engine_texture(s, e);
        REFUSES(culv_d3d_shadow_create(s->d3d, &make, &twin), INVALID, NULL_ARGUMENT);
        import.object = make.resource = texture;
        REFUSES_SO(culv_d3d_memory_import(s->d3d, &import, &memory), INVALID, NOT_EXPORTABLE,
                   "culv_d3d_shadow_create()");
        if (e->format == DXGI_FORMAT_R8G8B8A8_TYPELESS) {
            REFUSES_SO(culv_d3d_shadow_create(s->d3d, &make, &twin), INVALID, FORMAT,
                       "culv_d3d_shadow_desc.format is DXGI_FORMAT 0");
            REQUIRE(strstr(culv_last_error_message(), "DXGI_FORMAT 28 (R8G8B8A8_UNORM)"));
            make.format = DXGI_FORMAT_R8G8B8A8_UNORM;
        }
        make.cube = e->cube;
        make.label = e->name;
        OK(culv_d3d_shadow_create(s->d3d, &make, &twin));
        const culv_shared_image *image = culv_d3d_shadow_image(twin);
        OK(culv_image_get_array(culv_shared_image_cuda(image), 0, 0, &array));
        scene_pattern(put, all, (unsigned)i + 1);
        use_texture(s, texture, e, put, true);
        record(s, twin, false);
        scene_cuda_copy(s, array, got, row, e->height, e->layers, false);
        REQUIRE(memcmp(put, got, all) == 0);
        scene_pattern(put, all, (unsigned)i + 11);
        scene_cuda_copy(s, array, put, row, e->height, e->layers, true);
        record(s, twin, true);
        use_texture(s, texture, e, got, false);
        REQUIRE(memcmp(put, got, all) == 0);
        REFUSES(culv_d3d_shadow_record(twin, NULL, 0, 0), INVALID, NULL_ARGUMENT);
        culv_shared_image *owned = (culv_shared_image *)(uintptr_t)image;
        culv_shared_image_destroy(&owned, NULL);
        REQUIRE(owned != NULL && scene_reason_is(CULV_REASON_OWNED));
        REQUIRE(strstr(culv_last_error_message(), "culv_d3d_shadow_destroy() destroys both"));
        culv_d3d_shadow_destroy(&twin);
        culv_d3d_shadow_destroy(&twin);
        culv_d3d_shadow_destroy(NULL);
        REQUIRE(twin == NULL && IUnknown_Release(texture) == 0);
        printf("  %s\n", e->name);
    }
}

/* Each call fails once ------------------------------------------------------------------------- */

typedef struct tortured {
    native *s;
    IUnknown *texture; /* which is not shared */
} tortured;

static culv_result tortured_work(void *user)
{
    const tortured *t = user;
    culv_d3d_shadow *shadow = NULL;
    culv_d3d_shadow_desc desc = culv_d3d_shadow_desc_init();
    desc.resource = t->texture;
    const culv_result result = culv_d3d_shadow_create(t->s->d3d, &desc, &shadow);
    culv_d3d_shadow_destroy(&shadow);
    return result == CULV_OK ? more_torture(t->s) : result;
}

static void require_none(void *user)
{
    (void)culv_device_collect(((tortured *)user)->s->culvert);
    REQUIRE(scene_driver_objects() == 0 && OVERLAY(references)() == 0);
}

/* What other back-ends have not; the rest is the back-end suite's. */
D3D_CASE(torture)
{
    const engine e = {"", DXGI_FORMAT_R8G8B8A8_UNORM, 4, 61, 33, 1, 1, false, false};
    tortured all = {s, engine_texture(s, &e)};
    const scene_tortured t = {.work = tortured_work,
                              .require_none = require_none,
                              .user = &all,
                              .fail_at = OVERLAY(fail_at),
                              .calls = OVERLAY(calls),
                              .native = D3D == 11 ? 3 : 2, /* a resource and its handles */
                              .least = D3D == 11 ? 9 : 3};
    scene_torture(&t);
    REQUIRE(IUnknown_Release(all.texture) == 0);
}

/* A device that is lost, or removed ------------------------------------------------------------ */

/* CUDA waits for fences of a device that is removed, one of Culvert's and one that was imported. It
 * is told, and goes on; so it does when it waits again, and the fence is destroyed. */
D3D_CASE(lost)
{
    culv_shared_semaphore *made = NULL;
    culv_semaphore *imported = NULL;
    IUnknown *mine = (IUnknown *)NATIVE(fence)(s, 40, true);
    OK(culv_d3d_semaphore_create(s->d3d, NULL, &made));
    OK(culv_d3d_semaphore_import(s->d3d, mine, "mine", &imported));
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(made), s->stream, 3));
    OK(culv_semaphore_wait(imported, s->stream, 50));
    REQUIRE(s->cu->cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY);
    OK(culv_d3d_device_lost(s->d3d));
    scene_synchronize(s);
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(made), s->stream, 7));
    culv_shared_semaphore_destroy(&made, NULL);
    scene_synchronize(s);
    culv_semaphore_destroy(&imported, NULL);
    REQUIRE(IUnknown_Release(mine) == 0);
    REFUSES(culv_d3d_device_lost(NULL), INVALID, NULL_ARGUMENT);
}

/* What a program makes and does, until a call finds its device removed. */
typedef struct program {
    native s; /* its CUDA stays */
    culv_shared_semaphore *fence;
    culv_shared_buffer *buffer;
} program;

#define HR_TRY(call)                                                                               \
    do {                                                                                           \
        const HRESULT try_ = (call);                                                               \
        if (try_ == DXGI_REMOVED) return false;                                                    \
        HR_OK(try_);                                                                               \
    } while (0)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const culv_result try_ = (call);                                                           \
        if (try_ == CULV_ERROR_ASYNC && (scene_reason_is(CULV_REASON_DEVICE_LOST) ||               \
                                         scene_reason_is(CULV_REASON_RING_STOPPED)))               \
            return false;                                                                          \
        OK(try_);                                                                                  \
    } while (0)

enum { FRAMES = 3, FRAME = 4096 };
static bool write_frame(native *s, void *resource, const void *data); /* false: removed */
static bool more_work(native *s); /* of its API alone; nothing of it is left */

static bool program_works(program *p, const unsigned char *data)
{
    culv_d3d_buffer_create_desc make = culv_d3d_buffer_create_desc_init();
    make.size = FRAME;
    TRY(culv_d3d_buffer_create(p->s.d3d, &make, &p->buffer));
    TRY(culv_d3d_semaphore_create(p->s.d3d, NULL, &p->fence));
    if (!more_work(&p->s)) return false;
    culv_semaphore *cuda = culv_shared_semaphore_cuda(p->fence);
    native_fence *fence = fence_of(p->fence);
    for (uint64_t i = 0; i < FRAMES; i++) {
        OK(culv_semaphore_wait(cuda, p->s.stream, 2 * i + 1));
        if (!write_frame(&p->s, culv_d3d_buffer_resource(p->buffer), data + i * FRAME))
            return false;
        HR_TRY(NATIVE(signal)(&p->s, fence, 2 * i + 1));
        culv_semaphore_mark_value(cuda, 2 * i + 1);
        scene_cuda_has(&p->s, culv_shared_buffer_pointer(p->buffer), data + i * FRAME, FRAME);
        OK(culv_semaphore_signal(cuda, p->s.stream, 2 * i + 2));
        HR_TRY(NATIVE(wait)(&p->s, fence, 2 * i + 2));
    }
    return true;
}

/* Some call finds the device removed, each in turn; CUDA goes on with a new device. */
TEST(removed)
{
    program p;
    unsigned times = 0, all = 0;
    memset(&p, 0, sizeof p);
    NATIVE(open)(&p.s);
    for (unsigned n = 1;; n++) {
        scene_pattern(put, FRAMES * FRAME, n);
        overlay_remove_at(n);
        const bool done = program_works(&p, put);
        all = overlay_counted();
        overlay_remove_at(0);
        if (!done) { /* as docs/direct3d.md says, in this order */
            times++;
#if D3D == 11
            REQUIRE(ID3D11Device_GetDeviceRemovedReason(p.s.device) == DXGI_HUNG);
#else
            REQUIRE(ID3D12Device_GetDeviceRemovedReason(p.s.device) == DXGI_HUNG);
#endif
            if (p.fence != NULL) { /* OK would say that somebody signaled it */
                REQUIRE(FENCE(GetCompletedValue)(fence_of(p.fence)) == UINT64_MAX);
                REFUSES(culv_shared_semaphore_wait_on_host(p.fence, 7, 0), ASYNC, DEVICE_LOST);
            }
            OK(culv_d3d_device_lost(p.s.d3d));
        }
        scene_synchronize(&p.s);
        culv_shared_semaphore_destroy(&p.fence, NULL);
        culv_shared_buffer_destroy(&p.buffer, NULL);
        if (done) break;
        culv_d3d_detach(&p.s.d3d);
        (void)culv_device_collect(p.s.culvert);
        const native old = p.s;
        p.s.culvert = NULL;
        NATIVE(close)(&p.s);
        NATIVE(open_device)(&p.s); /* a new device, the same CUDA */
        p.s.culvert = old.culvert;
        p.s.cu = old.cu;
        p.s.stream = old.stream;
        p.s.d3d = NATIVE(attach)(&p.s, p.s.culvert);
    }
    printf("  removed %u times; %u calls are counted\n", times, all);
    REQUIRE(times >= 10 && times == all);
    NATIVE(close)(&p.s);
}

/* CUDA waits for a fence of a device that goes, and then has every value: nobody signaled it. The
 * program knows of no loss and destroys the fence, whose end asks the host's side of it. */
D3D_CASE(removed_unnoticed)
{
    culv_shared_semaphore *made = NULL;
    OK(culv_d3d_semaphore_create(s->d3d, NULL, &made));
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(made), s->stream, 9));
    REQUIRE(s->cu->cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY);
    overlay_remove_at(1);
    REQUIRE(NATIVE(signal)(s, fence_of(made), 1) == DXGI_REMOVED);
    overlay_remove_at(0);
    REQUIRE(FENCE(GetCompletedValue)(fence_of(made)) == UINT64_MAX);
    culv_shared_semaphore_destroy(&made, NULL);
    for (int i = 0; i < SCENE_FAR_MS && s->cu->cuStreamQuery(s->stream) != CUDA_SUCCESS; i++)
        Sleep(1);
    CU_OK(s->cu->cuStreamQuery(s->stream));
}

typedef struct remover {
    native *s;
    native_fence *fence;
} remover;

static DWORD WINAPI remove_it(void *user)
{
    const remover *r = user;
    Sleep(50); /* the wait has begun; if not, its answer is the same */
    overlay_remove_at(1);
    return NATIVE(signal)(r->s, r->fence, 1) != DXGI_REMOVED;
}

/* Short waits leave one event at the fence. A wait whose device goes meanwhile has failed. */
D3D_CASE(removed_within)
{
    culv_shared_semaphore *made = NULL;
    DWORD before = 0, after = 0;
    OK(culv_d3d_semaphore_create(s->d3d, NULL, &made));
    for (int i = 0; i < 40; i++) {
        if (i == 8) REQUIRE(GetProcessHandleCount(GetCurrentProcess(), &before));
        REFUSES(culv_shared_semaphore_wait_on_host(made, 7, 1000000), TIMEOUT, NOT_READY);
    }
    REQUIRE(GetProcessHandleCount(GetCurrentProcess(), &after) && after < before + 8);
    remover r = {s, fence_of(made)};
    const HANDLE thread = scene_thread(remove_it, &r);
    REFUSES(culv_shared_semaphore_wait_on_host(made, 1000, UINT64_MAX), ASYNC, DEVICE_LOST);
    scene_join(thread);
    overlay_remove_at(0);
    culv_shared_semaphore_destroy(&made, NULL);
}
