/* SPDX-License-Identifier: MIT */
/* One row for each type of handle. Everything else looks its answer up here, so a type that is
 * added here is refused by name until code serves it, and is never taken for another one.
 *
 *   CULVI_HANDLE(name, words, kind, system, dedicated,
 *                memory, binary, timeline, mutex, vmm, vk_memory, vk_semaphore, gl)
 *
 * name       of the public enum: CULV_HANDLE_<name>
 * words      what it is, for messages
 * kind       FD: culv_handle::value.fd, which a driver keeps that imports it; NT: value.win32,
 *            which stays its owner's; KMT: the same, and it holds nothing; BYTES: calls of their
 *            own serve it
 * system     POSIX or WINDOWS
 * dedicated  CUDA_EXTERNAL_MEMORY_DEDICATED: EITHER (as the memory is), ALWAYS or NEVER (cuda.h,
 *            cuImportExternalMemory)
 *
 * The rest are the numbers that other APIs have for it, 0 where they take none:
 * memory                   CUexternalMemoryHandleType
 * binary, timeline, mutex  CUexternalSemaphoreHandleType of a binary semaphore, of a timeline or
 *                          fence, of a keyed mutex
 * vmm                      CUmemAllocationHandleType of allocations and pools
 * vk_memory, vk_semaphore  VkExternalMemoryHandleTypeFlagBits,
 *                          VkExternalSemaphoreHandleTypeFlagBits
 * gl                       GL_HANDLE_TYPE_..._EXT (GL_EXT_memory_object_fd,
 *                          GL_EXT_memory_object_win32, GL_EXT_semaphore_win32)
 *
 * cuda/handle_numbers.c and vulkan/common.c check them against cuda.h and vulkan_core.h. Included
 * several times; no guard. */
// clang-format off
CULVI_HANDLE(OPAQUE_FD, "a file descriptor", FD, POSIX, EITHER,
             1, 1, 9, 0, 1, 0x1, 0x1, 0x9586)
CULVI_HANDLE(OPAQUE_WIN32, "an NT handle", NT, WINDOWS, EITHER,
             2, 2, 10, 0, 2, 0x2, 0x2, 0x9587)
CULVI_HANDLE(OPAQUE_WIN32_KMT, "a KMT handle", KMT, WINDOWS, EITHER,
             3, 3, 0, 0, 4, 0x4, 0x4, 0x9588)
CULVI_HANDLE(DMA_BUF_FD, "a dma-buf", FD, POSIX, NEVER,
             9, 0, 0, 0, 0, 0x200, 0, 0)
CULVI_HANDLE(D3D12_HEAP, "an NT handle of an ID3D12Heap", NT, WINDOWS, NEVER,
             4, 0, 0, 0, 0, 0x20, 0, 0x9589)
CULVI_HANDLE(D3D12_RESOURCE, "an NT handle of an ID3D12Resource", NT, WINDOWS, ALWAYS,
             5, 0, 0, 0, 0, 0x40, 0, 0x958a)
CULVI_HANDLE(D3D11_RESOURCE, "an NT handle of an ID3D11Resource", NT, WINDOWS, ALWAYS,
             6, 0, 0, 0, 0, 0x8, 0, 0x958b)
CULVI_HANDLE(D3D11_RESOURCE_KMT, "a KMT handle of an ID3D11Resource", KMT, WINDOWS, ALWAYS,
             7, 0, 0, 0, 0, 0x10, 0, 0x958c)
CULVI_HANDLE(D3D12_FENCE, "an NT handle of an ID3D12Fence", NT, WINDOWS, EITHER,
             0, 0, 4, 0, 0, 0, 0x8, 0x9594)
CULVI_HANDLE(D3D11_FENCE, "an NT handle of an ID3D11Fence", NT, WINDOWS, EITHER,
             0, 0, 5, 0, 0, 0, 0x8, 0)
CULVI_HANDLE(D3D11_KEYED_MUTEX, "an NT handle of an IDXGIKeyedMutex", NT, WINDOWS, EITHER,
             0, 0, 0, 7, 0, 0, 0, 0)
CULVI_HANDLE(D3D11_KEYED_MUTEX_KMT, "a KMT handle of an IDXGIKeyedMutex", KMT, WINDOWS, EITHER,
             0, 0, 0, 8, 0, 0, 0, 0)
CULVI_HANDLE(FABRIC, "a fabric handle", BYTES, POSIX, EITHER,
             0, 0, 0, 0, 8, 0, 0, 0)
// clang-format on
