/* SPDX-License-Identifier: MIT */
/* culv_cig: a context whose work runs within a graphics API's queue. cuda.h says how one is made
 * (cuCtxCreate, cigParams) and little of what it lacks: that was not measured. */
#include "cig.h"

struct culv_cig {
    culv_device *device;
    CUcontext context;
    void (*end)(void *user);
    void *user;
    culv_addon_object *object;
};

static culv_result make(culv_device *device, const culvi_cig_source *source, const char *label,
                        CUcontext *out)
{
    CUctxCigParam param = {.sharedDataType = source->type, .sharedData = source->data};
    CUctxCreateParams params = {.cigParams = &param};
    const culv_device_caps caps = culvi_x_caps(device);
    CUcontext popped = NULL;
    int supported = 0;
    CULVI_X_TRY(CULV_CUDA_CHECK(device, cuCtxCreate));
    CUresult r = CULV_CUDA(device)->cuDeviceGetAttribute(&supported, source->attribute,
                                                         (CUdevice)caps.ordinal);
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_VALUE)
        return culvi_x_result(device, label, r, "cuDeviceGetAttribute", CULV_REASON_DRIVER_REFUSED,
                              "the driver could not be asked whether '%s' has CIG contexts",
                              caps.name);
    CULVI_X_UNSUPPORTED_IF(
        r != CUDA_SUCCESS || !supported, device, label, CULV_REASON_CIG,
        "'%s' has no CUDA in graphics for this API (CUdevice_attribute %d is 0); use the primary context",
        caps.name, (int)source->attribute);
    r = CULV_CUDA(device)->cuCtxCreate(out, &params, 0, (CUdevice)caps.ordinal);
    CULVI_X_TRY(culvi_x_result(device, label, r, "cuCtxCreate", CULV_REASON_CIG,
                               "no CIG context could be made"));
    (void)CULV_CUDA(device)->cuCtxPopCurrent(&popped); /* it was made current */
    return CULV_OK;
}

culv_result culvi_cig_create(culv_device *device, const culvi_cig_source *source, const char *label,
                             culv_cig **out)
{
    culv_cig *cig = culvi_x_alloc(sizeof *cig);
    if (cig == NULL) {
        if (source->end != NULL) source->end(source->user);
        return culvi_x_fail_host_memory(device, label);
    }
    *cig = (culv_cig){.device = device, .end = source->end, .user = source->user};
    culv_result result = make(device, source, label, &cig->context);
    if (result == CULV_OK)
        result = CULVI_X_OBJECT(device, &cig->object, .kind = "CIG context", .label = label);
    CULVI_X_TRY_OR(result, culv_cig_destroy(&cig));
    *out = cig;
    return CULV_OK;
}

culv_result culv_d3d12_cig_create(culv_device *device, struct ID3D12CommandQueue *queue,
                                  const char *label, culv_cig **out)
{
    CULVI_X_REQUIRE_WITH2(device, device, queue, out);
    const culvi_cig_source source = {.attribute = CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED,
                                     .type = CIG_DATA_TYPE_D3D12_COMMAND_QUEUE,
                                     .data = queue};
    return culvi_cig_create(device, &source, label, out);
}

CUcontext culv_cig_context(const culv_cig *cig)
{
    return cig != NULL ? cig->context : NULL;
}

void culv_cig_destroy(culv_cig **cig)
{
    culv_cig *mine = culvi_x_take(cig);
    if (mine == NULL) return;
    if (mine->context != NULL)
        CULVI_X_RELEASE(CULV_CUDA(mine->device)->cuCtxDestroy(mine->context));
    if (mine->end != NULL) mine->end(mine->user);
    culv_addon_object_destroy(&mine->object, NULL);
    culvi_x_free(mine);
}
