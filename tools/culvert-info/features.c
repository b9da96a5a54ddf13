/* SPDX-License-Identifier: MIT */
/* culvert-info: the handle types and features, each with its reason for a no. A yes is what the
 * drivers answered, on every side that has a say. */
#include "info.h"

#include <cuda.h>
#include <string.h>

typedef CUresult(CUDAAPI *attribute_fn)(int *, CUdevice_attribute, CUdevice);

/* `needs` follows "the driver answers no": only what NVIDIA documents as the condition. */
#define CUDA_ROWS(X)                                                                               \
    X(timeline_semaphores, "imports timeline semaphores", TIMELINE_SEMAPHORE_INTEROP_SUPPORTED,    \
      "")                                                                                          \
    X(vmm, "virtual memory management (cuMemMap)", VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "")        \
    X(vmm_posix_fd, "  exported as POSIX fds", HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "")    \
    X(vmm_win32, "  exported as NT handles", HANDLE_TYPE_WIN32_HANDLE_SUPPORTED,                   \
      "they exist on Windows only")                                                                \
    X(vmm_fabric, "  exported as fabric handles", HANDLE_TYPE_FABRIC_SUPPORTED, "")                \
    X(dma_buf_export, "CUDA memory as dma-buf", DMA_BUF_SUPPORTED,                                 \
      "it takes NVIDIA's open kernel modules and Linux 5.12")                                      \
    X(gpudirect_rdma, "GPUDirect RDMA", GPU_DIRECT_RDMA_SUPPORTED,                                 \
      "data-center and professional GPUs have it")                                                 \
    X(sparse_arrays, "sparse arrays", SPARSE_CUDA_ARRAY_SUPPORTED, "")                             \
    X(deferred_mapping_arrays, "deferred mapping arrays", DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,   \
      "")                                                                                          \
    X(pageable_memory_access, "kernels read pageable host memory", PAGEABLE_MEMORY_ACCESS,         \
      "it takes HMM (open kernel modules, Linux 6.1.24) or ATS")                                   \
    X(multicast, "multicast objects", MULTICAST_SUPPORTED, "it takes several GPUs on NVSwitch")    \
    X(integrated, "its memory is the host's", INTEGRATED, "buffers in host memory cross the bus")  \
    X(host_register_supported, "takes the host's pages", HOST_REGISTER_SUPPORTED, "")              \
    X(can_use_host_pointer_for_registered_mem, "  by the CPU's address",                           \
      CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, "")                                                 \
    X(pageable_memory_access_uses_host_page_tables, "  unpinned, by the CPU's page tables",        \
      PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, "it takes ATS, as on Grace")

static const struct {
    const char *key;
    const char *label;
    const char *attribute;
    CUdevice_attribute id;
    const char *needs;
    size_t field; /* Culvert's own answer */
} cuda_rows[] = {
#define ROW(key, label, attribute, needs)                                                          \
    {#key,                                                                                         \
     label,                                                                                        \
     "CU_DEVICE_ATTRIBUTE_" #attribute,                                                            \
     CU_DEVICE_ATTRIBUTE_##attribute,                                                              \
     needs,                                                                                        \
     offsetof(culv_device_caps, key)},
    CUDA_ROWS(ROW)
#undef ROW
};
_Static_assert(sizeof cuda_rows / sizeof cuda_rows[0] == NUM_CUDA_FEATURES, "one row a feature");

static void explain_attribute(struct feature *f, const char *needs, bool software, bool answered,
                              CUresult result)
{
    if (!answered)
        text_set(f->why, sizeof f->why,
                 "the driver does not know the question (CUresult %d); a newer one may",
                 (int)result);
    else if (software)
        text_set(f->why, sizeof f->why, "the software twin does not have it");
    else
        text_set(f->why, sizeof f->why, "the driver answers no%s%s", needs[0] != '\0' ? "; " : "",
                 needs);
}

