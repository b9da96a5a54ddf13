/* SPDX-License-Identifier: MIT */
/* The stage of the OpenGL suites. */
#include "gl_stage.h"

bool gl_stage_across;

culv_gl_desc gl_stage_desc(uint32_t fallback)
{
    culv_gl_desc d = culv_gl_desc_init();
    d.get_proc_address = lying_gl_get_proc;
    d.fallback = fallback;
    d.allow_other_gpu = gl_stage_across;
    return d;
}

void gl_stage_open_context(gl_stage *s)
{
    memset(s, 0, sizeof *s);
    if (gl_stage_across) raw_cuda_two_devices();
    s->cu = lib_driver();
    if (gl_stage_across && s->cu->device_count < 2) SKIP("one CUDA device only");
    raw_gl_open(&s->gl, s->cu->software, 0, RAW_GL_CORE);
    s->before = lying_gl_count();
}

void gl_stage_open(gl_stage *s, uint32_t fallback)
{
    gl_stage_open_context(s);
    culv_gl_desc d = gl_stage_desc(fallback);
    culv_device_desc device = culv_device_desc_init();
    device.driver = s->cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    if (lying_gl.uuid_xor || lying_gl.no_uuid || gl_stage_across)
        LIB_OK(culv_device_open_by_ordinal(gl_stage_across, &device, &s->device));
    else
        LIB_OK(culv_device_open_for_gl(&d, &device, &s->device));
    LIB_OK(culv_gl_attach(s->device, &d, &s->attachment));
    REQUIRE(culv_gl_is_current(s->attachment));
    s->context = culv_device_context(s->device);
    CU_OK_IN(s, s->cu->StreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
}

void gl_stage_finish(const gl_stage *s)
{
    CU_OK_IN(s, s->cu->StreamSynchronize(s->stream));
}

void gl_stage_close(gl_stage *s)
{
    culv_device_counts c = culv_device_counts_init();
    gl_stage_finish(s);
    CU_OK_IN(s, s->cu->StreamDestroy(s->stream));
    for (unsigned i = 0; i < TEST_FAR_MS && culv_device_collect(s->device) > 0; i++)
        lib_sleep_ms(1);
    culv_gl_detach(&s->attachment);
    LIB_OK(culv_device_get_counts(s->device, &c));
    REQUIRE_EQ(c.memories + c.mappings + c.buffers + c.images + c.created + c.semaphores +
                   c.attached_devices + c.allocations + c.deferred,
               0);
    culv_device_close(&s->device);
    gl_stage_close_context(s);
}

void gl_stage_close_context(gl_stage *s)
{
    lying_gl_counts now = lying_gl_count();
    REQUIRE_EQ(now.buffers, s->before.buffers);
    REQUIRE_EQ(now.textures, s->before.textures);
    REQUIRE_EQ(now.memories, s->before.memories);
    REQUIRE_EQ(now.semaphores, s->before.semaphores);
    raw_gl_close(&s->gl);
    lying_gl = (lying_gl_lies){.uuid_xor = false};
}

void gl_stage_upload(const gl_stage *s, CUdeviceptr to, const void *from, size_t size)
{
    CU_OK_IN(s, raw_cuda_upload(s->cu, to, from, size));
}

void gl_stage_download(const gl_stage *s, void *to, CUdeviceptr from, size_t size)
{
    CU_OK_IN(s, s->cu->MemcpyDtoH(to, from, size));
}
