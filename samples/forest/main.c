/* SPDX-License-Identifier: MIT */
/* forest: CUDA builds a tree of raw pointers each frame, and Vulkan walks it by these pointers. The
 * memory has one address in both (culv_vk_space), so nothing is copied and no pointer changed.
 *
 * Two timelines tell whose turn it is:
 *   ready reaches f + 1 when CUDA has built frame f     (Vulkan's submission waits for that)
 *   drawn reaches f + 1 when Vulkan has drawn frame f   (CUDA's stream waits for that before
 *                                                        frame f + 1) */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/vulkan_setup.h"
#include "tree.h"

#define BLOCK 256u
enum { TILE = 8, LEAST_PARTICLES = 30000, MOST_PARTICLES = 1 << 26 };
_Static_assert((int)LEAST_PARTICLES > FOREST_TREES * FOREST_WOOD, "leaves too");

enum { GROW, KEYS, SORT, BOXES, FOLD, LINK, KERNELS };
static const char *const kernel_names[KERNELS] = {"forest_grow",  "forest_keys", "forest_sort",
                                                  "forest_boxes", "forest_fold", "forest_link"};

/* shaders/forest/look.comp */
typedef struct look_constants {
    uint64_t root, picture;
    uint32_t width, height, samples;
} look_constants;

/* Zero where the default is the device's. */
typedef struct options {
    uint32_t width, height, samples; /* rays a pixel */
    uint64_t frames, particles;
    const char *output;
    unsigned driver; /* culv_driver */
    bool validation, quiet;
} options;

typedef struct program {
    options options;
    vulkan_setup vulkan;
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext callers_context;
    culv_kernels *loaded;
    CUfunction kernels[KERNELS];
    CUstream stream;
    int count, room; /* particles, and a power of two for them */
    CUdeviceptr key_list, box_list;
    culv_vk_device *attached;
    culv_shared_semaphore *ready, *drawn;
    culv_vk_space *space;
    culv_vk_space_buffer *parts[3];
    tree tree;
    uint64_t picture; /* its address */
    VkPipelineLayout layout;
    VkPipeline look;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence done;
    bool drawing; /* the fence will come */
    double milliseconds;
    uint8_t *pixels;
    uint64_t picture_checksum; /* of all pictures */
    tree_check check;
    char last_picture[FILES_PATH_MAX];
} program;

/* Command line --------------------------------------------------------------------------------- */

static const char help[] =
    "Usage: forest [options]\n"
    "CUDA builds a hierarchy of leaves and wood with raw pointers each frame, and a ray-caster in Vulkan walks "
    "it\n"
    "by these very pointers: both have one address.\n"
    "\n"
    "  --particles N    leaves and wood, from 30000 on (2 Mi; on the software twin 150000)\n"
    "  --frames N       frames to run (120; on the software twin 2)\n"
    "  --samples N      rays for a pixel, each with one to the sun (16; on the software twin 2)\n"
    "  --size WxH       picture in pixels (1920x1080; on the software twin 320x180)\n"
    "  --output PATH    PNG of the last frame (out/forest.png); with %d or %04d in it, a picture of every "
    "frame\n"
    "  --device WHICH   auto: NVIDIA's GPU, else the software twin (default); nvidia; soft\n"
    "  --validation     run under Vulkan's validation and synchronization validation; fail if it says "
    "anything\n"
    "  --quiet          nothing but RESULT and errors\n"
    "  --help           this text\n"
    "The line RESULT {...} on stdout is for programs.\n";

