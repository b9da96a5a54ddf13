/* SPDX-License-Identifier: MIT */
/* ripple by Direct3D 12: memory and fences that CUDA has too, and the same pictures. */
#define INITGUID
#define CULV_EXPERIMENTAL 1
#include "d3d_api.h"
/* after it */
#include <d3d12.h>

#include <stdlib.h>
#include <string.h>

#include <culvert/d3d12.h>
#include <culvert/d3d12_ring.h>

/* A frame that takes longer than this to come is an error. */
#define LIMIT_NS UINT64_C(60000000000)

enum { PARAMETER_VIEW, PARAMETER_CELLS, PARAMETER_TINT, NUM_PARAMETERS };
enum { RIM, STONE, WATER, NUM_PIPELINES };

typedef struct renderer12 {
    const d3d_setup *setup;
    uint32_t width, height, row_pitch;
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *done; /* the host's */
    HANDLE event;
    uint64_t submitted;
    culv_d3d12_device *attached;
    /* Path shared: */
    culv_shared_buffer *cells;
    culv_shared_image *tint;
    culv_shared_semaphore *ready, *drawn;
    d3d_turns turns;
    /* Path ring: */
    culv_d3d12_ring *ring;
    culv_ring_frame filling, drawing;
    ID3D12RootSignature *root;
    ID3D12PipelineState *pipelines[NUM_PIPELINES];
    ID3D12DescriptorHeap *tints, *color_view, *depth_view;
    ID3D12Resource *color, *depth, *resolved, *indices, *picture;
} renderer12;

/* Methods that return structs do it by a pointer; C headers differ in how they say so. */
typedef void(STDMETHODCALLTYPE *heap_start_fn)(ID3D12DescriptorHeap *, void *);

static D3D12_CPU_DESCRIPTOR_HANDLE cpu_start(ID3D12DescriptorHeap *heap)
{
    D3D12_CPU_DESCRIPTOR_HANDLE start;
    ((heap_start_fn)(void (*)(void))heap->lpVtbl->GetCPUDescriptorHandleForHeapStart)(heap, &start);
    return start;
}

static D3D12_GPU_DESCRIPTOR_HANDLE gpu_start(ID3D12DescriptorHeap *heap)
{
    D3D12_GPU_DESCRIPTOR_HANDLE start;
    ((heap_start_fn)(void (*)(void))heap->lpVtbl->GetGPUDescriptorHandleForHeapStart)(heap, &start);
    return start;
}

/* What CUDA writes ----------------------------------------------------------------------------- */

static D3D12_RESOURCE_DESC texture_desc(const VkExtent2D *extent, DXGI_FORMAT format, UINT samples,
                                        D3D12_RESOURCE_FLAGS flags)
{
    const D3D12_RESOURCE_DESC desc = {.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                      .Width = extent->width,
                                      .Height = extent->height,
                                      .DepthOrArraySize = 1,
                                      .MipLevels = 1,
                                      .Format = format,
                                      .SampleDesc = {samples, 0},
                                      .Flags = flags};
    return desc;
}

