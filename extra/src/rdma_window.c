/* SPDX-License-Identifier: MIT */
/* What a GPU has for cards: attributes, flushes, and the window that they reach it through. */
#include "rdma_pointer.h"

culv_result culv_rdma_get_caps(culv_device *device, culv_rdma_caps *out)
{
    enum { SUPPORTED, VMM, DMA_BUF, FLUSH, ORDERING, COUNT };
    static const CUdevice_attribute which[COUNT] = {
        CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS,
        CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING};
    int value[COUNT] = {0};
    CULVI_X_REQUIRE(NULL, device);
    CULVI_X_TRY(culvi_x_out_check(device, __func__, out, "culv_rdma_caps"));
    for (int i = 0; i < COUNT; i++) {
        const CUresult r = CULV_CUDA(device)->cuDeviceGetAttribute(&value[i], which[i],
                                                                   culvi_x_caps(device).ordinal);
        CULVI_X_TRY(culvi_x_result(device, NULL, r, "cuDeviceGetAttribute",
                                   CULV_REASON_DRIVER_REFUSED, "attribute %d could not be read",
                                   (int)which[i]));
    }
    culv_rdma_caps caps = culv_rdma_caps_init();
    caps.supported = value[SUPPORTED] != 0;
    caps.with_vmm = value[VMM] != 0;
    caps.dma_buf = value[DMA_BUF] != 0 && CULV_CUDA(device)->cuMemGetHandleForAddressRange != NULL;
    caps.flush_host = (value[FLUSH] & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0 &&
                      CULV_CUDA(device)->cuFlushGPUDirectRDMAWrites != NULL;
    caps.flush_memops = (value[FLUSH] & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_MEMOPS) != 0;
    caps.ordering = (culv_rdma_ordering)value[ORDERING];
    culvi_x_struct_write(out, &caps, sizeof caps);
    return CULV_OK;
}

culv_result culv_rdma_flush_writes(culv_device *device, culv_rdma_ordering scope)
{
    culv_rdma_caps caps = culv_rdma_caps_init();
    CULVI_X_REQUIRE(NULL, device);
    CULVI_X_REFUSE_IF(
        scope != CULV_RDMA_ORDERING_OWNER && scope != CULV_RDMA_ORDERING_ALL_DEVICES, device, NULL,
        CULV_REASON_VALUE,
        "culv_rdma_flush_writes: scope is %d; it is CULV_RDMA_ORDERING_OWNER or CULV_RDMA_ORDERING_ALL_DEVICES",
        (int)scope);
    CULVI_X_TRY(culv_rdma_get_caps(device, &caps));
    if ((int)caps.ordering >= (int)scope) return CULV_OK;
    CULVI_X_UNSUPPORTED_IF(CULV_CUDA(device)->cuFlushGPUDirectRDMAWrites == NULL, device, NULL,
                           CULV_REASON_DRIVER_TOO_OLD,
                           "the CUDA driver of '%s' lacks cuFlushGPUDirectRDMAWrites (CUDA 11.3)",
                           culvi_x_caps(device).name);
    CULVI_X_UNSUPPORTED_IF(
        !caps.flush_host, device, NULL, CULV_REASON_USAGE,
        "'%s' does not flush the writes of cards (GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)",
        culvi_x_caps(device).name);
    CULVI_X_CU_INSIDE(r, device,
                      CULV_CUDA(device)->cuFlushGPUDirectRDMAWrites(
                          CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                          (CUflushGPUDirectRDMAWritesScope)scope));
    return culvi_x_result(device, NULL, r, "cuFlushGPUDirectRDMAWrites", CULV_REASON_DRIVER_REFUSED,
                          "the writes of cards could not be flushed");
}

culv_result culv_rdma_get_cost(CUdeviceptr pointer, uint64_t size, culv_rdma_cost *out)
{
    CULVI_X_TRY(culvi_x_out_check(NULL, __func__, out, "culv_rdma_cost"));
    CULVI_X_TRY(culvi_rdma_check_arguments(NULL, "culv_rdma_get_cost", pointer, size));
    culv_rdma_cost c = culv_rdma_cost_init();
    c.start = pointer / CULV_RDMA_CHUNK * CULV_RDMA_CHUNK;
    c.chunks = (pointer - c.start + size + CULV_RDMA_CHUNK - 1) / CULV_RDMA_CHUNK;
    c.size = c.chunks * CULV_RDMA_CHUNK;
    culvi_x_struct_write(out, &c, sizeof c);
    return CULV_OK;
}

/* NVML ----------------------------------------------------------------------------------------- */

/* These are as nvml.h has them, which is not needed to build. */
typedef struct nvml_device *nvml_device;
typedef struct nvml_bar1 {
    unsigned long long total, free, used;
} nvml_bar1;

#define INIT     "nvmlInit_v2"
#define SHUTDOWN "nvmlShutdown"
#define DEVICE   "nvmlDeviceGetHandleByPciBusId_v2"
#define BAR1     "nvmlDeviceGetBAR1MemoryInfo"
typedef struct nvml {
    void *module;
    int (*init)(void);
    int (*shutdown)(void);
    int (*device)(const char *bus_id, nvml_device *out);
    int (*bar1)(nvml_device device, nvml_bar1 *out);
    const char *(*text)(int result);
} nvml;

static culv_result open_nvml(culv_device *device, nvml *n)
{
    static const char library[] = "libnvidia-ml.so.1";
    char why[256] = "";
    memset(n, 0, sizeof *n);
    n->module = culvi_x_module_open(library, why, sizeof why);
    CULVI_X_UNSUPPORTED_IF(n->module == NULL, device, NULL, CULV_REASON_LIBRARY,
                           "BAR1 is NVML's to tell, and %s could not be loaded: %s", library, why);
    const char *missing = !culvi_x_module_find(n->module, INIT, &n->init)           ? INIT
                          : !culvi_x_module_find(n->module, SHUTDOWN, &n->shutdown) ? SHUTDOWN
                          : !culvi_x_module_find(n->module, DEVICE, &n->device)     ? DEVICE
                          : !culvi_x_module_find(n->module, BAR1, &n->bar1)         ? BAR1
                                                                                    : NULL;
    (void)culvi_x_module_find(n->module, "nvmlErrorString", &n->text);
    if (missing == NULL) return CULV_OK;
    culvi_x_module_close(n->module);
    return culvi_x_fail(device, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_LIBRARY,
                        "BAR1 is NVML's to tell, and %s lacks %s", library, missing);
}

static culv_result fail(culv_device *device, const nvml *n, const char *call, int code)
{
    enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };
    const bool unknown = code == NOT_SUPPORTED || code == NOT_FOUND || code == DRIVER_NOT_LOADED;
    const char *text = n->text != NULL ? n->text(code) : NULL;
    return culvi_x_fail(device, NULL, unknown ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_DRIVER,
                        unknown ? CULV_REASON_LIBRARY : CULV_REASON_DRIVER_REFUSED,
                        "%s of '%s' (%s) answered %d%s%s", call, culvi_x_caps(device).name,
                        culvi_x_caps(device).pci_bus_id, code, text != NULL ? ", " : "",
                        text != NULL ? text : "");
}