static arguments_result parse(options *o, int argc, char **argv)
{
    *o = (options){.output = "out/forest.png"};
    const argument table[] = {
        {"--size", ARGUMENT_SIZE, &o->width, &o->height, 16, 8192, NULL},
        {"--particles", ARGUMENT_NUMBER, &o->particles, NULL, LEAST_PARTICLES, MOST_PARTICLES,
         NULL},
        {"--frames", ARGUMENT_NUMBER, &o->frames, NULL, 1, 1000000, NULL},
        {"--samples", ARGUMENT_COUNT, &o->samples, NULL, 1, 1024, NULL},
        {"--output", ARGUMENT_PNG, &o->output, NULL, 0, 0, NULL},
        {"--device", ARGUMENT_WORD, &o->driver, NULL, 0, 0, interop_drivers},
        {"--validation", ARGUMENT_FLAG, &o->validation, NULL, 0, 0, NULL},
        {"--quiet", ARGUMENT_FLAG, &o->quiet, NULL, 0, 0, NULL},
        {NULL, ARGUMENT_FLAG, NULL, NULL, 0, 0, NULL},
    };
    arguments_result r = arguments_parse(table, help, 1, argc, argv);
    return r == ARGUMENTS_RUN && !arguments_output(o->output) ? ARGUMENTS_BAD : r;
}

static void settle(options *o, bool software)
{
    if (o->particles == 0) o->particles = software ? 150000 : UINT64_C(2) << 20;
    if (o->frames == 0) o->frames = software ? 2 : 120;
    if (o->samples == 0) o->samples = software ? 2 : 16;
    if (o->width != 0) return;
    o->width = software ? 320 : 1920;
    o->height = software ? 180 : 1080;
}

static size_t picture_bytes(const program *p)
{
    return (size_t)p->options.width * p->options.height * 4;
}

/* Memory with one address ---------------------------------------------------------------------- */

/* Addresses for everything; memory comes with the parts. */
static bool make_memory(program *p)
{
    const uint64_t bytes[3] = {p->tree.num_particles * sizeof(particle),
                               p->tree.num_nodes * sizeof(node), picture_bytes(p)};
    uint64_t *const at[3] = {&p->tree.particles, &p->tree.nodes, &p->picture};
    culv_vk_space_desc desc = culv_vk_space_desc_init();
    desc.size = bytes[0] + bytes[1] + bytes[2] + UINT64_C(768); /* each part is aligned */
    desc.queue = p->vulkan.queue;
    desc.label = "forest";
    culv_vk_space_info info = culv_vk_space_info_init();
    if (!culv_ok(culv_vk_space_create(p->attached, &desc, &p->space), "culv_vk_space_create") ||
        !culv_ok(culv_vk_space_get_info(p->space, &info), "culv_vk_space_get_info") ||
        !culv_ok(culv_vk_space_commit(p->space, 0, info.size, NULL, NULL), "culv_vk_space_commit"))
        return false;
    for (int i = 0; i < 3; i++) {
        culv_vk_space_buffer_desc part = culv_vk_space_buffer_desc_init();
        part.size = bytes[i];
        part.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        if (!culv_ok(culv_vk_space_buffer_create(p->space, &part, &p->parts[i]),
                     "culv_vk_space_buffer_create"))
            return false;
        *at[i] = culv_vk_space_buffer_pointer(p->parts[i]); /* CUDA's, and Vulkan's too */
    }
    return true;
}

/* The solver ----------------------------------------------------------------------------------- */

