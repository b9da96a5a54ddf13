/* SPDX-License-Identifier: MIT */
/* The cases that Direct3D 11 and 12 have in common, and other back-ends do not. d3d11_errors.c and
 * d3d12_errors.c include it, after they say what these words are:
 *   FENCE(name)     ID3D12Fence##name
 *   FENCE_NAME      "ID3D12Fence"
 *   NATIVE          the scene's type
 *   NATIVE_CASE     begins a case with `NATIVE *s`
 *   ATTACHED(s)     its attachment
 * with static functions open_for(), make_fence(), signal_fence() and read_buffer(), and with
 * refuse_other(), which asks for what only the other API has. */

/* CUDA's device is no adapter of Direct3D's, or only a part of one. */
NATIVE_CASE(match)
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
    uint8_t luid[8];
    OK(culv_device_get_caps(s->culvert, &caps));
    REQUIRE(caps.luid_valid && caps.node_mask == 1);
    memcpy(luid, caps.luid.bytes, sizeof luid);
    desc.device = (IUnknown *)s->device;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        luid[0] ^= rows[i].flips;
        soft.play_luid(0, rows[i].told ? luid : NULL, rows[i].nodes);
        REFUSES(open_for(s->device, &other), CULV_ERROR_NO_DEVICE, rows[i].open);
        OK(culv_device_open_by_ordinal(0, NULL, &other));
        REFUSES(culv_d3d_attach(other, &desc, &attached), CULV_ERROR_INVALID, rows[i].attach);
        REQUIRE_SAYS(rows[i].says);
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
    REFUSES(culv_d3d_attach(s->culvert, &desc, &attached), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    REFUSES(open_for(NULL, &other), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    REQUIRE(other == NULL && attached == NULL);
}

/* What was made lives on without its attachment, in any order. */
static void made_lives_on(NATIVE *s, bool buffer_first)
{
    static unsigned char put[4096], got[4096];
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *semaphore = NULL;
    desc.size = sizeof put;
    OK(culv_d3d_buffer_create(ATTACHED(s), &desc, &buffer));
    OK(culv_d3d_semaphore_create(ATTACHED(s), NULL, &semaphore));
    culv_d3d_detach(&ATTACHED(s));
    scene_pattern(put, sizeof put, 9);
    scene_cuda_write(s, culv_shared_buffer_pointer(buffer), put, sizeof put);
    read_buffer(s, buffer, got, sizeof got);
    REQUIRE(memcmp(put, got, sizeof put) == 0);
    if (buffer_first) culv_shared_buffer_destroy(&buffer, NULL);
    culv_shared_semaphore_destroy(&semaphore, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
}

NATIVE_CASE(orders)
{
    made_lives_on(s, true);
}

NATIVE_CASE(orders_reversed)
{
    made_lives_on(s, false);
}

/* Direct3D's signal is done and nobody reported it: CUDA's must exceed it all the same. */
NATIVE_CASE(unreported)
{
    for (int imported = 0; imported < 2; imported++) {
        culv_shared_semaphore *made = NULL;
        culv_semaphore *own = NULL;
        FENCE() *fence = NULL;
        if (imported) {
            fence = make_fence(s, 1);
            OK(culv_d3d_semaphore_import(ATTACHED(s), (IUnknown *)fence, "queue's", &own));
        } else {
            OK(culv_d3d_semaphore_create(ATTACHED(s), NULL, &made));
            fence = (FENCE() *)culv_d3d_semaphore_fence(made);
        }
        culv_semaphore *cuda = imported ? own : culv_shared_semaphore_cuda(made);
        OK(culv_semaphore_signal(cuda, s->stream, 3));
        scene_synchronize(s);
        HR_OK(signal_fence(s, fence, 5));
        for (int i = 0; i < SCENE_FAR_MS && FENCE(_GetCompletedValue)(fence) < 5; i++)
            Sleep(1);
        REFUSES(culv_semaphore_signal(cuda, s->stream, 4), CULV_ERROR_INVALID,
                CULV_REASON_TIMELINE_BACKWARDS);
        REQUIRE_SAYS("5, at which the " FENCE_NAME " is already (" FENCE_NAME
                     "::GetCompletedValue)");
        REFUSES(culv_semaphore_signal(cuda, s->stream, 5), CULV_ERROR_INVALID,
                CULV_REASON_TIMELINE_BACKWARDS);
        REFUSES(culv_semaphore_signal(cuda, s->stream, UINT64_MAX), CULV_ERROR_INVALID,
                CULV_REASON_VALUE);
        scene_synchronize(s);
        REQUIRE(FENCE(_GetCompletedValue)(fence) == 5);
        OK(culv_semaphore_signal(cuda, s->stream, 6));
        scene_synchronize(s);
        REQUIRE(FENCE(_GetCompletedValue)(fence) == 6);
        culv_semaphore_destroy(&own, NULL);
        culv_shared_semaphore_destroy(&made, NULL);
        if (imported) REQUIRE(FENCE(_Release)(fence) == 0);
    }
}

/* A tensor alone keeps what was imported, but it is not found again: the program may have released
 * the resource by then, and another one may have its address. */
NATIVE_CASE(tensors)
{
    static unsigned char put[4096], got[4096];
    culv_d3d_buffer_create_desc make = culv_d3d_buffer_create_desc_init();
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    culv_shared_buffer *owner = NULL;
    culv_buffer *buffers[2];
    culv_dl_managed_tensor_versioned *tensor = NULL;
    culv_device_counts none = culv_device_counts_init(), now = none;
    make.size = sizeof put;
    OK(culv_d3d_buffer_create(ATTACHED(s), &make, &owner));
    desc.object = culv_d3d_buffer_resource(owner);
    OK(culv_device_get_counts(s->culvert, &none));
    for (unsigned i = 0; i < 2; i++) {
        culv_memory *memory = NULL;
        OK(culv_d3d_memory_import_shared(ATTACHED(s), &desc, &memory));
        OK(culv_buffer_map(memory, NULL, &buffers[i]));
        culv_memory_destroy(&memory);
        OK(culv_device_get_counts(s->culvert, &now));
        REQUIRE(now.memories == none.memories + i + 1);
        if (i == 0) {
            OK(culv_buffer_get_dlpack(buffers[0], NULL, &tensor));
            culv_buffer_unmap(&buffers[0], NULL);
        }
    }
    scene_pattern(put, sizeof put, 5);
    scene_cuda_write(s, culv_buffer_pointer(buffers[1]), put, sizeof put);
    scene_cuda_read(s, (CUdeviceptr)(uintptr_t)tensor->dl_tensor.data, got, sizeof got);
    REQUIRE(memcmp(put, got, sizeof put) == 0);
    tensor->deleter(tensor);
    culv_buffer_unmap(&buffers[1], NULL);
    culv_shared_buffer_destroy(&owner, NULL);
}

/* Objects of other kinds, and what only the other API has. */
NATIVE_CASE(kinds_of_objects)
{
    static unsigned char put[4096];
    IUnknown *const device = (IUnknown *)s->device;
    FENCE() *fence = make_fence(s, 0);
    IUnknown *const no_device = (IUnknown *)fence;
    culv_d3d_device_desc attach = culv_d3d_device_desc_init();
    culv_d3d_memory_desc import = culv_d3d_memory_desc_init();
    culv_d3d_image_desc map = culv_d3d_image_desc_init();
    culv_d3d_shadow_desc shadow_desc = culv_d3d_shadow_desc_init();
    culv_d3d_buffer_create_desc make = culv_d3d_buffer_create_desc_init();
    culv_device *other = NULL;
    culv_d3d_device *attached = NULL;
    culv_memory *memory = NULL;
    culv_image *image = NULL;
    culv_semaphore *semaphore = NULL;
    culv_d3d_shadow *shadow = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_registration *registration = NULL;
    REFUSES(culv_device_open_for_d3d(no_device, NULL, &other), CULV_ERROR_INVALID,
            CULV_REASON_VALUE);
    attach.device = no_device;
    REFUSES(culv_d3d_attach(s->culvert, &attach, &attached), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    import.object = map.resource = shadow_desc.resource = device;
    REFUSES(culv_d3d_memory_import(ATTACHED(s), &import, &memory), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);
    REFUSES(culv_d3d_semaphore_import(ATTACHED(s), device, NULL, &semaphore), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);
    REQUIRE_SAYS("the object is no " FENCE_NAME);
    REFUSES(culv_d3d_shadow_create(ATTACHED(s), &shadow_desc, &shadow), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);
    REFUSES(culv_d3d_register(s->culvert, device, NULL, &registration), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);
    make.size = sizeof put;
    OK(culv_d3d_buffer_create(ATTACHED(s), &make, &buffer));
    import.object = culv_d3d_buffer_resource(buffer);
    OK(culv_d3d_memory_import(ATTACHED(s), &import, &memory));
    REFUSES(culv_d3d_image_map(ATTACHED(s), memory, &map, &image), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_KIND);
    refuse_other(s, memory, import.object);
    culv_memory_destroy(&memory);
    culv_shared_buffer_destroy(&buffer, NULL);
    REQUIRE(other == NULL && attached == NULL && image == NULL && semaphore == NULL);
    REQUIRE(shadow == NULL && registration == NULL);
    REQUIRE(FENCE(_Release)(fence) == 0);
}
