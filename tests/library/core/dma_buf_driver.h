/* SPDX-License-Identifier: MIT */
/* What a test may set and read of dma_buf_driver.c. */
#ifndef CULVERT_TESTS_LIBRARY_DMA_BUF_DRIVER_H_
#define CULVERT_TESTS_LIBRARY_DMA_BUF_DRIVER_H_

#include <stdint.h>

enum { NO_BYSTANDER, DUPLICATES, DUPLICATES_THERE, REOPENS_THERE };
typedef struct dma_buf_driver {
    int managed;    /* every pointer is managed memory */
    int ordinal;    /* of the device of every pointer, when not 0 */
    int green;      /* streams are those of green contexts */
    int answer;     /* CUresult of cuMemGetHandleForAddressRange, when not 0 */
    unsigned calls; /* of it */
    uint64_t pointer, size, flags;
    unsigned imports; /* of dma-bufs that came with flags 0 */
    /* When an import is refused, another thread opens `file` before the call returns: its next
     * number, or that which was given. */
    int bystander; /* one of these */
    int file, given, opened;
} dma_buf_driver;

#endif
