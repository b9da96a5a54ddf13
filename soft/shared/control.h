/* SPDX-License-Identifier: MIT */
/* Private controls of the software twin, for tests and for libculvert's culv_soft_enable(). The
 * CUDA half answers these names through cuGetProcAddress and dlsym, the Vulkan layer
 * (culvSoftVk...) through dlsym only. */
#ifndef CULV_SOFT_CONTROL_H_
#define CULV_SOFT_CONTROL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Objects alive in the CUDA half. Zero, all of them, once a program has destroyed what it made. */
typedef struct culv_soft_counts {
    size_t struct_size; /* set by the caller */
    uint64_t contexts;  /* primary contexts retained (references), and created ones */
    uint64_t streams;
    uint64_t events;
    uint64_t device_allocations;
    uint64_t host_allocations;
    uint64_t external_memories;
    uint64_t external_mappings; /* buffers and mipmapped arrays mapped on external memory */
    uint64_t external_semaphores;
    uint64_t modules; /* libraries and linkers too */
    uint64_t fds;     /* file descriptors that the driver holds open */
    uint64_t calls;   /* driver calls so far, failed ones included; not an object */
    /* Those made as such; the levels of mipmapped arrays are not counted */
    uint64_t arrays;
    uint64_t mipmapped_arrays; /* created or mapped */
    uint64_t surfaces;
    uint64_t textures;
    uint64_t peers;  /* contexts that a context has peer access to */
    uint64_t graphs; /* captured, created or cloned; those being captured too */
    uint64_t graph_execs;
    uint64_t user_objects;
    /* Of cuMemCreate, imported ones and multicast objects: with a handle, or still mapped. */
    uint64_t physical_allocations;
    uint64_t reservations;
    uint64_t virtual_mappings;   /* one for each cuMemMap */
    uint64_t memory_pools;       /* created or imported; a device's default pool is not counted */
    uint64_t pool_allocations;   /* of cuMemAllocAsync and its like, and imported ones */
    uint64_t dedicated_memories; /* of external_memories, those imported as dedicated */
    uint64_t graphics_resources; /* registered buffers and images of graphics APIs */
} culv_soft_counts;

void culvSoftCounts(culv_soft_counts *out);
/* Makes the n-th driver call from now (1 = the next) fail with `error` (a CUresult), once, without
 * doing anything. n = 0 disarms. Any thread's call counts. The environment variable
 * CULVERT_SOFT_FAIL_AT=cuda:[CALL:]N[:ERROR] does the same at load; with CALL, a driver call's name
 * such as cuMemCreate, only the calls of that name count. */
void culvSoftFailAt(uint64_t n, int error);
/* The name of the call that was made to fail last, NULL when none was since culvSoftFailAt. */
const char *culvSoftFailedCall(void);
/* Nonzero: the first driver call that fails says on stderr which one it was, and that the driver is
 * the twin. culvert-soft-run's libcuda.so.1 asks for it. */
void culvSoftTellErrors(int tell);
/* How many kernels, copies and fills have faulted in this process so far, in a stream or in a
 * Vulkan queue, a launch included over which NVIDIA's driver loses the VkDevice. */
uint64_t culvSoftFaults(void);
/* Runs `hook` once, before the n-th driver call from now (1 = the next) does anything, on that
 * call's thread and without a lock of the driver's: it may make driver calls. n = 0 disarms. */
void culvSoftBefore(uint64_t n, void (*hook)(void *user, const char *call), void *user);
/* Plays an older driver (12040 = CUDA 12.4), 0: its own age again. cuDriverGetVersion says so, and
 * formats of arrays that came later are CUDA_ERROR_INVALID_VALUE. What exists stays, entry points
 * too. */
void culvSoftPlayVersion(int version);
/* Makes cuDeviceGetAttribute answer `value` for an attribute (a CUdevice_attribute) of every
 * device, and the twin act on it where it has both behaviours: MULTICAST_SUPPORTED,
 * GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, GENERIC_COMPRESSION_SUPPORTED,
 * HANDLE_TYPE_FABRIC_SUPPORTED, VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED and those of the host's memory.
 * 16 attributes at most; attribute 0: all its own again. */
void culvSoftPlayAttribute(int attribute, int value);
/* Nonzero: this user has an IMEX channel. Where HANDLE_TYPE_FABRIC_SUPPORTED is played as 1, fabric
 * handles then work between the processes of this machine. 0: the attribute lies, as measured on an
 * H200: CUDA_ERROR_NOT_PERMITTED. */
void culvSoftPlayFabric(int has_channel);
/* Gives every device this name (255 bytes at most); NULL: its own again. */
void culvSoftPlayName(const char *name);
/* Gives a device a LUID and a node mask, as drivers for Windows do; luid NULL: none again. Several
 * devices may have the same one, as linked GPUs do. */
void culvSoftPlayLuid(int device, const uint8_t luid[8], unsigned node_mask);
/* Nonzero: no device is another one's peer (cuDeviceCanAccessPeer, cuCtxEnablePeerAccess). Copies
 * between devices still work, as where the driver stages them. */
void culvSoftBarPeers(int bar);
/* Copies of device memory from one device to another one (cuMemcpyPeer and its like) succeed and
 * arrive wrong, as behind an IOMMU that is in the way. 1: all of them; 2: those to a device of a
 * higher number, 3: those to one of a lower number; 0: none. */
