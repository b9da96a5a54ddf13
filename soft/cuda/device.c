/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: initialization, devices and their properties.
 *
 * The devices are lavapipe's and SwiftShader's that Vulkan lists, with their UUIDs.
 * CULVERT_SOFT_DEVICES=N makes it exactly N: the first N, and where there are fewer, copies of the
 * first one with the last byte of the UUID raised by the ordinal. Such a copy is an invented
 * device: no Vulkan device is its twin, and all Vulkan memory is another device's to it. A list
 * (CULVERT_SOFT_DEVICES=1,0) shows these devices in this order, as CUDA_VISIBLE_DEVICES does of
 * GPUs. The posing build (SOFT_POSING) has two invented devices and asks Vulkan nothing. */
#include "array.h"
#include "vmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A PCI address that no machine has, so that it is never taken for a GPU's. */
#define PCI_DOMAIN 0xffff
#define PCI_BUS    0xc0

#ifdef SOFT_POSING
static int find_devices(struct soft_found_device *found)
{
    for (int i = 0; i < 2; i++) {
        snprintf(found[i].name, sizeof(found[i].name), "Culvert posing device %d", i);
        memcpy(found[i].uuid, "culvert\0posing\0", 15);
        found[i].uuid[15] = (uint8_t)(0xa0 + i);
    }
    return 2;
}
#else
#    ifndef _WIN32 /* there it is nvcuda.dll and nothing else, and poses as NVIDIA's driver */
const int culvSoftTwin = 1;
#    endif

static int find_devices(struct soft_found_device *found)
{
    return soft_vulkan_devices(found, SOFT_MAX_DEVICES);
}
#endif

static void add_device(const struct soft_found_device *found, int ordinal, bool invented)
{
    struct soft_device *device = &soft.devices[ordinal];
#ifdef SOFT_POSING
    memcpy(device->name, found->name, sizeof(device->name));
    invented = true;
#else
    snprintf(device->name, sizeof(device->name), "Culvert software twin (%.200s)", found->name);
#endif
    memcpy(device->uuid, found->uuid, sizeof(device->uuid));
    memcpy(device->luid, found->luid, sizeof(device->luid));
    device->has_luid = found->has_luid;
    device->node_mask = found->has_luid ? 1 : 0;
    device->invented = invented;
    device->partner = found->partner;
    soft_context_init(&device->primary, ordinal, true);
}

/* Which devices there are, in their order; returns how many. */
static int choose_devices(const char *text, int count, int order[SOFT_MAX_DEVICES])
{
    const bool list = text != NULL && strchr(text, ',') != NULL;
    int chosen = 0;
    while (list && text != NULL && *text >= '0' && *text <= '9' && chosen < SOFT_MAX_DEVICES) {
        order[chosen++] = atoi(text) % SOFT_MAX_DEVICES;
        text = strchr(text, ',');
        if (text != NULL) text++;
    }
    if (chosen > 0) return chosen;
    if (text != NULL && atoi(text) > 0)
        count = atoi(text) < SOFT_MAX_DEVICES ? atoi(text) : SOFT_MAX_DEVICES;
    for (int i = 0; i < count; i++)
        order[i] = i;
    return count;
}

