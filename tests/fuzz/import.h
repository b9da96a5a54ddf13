/* SPDX-License-Identifier: MIT */
/* The import target: what its two halves share. */
#ifndef CULVERT_TESTS_FUZZ_IMPORT_H_
#define CULVERT_TESTS_FUZZ_IMPORT_H_

#include "fuzz.h"

enum { SLOTS = 4, MEMORY_BYTES = 65536 };

/* What one input has made so far. */
typedef struct import_state {
    culv_memory *memories[SLOTS];
    culv_buffer *buffers[SLOTS];
    culv_image *images[SLOTS];
    culv_semaphore *semaphores[SLOTS];
    culv_shared_semaphore *made[SLOTS];
    bool binary[SLOTS]; /* or perhaps, of those made */
    /* The semaphore is signaled and waited for no more: that could hang, or kill the context */
    bool silent[SLOTS];
    VkSemaphore timeline; /* made when the input first asks for it */
} import_state;

/* The caller's Vulkan objects: memory, and what is bound to it at offset 0. */
typedef struct import_resource {
    VkDeviceMemory memory;
    VkDeviceSize size;
    bool exportable, dedicated;
    VkBuffer buffer;
    VkImage image;
    VkImageCreateInfo info;
} import_resource;

enum { IMPORT_BUFFER, IMPORT_IMAGE, IMPORT_LINEAR, IMPORT_ARRAY, IMPORT_PRIVATE, IMPORT_RESOURCES };
extern import_resource import_resources[IMPORT_RESOURCES];

void import_open_scene(void); /* import_scene.c */
/* A file descriptor for an import, the caller's, and of the kind that the input says: open or not,
 * exported or not. */
int import_fd(fuzz_reader *r);
/* Whether the number is open still, after an error or a borrowing; it is closed then. */
void import_fd_kept(int fd, bool was_open);
bool import_fd_is_open(int fd);

void import_semaphore(fuzz_reader *r, import_state *s); /* import_semaphores.c */
void import_vulkan_semaphore(fuzz_reader *r, import_state *s);
void import_use_semaphore(fuzz_reader *r, import_state *s);
void import_drop_semaphores(import_state *s);

#endif