static bool create_shared(renderer12 *r)
{
    exchange *e = r->setup->exchange;
    const D3D12_RESOURCE_DESC texels =
        texture_desc(&e->grid, DXGI_FORMAT_R8G8B8A8_UNORM, 1, D3D12_RESOURCE_FLAG_NONE);
    culv_d3d12_buffer_create_desc cells = culv_d3d12_buffer_create_desc_init();
    culv_d3d12_image_create_desc tint = culv_d3d12_image_create_desc_init();
    cells.size = e->cells_size;
    cells.label = "cells";
    tint.resource_desc = &texels;
    tint.label = "tint";
    if (!culv_ok(culv_d3d12_buffer_create(r->attached, &cells, &r->cells),
                 "culv_d3d12_buffer_create") ||
        !culv_ok(culv_d3d12_image_create(r->attached, &tint, &r->tint),
                 "culv_d3d12_image_create") ||
        !culv_ok(culv_d3d12_semaphore_create(r->attached, NULL, &r->ready),
                 "culv_d3d12_semaphore_create") ||
        !culv_ok(culv_d3d12_semaphore_create(r->attached, NULL, &r->drawn),
                 "culv_d3d12_semaphore_create"))
        return false;
    r->turns.ready = culv_shared_semaphore_cuda(r->ready);
    r->turns.drawn = culv_shared_semaphore_cuda(r->drawn);
    e->path = &d3d_path_shared;
    e->own = &r->turns;
    e->buffers[0].cuda_cells = culv_shared_buffer_pointer(r->cells);
    return culv_ok(
        culv_image_get_surface(culv_shared_image_cuda(r->tint), 0, &e->buffers[0].cuda_tint),
        "culv_image_get_surface");
}

static bool ring_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    renderer12 *r = e->own;
    (void)frame; /* the ring counts them */
    if (!culv_ok(culv_ring_acquire_on(culv_d3d12_ring_core(r->ring), CULV_RING_PRODUCER, stream,
                                      LIMIT_NS, &r->filling),
                 "culv_ring_acquire_on"))
        return false;
    e->filling = r->filling.slot;
    e->burst_open = !r->filling.burst_ends;
    return true;
}

static bool ring_release(exchange *e, CUstream stream, uint64_t frame)
{
    renderer12 *r = e->own;
    (void)frame;
    return culv_ok(culv_ring_release_on(culv_d3d12_ring_core(r->ring), CULV_RING_PRODUCER, stream,
                                        &r->filling),
                   "culv_ring_release_on");
}

static bool ring_end_burst(exchange *e, CUstream stream)
{
    const renderer12 *r = e->own;
    return culv_ok(culv_ring_flush_on(culv_d3d12_ring_core(r->ring), CULV_RING_PRODUCER, stream),
                   "culv_ring_flush_on");
}

static void ring_flow(const exchange *e, exchange_flow *out)
{
    const renderer12 *r = e->own;
    culv_ring_stats stats = culv_ring_stats_init();
    if (!culv_ok(culv_ring_get_stats(culv_d3d12_ring_core(r->ring), &stats), "culv_ring_get_stats"))
        return;
    out->buffers = stats.depth;
    out->burst = stats.burst;
}

static const exchange_path path_ring12 = {.name = "ring",
                                          .cuda_acquire = ring_acquire,
                                          .cuda_release = ring_release,
                                          .cuda_end_burst = ring_end_burst,
                                          .flow = ring_flow};

static bool create_ring(renderer12 *r)
{
    exchange *e = r->setup->exchange;
    const D3D12_RESOURCE_DESC texels =
        texture_desc(&e->grid, DXGI_FORMAT_R8G8B8A8_UNORM, 1, D3D12_RESOURCE_FLAG_NONE);
    culv_d3d12_buffer_create_desc cells = culv_d3d12_buffer_create_desc_init();
    culv_d3d12_image_create_desc tint = culv_d3d12_image_create_desc_init();
    culv_ring_settings settings = culv_ring_settings_init();
    culv_d3d12_ring_desc desc = culv_d3d12_ring_desc_init();
    const culv_d3d12_ring_resource resources[] = {{.buffer = &cells}, {.image = &tint}};
    cells.size = e->cells_size;
    tint.resource_desc = &texels;
    settings.burst = e->flow.burst;
    settings.max_latency = e->flow.max_latency_ns;
    desc.max_depth = e->num_buffers;
    desc.settings = &settings;
    desc.resources = resources;
    desc.num_resources = 2;
    desc.label = "ripple";
    if (!culv_ok(culv_d3d12_ring_create(r->attached, &desc, &r->ring), "culv_d3d12_ring_create"))
        return false;
    e->path = &path_ring12;
    e->own = r;
    for (uint32_t slot = 0; slot < e->num_buffers; slot++) {
        const culv_shared_image *image = culv_d3d12_ring_image(r->ring, slot, 1);
        e->buffers[slot].cuda_cells =
            culv_shared_buffer_pointer(culv_d3d12_ring_buffer(r->ring, slot, 0));
        if (!culv_ok(culv_image_get_surface(culv_shared_image_cuda(image), 0,
                                            &e->buffers[slot].cuda_tint),
                     "culv_image_get_surface"))
            return false;
    }
    return true;
}

