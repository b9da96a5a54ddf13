/* SPDX-License-Identifier: MIT */
/* The sweep's stage: a device in both APIs, a semaphore each way, kernels, memory for texels and
 * values. */
#include "sweep.h"

static void open_world(lib_world *w)
{
    CUuuid uuid;
    memset(w, 0, sizeof *w);
    w->cu = lib_driver();
    CUresult r = w->cu->DeviceGetUuid(&uuid, 0);
    REQUIRE_EQ(r, CUDA_SUCCESS);
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = w->cu->software,
                                          .with_formats = true});
    lib_open_culvert(w);
}

void sweep_open(sweep *s)
{
    memset(s, 0, sizeof *s);
    open_world(&s->w);
    const raw_cuda *cu = s->w.cu;
    raw_vk *vk = &s->w.vk;
    CUcontext before = lib_enter(&s->w);
    s->surfaces = raw_cuda_load(cu, "formats_surface");
    s->textures = raw_cuda_load(cu, "formats_texture");
    s->store = raw_cuda_function(cu, s->surfaces, "sweep_store");
    s->load = raw_cuda_function(cu, s->surfaces, "sweep_load");
    s->sample = raw_cuda_function(cu, s->textures, "sweep_sample");
    CU_OK(cu->MemAlloc(&s->device, (size_t)SWEEP_TEXELS * 16));
    lib_leave(&s->w, before);
    s->stream = lib_stream(&s->w);
    lib_turns_open(&s->w, &s->turns);
    raw_vk_buffer_create(vk, SWEEP_BYTES, RAW_VK_HOST, &s->written);
    raw_vk_buffer_create(vk, SWEEP_BYTES, RAW_VK_HOST, &s->read);
    raw_vk_buffer_create(vk, (VkDeviceSize)SWEEP_TEXELS * 16, RAW_VK_HOST, &s->fetched);
    s->expected = malloc((size_t)SWEEP_TEXELS * 16);
    s->found = malloc((size_t)SWEEP_TEXELS * 16);
    REQUIRE(s->expected != NULL && s->found != NULL);
    sweep_open_fetch(s);
    sweep_report_machine(s);
}

void sweep_close(sweep *s)
{
    const raw_cuda *cu = s->w.cu;
    raw_vk *vk = &s->w.vk;
    lib_finish(&s->w, s->stream);
    raw_vk_idle(vk);
    sweep_close_fetch(s);
    free(s->expected);
    free(s->found);
    raw_vk_buffer_destroy(vk, &s->written);
    raw_vk_buffer_destroy(vk, &s->read);
    raw_vk_buffer_destroy(vk, &s->fetched);
    lib_turns_close(&s->w, &s->turns);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->MemFree(s->device));
    CU_OK(cu->ModuleUnload(s->surfaces));
    CU_OK(cu->ModuleUnload(s->textures));
    lib_leave(&s->w, before);
    lib_stream_destroy(&s->w, s->stream);
    lib_close_culvert(&s->w);
    raw_vk_close(vk);
    raw_cuda_require_empty(cu);
}

void sweep_cuda_end(sweep *s)
{
    lib_turns_cuda_end(&s->turns, s->stream);
    lib_finish(&s->w, s->stream);
}
