/* SPDX-License-Identifier: MIT */
/* The programs of docs/culvert-check-findings.md: for each finding of culvert-check one with the
 * mistake (WRONG is 1) and one without it (0). This file is compiled twice, and pages.py makes the
 * page of it: what stands in a comment PAGE, then the body of the function behind it, in both
 * forms. tools/check/tests/seeds_parts.c has the functions that they share. */
#include "seeds.h"

/* PAGE fd-closed-after-import
 * `cuImportExternalMemory` takes the descriptor over, and the driver closes it.
 * The program's own `close()` then hits a number that may be another file by now, perhaps one
 *   that another thread has just opened. */
static void fd_closed_after_import(void)
{
    shared s = make_buffer(false);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                             .handle.fd = memory_fd(&s),
                                             .size = s.allocated};
#if WRONG
    CU(cu.cuImportExternalMemory(&s.import, &desc));
    close(desc.handle.fd);
#else
    if (cu.cuImportExternalMemory(&s.import, &desc) != CUDA_SUCCESS)
        close(desc.handle.fd); /* what was refused is still the program's */
#endif
}

/* PAGE fd-used-after-import
 * The descriptor is the driver's after an import, and the driver may close it at once.
 * Whoever duplicates or sends its number afterwards gets some other file, or an error now and
 *   then. */
static void fd_used_after_import(void)
{
    shared s = make_buffer(false);
    int fd = memory_fd(&s);
#if WRONG
    CU(import_memory(&s.import, fd, s.allocated, 0));
    int copy = dup(fd);
#else
    int copy = dup(fd);
    CU(import_memory(&s.import, fd, s.allocated, 0));
#endif
    close(copy);
}

/* PAGE fd-imported-twice
 * An import consumes its descriptor, so a second import of the same number finds another file or
 *   none.
 * Two contexts or two APIs that import the same memory need a descriptor each. */
static void fd_imported_twice(void)
{
    shared s = make_buffer(false);
    CUexternalMemory again = NULL;
    int fd = memory_fd(&s);
    CU(import_memory(&s.import, fd, s.allocated, 0));
#if WRONG
    import_memory(&again, fd, s.allocated, 0);
#else
    CU(import_memory(&again, memory_fd(&s), s.allocated, 0));
#endif
}

/* PAGE fd-leaked
 * `vkGetMemoryFdKHR` and `vkGetSemaphoreFdKHR` make a new descriptor each time, and it keeps the
 *   memory or the semaphore alive.
 * A program that exports once a frame, or forgets the descriptor of an import that failed, runs
 *   out of descriptors and of memory. */
static void fd_leaked(void)
{
    shared s = make_buffer(false);
    for (int frame = 0; frame < 3; frame++) {
        int fd = memory_fd(&s);
        if (frame == 0) CU(import_memory(&s.import, fd, s.allocated, 0));
#if !WRONG
        if (frame > 0) close(fd);
#endif
    }
}

/* PAGE size
 * CUDA must be told the size of the whole `VkDeviceMemory`, and not that of the buffer or image
 *   in it.
 * Drivers refuse a wrong size, or they take it, and what is mapped of it is not what Vulkan
 *   sees. */
static void size(void)
{
    shared s = make_buffer(false);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, s.buffer, &needs);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                             .handle.fd = memory_fd(&s)};
#if WRONG
    desc.size = SIZE; /* of the buffer */
#else
    desc.size = s.allocated; /* VkMemoryAllocateInfo::allocationSize */
#endif
    (void)cu.cuImportExternalMemory(&s.import, &desc);
}

/* PAGE range
 * A mapped range reaches beyond the imported memory: offset and size are together more than the
 *   import has.
 * Often the offset at which a buffer is bound is added, and the size of the whole memory stays. */
static void range(void)
{
    shared s = make_buffer(false);
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = {.offset = 4096};
#if WRONG
    desc.size = s.allocated;
#else
    desc.size = s.allocated - desc.offset;
#endif
    (void)cu.cuExternalMemoryGetMappedBuffer(&s.pointer, s.import, &desc);
}

/* PAGE dedicated
 * Vulkan allocated the memory for one resource alone, and the import does not say so.
 * Drivers may lay dedicated memory out in another way, so CUDA may see other bytes than Vulkan
 *   wrote, above all in images. */
static void dedicated(void)
{
    shared s = make_buffer(true); /* with VkMemoryDedicatedAllocateInfo */
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                             .handle.fd = memory_fd(&s),
                                             .size = s.allocated};
#if WRONG
    desc.flags = 0;
#else
    desc.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