static ID3D12Resource *cells_of(const renderer12 *r, uint32_t slot)
{
    return culv_d3d12_buffer_resource(r->ring ? culv_d3d12_ring_buffer(r->ring, slot, 0)
                                              : r->cells);
}

static ID3D12Resource *tint_of(const renderer12 *r, uint32_t slot)
{
    return culv_d3d12_image_resource(r->ring ? culv_d3d12_ring_image(r->ring, slot, 1) : r->tint);
}

/* What draws it -------------------------------------------------------------------------------- */

static bool create_device(renderer12 *r)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_DIRECT;
    const D3D12_COMMAND_QUEUE_DESC queue = {.Type = type};
    culv_d3d12_device_desc desc = culv_d3d12_device_desc_init();
    if (!d3d_ok(D3D12CreateDevice((IUnknown *)r->setup->adapter, D3D_FEATURE_LEVEL_11_0,
                                  &IID_ID3D12Device, (void **)&r->device),
                "D3D12CreateDevice") ||
        !d3d_ok(ID3D12Device_CreateCommandQueue(r->device, &queue, &IID_ID3D12CommandQueue,
                                                (void **)&r->queue),
                "CreateCommandQueue") ||
        !d3d_ok(ID3D12Device_CreateCommandAllocator(r->device, type, &IID_ID3D12CommandAllocator,
                                                    (void **)&r->allocator),
                "CreateCommandAllocator") ||
        !d3d_ok(ID3D12Device_CreateCommandList(r->device, 0, type, r->allocator, NULL,
                                               &IID_ID3D12GraphicsCommandList, (void **)&r->list),
                "CreateCommandList") ||
        !d3d_ok(ID3D12GraphicsCommandList_Close(r->list), "Close") ||
        !d3d_ok(ID3D12Device_CreateFence(r->device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence,
                                         (void **)&r->done),
                "CreateFence"))
        return false;
    r->event = CreateEventW(NULL, FALSE, FALSE, NULL);
    desc.device = r->device;
    return r->event &&
           culv_ok(culv_d3d12_attach(r->setup->device, &desc, &r->attached), "culv_d3d12_attach");
}

static bool create_heap(renderer12 *r, D3D12_DESCRIPTOR_HEAP_TYPE type, UINT count, bool visible,
                        ID3D12DescriptorHeap **out)
{
    const D3D12_DESCRIPTOR_HEAP_DESC desc = {.Type = type,
                                             .NumDescriptors = count,
                                             .Flags =
                                                 visible ? D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE
                                                         : D3D12_DESCRIPTOR_HEAP_FLAG_NONE};
    return d3d_ok(ID3D12Device_CreateDescriptorHeap(r->device, &desc, &IID_ID3D12DescriptorHeap,
                                                    (void **)out),
                  "CreateDescriptorHeap");
}

static bool create_resource(renderer12 *r, D3D12_HEAP_TYPE type, const D3D12_RESOURCE_DESC *desc,
                            D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE *clear,
                            ID3D12Resource **out)
{
    const D3D12_HEAP_PROPERTIES heap = {.Type = type};
    return d3d_ok(ID3D12Device_CreateCommittedResource(r->device, &heap, D3D12_HEAP_FLAG_NONE, desc,
                                                       state, clear, &IID_ID3D12Resource,
                                                       (void **)out),
                  "CreateCommittedResource");
}

