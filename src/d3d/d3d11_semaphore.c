/* SPDX-License-Identifier: MIT */
/* Fences of Direct3D 11: the caller's, and those that Culvert makes. */
#include "d3d/d3d11_core.h"
/* after it */
#include "base/desc.h"
#include "core/semaphore.h"

/* The seam ------------------------------------------------------------------------------------- */

culv_result culvi_d3d11_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                       bool exportable, uint64_t *out)
{
    const culv_d3d11_device *d3d11 = culvi_d3d11_of(graphics);
    ID3D11Device5 *device = NULL;
    ID3D11Fence *fence = NULL;
    HRESULT hr =
        ID3D11Device_QueryInterface(d3d11->device, &culvi_iid_d3d11_device5, (void **)&device);
    if (FAILED(hr))
        return culvi_fail_native(
            culvi_d3d11_voice(d3d11), plan->label, CULV_ERROR_UNSUPPORTED,
            CULV_REASON_NOT_EXPORTABLE, CULV_NATIVE_D3D, (int64_t)(uint32_t)hr,
            "ID3D11Device::QueryInterface(ID3D11Device5)",
            "this ID3D11Device has no fences (%#lx), which came with Windows 10 1703; use a "
            "resource's keyed mutex",
            (unsigned long)hr);
    hr = ID3D11Device5_CreateFence(device, plan->initial_value,
                                   exportable ? D3D11_FENCE_FLAG_SHARED : D3D11_FENCE_FLAG_NONE,
                                   &culvi_iid_d3d11_fence, (void **)&fence);
    ID3D11Device5_Release(device);
    if (FAILED(hr))
        return culvi_fail_d3d11(d3d11, plan->label, hr, "ID3D11Device5::CreateFence",
                                "a fence could not be made");
    *out = (uint64_t)(uintptr_t)fence;
    return CULV_OK;
}

void culvi_d3d11_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    ID3D11Fence *fence = culvi_d3d_object(semaphore);
    (void)graphics;
    if (fence == NULL) return;
    culvi_d3d_forget_fence(fence);
    ID3D11Fence_Release(fence);
}

culv_result culvi_d3d11_check_timelines(const culvi_graphics *graphics, const char *label,
                                        culvi_host_use use)
{
    if (use != CULVI_HOST_SIGNALS) return CULV_OK;
    return culvi_fail(&graphics->device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NO_FORCE,
                      "the host cannot signal an ID3D11Fence: ID3D11DeviceContext4::Signal does "
                      "that, on the thread of the context");
}

static uint64_t fence_value(void *fence)
{
    return ID3D11Fence_GetCompletedValue((ID3D11Fence *)fence);
}

static HRESULT arm(void *fence, uint64_t value, HANDLE event)
{
    return ID3D11Fence_SetEventOnCompletion((ID3D11Fence *)fence, value, event);
}

static const culvi_d3d_fence calls = {fence_value, arm};

int culvi_d3d11_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    (void)graphics;
    return culvi_d3d_fence_value(&calls, culvi_d3d_object(semaphore), out);
}

int culvi_d3d11_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                              uint64_t timeout_ns)
{
    (void)graphics;
    return culvi_d3d_wait(&calls, culvi_d3d_object(semaphore), value, timeout_ns);
}

int culvi_d3d11_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    (void)graphics, (void)semaphore, (void)value;
    return CULVI_D3D_NOT_IMPLEMENTED; /* check_timelines() refuses before */
}

/* A look at memory: before a signal of CUDA's. */
static bool read_fence(void *fence, uint64_t *out)
{
    return culvi_d3d_fence_value(&calls, fence, out) == 0;
}

static void release_fence(void *fence)
{
    ID3D11Fence_Release((ID3D11Fence *)fence);
}

culv_result culvi_d3d11_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                      const char *call, const char *what)
{
    return culvi_fail_d3d11(culvi_d3d11_of(graphics), label, (HRESULT)code, call, what);
}

/* The calls ------------------------------------------------------------------------------------ */

culv_result culv_d3d11_semaphore_import(culv_d3d11_device *d3d11, ID3D11Fence *fence,
                                        const char *label, culv_semaphore **out)
{
    culv_semaphore_desc d = culv_semaphore_desc_init();
    CULVI_REQUIRE(NULL, d3d11);
    CULVI_REQUIRE2(culvi_d3d11_voice(d3d11), fence, out);
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.label = label;
    culv_result result = culvi_graphics_import_semaphore(&d3d11->base, (uint64_t)(uintptr_t)fence,
                                                         &d, "culv_d3d11_semaphore_import()", out);
    if (result != CULV_OK) return result;
    ID3D11Fence_AddRef(fence);
    (*out)->present.read = read_fence;
    (*out)->present.release = release_fence;
    (*out)->present.context = fence;
    return CULV_OK;
}

culv_result culv_d3d11_semaphore_create(culv_d3d11_device *d3d11,
                                        const culv_d3d11_semaphore_create_desc *desc,
                                        culv_shared_semaphore **out)
{
    static const char name[] = "culv_d3d11_semaphore_create_desc";
    culv_d3d11_semaphore_create_desc d = culv_d3d11_semaphore_create_desc_init();
    CULVI_REQUIRE(NULL, d3d11);
    const culvi_voice *voice = culvi_d3d11_voice(d3d11);
    CULVI_REQUIRE(voice, out);
    culv_result result = desc != NULL ? culvi_desc_read(voice, &d, sizeof d, desc, name) : CULV_OK;
    if (result != CULV_OK) return result;
    culvi_semaphore_plan plan = {.label = d.label,
                                 .desc_name = name,
                                 .type = CULV_SEMAPHORE_TIMELINE,
                                 .initial_value = d.initial_value};
    result = culvi_shared_semaphore_create(&d3d11->base, &plan, out);
    if (result != CULV_OK) return result;
    culvi_semaphore_pair_reads(&(*out)->pair);
    culv_semaphore *cuda = (*out)->pair.cuda;
    cuda->present.read = read_fence; /* the pair holds the fence for as long as there are signals */
    cuda->present.context = culvi_d3d_object((*out)->pair.native);
    return CULV_OK;
}

ID3D11Fence *culv_d3d11_semaphore_fence(const culv_shared_semaphore *semaphore)
{
    return culvi_d3d_object(culvi_semaphore_half(semaphore, &culvi_d3d11_api));
}
