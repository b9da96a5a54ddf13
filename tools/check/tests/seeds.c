/* SPDX-License-Identifier: MIT */
/* Small programs with one mistake between CUDA and Vulkan each, and the same without it.
 *
 *   check-seeds NAME wrong|right    runs one
 *   check-seeds --list              name and the finding that the wrong one is
 *
 * They are written as strangers write them: raw calls, libcuda.so.1 opened at run time. Calls that
 * a mistake may make fail are not looked at. seeds.py runs them all under culvert-check. The plain
 * form of each mistake is in pages.c, whose programs pages.py runs. */
#include "seeds.h"

/* ---- the mistakes ---- */

static void fd_closed(bool wrong)
{
    shared s = make_buffer(false);
    const int fd = memory_fd(&s), copy = dup(fd);
    CU(import_memory(&s.import, fd, s.allocated, 0));
    (void)close(wrong ? fd : copy);
    if (wrong) (void)close(copy);
}

static void fd_closed_semaphore(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    CU(import_semaphore(&t.cuda, fd, TIMELINE));
    if (wrong) (void)close(fd);
}

static void fd_leaked(bool wrong)
{
    shared s = make_buffer(false);
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
    const int fd = memory_fd(&s); /* "once more, to be sure" */
    if (!wrong) (void)close(fd);
}

static void fd_leaked_semaphore(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    if (!wrong) CU(import_semaphore(&t.cuda, fd, TIMELINE));
}

static void memory_as_semaphore(bool wrong)
{
    shared s = make_buffer(false);
    timeline t;
    const int fd = memory_fd(&s);
    const CUresult result = wrong ? import_semaphore(&t.cuda, fd, TIMELINE)
                                  : import_memory(&s.import, fd, s.allocated, 0);
    if (result != CUDA_SUCCESS) (void)close(fd);
}

static void other_gpu_semaphore(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    MUST(contexts[1] != NULL);
    if (wrong) CU(cu.cuCtxSetCurrent(contexts[1]));
    (void)import_semaphore(&t.cuda, fd, TIMELINE);
}

static void no_rise(bool wrong)
{
    timeline t = share_timeline();
    CU(cuda_signals(&t, 2, 0));
    (void)cuda_signals(&t, wrong ? 2 : 3, 0);
    all_done();
}

/* Vulkan waits for what CUDA signals after it has waited for Vulkan. */
static void endless_cycle(bool wrong)
{
    timeline t = share_timeline(), back = share_timeline();
    cuda_waits(&t, 1, 0);
    CU(cuda_signals(&back, 1, 0));
    if (wrong)
        vulkan_writes(NULL, &back, 2, 0);
    else
        vulkan_writes(NULL, &t, 0, 1);
    if (!wrong) all_done();
}

/* The host waits, too. The checker ends the program. */
static void hangs(bool wrong)
{
    timeline t = share_timeline();
    if (!wrong) vulkan_writes(NULL, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    CU(cu.cuStreamSynchronize(streams[0]));
}

/* As NVIDIA's driver does at the end of a process whose work waits in vain. */
static void wait_in_a_handler(void)
{
    for (;;)
        (void)pause();
}

static void hangs_while_it_leaves(bool wrong)
{
    if (wrong) (void)atexit(wait_in_a_handler);
    timeline t = share_timeline();
    cuda_waits(&t, 1, 0);
    if (!wrong) vulkan_writes(NULL, &t, 0, 1);
    if (!wrong) all_done();
}

static void wait_by_value(bool wrong, uint64_t piece)
{
    timeline t = share_timeline();
    const uint64_t value = 2;
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &t.vulkan,
                                      .pValues = &value};
    CU(cuda_signals(&t, wrong ? 1 : 2, 0));
    VkResult result;
    do
        result = vkWaitSemaphores(device, &info, piece);
    while (result == VK_TIMEOUT);
    VK(result);
}

static void hangs_by_value(bool wrong)
{
    wait_by_value(wrong, UINT64_MAX);
}

/* As a ring does that waits for ever. */
static void hangs_in_pieces(bool wrong)
{
    wait_by_value(wrong, 250000000);
}

static void read_early(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

static void no_event(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUevent event = NULL;
    CU(cu.cuEventCreate(&event, 0));
    vulkan_writes(&s, &t, 0, 1);
    cuda_waits(&t, 1, 1);
    CU(cu.cuEventRecord(event, streams[1]));
    if (!wrong) CU(cu.cuStreamWaitEvent(streams[0], event, 0));
    cuda_reads(&s);
    all_done();
}

static void earlier_value(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 0, 1);
    vulkan_writes(&s, &t, 0, 2);
    cuda_waits(&t, wrong ? 1 : 2, 0);
    cuda_reads(&s);
    all_done();
}

static void signal_early(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    if (wrong) CU(cuda_signals(&t, 1, 0));
    cuda_reads(&s);
    if (!wrong) CU(cuda_signals(&t, 1, 0));
    vulkan_writes(&s, &t, 1, 0);
    all_done();
}