static bool create_buffer(renderer12 *r, D3D12_HEAP_TYPE type, uint64_t size,
                          D3D12_RESOURCE_STATES state, ID3D12Resource **out)
{
    const D3D12_RESOURCE_DESC desc = {.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                      .Width = size,
                                      .Height = 1,
                                      .DepthOrArraySize = 1,
                                      .MipLevels = 1,
                                      .SampleDesc = {1, 0},
                                      .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR};
    return create_resource(r, type, &desc, state, NULL, out);
}

static bool create_indices(renderer12 *r)
{
    const meshes *m = r->setup->meshes;
    void *mapped = NULL;
    if (!create_buffer(r, D3D12_HEAP_TYPE_UPLOAD, m->size, D3D12_RESOURCE_STATE_GENERIC_READ,
                       &r->indices) ||
        !d3d_ok(ID3D12Resource_Map(r->indices, 0, NULL, &mapped), "Map"))
        return false;
    memcpy(mapped, m->indices, m->size);
    ID3D12Resource_Unmap(r->indices, 0, NULL);
    return true;
}

static bool create_targets(renderer12 *r)
{
    const VkExtent2D extent = {r->width, r->height};
    const D3D12_RESOURCE_DESC color = texture_desc(&extent, D3D_COLOR, D3D_SAMPLES,
                                                   D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET),
                              depth = texture_desc(&extent, D3D_DEPTH, D3D_SAMPLES,
                                                   D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL),
                              resolved =
                                  texture_desc(&extent, D3D_COLOR, 1, D3D12_RESOURCE_FLAG_NONE);
    D3D12_CLEAR_VALUE background = {.Format = D3D_COLOR}, farthest = {.Format = D3D_DEPTH};
    memcpy(background.Color, d3d_background, sizeof background.Color);
    farthest.DepthStencil.Depth = 1.0f;
    r->row_pitch = (r->width * 4u + D3D12_TEXTURE_DATA_PITCH_ALIGNMENT - 1) /
                   D3D12_TEXTURE_DATA_PITCH_ALIGNMENT * D3D12_TEXTURE_DATA_PITCH_ALIGNMENT;
    if (!create_resource(r, D3D12_HEAP_TYPE_DEFAULT, &color, D3D12_RESOURCE_STATE_RENDER_TARGET,
                         &background, &r->color) ||
        !create_resource(r, D3D12_HEAP_TYPE_DEFAULT, &depth, D3D12_RESOURCE_STATE_DEPTH_WRITE,
                         &farthest, &r->depth) ||
        !create_resource(r, D3D12_HEAP_TYPE_DEFAULT, &resolved, D3D12_RESOURCE_STATE_RESOLVE_DEST,
                         NULL, &r->resolved) ||
        !create_buffer(r, D3D12_HEAP_TYPE_READBACK, (uint64_t)r->row_pitch * r->height,
                       D3D12_RESOURCE_STATE_COPY_DEST, &r->picture) ||
        !create_heap(r, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, false, &r->color_view) ||
        !create_heap(r, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, 1, false, &r->depth_view))
        return false;
    ID3D12Device_CreateRenderTargetView(r->device, r->color, NULL, cpu_start(r->color_view));
    ID3D12Device_CreateDepthStencilView(r->device, r->depth, NULL, cpu_start(r->depth_view));
    return true;
}