static bool make_solver(program *p)
{
    const culv_cuda_api *cu = p->cu;
    p->count = (int)p->options.particles;
    for (p->room = 1; p->room < p->count;)
        p->room *= 2;
    p->tree.num_particles = (size_t)p->count;
    p->tree.num_nodes = (size_t)p->count - 1;
    if (!interop_load_kernels(p->device, "forest", &p->loaded)) return false;
    for (int i = 0; i < KERNELS; i++)
        if (!interop_kernel(p->loaded, kernel_names[i], &p->kernels[i])) return false;
    return cuda_ok(cu, cu->cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate") &&
           cuda_ok(cu, cu->cuMemAlloc(&p->key_list, (size_t)p->room * sizeof(uint64_t)),
                   "cuMemAlloc") &&
           cuda_ok(cu, cu->cuMemAlloc(&p->box_list, 2 * (size_t)p->room * sizeof(box)),
                   "cuMemAlloc");
}

static bool launch(const program *p, int kernel, int count, void **parameters)
{
    CUresult result =
        p->cu->cuLaunchKernel(p->kernels[kernel], ((uint32_t)count + BLOCK - 1) / BLOCK, 1, 1,
                              BLOCK, 1, 1, 0, p->stream, parameters, NULL);
    return cuda_ok(p->cu, result, "cuLaunchKernel");
}

/* Moves the particles, and sorts them along Morton's curve. */
static bool move(program *p, uint64_t frame)
{
    /* Together they cover as much with many leaves as with few. */
    float size = 0.105f * sqrtf(200000.0f / (float)p->count), time = (float)frame * 0.05f;
    int pairs = p->room / 2;
    void *grow[] = {&p->tree.particles, &p->count, &size, &time};
    void *keys[] = {&p->key_list, &p->tree.particles, &p->count, &p->room};
    bool fine = launch(p, GROW, p->count, grow) && launch(p, KEYS, p->room, keys);
    for (int step = 2; fine && step <= p->room; step *= 2) {
        for (int stride = step / 2; fine && stride > 0; stride /= 2) {
            void *sort[] = {&p->key_list, &pairs, &step, &stride};
            fine = launch(p, SORT, pairs, sort);
        }
    }
    return fine;
}

static bool build(program *p)
{
    tree *t = &p->tree;
    void *boxes[] = {&p->box_list, &p->key_list, &t->particles, &p->count, &p->room};
    void *link[] = {&t->nodes, &t->particles, &p->key_list, &p->box_list, &p->count, &p->room};
    bool fine = launch(p, BOXES, p->room, boxes);
    for (int first = p->room / 2; fine && first > 0; first /= 2) {
        void *fold[] = {&p->box_list, &first};
        fine = launch(p, FOLD, first, fold);
    }
    return fine && launch(p, LINK, p->count - 1, link);
}

static bool solve(program *p, uint64_t frame)
{
    /* Nobody has drawn before the first frame. */
    if (frame > 0 &&
        !culv_ok(culv_semaphore_wait(culv_shared_semaphore_cuda(p->drawn), p->stream, frame),
                 "waiting for drawn"))
        return false;
    return move(p, frame) && build(p) &&
           culv_ok(
               culv_semaphore_signal(culv_shared_semaphore_cuda(p->ready), p->stream, frame + 1),
               "signaling ready");
}

/* The renderer: a compute shader without descriptors, which gets addresses --------------------- */

static bool make_renderer(program *p)
{
    VkDevice device = p->vulkan.device;
    VkPushConstantRange constants = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(look_constants)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = p->vulkan.queue_family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (!VK_MADE(vkCreatePipelineLayout(device, &layout, NULL, &p->layout),
                 "vkCreatePipelineLayout", &p->layout) ||
        !pipeline_create_compute(&p->vulkan, "forest_look.comp.spv", p->layout, &p->look) ||
        !VK_MADE(vkCreateCommandPool(device, &pool, NULL, &p->pool), "vkCreateCommandPool",
                 &p->pool))
        return false;
    VkCommandBufferAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                       .commandPool = p->pool,
                                       .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                       .commandBufferCount = 1};
    return vk_ok(vkAllocateCommandBuffers(device, &one, &p->commands),
                 "vkAllocateCommandBuffers") &&
           VK_MADE(vkCreateFence(device, &fence, NULL, &p->done), "vkCreateFence", &p->done);
}

/* The timelines order the two sides; within Vulkan a barrier makes the data visible. */
static void put_barrier(VkCommandBuffer commands, VkPipelineStageFlags2 from,
                        VkAccessFlags2 written, VkPipelineStageFlags2 to, VkAccessFlags2 used)
{
    VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = from,
                                .srcAccessMask = written,
                                .dstStageMask = to,
                                .dstAccessMask = used};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
}

static bool record(program *p)
{
    const options *o = &p->options;
    const look_constants constants = {p->tree.nodes, p->picture, o->width, o->height, o->samples};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (!vk_ok(vkBeginCommandBuffer(p->commands, &info), "vkBeginCommandBuffer")) return false;
    put_barrier(p->commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_WRITE_BIT,
                VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT);
    vkCmdBindPipeline(p->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->look);
    vkCmdPushConstants(p->commands, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants,
                       &constants);
    vkCmdDispatch(p->commands, (o->width + TILE - 1) / TILE, (o->height + TILE - 1) / TILE, 1);
    put_barrier(p->commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                VK_ACCESS_2_MEMORY_READ_BIT);
    return vk_ok(vkEndCommandBuffer(p->commands), "vkEndCommandBuffer");
}