#endif
    CU(cu.cuImportExternalMemory(&s.import, &desc));
}

/* PAGE not-dedicated
 * The import says that the memory is dedicated to one resource, and Vulkan allocated it without
 *   `VkMemoryDedicatedAllocateInfo`.
 * No driver is known to mind, so this is told with `--strict` alone. */
static void not_dedicated(void)
{
    shared s = make_buffer(false); /* without VkMemoryDedicatedAllocateInfo */
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                             .handle.fd = memory_fd(&s),
                                             .size = s.allocated};
#if WRONG
    desc.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
#else
    desc.flags = 0;
#endif
    CU(cu.cuImportExternalMemory(&s.import, &desc));
}

/* PAGE handle-type
 * CUDA is told another kind of object than the descriptor stands for: a timeline as a binary
 *   semaphore, memory as a semaphore.
 * A descriptor does not say what it is, so a driver may take it and hang at the first wait. */
static void handle_type(void)
{
    int fd = -1;
    timeline t = make_timeline(&fd); /* VK_SEMAPHORE_TYPE_TIMELINE */
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {.handle.fd = fd};
#if WRONG
    desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
#else
    desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
#endif
    if (cu.cuImportExternalSemaphore(&t.cuda, &desc) != CUDA_SUCCESS) close(fd);
}

/* PAGE other-gpu
 * The `VkDevice` is on one GPU, and CUDA's current context is on another one.
 * Device 0 of Vulkan and device 0 of CUDA need not be the same GPU: only the UUIDs tell. */
static void other_gpu(void)
{
    shared s = make_buffer(false);
#if WRONG
    CU(cu.cuCtxSetCurrent(contexts[1])); /* of another GPU: "device 0" */
#else
    CU(cu.cuCtxSetCurrent(contexts[0])); /* its cuDeviceGetUuid is Vulkan's deviceUUID */
#endif
    (void)import_memory(&s.import, memory_fd(&s), s.allocated, 0);
}

/* PAGE no-rise
 * A signal gives a timeline a value that is no greater than the one it has reached.
 * The result is undefined; often every later wait of that frame ends at once or never, because
 *   each side counts by itself. */
static void no_rise(void)
{
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 0, 5); /* Vulkan signals 5 */
    cuda_waits(&t, 5, 0);
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {.flags = 0};
#if WRONG
    params.params.fence.value = 1; /* CUDA counts by itself, too */
#else
    params.params.fence.value = 6;
#endif
    (void)cu.cuSignalExternalSemaphoresAsync(&t.cuda, &params, 1, streams[0]);
    all_done();
}

/* PAGE signaled-twice
 * A binary semaphore has one signal at a time, and here a second one comes before anybody has
 *   waited for the first.
 * Drivers may drop one of them, so a later wait hangs. */
static void signaled_twice(void)
{
    VkSemaphore semaphore = make_binary();
    const VkSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .signalSemaphoreCount = 1,
                                 .pSignalSemaphores = &semaphore};
    for (int frame = 0; frame < 2; frame++) {
        VK(vkQueueSubmit(queue, 1, &signal, VK_NULL_HANDLE));
#if !WRONG
        binary_waits(); /* cuWaitExternalSemaphoresAsync */
#endif
    }
    all_done();
}

/* PAGE endless-wait
 * A stream, a queue or the host waits for a value that nothing which was submitted signals.
 * Perhaps the signal was forgotten, or the two sides wait for each other: then all later work
 *   stands still. */
static void endless_wait(void)
{
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 0, 1); /* Vulkan signals 1 */
#if WRONG
    cuda_waits(&t, 2, 0);
#else
    cuda_waits(&t, 1, 0);
    CU(cu.cuStreamSynchronize(streams[0]));
#endif
    VK(vkDeviceWaitIdle(device));
}

/* PAGE write-after-write
 * Both sides write the same bytes, and nothing says which write comes last.
 * Which of the two is in memory afterwards changes from run to run. */
static void write_after_write(void)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1); /* vkCmdFillBuffer, then a signal of 1 */
#if !WRONG
    cuda_waits(&t, 1, 0);
#endif
    CU(cu.cuMemsetD8Async(s.pointer, 0, SIZE, streams[0]));
    all_done();
}

/* PAGE read-after-write
 * One side reads what the other writes, and does not wait for it.
 * The picture flickers, is half old, or is right on one machine only. */
static void read_after_write(void)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1); /* vkCmdFillBuffer, then a signal of 1 */
#if WRONG
    cuda_waits(&t, 1, 1); /* in another stream than the copy */
#else
    cuda_waits(&t, 1, 0);
