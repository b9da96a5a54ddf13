/* SPDX-License-Identifier: MIT */
/* CUDA's numbers in base/handle_rows.h, held against cuda.h. */
#include <cuda.h>

enum {
#define CULVI_HANDLE(name, words, kind, system, dedicated, memory, binary, timeline, mutex, vmm,   \
                     vk_memory, vk_semaphore, gl)                                                  \
    MEMORY_##name = (memory), BINARY_##name = (binary), TIMELINE_##name = (timeline),              \
    MUTEX_##name = (mutex), VMM_##name = (vmm),
#include "base/handle_rows.h"
#undef CULVI_HANDLE
};

#define SAME(a, b)   _Static_assert((int)(a) == (int)(b), "as in cuda.h")
#define MEMORY(name) SAME(MEMORY_##name, CU_EXTERNAL_MEMORY_HANDLE_TYPE_##name)
MEMORY(OPAQUE_FD);
MEMORY(OPAQUE_WIN32);
MEMORY(OPAQUE_WIN32_KMT);
MEMORY(D3D12_HEAP);
MEMORY(D3D12_RESOURCE);
MEMORY(D3D11_RESOURCE);
MEMORY(D3D11_RESOURCE_KMT);
/* CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD, which cuda.h has from 13.0 on. */
SAME(MEMORY_DMA_BUF_FD, CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF + 1);
#define SEMAPHORE(of, name, cuda) SAME(of##_##name, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_##cuda)
SEMAPHORE(BINARY, OPAQUE_FD, OPAQUE_FD);
SEMAPHORE(BINARY, OPAQUE_WIN32, OPAQUE_WIN32);
SEMAPHORE(BINARY, OPAQUE_WIN32_KMT, OPAQUE_WIN32_KMT);
SEMAPHORE(TIMELINE, OPAQUE_FD, TIMELINE_SEMAPHORE_FD);
SEMAPHORE(TIMELINE, OPAQUE_WIN32, TIMELINE_SEMAPHORE_WIN32);
SEMAPHORE(TIMELINE, D3D12_FENCE, D3D12_FENCE);
SEMAPHORE(TIMELINE, D3D11_FENCE, D3D11_FENCE);
SEMAPHORE(MUTEX, D3D11_KEYED_MUTEX, D3D11_KEYED_MUTEX);
SEMAPHORE(MUTEX, D3D11_KEYED_MUTEX_KMT, D3D11_KEYED_MUTEX_KMT);
#define VMM(name, cuda) SAME(VMM_##name, CU_MEM_HANDLE_TYPE_##cuda)
VMM(OPAQUE_FD, POSIX_FILE_DESCRIPTOR);
VMM(OPAQUE_WIN32, WIN32);
VMM(OPAQUE_WIN32_KMT, WIN32_KMT);
VMM(FABRIC, FABRIC);

/* A sum over the rows: a number that no line above names would change it. */
enum {
    SUM = 0
#define CULVI_HANDLE(name, words, kind, system, dedicated, memory, binary, timeline, mutex, vmm,   \
                     vk_memory, vk_semaphore, gl)                                                  \
    +(memory)*1000 + (binary) + (timeline) + (mutex) + (vmm)
#include "base/handle_rows.h"
#undef CULVI_HANDLE
};
_Static_assert(SUM == 37000 + 6 + 28 + 15 + 15,
               "every number of handle_rows.h is held against cuda.h");
