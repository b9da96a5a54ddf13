/* SPDX-License-Identifier: MIT */
/* Fences: the caller's, and those that Culvert makes. */
#include "d3d/d3d12_core.h"
/* after it */
#include "base/desc.h"
#include "core/semaphore.h"

/* The seam ------------------------------------------------------------------------------------- */

culv_result culvi_d3d12_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                       bool exportable, uint64_t *out)
{
    const culv_d3d12_device *d3d12 = culvi_d3d12_of(graphics);
    ID3D12Fence *fence = NULL;
    const HRESULT hr =
        ID3D12Device_CreateFence(d3d12->device, plan->initial_value,
                                 exportable ? D3D12_FENCE_FLAG_SHARED : D3D12_FENCE_FLAG_NONE,
                                 &culvi_iid_d3d12_fence, (void **)&fence);
    if (FAILED(hr))
        return culvi_fail_d3d12(d3d12, plan->label, hr, "ID3D12Device::CreateFence",
                                "a fence could not be made");
    *out = (uint64_t)(uintptr_t)fence;
    return CULV_OK;
}

void culvi_d3d12_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    ID3D12Fence *fence = culvi_d3d_object(semaphore);
    (void)graphics;
    if (fence == NULL) return;
    culvi_d3d_forget_fence(fence);
    ID3D12Fence_Release(fence);
}

culv_result culvi_d3d12_check_timelines(const culvi_graphics *graphics, const char *label,
                                        culvi_host_use use)
{
    (void)graphics, (void)label, (void)use;
    return CULV_OK; /* every fence has a value that the host reads, waits for and signals */
}

static uint64_t fence_value(void *fence)
{
    return ID3D12Fence_GetCompletedValue((ID3D12Fence *)fence);
}

static HRESULT arm(void *fence, uint64_t value, HANDLE event)
{
    return ID3D12Fence_SetEventOnCompletion((ID3D12Fence *)fence, value, event);
}

static const culvi_d3d_fence calls = {fence_value, arm};

int culvi_d3d12_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    (void)graphics;
    return culvi_d3d_fence_value(&calls, culvi_d3d_object(semaphore), out);
}

int culvi_d3d12_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                              uint64_t timeout_ns)
{
    (void)graphics;
    return culvi_d3d_wait(&calls, culvi_d3d_object(semaphore), value, timeout_ns);
}

int culvi_d3d12_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    (void)graphics;
    const HRESULT hr = ID3D12Fence_Signal((ID3D12Fence *)culvi_d3d_object(semaphore), value);
    return FAILED(hr) ? (int)hr : 0;
}

/* A look at memory: before a signal of CUDA's. */
static bool read_fence(void *fence, uint64_t *out)
{
    return culvi_d3d_fence_value(&calls, fence, out) == 0;
}

static void release_fence(void *fence)
{
    ID3D12Fence_Release((ID3D12Fence *)fence);
}

culv_result culvi_d3d12_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                      const char *call, const char *what)
{
    return culvi_fail_d3d12(culvi_d3d12_of(graphics), label, (HRESULT)code, call, what);
}

/* The calls ------------------------------------------------------------------------------------ */

culv_result culv_d3d12_semaphore_import(culv_d3d12_device *d3d12, ID3D12Fence *fence,
                                        const char *label, culv_semaphore **out)
{
    culv_semaphore_desc d = culv_semaphore_desc_init();
    CULVI_REQUIRE(NULL, d3d12);
    CULVI_REQUIRE2(culvi_d3d12_voice(d3d12), fence, out);
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.label = label;
    culv_result result = culvi_graphics_import_semaphore(&d3d12->base, (uint64_t)(uintptr_t)fence,
                                                         &d, "culv_d3d12_semaphore_import()", out);
    if (result != CULV_OK) return result;
    ID3D12Fence_AddRef(fence);
    (*out)->present.read = read_fence;
    (*out)->present.release = release_fence;
    (*out)->present.context = fence;
    return CULV_OK;
}

culv_result culv_d3d12_semaphore_create(culv_d3d12_device *d3d12,
                                        const culv_d3d12_semaphore_create_desc *desc,
                                        culv_shared_semaphore **out)
{
    static const char name[] = "culv_d3d12_semaphore_create_desc";
    culv_d3d12_semaphore_create_desc d = culv_d3d12_semaphore_create_desc_init();
    CULVI_REQUIRE(NULL, d3d12);
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    CULVI_REQUIRE(voice, out);
    culv_result result = desc != NULL ? culvi_desc_read(voice, &d, sizeof d, desc, name) : CULV_OK;
    if (result != CULV_OK) return result;
    culvi_semaphore_plan plan = {.label = d.label,
                                 .desc_name = name,
                                 .fallback = d.fallback,
                                 .type = CULV_SEMAPHORE_TIMELINE,
                                 .initial_value = d.initial_value};
    result = culvi_shared_semaphore_create(&d3d12->base, &plan, out);
    if (result != CULV_OK) return result;
    culvi_semaphore_pair_reads(&(*out)->pair);
    culv_semaphore *cuda = (*out)->pair.cuda;
    cuda->present.read = read_fence; /* the pair holds the fence for as long as there are signals */
    cuda->present.context = culvi_d3d_object((*out)->pair.native);
    return CULV_OK;
}

ID3D12Fence *culv_d3d12_semaphore_fence(const culv_shared_semaphore *semaphore)
{
    return culvi_d3d_object(culvi_semaphore_half(semaphore, &culvi_d3d12_api));
}