#endif
    CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, SIZE, streams[0]));
    all_done();
}

/* PAGE write-after-read
 * The reader waits for the writer, and the writer of the next frame does not wait for the reader.
 * It is the forgotten way back of a ring: the reader now and then sees the next frame in its
 *   own. */
static void write_after_read(void)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    for (uint64_t frame = 0; frame < 3; frame++) {
#if WRONG
        vulkan_writes(&s, &t, 0, 2 * frame + 1);
#else
        vulkan_writes(&s, &t, 2 * frame, 2 * frame + 1); /* waits for the reader's signal */
#endif
        cuda_waits(&t, 2 * frame + 1, 0);
        CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, SIZE, streams[0]));
#if !WRONG
        CU(cuda_signals(&t, 2 * frame + 2, 0));
#endif
    }
    all_done();
}

/* PAGE early-acquire
 * Vulkan takes a buffer over while a kernel still has it: the submission does not wait.
 * What a kernel and a shader do in memory is not seen, so no read and no write is told. But a
 *   barrier from `VK_QUEUE_FAMILY_EXTERNAL` says that CUDA is done. */
static void early_acquire(void)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    cuda_adds(&s); /* a kernel */
    CU(cuda_signals(&t, 1, 0));
#if WRONG
    vulkan_takes(&s, &t, 0);
#else
    vulkan_takes(&s, &t, 1);
#endif
    all_done();
}

/* PAGE no-release
 * Vulkan wrote a resource that one queue family owns at a time, and CUDA uses it without a
 *   release to `VK_QUEUE_FAMILY_EXTERNAL`.
 * NVIDIA's driver is not known to need it, so this is told with `--strict` alone; other drivers
 *   flush caches and compressed data there. */
static void no_release(void)
{
    shared s = share_buffer(); /* VK_SHARING_MODE_EXCLUSIVE */
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    vkCmdFillBuffer(commands, s.buffer, 0, VK_WHOLE_SIZE, 7);
#if !WRONG
    const VkBufferMemoryBarrier release = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                           .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                           .srcQueueFamilyIndex = 0,
                                           .dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                           .buffer = s.buffer,
                                           .size = VK_WHOLE_SIZE};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0, 0, NULL, 1, &release, 0, NULL);
#endif
    end_and_submit(commands, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

/* PAGE no-acquire
 * CUDA wrote a resource that one queue family owns at a time, and Vulkan uses it without an
 *   acquire from `VK_QUEUE_FAMILY_EXTERNAL`.
 * NVIDIA's driver is not known to need it, so this is told with `--strict` alone. */
static void no_acquire(void)
{
    shared s = share_buffer(), copy = make_buffer(false); /* VK_SHARING_MODE_EXCLUSIVE */
    timeline t = share_timeline();
    cuda_writes(&s);
    CU(cuda_signals(&t, 1, 0));
    VkCommandBuffer commands = begin();
#if !WRONG
    const VkBufferMemoryBarrier acquire = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                           .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
                                           .srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                           .dstQueueFamilyIndex = 0,
                                           .buffer = s.buffer,
                                           .size = VK_WHOLE_SIZE};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 1, &acquire, 0, NULL);
#endif
    vkCmdCopyBuffer(commands, s.buffer, copy.buffer, 1, &(VkBufferCopy){.size = SIZE});
    end_and_submit(commands, &t, 1, 0);
    all_done();
}

/* PAGE layout-discards
 * An image goes from `VK_IMAGE_LAYOUT_UNDEFINED` to another layout, so its contents may be
 *   thrown away, and the other side had written them.
 * Some drivers keep them and some do not, and one driver may do both: it depends on the
 *   format, on compression and on the size. */
static void layout_discards(void)
{
    shared s = share_image(), to = make_buffer(false);
    timeline t = share_timeline();
    VkCommandBuffer commands = begin(); /* once, while there is nothing in it */
    change_layout(commands, &s, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL, 1);
    end_and_submit(commands, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    cuda_paints(&s); /* cuMemcpy2DAsync into its array */
    CU(cuda_signals(&t, 2, 0));
    commands = begin();
    VkImageMemoryBarrier acquire = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
                                    .newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                    .image = s.image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
#if WRONG
    acquire.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
#else
    acquire.oldLayout = VK_IMAGE_LAYOUT_GENERAL;
#endif
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         0, 0, NULL, 0, NULL, 1, &acquire);
    copy_picture(commands, &s, acquire.newLayout, to.buffer); /* vkCmdCopyImageToBuffer */
    end_and_submit(commands, &t, 2, 0);
    all_done();
}