static UINT tint_step(const renderer12 *r)
{
    return ID3D12Device_GetDescriptorHandleIncrementSize(r->device,
                                                         D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
}

static bool create_tints(renderer12 *r)
{
    const uint32_t count = r->setup->exchange->num_buffers;
    if (!create_heap(r, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, count, true, &r->tints))
        return false;
    for (uint32_t slot = 0; slot < count; slot++) {
        D3D12_CPU_DESCRIPTOR_HANDLE at = cpu_start(r->tints);
        at.ptr += (SIZE_T)slot * tint_step(r);
        ID3D12Device_CreateShaderResourceView(r->device, tint_of(r, slot), NULL, at);
    }
    return true;
}

/* As the shaders name things (shaders/ripple/scene.glsl): b0 the view, t0 the cells, t1 and s1 the
 * tint. */
static bool create_root(renderer12 *r)
{
    const D3D12_DESCRIPTOR_RANGE tint = {
        .RangeType = D3D12_DESCRIPTOR_RANGE_TYPE_SRV, .NumDescriptors = 1, .BaseShaderRegister = 1};
    const D3D12_ROOT_PARAMETER parameters[NUM_PARAMETERS] = {
        [PARAMETER_VIEW] = {.ParameterType = D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS,
                            .Constants = {.Num32BitValues = sizeof(view_constants) / 4}},
        [PARAMETER_CELLS] = {.ParameterType = D3D12_ROOT_PARAMETER_TYPE_SRV},
        [PARAMETER_TINT] = {.ParameterType = D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE,
                            .DescriptorTable = {1, &tint},
                            .ShaderVisibility = D3D12_SHADER_VISIBILITY_PIXEL}};
    const D3D12_STATIC_SAMPLER_DESC sampler = {.Filter = D3D12_FILTER_MIN_MAG_MIP_LINEAR,
                                               .AddressU = D3D12_TEXTURE_ADDRESS_MODE_CLAMP,
                                               .AddressV = D3D12_TEXTURE_ADDRESS_MODE_CLAMP,
                                               .AddressW = D3D12_TEXTURE_ADDRESS_MODE_CLAMP,
                                               .ComparisonFunc = D3D12_COMPARISON_FUNC_NEVER,
                                               .MaxLOD = D3D12_FLOAT32_MAX,
                                               .ShaderRegister = 1,
                                               .ShaderVisibility = D3D12_SHADER_VISIBILITY_PIXEL};
    const D3D12_ROOT_SIGNATURE_DESC desc = {.NumParameters = NUM_PARAMETERS,
                                            .pParameters = parameters,
                                            .NumStaticSamplers = 1,
                                            .pStaticSamplers = &sampler};
    ID3DBlob *code = NULL;
    if (!d3d_ok(D3D12SerializeRootSignature(&desc, D3D_ROOT_SIGNATURE_VERSION_1, &code, NULL),
                "D3D12SerializeRootSignature"))
        return false;
    const bool made =
        d3d_ok(ID3D12Device_CreateRootSignature(r->device, 0, ID3D10Blob_GetBufferPointer(code),
                                                ID3D10Blob_GetBufferSize(code),
                                                &IID_ID3D12RootSignature, (void **)&r->root),
               "CreateRootSignature");
    ID3D10Blob_Release(code);
    return made;
}

static bool create_pipeline(renderer12 *r, const char *vertex, const char *fragment,
                            ID3D12PipelineState **out)
{
    void *vertex_code = NULL, *fragment_code = NULL;
    size_t vertex_size = 0, fragment_size = 0;
    bool made = d3d_shader(vertex, &vertex_code, &vertex_size) &&
                d3d_shader(fragment, &fragment_code, &fragment_size);
    if (made) {
        const D3D12_GRAPHICS_PIPELINE_STATE_DESC desc = {
            .pRootSignature = r->root,
            .VS = {vertex_code, vertex_size},
            .PS = {fragment_code, fragment_size},
            .BlendState = {.RenderTarget = {{.RenderTargetWriteMask =
                                                 D3D12_COLOR_WRITE_ENABLE_ALL}}},
            .SampleMask = UINT_MAX,
            .RasterizerState = {.FillMode = D3D12_FILL_MODE_SOLID,
                                .CullMode = D3D12_CULL_MODE_NONE,
                                .DepthClipEnable = TRUE,
                                .MultisampleEnable = TRUE},
            .DepthStencilState = {.DepthEnable = TRUE,
                                  .DepthWriteMask = D3D12_DEPTH_WRITE_MASK_ALL,
                                  .DepthFunc = D3D12_COMPARISON_FUNC_LESS},
            .PrimitiveTopologyType = D3D12_PRIMITIVE_TOPOLOGY_TYPE_TRIANGLE,
            .NumRenderTargets = 1,
            .RTVFormats = {D3D_COLOR},
            .DSVFormat = D3D_DEPTH,
            .SampleDesc = {D3D_SAMPLES, 0}};
        made = d3d_ok(ID3D12Device_CreateGraphicsPipelineState(
                          r->device, &desc, &IID_ID3D12PipelineState, (void **)out),
                      "CreateGraphicsPipelineState");
    }
    free(fragment_code);
    free(vertex_code);
    return made;
}

static bool create_all(renderer12 *r)
{
    if (!create_device(r)) return false;
    const bool ring = r->setup->options->path == OPTIONS_RING;
    return (ring ? create_ring(r) : create_shared(r)) && create_tints(r) && create_indices(r) &&
           create_targets(r) && create_root(r) &&
           create_pipeline(r, "ripple_rim.vert.dxbc", "ripple_rim.frag.dxbc", &r->pipelines[RIM]) &&
           create_pipeline(r, "ripple_stone.vert.dxbc", "ripple_stone.frag.dxbc",
                           &r->pipelines[STONE]) &&
           create_pipeline(r, "ripple_water.vert.dxbc", "ripple_water.frag.dxbc",
                           &r->pipelines[WATER]);
}

static void release(void *object)
{
    if (object) IUnknown_Release((IUnknown *)object);
}

/* Until the queue has done what it was given. */
static bool wait_for_queue(renderer12 *r)
{
    return d3d_ok(ID3D12CommandQueue_Signal(r->queue, r->done, ++r->submitted), "Signal") &&
           d3d_ok(ID3D12Fence_SetEventOnCompletion(r->done, r->submitted, r->event),
                  "SetEventOnCompletion") &&
           WaitForSingleObject(r->event, INFINITE) == WAIT_OBJECT_0;
}

static void destroy(void *renderer)
{
    renderer12 *r = renderer;
    void *const objects[] = {r->picture,
                             r->resolved,
                             r->depth,
                             r->color,
                             r->indices,
                             r->tints,
                             r->depth_view,
                             r->color_view,
                             r->pipelines[WATER],
                             r->pipelines[STONE],
                             r->pipelines[RIM],
                             r->root};
    if (r->ring) (void)culv_ring_drain(culv_d3d12_ring_core(r->ring), LIMIT_NS, 0);
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        release(objects[i]);
    culv_d3d12_ring_destroy(&r->ring);
    culv_shared_semaphore_destroy(&r->drawn);
    culv_shared_semaphore_destroy(&r->ready);
    culv_shared_image_destroy(&r->tint);
    culv_shared_buffer_destroy(&r->cells);
    culv_d3d12_detach(&r->attached);
    if (r->event) CloseHandle(r->event);
    release(r->done);
    release(r->list);
    release(r->allocator);
    release(r->queue);
    release(r->device);
    free(r);
}

static void *create(const d3d_setup *setup)
{
    renderer12 *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->setup = setup;
    r->width = setup->options->picture_width;
    r->height = setup->options->picture_height;
    if (create_all(r)) return r;
    destroy(r);
    return NULL;
}

/* A frame -------------------------------------------------------------------------------------- */

static void barrier(renderer12 *r, ID3D12Resource *resource, D3D12_RESOURCE_STATES before,
                    D3D12_RESOURCE_STATES after)
{
    D3D12_RESOURCE_BARRIER b = {.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION};
    b.Transition.pResource = resource;
    b.Transition.StateBefore = before;
    b.Transition.StateAfter = after;
    ID3D12GraphicsCommandList_ResourceBarrier(r->list, 1, &b);
}

static void set_view(renderer12 *r, const view_constants *constants)
{
    ID3D12GraphicsCommandList_SetGraphicsRoot32BitConstants(r->list, PARAMETER_VIEW,
                                                            sizeof *constants / 4, constants, 0);
}

static void draw_mesh(renderer12 *r, int pipeline, const mesh *m, const view_constants *frame)
{
    const view_constants constants = d3d_constants(frame, m);
    ID3D12GraphicsCommandList_SetPipelineState(r->list, r->pipelines[pipeline]);
    set_view(r, &constants);
    ID3D12GraphicsCommandList_DrawIndexedInstanced(r->list, m->num_indices, 1, m->first_index, 0,
                                                   0);
}

static void record_drawing(renderer12 *r, uint32_t slot, const view_constants *constants)
{
    const meshes *m = r->setup->meshes;
    ID3D12GraphicsCommandList *list = r->list;
    const D3D12_CPU_DESCRIPTOR_HANDLE color = cpu_start(r->color_view),
                                      depth = cpu_start(r->depth_view);
    const D3D12_VIEWPORT viewport = {0.0f, 0.0f, (FLOAT)r->width, (FLOAT)r->height, 0.0f, 1.0f};
    const D3D12_RECT all = {0, 0, (LONG)r->width, (LONG)r->height};
    const D3D12_INDEX_BUFFER_VIEW indices = {ID3D12Resource_GetGPUVirtualAddress(r->indices),
                                             (UINT)m->size, DXGI_FORMAT_R32_UINT};
    D3D12_GPU_DESCRIPTOR_HANDLE tint = gpu_start(r->tints);
    tint.ptr += (UINT64)slot * tint_step(r);
    ID3D12GraphicsCommandList_SetGraphicsRootSignature(list, r->root);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(list, 1, &r->tints);
    ID3D12GraphicsCommandList_SetGraphicsRootShaderResourceView(
        list, PARAMETER_CELLS, ID3D12Resource_GetGPUVirtualAddress(cells_of(r, slot)));
    ID3D12GraphicsCommandList_SetGraphicsRootDescriptorTable(list, PARAMETER_TINT, tint);
    ID3D12GraphicsCommandList_RSSetViewports(list, 1, &viewport);
    ID3D12GraphicsCommandList_RSSetScissorRects(list, 1, &all);
    ID3D12GraphicsCommandList_OMSetRenderTargets(list, 1, &color, FALSE, &depth);
    ID3D12GraphicsCommandList_ClearRenderTargetView(list, color, d3d_background, 0, NULL);
    ID3D12GraphicsCommandList_ClearDepthStencilView(list, depth, D3D12_CLEAR_FLAG_DEPTH, 1.0f, 0, 0,
                                                    NULL);
    ID3D12GraphicsCommandList_IASetPrimitiveTopology(list, D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
    ID3D12GraphicsCommandList_IASetIndexBuffer(list, &indices);
    ID3D12GraphicsCommandList_SetPipelineState(list, r->pipelines[RIM]);
    set_view(r, constants);
    ID3D12GraphicsCommandList_DrawInstanced(list, PIPELINES_RIM_VERTICES, 1, 0, 0);
    draw_mesh(r, STONE, &m->stones, constants);
    draw_mesh(r, WATER, &m->water, constants);
}

/* To rows that the host reads. */
static void record_picture(renderer12 *r)
{
    D3D12_TEXTURE_COPY_LOCATION from = {.pResource = r->resolved,
                                        .Type = D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX},
                                to = {.pResource = r->picture,
                                      .Type = D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT};
    to.PlacedFootprint.Footprint =
        (D3D12_SUBRESOURCE_FOOTPRINT){D3D_COLOR, r->width, r->height, 1, r->row_pitch};
    barrier(r, r->color, D3D12_RESOURCE_STATE_RENDER_TARGET, D3D12_RESOURCE_STATE_RESOLVE_SOURCE);
    ID3D12GraphicsCommandList_ResolveSubresource(r->list, r->resolved, 0, r->color, 0, D3D_COLOR);
    barrier(r, r->color, D3D12_RESOURCE_STATE_RESOLVE_SOURCE, D3D12_RESOURCE_STATE_RENDER_TARGET);
    barrier(r, r->resolved, D3D12_RESOURCE_STATE_RESOLVE_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE);
    ID3D12GraphicsCommandList_CopyTextureRegion(r->list, &to, 0, 0, 0, &from, NULL);
    barrier(r, r->resolved, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_RESOLVE_DEST);
}

static bool record(renderer12 *r, uint32_t slot, const view_constants *constants)
{
    if (!d3d_ok(ID3D12CommandAllocator_Reset(r->allocator), "Reset") ||
        !d3d_ok(ID3D12GraphicsCommandList_Reset(r->list, r->allocator, NULL), "Reset"))
        return false;
    /* CUDA has it in COMMON. A buffer goes where it is used by itself. */
    barrier(r, tint_of(r, slot), D3D12_RESOURCE_STATE_COMMON,
            D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE);
    record_drawing(r, slot, constants);
    barrier(r, tint_of(r, slot), D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE,
            D3D12_RESOURCE_STATE_COMMON);
    record_picture(r);
    return d3d_ok(ID3D12GraphicsCommandList_Close(r->list), "Close");
}

/* A value of 0 is none. */
static bool submit(renderer12 *r, ID3D12Fence *ready, uint64_t wait, ID3D12Fence *drawn,
                   uint64_t signal)
{
    ID3D12CommandList *lists[] = {(ID3D12CommandList *)r->list};
    if (wait && !d3d_ok(ID3D12CommandQueue_Wait(r->queue, ready, wait), "Wait")) return false;
    ID3D12CommandQueue_ExecuteCommandLists(r->queue, 1, lists);
    return !signal || d3d_ok(ID3D12CommandQueue_Signal(r->queue, drawn, signal), "Signal");
}

/* The ring's frames are submitted one by one, since each one's picture may be asked for. */
static bool draw_from_ring(renderer12 *r, const view_constants *constants)
{
    culv_ring_frame *frame = &r->drawing;
    return culv_ok(culv_d3d12_ring_acquire(r->ring, LIMIT_NS, frame), "culv_d3d12_ring_acquire") &&
           record(r, frame->slot, constants) &&
           culv_ok(culv_d3d12_ring_release(r->ring, frame), "culv_d3d12_ring_release") &&
           submit(r, culv_d3d12_ring_fence(r->ring, CULV_RING_PRODUCER), frame->wait_value,
                  culv_d3d12_ring_fence(r->ring, CULV_RING_CONSUMER), frame->signal_value);
}

static bool draw(void *renderer, uint64_t frame, const view_constants *constants)
{
    renderer12 *r = renderer;
    if (r->ring) return draw_from_ring(r, constants) && wait_for_queue(r);
    return record(r, 0, constants) &&
           submit(r, culv_d3d12_semaphore_fence(r->ready), frame + 1,
                  culv_d3d12_semaphore_fence(r->drawn), frame + 1) &&
           wait_for_queue(r);
}

static bool read_picture(void *renderer, uint8_t *pixels)
{
    renderer12 *r = renderer;
    const D3D12_RANGE none = {0, 0};
    uint8_t *mapped = NULL;
    if (!d3d_ok(ID3D12Resource_Map(r->picture, 0, NULL, (void **)&mapped), "Map")) return false;
    for (uint32_t y = 0; y < r->height; y++)
        memcpy(pixels + (size_t)y * r->width * 4, mapped + (size_t)y * r->row_pitch,
               (size_t)r->width * 4);
    ID3D12Resource_Unmap(r->picture, 0, &none);
    return true;
}

const d3d_api d3d_api_12 = {create, destroy, draw, read_picture};