void features_of_cuda(const struct system_info *system, const culv_device *device,
                      struct cuda_device *out)
{
    attribute_fn get = NULL;
    void (*proc)(void) = culv_device_cuda_proc(device, "cuDeviceGetAttribute", 2000);
    memcpy(&get, &proc, sizeof get);
    for (size_t i = 0; i < NUM_CUDA_FEATURES; i++) {
        struct feature *f = &out->features[i];
        f->key = cuda_rows[i].key;
        f->label = cuda_rows[i].label;
        f->attribute = cuda_rows[i].attribute;
        if (device == NULL) {
            text_set(f->why, sizeof f->why, "the device could not be opened");
            continue;
        }
        uint32_t has = 0;
        memcpy(&has, (const char *)&out->caps + cuda_rows[i].field, sizeof has);
        f->answer = has ? ANSWER_YES : ANSWER_NO;
        /* Culvert tells yes or no; the attribute tells a driver's no from a driver that is too old
         * to know. */
        CUresult result =
            get != NULL ? get(&f->value, cuda_rows[i].id, out->caps.ordinal) : CUDA_ERROR_NOT_FOUND;
        if (!has && strcmp(f->key, "vmm_win32") == 0)
            text_set(f->why, sizeof f->why, "they exist on Windows only");
        else if (!has)
            explain_attribute(f, cuda_rows[i].needs, out->caps.is_software, result == CUDA_SUCCESS,
                              result);
        if (has && strcmp(f->key, "vmm_fabric") == 0 && system->imex[0] != '\0') {
            f->answer = ANSWER_NO;
            text_set(f->why, sizeof f->why, "the GPU has them, but %s", system->imex);
        }
    }
}

static void set(struct feature *f, const char *key, const char *label)
{
    f->key = key;
    f->label = label;
    f->answer = ANSWER_NO;
}

/* Why CUDA's side cannot take anything from this device; "" when it can. */
static const char *cuda_side(const struct report *report, const struct graphics_device *d)
{
    if (d->cuda < 0) return "no CUDA device is this Vulkan device";
    return report->cuda[d->cuda].opened ? "" : "its CUDA device could not be opened";
}

/* Vulkan's half first, as a device without a CUDA match has that half, too. */
static void decide(struct feature *f, const char *vulkan_lacks, const char *cuda_lacks)
{
    const char *why = vulkan_lacks[0] != '\0' ? vulkan_lacks : cuda_lacks;
    f->answer = why[0] != '\0' ? ANSWER_NO : ANSWER_YES;
    text_set(f->why, sizeof f->why, "%s", why);
}

static bool takes(uint32_t handle_types, culv_handle_type type)
{
    return (handle_types & (1u << type)) != 0;
}

void features_shared(const struct report *report, struct graphics_device *d)
{
    const culv_vk_candidate *c = &d->match;
    const culv_device_caps none = culv_device_caps_init();
    const culv_device_caps *caps = d->cuda >= 0 ? &report->cuda[d->cuda].caps : &none;
    const char *cuda = cuda_side(report, d);
    struct feature *f = d->features;

    set(f, "buffer_opaque_fd", "buffer memory as opaque fd");
    decide(f,
           !c->has_external_memory ? "the Vulkan driver does not offer VK_KHR_external_memory_fd"
           : !c->buffer_opaque_fd_export ? "the Vulkan driver does not export such buffers"
                                         : "",
           cuda[0] != '\0'                                            ? cuda
           : !takes(caps->memory_handle_types, CULV_HANDLE_OPAQUE_FD) ? "CUDA does not import them"
                                                                      : "");
    if (f->answer == ANSWER_YES && c->buffer_opaque_fd_dedicated_only)
        text_set(f->why, sizeof f->why, "dedicated allocations only");

    set(++f, "timeline_opaque_fd", "timeline semaphore as opaque fd");
    const char *no_semaphore_fd =
        report->vulkan.soft_layer || c->type != VK_PHYSICAL_DEVICE_TYPE_CPU
            ? "the Vulkan driver does not offer VK_KHR_external_semaphore_fd"
            : "the Vulkan driver does not offer VK_KHR_external_semaphore_fd (the twin's layer adds it)";
    decide(f,
           !c->has_timeline_semaphore      ? "the Vulkan driver does not offer timeline semaphores"
           : !c->has_external_semaphore    ? no_semaphore_fd
           : !c->timeline_opaque_fd_export ? "the Vulkan driver does not export them"
                                           : "",
           cuda[0] != '\0' ? cuda
           : !takes(caps->semaphore_handle_types, CULV_HANDLE_OPAQUE_FD)
               ? "CUDA does not import them"
               : "");

    set(++f, "binary_opaque_fd", "binary semaphore as opaque fd");
    decide(f,
           !c->has_external_semaphore    ? no_semaphore_fd
           : !c->binary_opaque_fd_export ? "the Vulkan driver does not export them; use timelines"
                                         : "",
           cuda[0] != '\0' ? cuda
           : !takes(caps->semaphore_handle_types, CULV_HANDLE_OPAQUE_FD)
               ? "CUDA does not import them"
               : "");

    set(++f, "buffer_dma_buf", "buffer memory as dma-buf");
    decide(f, !c->buffer_dma_buf_export ? "the Vulkan driver does not export buffers that way" : "",
           cuda[0] != '\0' ? cuda
           : !takes(caps->memory_handle_types, CULV_HANDLE_DMA_BUF_FD)
               ? "Vulkan exports it; "
                 "CUDA takes dma-bufs on Tegra from Thor on, and tells at the import alone"
               : "");

    set(++f, "buffer_host_memory", "buffers in host memory, in place");
    decide(f,
           !c->buffer_host_import ? "the Vulkan driver does not offer VK_EXT_external_memory_host"
                                  : "",
           cuda[0] != '\0'                  ? cuda
           : !caps->host_register_supported ? "CUDA does not register host memory"
                                            : "");
    if (f->answer == ANSWER_YES && !caps->integrated)
        text_set(f->why, sizeof f->why, "each access of the GPU crosses the bus");

    set(++f, "win32_handles", "Windows handles (NT, KMT)");
    decide(f, "they exist on Windows only", "");
}