void culvSoftSpoilPeers(int spoil);
/* GPUDirect RDMA, played. With GPU_DIRECT_RDMA_SUPPORTED played as 1 the twin answers P2P tokens
 * and cuFlushGPUDirectRDMAWrites. With DMA_BUF_SUPPORTED played as 1 it makes a dma-buf of a range:
 * a file that says which memory it stands for, which culvSoftDmaBufRange() reads. A test then plays
 * the card with the memory itself. */
typedef struct culv_soft_dma_buf {
    uint64_t address, size, flags;
    uint64_t buffer_id; /* of the memory at `address` when it was made */
} culv_soft_dma_buf;
/* Returns 0, or EINVAL: not such an fd. Not a driver call. */
int culvSoftDmaBufRange(int fd, culv_soft_dma_buf *out);
/* What a dma-buf over PCI Express is answered with (a CUresult); 0: it is made. At first
 * CUDA_ERROR_NOT_SUPPORTED, as measured on an H200. */
void culvSoftPlayDmaBufPcie(int answer);
/* Nonzero: cuImportExternalMemory takes dma-bufs, any file being one, and maps buffers on them. 0:
 * CUDA_ERROR_NOT_SUPPORTED, as measured on an H200 (driver 580). */
void culvSoftPlayDmaBufImport(int takes);
/* Makes the allocation at this address managed memory, as far as attributes tell. Returns 0, or
 * EINVAL: no memory is there. */
int culvSoftPlayManaged(uint64_t address);
/* Calls that succeeded. */
typedef struct culv_soft_rdma_counts {
    uint64_t sync_memops;         /* that set the attribute of an allocation */
    uint64_t context_sync_memops; /* that set CU_CTX_SYNC_MEMOPS of a context */
    uint64_t tokens, dma_bufs, flushes;
} culv_soft_rdma_counts;
void culvSoftRdmaCounts(culv_soft_rdma_counts *out);
/* The twin has it under every name of its library, and the posing build does not. */
extern const int culvSoftTwin;

/* The directory of the manifest of the twin's Vulkan layer, or NULL when no manifest is there. */
const char *culvSoftLayerPath(void);
/* Adds that directory to VK_ADD_LAYER_PATH of this process, or to VK_LAYER_PATH where that is set,
 * because the Vulkan loader then ignores the other variable. A list that has the directory stays as
 * it is. Returns the directory, or NULL when no manifest is there or memory ran out. Call before
 * vkCreateInstance and before other threads read the environment. */
const char *culvSoftAddLayerPath(void);

/* The other side of a binary semaphore, played: no software Vulkan driver exports one. None of
 * these is a driver call, counted or made to fail. They return 0 or an errno.
 *
 * Makes one of the device with this UUID. *fd is the caller's, and stands for the VkSemaphore: what
 * vkGetSemaphoreFdKHR would hand out is a duplicate of it. */
int culvSoftBinaryCreate(const uint8_t device_uuid[16], int *fd);
/* The other API signals, now. EBUSY: it is signaled already, which Vulkan forbids. EINVAL: not
 * such an fd. */
int culvSoftBinarySignal(int fd);
/* The other API waits for a signal, of whichever side, and takes it. ETIMEDOUT: none came. */
int culvSoftBinaryWait(int fd, unsigned timeout_ms);
/* The Vulkan layer's half: objects alive that were made through a lavapipe device of this process.
 * Functions without a result cannot fail, and are not counted among the calls. */
typedef struct culv_soft_vk_counts {
    size_t struct_size;
    uint64_t instances;
    uint64_t devices;
    uint64_t semaphores; /* exportable timelines alive */
    uint64_t memories;   /* VkDeviceMemory alive, made through a lavapipe device */
    uint64_t fds;        /* fds that the layer itself holds; those handed out are the caller's */
    uint64_t threads;
    uint64_t calls;
    uint64_t all_semaphores; /* of every type, exportable or not */
    uint64_t buffers;
    uint64_t images;
    uint64_t dedicated; /* of memories, those allocated or imported for one buffer or image */
    uint64_t modules;   /* of VK_NVX_binary_import */
    uint64_t functions;
} culv_soft_vk_counts;

void culvSoftVkCounts(culv_soft_vk_counts *out);
/* As culvSoftFailAt, for Vulkan calls that return VkResult.
 * CULVERT_SOFT_FAIL_AT=vulkan:[CALL:]N[:ERROR]. */
void culvSoftVkFailAt(uint64_t n, int error);
const char *culvSoftVkFailedCall(void);
/* Loses every lavapipe device that there is now: all later calls that may answer
 * VK_ERROR_DEVICE_LOST do, vkGetSemaphoreCounterValue and vkSignalSemaphore too. What was submitted
 * before still runs. 0: they work again, for the end of a test. */
void culvSoftVkLoseDevices(int lost);
/* As culvSoftBefore, for the same calls. */
void culvSoftVkBefore(uint64_t n, void (*hook)(void *user, const char *call), void *user);

/* DRM modifiers of the dma-bufs that the layer plays with CULVERT_SOFT_DMA_BUF=1. All are listed
 * for formats of colors of one plane: */
#define CULV_SOFT_MODIFIER_LINEAR UINT64_C(0)
/* Imported only, and needs a second plane, which means nothing */
#define CULV_SOFT_MODIFIER_TWO_PLANES (UINT64_C(0x7f) << 56 | 1)
#define CULV_SOFT_MODIFIER_REFUSED    (UINT64_C(0x7f) << 56 | 2) /* there are no such images */
#define CULV_SOFT_MODIFIER_SAMPLED    (UINT64_C(0x7f) << 56 | 3) /* they cannot be copied */

#ifdef __cplusplus
}
#endif
#endif
