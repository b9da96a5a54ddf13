/* SPDX-License-Identifier: MIT */
/* What two processes say to each other by a Unix socket: a message, with or without a file
 * descriptor. */
#ifndef CULVERT_TESTS_FOREIGN_WIRE_H_
#define CULVERT_TESTS_FOREIGN_WIRE_H_

#include <stdbool.h>
#include <stdint.h>

typedef enum wire_what {
    WIRE_BYE,
    /* The fd is memory of cuMemCreate with bytes of `seed`; put those of seed + 1 there. */
    WIRE_VMM,
    /* The same, but the fd is a VkDeviceMemory. */
    WIRE_VULKAN,
    /* Make memory by cuMemCreate with bytes of `seed`, and send it. */
    WIRE_MAKE,
    /* The answers. */
    WIRE_DONE,
    WIRE_FAILED
} wire_what;

typedef struct wire_message {
    wire_what what;
    uint32_t seed;
    uint64_t bytes; /* that count */
    uint64_t size;  /* of the whole allocation */
    char why[256];  /* WIRE_FAILED */
} wire_message;

/* fd is -1 for none. */
bool wire_send(int socket, const wire_message *message, int fd);
bool wire_receive(int socket, wire_message *message, int *fd);

#endif