static bool sees_slices(const struct report *report)
{
    for (int i = 0; i < report->num_cuda; i++)
        if (report->cuda[i].caps.mig_slice) return true;
    return false;
}

/* What a reader of the device's own section needs; culv_vk_candidate::reason_text, made for an
 *error
 * message, repeats the names of both sides. */
static void explain_no_partner(const struct report *report, struct graphics_device *d)
{
    const struct cuda_driver *nvidia = &report->drivers[0];
    const struct cuda_driver *twin = &report->drivers[1];
    char *why = d->why;
    size_t size = sizeof d->why;
    if (d->match.type == VK_PHYSICAL_DEVICE_TYPE_CPU && !twin->asked)
        text_set(
            why, size,
            "it draws on the CPU; "
            "its CUDA partner is the software twin, which is not allowed (--soft or CULVERT_SOFT=1 allows it)");
    else if (d->match.type == VK_PHYSICAL_DEVICE_TYPE_CPU && d->match.driver_id != 0 &&
             d->match.driver_id != VK_DRIVER_ID_MESA_LLVMPIPE &&
             d->match.driver_id != VK_DRIVER_ID_GOOGLE_SWIFTSHADER)
        text_set(
            why, size,
            "it draws on the CPU, but the software twin shares with Mesa's lavapipe and SwiftShader alone: select one with VK_DRIVER_FILES");
    else if (d->match.type == VK_PHYSICAL_DEVICE_TYPE_CPU)
        text_set(why, size, "it draws on the CPU, and the software twin does not have it%s%s",
                 twin->why[0] != '\0' ? ": " : "", twin->why);
    else if (d->vendor_id != PCI_VENDOR_NVIDIA)
        text_set(why, size, "it is not an NVIDIA GPU, and CUDA reaches no other");
    else if (sees_slices(report))
        text_set(why, size,
                 "it is an NVIDIA GPU, and CUDA sees MIG slices, which have no graphics");
    else if (!nvidia->usable)
        text_set(why, size, "it is an NVIDIA GPU, but no CUDA driver works: %s", nvidia->why);
    else
        text_set(
            why, size,
            "it is an NVIDIA GPU that CUDA does not show: look at CUDA_VISIBLE_DEVICES, at MIG mode, and whether a container has the compute capability");
}

void reachability(const struct report *report, struct graphics_device *d)
{
    const culv_vk_candidate *c = &d->match;
    const struct feature *buffer = &d->features[0];
    d->reason = c->reason;
    text_set(d->why, sizeof d->why, "%s", c->reason_text);
    if (c->reachable && buffer->answer == ANSWER_YES) {
        d->reachable = true;
    } else if (c->reachable && d->cuda >= 0 && !report->cuda[d->cuda].opened) {
        d->reason = report->cuda[d->cuda].reason;
        text_set(d->why, sizeof d->why, "its CUDA device could not be opened: %s",
                 report->cuda[d->cuda].why);
    } else if (c->reachable) {
        d->reason = CULV_REASON_NOT_EXPORTABLE;
        text_set(d->why, sizeof d->why, "buffers cannot be shared: %s", buffer->why);
    } else if (c->cuda_ordinal < 0 && c->reason != CULV_REASON_VULKAN_VERSION) {
        explain_no_partner(report, d);
    }
}
