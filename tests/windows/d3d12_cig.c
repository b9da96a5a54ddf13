/* SPDX-License-Identifier: MIT */
/* CUDA in graphics beside a queue of Direct3D 12: made, used, refused. */
#include "scene12.h"

#include <culvert/d3d12_cig.h>
#include <culvert/mem_pool.h>
#include <culvert/vector.h>

enum { BYTES = 70001 };
static unsigned char put[BYTES], got[BYTES];

/* Direct3D's buffer, seen from a CIG context. */
D12_CASE(used, .title = "cig")
{
    culv_cig *cig = NULL;
    culv_device *device = NULL;
    culv_d3d_device *d3d12 = NULL;
    culv_shared_buffer *buffer = NULL;
    const ULONG before = scene_references(s->queue);
    OK(culv_d3d12_cig_create(s->d3d12, s->queue, "cig", &cig));
    REQUIRE(scene_references(s->queue) > before); /* the twin's */
    culv_device_desc desc = culv_device_desc_init();
    culv_device_caps caps = culv_device_caps_init();
    desc.context = culv_cig_context(cig);
    OK(culv_device_open_for_d3d((IUnknown *)s->device, &desc, &device));
    OK(culv_device_get_caps(device, &caps));
    REQUIRE(caps.cig_context && culv_device_context(device) == culv_cig_context(cig));
    culv_d3d_device_desc attach = culv_d3d_device_desc_init();
    attach.device = (IUnknown *)s->device;
    OK(culv_d3d_attach(device, &attach, &d3d12));
    culv_d3d_buffer_create_desc make = culv_d3d_buffer_create_desc_init();
    make.size = BYTES;
    OK(culv_d3d_buffer_create(d3d12, &make, &buffer));
    const CUdeviceptr pointer = culv_shared_buffer_pointer(buffer);
    CUcontext popped = NULL;
    CU_OK(s->cu->cuCtxPushCurrent(culv_cig_context(cig)));
    scene_pattern(put, BYTES, 1);
    CU_OK(s->cu->cuMemcpyHtoDAsync(pointer, put, BYTES, NULL));
    CU_OK(s->cu->cuCtxSynchronize());
    scene_read(s, (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, got, BYTES);
    REQUIRE(memcmp(put, got, BYTES) == 0);
    scene_pattern(put, BYTES, 2);
    scene_write(s, (ID3D12Resource *)culv_d3d_buffer_resource(buffer), 0, put, BYTES);
    CU_OK(s->cu->cuMemcpyDtoHAsync(got, pointer, BYTES, NULL));
    CU_OK(s->cu->cuCtxSynchronize());
    REQUIRE(memcmp(put, got, BYTES) == 0);
    CU_OK(s->cu->cuCtxPopCurrent(&popped));

    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *allocation = NULL;
    culv_vector *vector = NULL;
    culv_mem_pool_desc p = culv_mem_pool_desc_init();
    culv_mem_pool *pool = NULL;
    a.size = 4096;
    REFUSES(culv_vmm_allocation_create(device, &a, &allocation), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_CIG);
    REFUSES(culv_vector_create(device, NULL, &vector), CULV_ERROR_UNSUPPORTED, CULV_REASON_CIG);
    REFUSES(culv_mem_pool_create(device, &p, &pool), CULV_ERROR_UNSUPPORTED, CULV_REASON_CIG);

    culv_shared_buffer_destroy(&buffer, NULL);
    culv_d3d_detach(&d3d12);
    culv_device_close(&device);
    culv_cig_destroy(&cig);
    REQUIRE(cig == NULL && scene_references(s->queue) == before);
}

D12_CASE(refused, .title = "cig_refused")
{
    culv_cig *cig = NULL;
    const ULONG before = scene_references(s->queue);
    REFUSES(culv_d3d12_cig_create(NULL, s->queue, NULL, &cig), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    REFUSES(culv_d3d12_cig_create(s->d3d12, NULL, NULL, &cig), CULV_ERROR_INVALID,
            CULV_REASON_NULL_ARGUMENT);
    for (uint64_t n = 1; n <= 2; n++) {
        soft.fail_at(n, CUDA_ERROR_NOT_SUPPORTED);
        REQUIRE(culv_d3d12_cig_create(s->d3d12, s->queue, NULL, &cig) != CULV_OK && cig == NULL);
        soft.fail_at(0, 0);
        REQUIRE(scene_references(s->queue) == before);
    }
}