CUresult CUDAAPI cuInit(unsigned int Flags)
{
    SOFT_BEGIN(SOFT_NEED_NOTHING);
    if (soft_is_child()) return soft_end(CUDA_ERROR_NOT_INITIALIZED);
    if (Flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (soft.initialized) return soft_end(CUDA_SUCCESS);

    struct soft_found_device found[SOFT_MAX_DEVICES] = {0};
    int count = find_devices(found);
    if (count == 0) return soft_end(CUDA_ERROR_NO_DEVICE);
    int order[SOFT_MAX_DEVICES];
    const int wanted = choose_devices(secure_getenv("CULVERT_SOFT_DEVICES"), count, order);
    for (int i = 0; i < wanted; i++) {
        if (order[i] < count) {
            add_device(&found[order[i]], i, false);
            continue;
        }
        struct soft_found_device copy = found[0];
        copy.uuid[15] = (uint8_t)(copy.uuid[15] + order[i]);
        copy.has_luid = false;
        add_device(&copy, i, true);
    }
    soft.device_count = wanted;
    soft.memory_at_start = soft_memory_free();
    soft.initialized = true;
    soft_refuse_children();
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
    SOFT_BEGIN(SOFT_NEED_NOTHING);
    if (driverVersion == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *driverVersion = soft.driver_version;
    return soft_end(CUDA_SUCCESS);
}

bool soft_device_valid(CUdevice device)
{
    return device >= 0 && device < soft.device_count;
}

/* For the queries below: locked on success. */
static CUresult begin_query(const char *call, const void *out, CUdevice dev,
                            const struct soft_device **device)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (out == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    *device = &soft.devices[dev];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (count == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *count = soft.device_count;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    const struct soft_device *found;
    SOFT_TRY(begin_query(__func__, device, ordinal, &found));
    *device = ordinal;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    const struct soft_device *device = NULL;
    SOFT_TRY(begin_query(__func__, name, dev, &device));
    if (len <= 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    snprintf(name, (size_t)len, "%s",
             soft.played_name[0] != '\0' ? soft.played_name : device->name);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    const struct soft_device *device = NULL;
    SOFT_TRY(begin_query(__func__, uuid, dev, &device));
    memcpy(uuid->bytes, device->uuid, sizeof(uuid->bytes));
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    const struct soft_device *device = NULL;
    SOFT_TRY(begin_query(__func__, uuid, dev, &device));
    memcpy(uuid->bytes, device->uuid, sizeof(uuid->bytes));
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
    const struct soft_device *device = NULL;
    SOFT_TRY(begin_query(__func__, luid, dev, &device));
    if (!device->has_luid) return soft_end(CUDA_ERROR_NOT_SUPPORTED); /* as on Linux */
    if (deviceNodeMask == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    memcpy(luid, device->luid, sizeof(device->luid));
    *deviceNodeMask = device->node_mask;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    const struct soft_device *device = NULL;
    SOFT_TRY(begin_query(__func__, bytes, dev, &device));
    *bytes = (size_t)soft_memory_total();
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    const struct soft_device *device = NULL;
    SOFT_TRY(begin_query(__func__, pciBusId, dev, &device));
    if (len <= 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const int needed =
        snprintf(pciBusId, (size_t)len, "%04x:%02x:%02x.0", PCI_DOMAIN, PCI_BUS, (unsigned)dev);
    /* What fits is written all the same (measured). */
    return soft_end(needed < len ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (dev == NULL || pciBusId == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    unsigned domain = 0, bus, slot;
    if (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x", &bus, &slot) != 2) return soft_end(CUDA_ERROR_INVALID_VALUE);
    }
    if (domain != PCI_DOMAIN || bus != PCI_BUS || slot >= (unsigned)soft.device_count)
        return soft_end(CUDA_ERROR_INVALID_DEVICE);
    *dev = (CUdevice)slot;
    return soft_end(CUDA_SUCCESS);
}

/* Attributes that culvSoftPlayAttribute changes. */
static struct {
    int attribute, value;
} played[16];
static unsigned num_played;

void soft_play_attribute(int attribute, int value)
{
    unsigned i = 0;
    if (attribute <= 0) num_played = 0;
    while (i < num_played && played[i].attribute != attribute)
        i++;
    if (attribute <= 0 || i == sizeof(played) / sizeof(played[0])) return;
    played[i].attribute = attribute;
    played[i].value = value;
    if (i == num_played) num_played++;
}

int soft_attribute(int attribute, CUdevice device)
{
    for (unsigned i = 0; i < num_played; i++)
        if (played[i].attribute == attribute) return played[i].value;
    int value = 0; /* whatever is not here, the twin does not have */
#ifdef _WIN32
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED: return 1;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES: return 0;
    default: break;
    }
#else
    if (attribute == CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED) return 1;
#endif
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: value = (int)SOFT_MAX_BLOCK; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: value = (int)SOFT_MAX_BLOCK; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: value = (int)SOFT_MAX_BLOCK; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: value = 0x7fffffff; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: value = (int)SOFT_MAX_SHARED; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        value = (int)SOFT_MAX_SHARED_OPTIN;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: value = 233472; break;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
        value = (int)SOFT_RESERVED_SHARED;
        break;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH: value = 0x7fffffff; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: value = 1000000; break;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: value = (int)SOFT_TEXTURE_ALIGNMENT; break;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: value = (int)SOFT_PITCH_ALIGNMENT; break;
    case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT: value = 512; break;
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH: value = (int)SOFT_MAX_2D; break;
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH: value = (int)SOFT_MAX_3D; break;
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS:
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS:
        value = (int)SOFT_MAX_LAYERS;
        break;
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH: value = (int)SOFT_MAX_LINEAR; break;
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH: value = 0x7fffffff; break;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: value = (int)soft_processors(); break;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: value = PCI_DOMAIN; break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: value = PCI_BUS; break;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: value = device; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: value = (int)SOFT_MAX_BLOCK; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: value = 7; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: value = 5; break;
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_NUMA_ID: value = -1; break;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID: value = 0; break; /* where cuMemCreate takes it */
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED: value = 1; break;
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
        value = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        if (soft_attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, device))
            value |= (int)SOFT_HANDLE_TYPE_FABRIC; /* as an H200 */
        break;
    case SOFT_ATTRIBUTE_HOST_NUMA_VMM:
    case SOFT_ATTRIBUTE_HOST_VMM: value = 1; break;
    default: break;
    }
    return value;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    const struct soft_device *device = NULL;
    SOFT_TRY(begin_query(__func__, pi, dev, &device));
    if ((int)attrib < 1 || attrib >= CU_DEVICE_ATTRIBUTE_MAX)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pi = soft_attribute((int)attrib, dev);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    const struct soft_device *device = NULL;
    SOFT_TRY(begin_query(__func__, major, dev, &device));
    if (minor == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *major = soft_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
    *minor = soft_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
    return soft_end(CUDA_SUCCESS);
}

/* Nobody profiles the twin. */
CUresult CUDAAPI cuProfilerStart(void)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    return result == CUDA_SUCCESS ? soft_end(CUDA_SUCCESS) : result;
}

CUresult CUDAAPI cuProfilerStop(void)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    return result == CUDA_SUCCESS ? soft_end(CUDA_SUCCESS) : result;
}