static culv_result ask_nvml(culv_device *device, const nvml *n, nvml_bar1 *out)
{
    nvml_device handle = NULL;
    int r = n->init();
    if (r != 0) return fail(device, n, INIT, r);
    r = n->device(culvi_x_caps(device).pci_bus_id, &handle);
    const char *call = r != 0 ? DEVICE : BAR1;
    if (r == 0) r = n->bar1(handle, out);
    culv_result result = r == 0 ? CULV_OK : fail(device, n, call, r);
    (void)n->shutdown();
    return result;
}

culv_result culv_rdma_get_bar1(culv_device *device, culv_rdma_bar1 *out)
{
    nvml n;
    nvml_bar1 told = {0};
    CULVI_X_REQUIRE(NULL, device);
    CULVI_X_TRY(culvi_x_out_check(device, __func__, out, "culv_rdma_bar1"));
    CULVI_X_TRY(open_nvml(device, &n));
    culv_result result = ask_nvml(device, &n, &told);
    culvi_x_module_close(n.module);
    if (result != CULV_OK) return result;
    culv_rdma_bar1 b = culv_rdma_bar1_init();
    b.total = told.total;
    b.used = told.used;
    b.free = told.free;
    b.usable = b.free > CULV_RDMA_BAR1_RESERVE ? b.free - CULV_RDMA_BAR1_RESERVE : 0;
    culvi_x_struct_write(out, &b, sizeof b);
    return CULV_OK;
}