/* The host waits for the drawing before this one, while CUDA builds this one's tree behind it. */
static bool wait_for_drawing(program *p)
{
    if (!p->drawing) return true;
    p->drawing = false;
    return vk_ok(vkWaitForFences(p->vulkan.device, 1, &p->done, VK_TRUE, UINT64_MAX),
                 "vkWaitForFences") &&
           vk_ok(vkResetFences(p->vulkan.device, 1, &p->done), "vkResetFences");
}

static bool draw(program *p, uint64_t frame)
{
    if (!wait_for_drawing(p) || !record(p)) return false;
    VkSemaphoreSubmitInfo wait = vulkan_submit_point(culv_vk_semaphore_handle(p->ready), frame + 1,
                                                     VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    VkSemaphoreSubmitInfo signal = vulkan_submit_point(
        culv_vk_semaphore_handle(p->drawn), frame + 1, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    return p->drawing = vulkan_submit(p->vulkan.queue, p->commands, &wait, &signal, p->done);
}

/* The next frame draws over it, so this waits. CUDA reads what Vulkan wrote: the picture is in the
 * same memory. */
static bool write_picture(program *p, uint64_t frame)
{
    const options *o = &p->options;
    const culv_cuda_api *cu = p->cu;
    if (!culv_ok(culv_semaphore_wait(culv_shared_semaphore_cuda(p->drawn), p->stream, frame + 1),
                 "waiting for drawn") ||
        !cuda_ok(cu, cu->cuMemcpyDtoHAsync(p->pixels, p->picture, picture_bytes(p), p->stream),
                 "cuMemcpyDtoHAsync") ||
        !cuda_ok(cu, cu->cuStreamSynchronize(p->stream), "cuStreamSynchronize"))
        return false;
    for (size_t i = 0; i < picture_bytes(p); i++)
        p->picture_checksum = (p->picture_checksum ^ p->pixels[i]) * UINT64_C(0x100000001b3);
    return files_numbered(p->last_picture, o->output, frame) &&
           files_make_parents(p->last_picture) &&
           png_write_rgba(p->last_picture, o->width, o->height, p->pixels);
}

/* The program ---------------------------------------------------------------------------------- */

static bool set_up(program *p)
{
    options *o = &p->options;
    vulkan_wishes wishes = {
        .name = "forest", .validation = o->validation, .addresses = true, .one_address = true};
    if (!files_make_parents(o->output) || !vulkan_setup_create(&p->vulkan, o->driver, &wishes))
        return false;
    if (!o->quiet)
        fprintf(stderr, "forest: %s by %s\n", p->vulkan.candidate.name,
                interop_driver_title(p->vulkan.candidate.driver));
    settle(o, p->vulkan.candidate.driver == CULV_DRIVER_SOFT);
    p->picture_checksum = UINT64_C(0xcbf29ce484222325);
    p->pixels = malloc(picture_bytes(p));
    if (!p->pixels) {
        report("out of memory for a picture");
        return false;
    }
    return interop_open_device(&p->vulkan, &p->device, &p->cu, &p->callers_context) &&
           make_solver(p) && interop_attach(&p->vulkan, p->device, false, &p->attached) &&
           interop_timeline(p->attached, "ready", &p->ready) &&
           interop_timeline(p->attached, "drawn", &p->drawn) && make_memory(p) && make_renderer(p);
}

/* Lets both sides run to their end after a failure in mid-frame: a side whose partner's work was
 * never submitted would wait forever. */
static void unblock(program *p)
{
    culv_shared_semaphore *const both[] = {p->ready, p->drawn};
    for (int i = 0; i < 2; i++)
        vulkan_signal_up_to(&p->vulkan, culv_vk_semaphore_handle(both[i]), p->options.frames + 1);
}

static bool run(program *p)
{
    const options *o = &p->options;
    const double started = clock_seconds();
    bool fine = true;
    for (uint64_t frame = 0; fine && frame < o->frames; frame++) {
        fine = solve(p, frame) && draw(p, frame) &&
               (!arguments_wants_picture(frame, o->frames, o->output) || write_picture(p, frame));
        if (!o->quiet) progress_tell(frame, frame + 1, o->frames);
    }
    fine = fine && wait_for_drawing(p);
    p->milliseconds = 1e3 * (clock_seconds() - started) / (double)o->frames;
    if (!fine) unblock(p);
    return fine;
}

static void tear_down(program *p)
{
    const culv_cuda_api *cu = p->cu;
    VkDevice device = p->vulkan.device;
    if (p->stream) (void)cu->cuStreamSynchronize(p->stream);
    if (device) {
        (void)vkDeviceWaitIdle(device);
        vkDestroyFence(device, p->done, NULL);
        vkDestroyCommandPool(device, p->pool, NULL);
        vkDestroyPipeline(device, p->look, NULL);
        vkDestroyPipelineLayout(device, p->layout, NULL);
    }
    for (int i = 0; i < 3; i++)
        culv_vk_space_buffer_destroy(&p->parts[i]);
    culv_vk_space_destroy(&p->space);
    culv_shared_semaphore_destroy(&p->ready, NULL);
    culv_shared_semaphore_destroy(&p->drawn, NULL);
    culv_vk_detach(&p->attached);
    if (p->key_list) (void)cu->cuMemFree(p->key_list);
    if (p->box_list) (void)cu->cuMemFree(p->box_list);
    if (p->stream) (void)cu->cuStreamDestroy(p->stream);
    culv_kernels_unload(&p->loaded);
    interop_close_device(&p->device, cu, p->callers_context);
    vulkan_setup_destroy(&p->vulkan);
    free(p->pixels);
}

static bool print_result(const program *p)
{
    const options *o = &p->options;
    char driver[64];
    culv_vk_space_info info = culv_vk_space_info_init();
    if (!interop_driver_name(p->device, driver) ||
        !culv_ok(culv_vk_space_get_info(p->space, &info), "culv_vk_space_get_info"))
        return false;
    if (!o->quiet) {
        printf("check: every pointer leads where it should: %zu nodes, %zu particles, %u deep; the "
               "root is at %#llx for CUDA and for Vulkan\n",
               p->check.nodes, p->check.particles, (unsigned)p->check.depth,
               (unsigned long long)p->tree.nodes);
        printf("%s | %s | %d particles, %llu frames | %.3f ms a frame | %s\n",
               p->vulkan.candidate.name, driver, p->count, (unsigned long long)o->frames,
               p->milliseconds, p->last_picture);
    }
    printf("RESULT {\"sample\": \"forest\", \"device\": ");
    print_json_string(p->vulkan.candidate.name);
    printf(", \"driver\": ");
    print_json_string(driver);
    printf(
        ", \"particles\": %d, \"frames\": %llu, \"attempts\": %u, \"nodes\": %zu, \"depth\": %u, "
        "\"frame_ms\": %.3f, \"checksum\": \"%016llx\", \"picture\": \"%016llx\"}\n",
        p->count, (unsigned long long)o->frames, (unsigned)info.attempts, p->check.nodes,
        (unsigned)p->check.depth, p->milliseconds, (unsigned long long)p->check.checksum,
        (unsigned long long)p->picture_checksum);
    return true;
}

int main(int argc, char **argv)
{
    static program p;
    report_set_program("forest");
    const arguments_result parsed = parse(&p.options, argc, argv);
    if (parsed != ARGUMENTS_RUN) return parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
    bool fine = set_up(&p) && run(&p) && tree_is_whole(&p.tree, p.cu, &p.check) && print_result(&p);
    tear_down(&p);
    if (p.vulkan.num_messages) {
        report("validation: %u messages", p.vulkan.num_messages);
        fine = false;
    } else if (fine && p.options.validation && !p.options.quiet) {
        printf("validation: no messages\n");
    }
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