/* PAGE layout-not-general
 * CUDA uses an image while Vulkan has it in a layout that is made for something else.
 * No CUDA call takes a layout, so it cannot know; NVIDIA's driver is not known to mind, so
 *   this is told with `--strict` alone. */
static void layout_not_general(void)
{
    shared s = share_image();
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    VkImageMemoryBarrier release = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                    .image = s.image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
#if WRONG
    release.newLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
#else
    release.newLayout = VK_IMAGE_LAYOUT_GENERAL;
#endif
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                         VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0, 0, NULL, 0, NULL, 1, &release);
    end_and_submit(commands, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    cuda_paints(&s); /* cuMemcpy2DAsync into its array */
    all_done();
}

/* PAGE layout-mismatch
 * A barrier takes an image back from CUDA and names another old layout than the one in which
 *   it was handed over.
 * The validation layer leaves images alone that another API owns, so it does not tell; this is
 *   told with `--strict` alone. */
static void layout_mismatch(void)
{
    shared s = share_image();
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    change_layout(commands, &s, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL, 1);
    end_and_submit(commands, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    cuda_paints(&s);
    CU(cuda_signals(&t, 2, 0));
    commands = begin();
#if WRONG
    VkImageLayout handed_over_in = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
#else
    VkImageLayout handed_over_in = VK_IMAGE_LAYOUT_GENERAL;
#endif
    change_layout(commands, &s, handed_over_in, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, -1);
    end_and_submit(commands, &t, 2, 0);
    all_done();
}

/* PAGE semaphore-in-use
 * A semaphore or its import is destroyed, and the host does not know that the work which waits
 *   for it or signals it is done.
 * That the work was submitted says nothing: it may still be waiting. */
static void semaphore_in_use(void)
{
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 0, 1);
    cuda_waits(&t, 1, 0);
#if !WRONG
    CU(cu.cuStreamSynchronize(streams[0]));
#endif
    CU(cu.cuDestroyExternalSemaphore(t.cuda));
    all_done();
}

/* PAGE memory-in-use
 * An import is destroyed, and the host does not know that the work which uses its memory is done.
 * The work then reads or writes what is mapped there next, or it faults. */
static void memory_in_use(void)
{
    shared s = share_buffer();
    CU(cu.cuMemsetD8Async(s.pointer, 0, SIZE, streams[0]));
#if !WRONG
    CU(cu.cuStreamSynchronize(streams[0]));
#endif
    CU(cu.cuDestroyExternalMemory(s.import));
    all_done();
}

/* PAGE used-after-import
 * An address of imported memory is used after `cuDestroyExternalMemory`, or after `cuMemFree` of
 *   the mapping.
 * The address is nobody's then, or another allocation's: a fault, or somebody else's data. */
static void used_after_import(void)
{
    shared s = share_buffer();
#if WRONG
    CU(cu.cuDestroyExternalMemory(s.import));
    (void)cu.cuMemsetD8Async(s.pointer, 0, SIZE, streams[0]);
#else
    CU(cu.cuMemsetD8Async(s.pointer, 0, SIZE, streams[0]));
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuDestroyExternalMemory(s.import));
#endif
    all_done();
}

/* END of the pages. */

static const struct {
    const char *id;
    void (*run)(void);
} programs[] = {
    {"fd-closed-after-import", fd_closed_after_import},
    {"fd-used-after-import", fd_used_after_import},
    {"fd-imported-twice", fd_imported_twice},
    {"fd-leaked", fd_leaked},
    {"size", size},
    {"range", range},
    {"dedicated", dedicated},
    {"not-dedicated", not_dedicated},
    {"handle-type", handle_type},
    {"other-gpu", other_gpu},
    {"no-rise", no_rise},
    {"signaled-twice", signaled_twice},
    {"endless-wait", endless_wait},
    {"write-after-write", write_after_write},
    {"read-after-write", read_after_write},
    {"write-after-read", write_after_read},
    {"early-acquire", early_acquire},
    {"no-release", no_release},
    {"no-acquire", no_acquire},
    {"layout-discards", layout_discards},
    {"layout-not-general", layout_not_general},
    {"layout-mismatch", layout_mismatch},
    {"semaphore-in-use", semaphore_in_use},
    {"memory-in-use", memory_in_use},
    {"used-after-import", used_after_import},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (argc == 1) printf("%s\n", programs[i].id);
        if (argc < 2 || strcmp(argv[1], programs[i].id) != 0) continue;
        kernels = argc > 2 ? argv[2] : NULL;
        open_all();
        programs[i].run();
        return 0;
    }
    return argc == 1 ? 0 : 1;
}