static void launch_early(bool wrong, CUfunction function)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    unsigned count = SIZE / 4;
    void *arguments[] = {&s.pointer, &count};
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(cu.cuLaunchKernel(function, (count + 127) / 128, 1, 1, 128, 1, 1, 0, streams[0], arguments,
                         NULL));
    all_done();
}

static void kernel_early(bool wrong)
{
    launch_early(wrong, function_of("seeds_add"));
}

/* As the CUDA runtime launches: a library's kernel in place of a function. */
static void library_kernel_early(bool wrong)
{
    char path[4096];
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    kernels_file(path, sizeof path);
    CU(cu.cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    CU(cu.cuLibraryGetKernel(&kernel, library, "seeds_add"));
    launch_early(wrong, (CUfunction)kernel);
}

/* Nobody knows whether the kernel writes. */
static void kernel_unsure(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    cuda_adds(&s);
    CU(cuda_signals(&t, 1, 0));
    also.copies_to = make_buffer(false).buffer;
    vulkan_writes(&s, &t, wrong ? 0 : 1, 0);
    all_done();
}

/* A ring whose frames are shown, and whose done is never signaled. */
static void hangs_presenting(bool wrong)
{
    timeline t = share_timeline();
    for (uint64_t frame = 1; frame <= 4; frame++) {
        if (frame > 1) cuda_waits(&t, 2 * frame - 2, 0);
        CU(cuda_signals(&t, 2 * frame - 1, 0));
        show(&t, 2 * frame - 1, wrong ? 0 : 2 * frame);
    }
    all_done();
}

static void allocation_early(bool wrong)
{
    int fd = -1;
    shared s = share_allocation(&fd);
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

static void allocation_fd_closed(bool wrong)
{
    int fd = -1;
    (void)share_allocation(&fd);
    if (wrong) (void)close(fd);
}

static void used_after_unmap(bool wrong)
{
    int fd = -1;
    shared s = share_allocation(&fd);
    if (!wrong) cuda_writes(&s);
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuMemUnmap(s.pointer, s.allocated));
    if (wrong) (void)cu.cuMemsetD8Async(s.pointer, 1, SIZE, streams[0]);
    all_done();
}

static void image_early(bool wrong)
{
    shared s = share_image();
    timeline t = share_timeline();
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = s.array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = bytes;
    copy.dstPitch = (size_t)WIDTH * 4;
    copy.WidthInBytes = (size_t)WIDTH * 4;
    copy.Height = HEIGHT;
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(cu.cuMemcpy2DAsync(&copy, streams[0]));
    all_done();
}

static void no_acquire(bool wrong)
{
    shared s = share_buffer(), picture = make_buffer(false);
    timeline t = share_timeline();
    also.copies_to = picture.buffer;
    also.acquires = !wrong;
    cuda_writes(&s);
    CU(cuda_signals(&t, 1, 0));
    vulkan_writes(&s, &t, 1, 0);
    all_done();
}

/* Vulkan hands its picture over, and throws it away by that. */
static void layout_release(bool wrong)
{
    shared s = share_image();
    timeline t = share_timeline();
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = s.array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = bytes;
    copy.dstPitch = copy.WidthInBytes = (size_t)WIDTH * 4;
    copy.Height = HEIGHT;
    vulkan_writes(&s, NULL, 0, 0);
    VkCommandBuffer commands = begin();
    change_layout(commands, &s, wrong ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_GENERAL,
                  VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 0);
    end_and_submit(commands, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    CU(cu.cuMemcpy2DAsync(&copy, streams[0]));
    all_done();
}

/* CUDA's picture is drawn over, in a ring: UNDEFINED is right there. */
static void layout_ring(bool wrong)
{
    shared s = share_image();
    timeline t = share_timeline();
    for (uint64_t frame = 0; frame < 3; frame++) {
        cuda_paints(&s);
        CU(cuda_signals(&t, 3 * frame + 1, 0));
        if (!wrong) vulkan_writes(&s, &t, 3 * frame + 1, 3 * frame + 2);
        VkCommandBuffer commands = begin();
        change_layout(commands, &s, wrong ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_GENERAL,
                      VK_IMAGE_LAYOUT_GENERAL, 0);
        copy_picture(commands, &s, VK_IMAGE_LAYOUT_GENERAL, make_buffer(false).buffer);
        end_and_submit(commands, &t, 3 * frame + (wrong ? 1 : 2), 3 * frame + 3);
        cuda_waits(&t, 3 * frame + 3, 0);
    }
    all_done();
}

static void layout_not_general(bool wrong)
{
    shared s = share_image();
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    change_layout(commands, &s, VK_IMAGE_LAYOUT_UNDEFINED,
                  wrong ? VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL, 0);
    end_and_submit(commands, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    cuda_paints(&s);
    all_done();
}

/* CUDA writes; Vulkan waits for that at these stages, and fills. */
static void fills_behind_wait(VkPipelineStageFlags stages, bool acquires)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    cuda_writes(&s);
    CU(cuda_signals(&t, 1, 0));
    also.waits_at = stages;
    also.acquires = acquires;
    vulkan_writes(&s, &t, 1, 0);
    all_done();
}

/* The stage is the one that is right for a swapchain's semaphore. */
static void wait_stage(bool wrong)
{
    fills_behind_wait(wrong ? VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT
                            : VK_PIPELINE_STAGE_TRANSFER_BIT,
                      false);
}

/* A barrier behind the wait passes it on. */
static void wait_stage_barrier(bool wrong)
{
    fills_behind_wait(VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, !wrong);
}

/* An acquire that changes no layout. */
static void layout_mismatch_kept(bool wrong)
{
    shared s = share_image();
    timeline t = share_timeline();
    VkCommandBuffer commands = begin();
    change_layout(commands, &s, VK_IMAGE_LAYOUT_UNDEFINED,
                  wrong ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL, 1);
    end_and_submit(commands, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    CU(cuda_signals(&t, 2, 0));
    commands = begin();
    change_layout(commands, &s, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL, -1);
    end_and_submit(commands, &t, 2, 0);
    all_done();
}

static void used_after_free(bool wrong)
{
    shared s = share_buffer();
    if (!wrong) cuda_writes(&s);
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuMemFree(s.pointer));
    if (wrong) (void)cu.cuMemsetD8Async(s.pointer, 1, SIZE, streams[0]);
    all_done();
}

static const seed seeds[] = {
    {"fd_closed", "fd-closed-after-import", fd_closed},
    {"fd_closed_semaphore", "fd-closed-after-import", fd_closed_semaphore},
    {"fd_leaked", "fd-leaked", fd_leaked},
    {"fd_leaked_semaphore", "fd-leaked", fd_leaked_semaphore},
    {"memory_as_semaphore", "handle-type", memory_as_semaphore},
    {"other_gpu_semaphore", "other-gpu", other_gpu_semaphore},
    {"no_rise", "no-rise", no_rise},
    {"endless_cycle", "endless-wait", endless_cycle},
    {"hangs_while_it_leaves", "endless-wait", hangs_while_it_leaves},
    {"hangs", "endless-wait", hangs},
    {"hangs_by_value", "endless-wait", hangs_by_value},
    {"hangs_in_pieces", "endless-wait", hangs_in_pieces},
    {"hangs_presenting", "endless-wait", hangs_presenting},
    {"read_early", "read-after-write", read_early},
    {"no_event", "read-after-write", no_event},
    {"earlier_value", "read-after-write", earlier_value},
    {"signal_early", "write-after-read", signal_early},
    {"kernel_early", "read-after-write", kernel_early},
    {"library_kernel_early", "read-after-write", library_kernel_early},
    {"kernel_unsure", "missed/read-after-write", kernel_unsure},
    {"allocation_early", "read-after-write", allocation_early},
    {"allocation_fd_closed", "fd-closed-after-import", allocation_fd_closed},
    {"used_after_unmap", "used-after-import", used_after_unmap},
    {"image_early", "read-after-write", image_early},
    {"no_acquire", "no-acquire", no_acquire},
    {"layout_release", "layout-discards", layout_release},
    {"layout_ring", "layout-discards", layout_ring},
    {"layout_not_general", "layout-not-general", layout_not_general},
    {"layout_mismatch_kept", "layout-mismatch", layout_mismatch_kept},
    {"wait_stage", "write-after-write", wait_stage},
    {"wait_stage_barrier", "write-after-write", wait_stage_barrier},
    {"used_after_free", "used-after-import", used_after_free},
};

/* The tables of the checker's author, then the two of somebody who had not read the checker. */
static const seed *at(size_t i)
{
    const struct {
        const seed *list;
        size_t count;
    } tables[] = {{seeds, sizeof seeds / sizeof *seeds},
                  {seeds_graphs, num_seeds_graphs},
                  {seeds_sets, num_seeds_sets},
                  {seeds_held, num_seeds_held},
                  {seeds_held2, num_seeds_held2}};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; i -= tables[t++].count)
        if (i < tables[t].count) return &tables[t].list[i];
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        for (size_t i = 0; at(i) != NULL; i++)
            printf("%s %s\n", at(i)->name, at(i)->finding);
    if (argc == 2) return 0;
    MUST(argc == 4);
    if (strcmp(argv[1], "--peer") == 0) { /* the other process of a seed */
        held2_peer(argv[2], argv[3]);
        return 0;
    }
    kernels = argv[3];
    for (size_t i = 0; at(i) != NULL; i++) {
        if (strcmp(at(i)->name, argv[1]) != 0) continue;
        also.kernels = strncmp(argv[1], "queue_kernel", 12) == 0;
        also.presents = strcmp(argv[1], "hangs_presenting") == 0;
        open_all();
        at(i)->run(strcmp(argv[2], "wrong") == 0);
        return 0;
    }
    fprintf(stderr, "there is no %s\n", argv[1]);
    return 1;
}
