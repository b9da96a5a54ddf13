/* SPDX-License-Identifier: MIT */
/* Addresses at which the twin's Vulkan layer shows memory, as sparse buffers. The twin's CUDA
 * driver keeps the process's one address space, in which both reserve and map, and the layer finds
 * these calls in its library. On a GPU the two have page tables of their own; here what Vulkan
 * binds wins where both map other memory at an address. The calls return 0 or an errno. */
#ifndef CULV_SOFT_SHOWN_H_
#define CULV_SOFT_SHOWN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reserves addresses for Vulkan: those at `address`, also where they are within one reservation of
 * cuMemAddressReserve, and cuMemAddressReserve may have them later. 0: any, aligned to 2 MiB. */
int culvSoftShowReserve(uint64_t address, uint64_t size, uint64_t *out);
void culvSoftShowRelease(uint64_t address);
/* Shows `size` bytes of a file, from `offset` on, at an address within one of those reservations.
 * The fd stays the caller's. -1: nothing any more. */
int culvSoftShowBind(uint64_t address, uint64_t size, int fd, uint64_t offset);

#ifdef __cplusplus
}
#endif
#endif
