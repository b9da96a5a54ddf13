/* SPDX-License-Identifier: MIT */
/* Direct3D 11 under the back-end suite (tests/library/backend): memory by NT handles, no mutex. */
#include "scene11.h"
/* The table has its own. */
#undef CU_OK
#include "shared_objects.h"

static scene11 native;

static const raw_cuda *open_native(void)
{
    const raw_cuda *cu = raw_cuda_open();
    scene11_open_device(&native);
    return cu;
}

static void close_native(void)
{
    scene11_close(&native);
}

static void lie(backend_lie what)
{
    overlay11_tell(what == BACKEND_STRANGER ? OVERLAY11_STRANGER
                   : what == BACKEND_CLOSED ? OVERLAY11_WRAPPER
                                            : OVERLAY11_HONEST);
}

static culv_result device_open(culv_device **out)
{
    return culv_device_open_for_d3d((IUnknown *)native.device, NULL, out);
}

static culv_result attach(culv_device *device, uint32_t fallback, void **out)
{
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    culv_d3d_device *made = NULL;
    (void)fallback; /* another adapter is always refused */
    desc.device = (IUnknown *)native.device;
    culv_result result = culv_d3d_attach(device, &desc, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void detach(void **attachment)
{
    culv_d3d_device *mine = *attachment;
    *attachment = NULL;
    culv_d3d_detach(&mine);
}

static void *memory_create(uint64_t size)
{
    return scene11_buffer(&native, (UINT)size,
                          D3D11_RESOURCE_MISC_SHARED_NTHANDLE | D3D11_RESOURCE_MISC_SHARED);
}

static void memory_destroy(void *memory)
{
    REQUIRE(ID3D11Buffer_Release((ID3D11Buffer *)memory) == 0);
}

static ID3D11Resource *resource_of(const void *memory)
{
    return (ID3D11Resource *)(uintptr_t)memory;
}

static UINT bytes_of(ID3D11Resource *buffer)
{
    D3D11_BUFFER_DESC desc;
    ID3D11Buffer_GetDesc((ID3D11Buffer *)(void *)buffer, &desc);
    return desc.ByteWidth;
}

static uint64_t memory_size(const void *memory)
{
    return bytes_of(resource_of(memory));
}

/* Into Wine's buffer and on to the pages that CUDA has; and the other way. */
static void write_buffer(ID3D11Resource *buffer, const void *data, size_t size)
{
    const D3D11_BOX box = {0, 0, 0, (UINT)size, 1, 1};
    overlay11_turn(native.device);
    ID3D11DeviceContext_UpdateSubresource(native.context, buffer, 0, &box, data, (UINT)size, 0);
    overlay11_turn(native.device);
}

static void read_buffer(ID3D11Resource *buffer, void *data, size_t size)
{
    void *all = malloc(bytes_of(buffer));
    REQUIRE(all != NULL);
    overlay11_turn(native.device);
    scene11_read(&native, buffer, 0, all);
    memcpy(data, all, size);
    free(all);
}

static void memory_write(const void *memory, const void *data, size_t size)
{
    write_buffer(resource_of(memory), data, size);
}

static void memory_read(const void *memory, void *data, size_t size)
{
    read_buffer(resource_of(memory), data, size);
}

/* The size is Direct3D's to tell. */
static culv_result memory_import(void *attachment, const void *memory, uint64_t size, bool shared,
                                 culv_memory **out)
{
    culv_d3d_memory_desc desc = culv_d3d_memory_desc_init();
    (void)size;
    desc.object = (IUnknown *)resource_of(memory);
    return shared ? culv_d3d_memory_import_shared(attachment, &desc, out)
                  : culv_d3d_memory_import(attachment, &desc, out);
}

static void *timeline_create(uint64_t value)
{
    return scene11_fence(&native, value, true);
}

static void timeline_destroy(void *timeline)
{
    REQUIRE(ID3D11Fence_Release((ID3D11Fence *)timeline) == 0);
}

static culv_result timeline_import(void *attachment, void *timeline, culv_semaphore **out)
{
    return culv_d3d_semaphore_import(attachment, (IUnknown *)timeline, NULL, out);
}

static void timeline_signal(void *timeline, uint64_t value)
{
    HR_OK(ID3D11DeviceContext4_Signal(native.context4, (ID3D11Fence *)timeline, value));
}

static bool timeline_wait(void *timeline, uint64_t value, unsigned timeout_ms)
{
    const HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
    HR_OK(ID3D11Fence_SetEventOnCompletion((ID3D11Fence *)timeline, value, event));
    const bool reached = WaitForSingleObject(event, timeout_ms) == WAIT_OBJECT_0;
    CloseHandle(event);
    return reached;
}

static uint64_t timeline_value(void *timeline)
{
    return ID3D11Fence_GetCompletedValue((ID3D11Fence *)timeline);
}

static culv_result buffer_create(void *attachment, uint64_t size, uint32_t fallback, void **out)
{
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    culv_shared_buffer *made = NULL;
    (void)fallback;
    desc.size = size;
    culv_result result = culv_d3d_buffer_create(attachment, &desc, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void buffer_write(void *buffer, const void *data, size_t size)
{
    write_buffer((ID3D11Resource *)culv_d3d_buffer_resource(buffer), data, size);
}

static void buffer_read(void *buffer, void *data, size_t size)
{
    read_buffer((ID3D11Resource *)culv_d3d_buffer_resource(buffer), data, size);
}

static culv_result image_create(void *attachment, uint32_t width, uint32_t height,
                                uint32_t fallback, void **out)
{
    culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
    culv_shared_image *made = NULL;
    D3D11_TEXTURE2D_DESC what;
    (void)fallback;
    memset(&what, 0, sizeof what);
    what.Width = width;
    what.Height = height;
    what.MipLevels = what.ArraySize = 1;
    what.Format = DXGI_FORMAT_R32_UINT;
    what.SampleDesc.Count = 1;
    what.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    desc.texture_desc = &what;
    culv_result result = culv_d3d_image_create(attachment, &desc, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static culv_result semaphore_create(void *attachment, uint64_t value, uint32_t fallback, void **out)
{
    culv_d3d_semaphore_create_desc desc = culv_d3d_semaphore_create_desc_init();
    culv_shared_semaphore *made = NULL;
    desc.initial_value = value;
    (void)fallback;
    culv_result result = culv_d3d_semaphore_create(attachment, &desc, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void *semaphore_timeline(const void *semaphore)
{
    return (ID3D11Fence *)culv_d3d_semaphore_fence(semaphore);
}

static uint64_t fail_at(uint64_t n, bool lost)
{
    (void)lost;
    overlay11_fail_at((unsigned)n);
    return overlay11_calls();
}

const backend backend_under_test = {
    .name = "d3d11",
    .memory_word = "ID3D11Resource",
    .imports_anew = true,
    .copies_nothing = true,
    .relays_nothing = true, /* the host signals no ID3D11Fence */
    BACKEND_FUNCTIONS,
    .fail_at = fail_at,
};
