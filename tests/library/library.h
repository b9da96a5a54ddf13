/* SPDX-License-Identifier: MIT */
/* What the programs of the library's suite share: a device with its Vulkan partner, checks of
 * errors, file descriptors and counts, and a Vulkan loader that can be made to lie. */
#ifndef CULVERT_TESTS_LIBRARY_H_
#define CULVERT_TESTS_LIBRARY_H_

#include "control.h"
#include "harness.h"
#include "raw_cuda.h"
#include "raw_vulkan.h"

#include <culvert/culvert.h>
#include <culvert/vulkan.h>
#include <stdatomic.h>

/* An out pointer that no call returns: still there after an error, or the call wrote where it must
 * not. */
#define POISON(type) ((type *)(uintptr_t)0x5a5a5a50u)

/* An import, after which the handle goes. */
#define LIB_TAKE(call, handle) (LIB_OK(call), culv_handle_close(handle))
/* All evaluate `call` once. The others also hold the thread's last error against a class and a
 * reason, which are words (INVALID, VALUE), and against words that its message must have, if any
 * are given:
 *   LIB_ERROR(culv_x_create(device, &d, &x), UNSUPPORTED, FORMAT, "R32_SFLOAT", "culv_x_desc")
 * LIB_INVALID is for the class of most errors. LIB_FAILS takes values: call, class, reason. */
#define LIB_OK(call)           lib_require_ok(__FILE__, __LINE__, #call, (call))
#define LIB_ERROR(call, ...)   LIB_ERROR_(call, #call, __VA_ARGS__, (const char *)NULL)
#define LIB_INVALID(call, ...) LIB_ERROR_(call, #call, INVALID, __VA_ARGS__, (const char *)NULL)
#define LIB_ERROR_(call, text, class, why, ...)                                                    \
    lib_require_error(__FILE__, __LINE__, text, (lib_forget_error(), (call)), CULV_ERROR_##class,  \
                      CULV_REASON_##why, __VA_ARGS__)
#define LIB_FAILS(call, ...)                                                                       \
    lib_require_error(__FILE__, __LINE__, #call, (lib_forget_error(), (call)), __VA_ARGS__,        \
                      (const char *)NULL)
/* The same for a call that would write *(out); it must not. */
#define LIB_REFUSES(out, call, ...)    LIB_WRITES_NOT_(out, LIB_ERROR(call, __VA_ARGS__))
#define LIB_REFUSES_AS(out, call, ...) LIB_WRITES_NOT_(out, LIB_FAILS(call, __VA_ARGS__))
#define LIB_WRITES_NOT_(out, fails)                                                                \
    do {                                                                                           \
        (out) = (__typeof__(out))(uintptr_t)0x5a5a5a50u;                                           \
        fails;                                                                                     \
        REQUIRE((out) == (__typeof__(out))(uintptr_t)0x5a5a5a50u);                                 \
        (out) = NULL;                                                                              \
    } while (0)

/* A row of a table of refusals: `refusal` with what is right but for `change`.
 *   SPOILT(d, d.size = 0, LIB_INVALID(culv_x_create(device, &d, &x), SIZE)) */
#define SPOILT(right, change, refusal)                                                             \
    do {                                                                                           \
        const __typeof__(right) kept_ = (right);                                                   \
        change;                                                                                    \
        refusal;                                                                                   \
        (right) = kept_;                                                                           \
    } while (0)

void lib_require_ok(const char *file, int line, const char *text, culv_result result);
/* Then words, and NULL. */
__attribute__((sentinel)) void lib_require_error(const char *file, int line, const char *text,
                                                 culv_result result, culv_result expected,
                                                 culv_reason reason, ...);
/* Makes the last error one that no test expects. */
void lib_forget_error(void);
culv_error lib_last_error(void);
/* The last error's message has this text in it. */
#define LIB_SAYS(text) lib_require_says(__FILE__, __LINE__, (text))
void lib_require_says(const char *file, int line, const char *text);

/* Declares what a call makes, which must succeed:
 *   NEW(culv_vector, vector, culv_vector_create, device, &desc); */
#define NEW(type, name, create, ...)                                                               \
    type *name = NULL;                                                                             \
    LIB_OK(create(__VA_ARGS__, &(name)))

/* A local that goes with its block, if it is still there by then, the last one first:
 *   OWN(culv_vector) *vector = NULL; */
#define OWN(type) __attribute__((unused, cleanup(lib_end_##type))) type
#define LIB_ENDS(type, end)                                                                        \
    static inline void lib_end_##type(type **object)                                               \
    {                                                                                              \
        end;                                                                                       \
    }
LIB_ENDS(culv_buffer, LIB_OK(culv_buffer_unmap(object, NULL)))
LIB_ENDS(culv_device, culv_device_close(object))
LIB_ENDS(culv_image, LIB_OK(culv_image_unmap(object, NULL)))
LIB_ENDS(culv_ipc_client, culv_ipc_client_destroy(object))
LIB_ENDS(culv_ipc_object, culv_ipc_object_destroy(object))
LIB_ENDS(culv_ipc_server, culv_ipc_server_destroy(object))
LIB_ENDS(culv_mem_pool, culv_mem_pool_destroy(object))
LIB_ENDS(culv_memory, culv_memory_destroy(object))
LIB_ENDS(culv_ring, LIB_OK(culv_ring_destroy(object, NULL)))
LIB_ENDS(culv_semaphore, LIB_OK(culv_semaphore_destroy(object, NULL)))
LIB_ENDS(culv_shared_buffer, LIB_OK(culv_shared_buffer_destroy(object, NULL)))
LIB_ENDS(culv_shared_image, LIB_OK(culv_shared_image_destroy(object, NULL)))
LIB_ENDS(culv_shared_semaphore, LIB_OK(culv_shared_semaphore_destroy(object, NULL)))
LIB_ENDS(culv_vector, culv_vector_destroy(object, NULL))
LIB_ENDS(culv_vector_view, LIB_OK(culv_vector_view_destroy(object)))
LIB_ENDS(culv_vmm_adopted, culv_vmm_adopted_destroy(object))
LIB_ENDS(culv_vmm_allocation, LIB_OK(culv_vmm_allocation_destroy(object)))
/* What is mapped in it goes first. */
LIB_ENDS(culv_vmm_range, ((void)culv_vmm_unmap(*object, 0, culv_vmm_range_size(*object), NULL),
                          LIB_OK(culv_vmm_range_destroy(object))))

#define LIB_BLOCK(type, name, bytes) type *name = test_memory((size_t)(bytes))

/* The driver under test, with Culvert allowed to use the same one. */
const raw_cuda *lib_driver(void);
/* What the twin holds and was asked; 0 on another driver. */
culv_soft_counts lib_soft_counts(const raw_cuda *cu);
/* One more device of that driver's; it logs where `log` is not NULL. */
culv_device *lib_another_device(int32_t ordinal, const culv_log *log);

typedef struct lib_world {
    const raw_cuda *cu;
    raw_vk vk;
    culv_device *device;
    culv_vk_device *attachment;
    CUcontext context; /* culv_device_context(), not current */
    size_t fds;        /* open when the device was opened */
} lib_world;

/* Set before a world is opened: CUDA kernels in command buffers, where the device has them. */
extern bool lib_with_kernels;
/* Likewise: queues for CUDA in graphics. */
extern bool lib_with_external_queues;

/* Opens Vulkan, then the device that is the same GPU, and attaches. No CUDA context is current. */
void lib_open(lib_world *w);
/* Runs a case on a device that is another GPU than Vulkan's and works on its memory in place. Such
 * a case has a process of its own. */
extern bool lib_across;
void lib_run_across(void (*run)(void));
/* The Vulkan half alone. */
void lib_open_vulkan(lib_world *w);
/* With what buffers at a chosen address need, where the device has it. */
void lib_open_vulkan_for_one_address(lib_world *w);
void lib_open_culvert(lib_world *w);
/* The device and its attachment alone, with a log. */
void lib_open_heard(lib_world *w, culv_log log);
/* culv_device_open_for_vk() of the world's Vulkan device. */
culv_result lib_open_for_vk(const lib_world *w, PFN_vkGetInstanceProcAddr loader,
                            const culv_device_desc *desc, culv_device **out);
/* Closes all that is open and requires that nothing is left: fds, driver's and layer's objects,
 * validation messages. */
void lib_close(lib_world *w);
/* Cases in such worlds (TEST_ON). */
#define LIB_CASE(...)        TEST_ON(lib_world, w, lib_open(w), lib_close(w), __VA_ARGS__)
#define LIB_VULKAN_CASE(...) TEST_ON(lib_world, w, lib_open_vulkan(w), lib_close(w), __VA_ARGS__)
/* The attachment and the device alone, while Vulkan's objects (and the fds they hold) are still
 * there. */
void lib_close_culvert(lib_world *w);
culv_vk_device_desc lib_vk_desc(const lib_world *w);

/* A second attachment, by a loader; a device by its number. */
culv_vk_device *lib_attach(const lib_world *w, PFN_vkGetInstanceProcAddr loader);
culv_device *lib_open_ordinal(const raw_cuda *cu, int ordinal);

culv_device_caps lib_caps(const culv_device *device);
/* Ranks the instance's devices; how many there are, one at least. */
enum { LIB_CANDIDATES = 16 };
uint32_t lib_rank(PFN_vkGetInstanceProcAddr get, VkInstance instance, const culv_device_desc *desc,
                  culv_vk_candidate out[LIB_CANDIDATES]);
culv_device_counts lib_counts(const lib_world *w);
/* Of counts: all zero but late_destroys. */
void lib_require_no_objects(const lib_world *w);
/* What the driver itself has, where it tells (the twin). */
void lib_require_driver_counts(const lib_world *w, uint64_t memories, uint64_t mappings,
                               uint64_t semaphores);
/* Calls of the driver so far, where it tells. */
#define lib_calls(cu) (lib_soft_counts(cu).calls)
/* Waits (5 s at most) until no release is deferred any more. */
void lib_settle(const lib_world *w);

/* What an image, an allocation and a pool say of themselves. */
culv_image_desc lib_image(const culv_image *image);
culv_vmm_allocation_info lib_allocation(const culv_vmm_allocation *allocation);
/* CUDA's memory of a pool, in stream order. */
CUdeviceptr lib_pool_alloc(const lib_world *w, CUmemoryPool pool, size_t size, CUstream stream);
void lib_pool_free(const lib_world *w, CUdeviceptr at, CUstream stream);

/* What a case has until lib_close(): an exportable buffer or timeline of Vulkan's, a stream. */
raw_vk_buffer lib_case_buffer(lib_world *w, VkDeviceSize size, uint32_t flags);
VkSemaphore lib_case_timeline(lib_world *w, uint64_t value);
CUstream lib_case_stream(const lib_world *w);
/* A shader of the build tree: "library_space.comp"; and a pipeline of one. */
VkShaderModule lib_shader(VkDevice device, const char *name);
VkPipeline lib_compute_pipeline(VkDevice device, const char *name, VkPipelineLayout layout);
/* A CUDA stream of the device's context; the current context is left as it was. */
CUstream lib_stream(const lib_world *w);
void lib_stream_destroy(const lib_world *w, CUstream stream);
/* A kernel of the stream's writes where nothing is; waits until the context knows, which is broken
 * from then on. */
void lib_fault(const lib_world *w, CUstream stream);
/* A green context: a stream on a part of the multiprocessors. False: the driver has none. */
typedef struct lib_green {
    CUresult(CUDAAPI *create)(void **context, void *parts, CUdevice device, unsigned flags);
    CUresult(CUDAAPI *create_stream)(CUstream *stream, void *context, unsigned flags, int priority);
    CUresult(CUDAAPI *destroy)(void *context);
    void *context;
    CUstream stream;
} lib_green;
bool lib_green_open(const lib_world *w, lib_green *g);
void lib_green_close(const lib_world *w, const lib_green *g);
/* Waits for all of a stream's work; asks whether it is done. */
void lib_finish(const lib_world *w, CUstream stream);
CUresult lib_query(const lib_world *w, CUstream stream);
/* Makes the device's context current and gives back the one to return to. */
CUcontext lib_enter(const lib_world *w);
void lib_leave(const lib_world *w, CUcontext before);
/* A driver's call in between. */
#define LIB_CU_OK(w, call)                                                                         \
    do {                                                                                           \
        CUcontext before_ = lib_enter(w);                                                          \
        CU_OK(call);                                                                               \
        lib_leave((w), before_);                                                                   \
    } while (0)

/* Whether Vulkan has such images whose planes are bound each by itself. */
bool lib_disjoint(const lib_world *w, VkFormat format);

/* A plain import: memory of `buffer`, by the Vulkan road. */
culv_memory *lib_import(const lib_world *w, const raw_vk_buffer *buffer);
culv_memory_desc lib_memory_desc(const lib_world *w, const raw_vk_buffer *buffer, int fd);
/* What is told of it by the Vulkan road. */
culv_vk_memory_desc lib_vk_memory(const raw_vk_buffer *buffer);
/* What Culvert makes by nothing but Vulkan's own description. */
culv_shared_buffer *lib_made_buffer(culv_vk_device *vk, const VkBufferCreateInfo *info);
culv_shared_image *lib_made_image(culv_vk_device *vk, const VkImageCreateInfo *info);
culv_semaphore *lib_import_timeline(const lib_world *w, VkSemaphore timeline);
/* By the raw road; takes the fd. */
culv_semaphore *lib_import_semaphore_fd(culv_device *device, culv_semaphore_type type, int fd);
/* A semaphore each way: timelines, or binary ones where Vulkan exports no timelines. */
typedef struct lib_turns {
    bool binary;
    VkSemaphore to_vulkan, to_cuda;
    culv_semaphore *signals, *waits; /* CUDA's side of the two */
    uint64_t vulkan_value, cuda_value;
    uint64_t vulkan_took, cuda_took; /* of binary ones, who was waited for */
} lib_turns;
void lib_turns_open(lib_world *w, lib_turns *out);
void lib_turns_close(lib_world *w, lib_turns *t);
/* Ends and submits what Vulkan does between CUDA's last signal and the next wait; waits for it. */
void lib_turns_submit(lib_world *w, lib_turns *t, VkCommandBuffer commands, uint32_t queue);
void lib_turns_cuda_begin(lib_turns *t, CUstream stream);
void lib_turns_cuda_end(lib_turns *t, CUstream stream);
/* Word i of the pattern that tests write: its index and a seed mixed. */
uint32_t lib_word(uint32_t i, uint32_t seed);
void lib_fill(uint32_t *words, size_t count, uint32_t seed);
void lib_require_words(const char *file, int line, const uint32_t *words, size_t count,
                       uint32_t seed);
#define REQUIRE_WORDS(words, count, seed)                                                          \
    lib_require_words(__FILE__, __LINE__, (words), (count), (seed))
/* All of them are one value. */
void lib_require_all(const char *file, int line, const uint32_t *words, size_t count,
                     uint32_t value);
#define REQUIRE_ALL(words, count, value)                                                           \
    lib_require_all(__FILE__, __LINE__, (words), (count), (value))

/* File descriptors ----------------------------------------------------------------------------- */

/* A descriptor that is being watched: `twin` is a duplicate that tells whether fd is still the same
 * file. */
typedef struct lib_fd {
    int fd, twin;
    int64_t offset;
} lib_fd;

lib_fd lib_fd_watch(int fd);
/* Still open, the same open file, its offset where it was. */
void lib_fd_require_untouched(const lib_fd *watched);
/* The number is closed, or another file's by now. */
void lib_fd_require_gone(const lib_fd *watched);
void lib_fd_done(lib_fd *watched, bool close_fd);
/* Requires first that it is untouched. */
void lib_fd_end(lib_fd *watched, bool close_fd);

/* File descriptors that nobody exported. */

typedef struct bad_handle {
    const char *name;
    int fd;
    /* What an import answers; the driver's own refusal where reason is HANDLE_REFUSED */
    culv_result result;
    culv_reason reason;
} bad_handle;

/* Gives each to `refuse`, which imports it and holds the error against the
 * handle's, and requires that it is left as it was. `size` is that of the files. */
void bad_handles_try(const lib_world *w, size_t size,
                     void (*refuse)(const lib_world *w, const bad_handle *handle));

/* Processes ------------------------------------------------------------------------------------ */

/* Starts this case anew in an environment where name is value (NULL: unset); returns once it is
 * so. */
void lib_with_environment(const char *name, const char *value);
/* Starts this case anew with another option, "--validation=off", on its command line. */
void lib_with_option(const char *option);
/* A directory of the build tree is searched before the others for libcuda.so.1. */
void lib_with_libcuda_of(const char *directory);
/* A device of the driver in such a directory, which plays what no machine has, and gives the work
 * to the twin; returns the driver's `control`. */
void *lib_open_played(const char *directory, const char *control, culv_device **device);
/* A function pointer NAME: the driver's of that device. */
#define LIB_CUDA(device, type, name, version)                                                      \
    type name;                                                                                     \
    lib_cuda_function(device, #name, version, &name)
void lib_cuda_function(const culv_device *device, const char *name, int version, void *function);
long lib_status_kib(const char *field); /* of /proc/self/status, such as "VmRSS:" */
size_t lib_map_lines(void);             /* of /proc/self/maps */
size_t lib_threads(void);
void lib_sleep_ms(long ms);
/* Waits until no more threads live than did: one that was told to end may take a moment. */
void lib_wait_threads(size_t before);

/* What a process has now, and what a leak would make more of. */
typedef struct lib_level {
    size_t fds, maps, threads;
    long rss; /* KiB */
} lib_level;
lib_level lib_level_now(void);
/* Mesa's queues get their threads at the first submission that waits for a value that nobody has
 * signaled yet. Called before threads are counted, since it is a matter of time whether what is
 * counted makes such a submission. */
void lib_start_queue_threads(lib_world *w);

/* The layer's controls; false when it is not loaded. */
typedef struct lib_layer {
    void (*counts)(culv_soft_vk_counts *out);
    void (*fail_at)(uint64_t n, int error);
    const char *(*failed_call)(void);
    void (*lose_devices)(int lost);
    void (*before)(uint64_t n, void (*hook)(void *user, const char *call), void *user);
} lib_layer;
bool lib_layer_find(lib_layer *out);
/* It knows of nothing but so many devices, each with its instance. */
void lib_require_empty_layer(const lib_layer *layer, unsigned devices);

/* A loader that lies --------------------------------------------------------------------------- */

typedef struct lib_lies {
    const char *missing;  /* a function that it does not know */
    uint32_t group_size;  /* each device is in a group of so many */
    uint32_t api_version; /* each device's apiVersion */
    uint8_t uuid_xor;     /* spoils each device's UUID */
    const uint8_t *luid;  /* each device has these 8 bytes and node_mask, when not NULL */
    uint32_t node_mask;
    /* Lists a first device that is this one, but for a UUID that is nobody's */
    VkPhysicalDevice stranger_like;
    bool no_devices;   /* the instance lists none */
    const char *hides; /* an extension that no device offers */
    bool no_timeline_feature;
    bool no_timelines;       /* the device lacks their functions */
    bool requires_dedicated; /* of every buffer and image */
    bool prefers_dedicated;  /* the same */
    bool dedicated_only;     /* the same, by what can be exported */
    bool exports_nothing;    /* no buffer and no image */
    bool no_memory;          /* no memory type can hold an image */
    bool exports_no_semaphores;
    bool exports_no_binaries;  /* only timelines, as Mesa's drivers will where they export any */
    bool exports_no_timelines; /* only binary ones, as SwiftShader */
    /* With exports_nothing: pages of the host may be imported all the same */
    bool takes_pages;
    /* Of vkGetPhysicalDeviceImageFormatProperties2, when not success */
    VkResult image_format_result;
    bool memory_fd_fails; /* vkGetMemoryFdKHR answers memory_fd_result and fd -1 */
    VkResult memory_fd_result;
    bool semaphore_fd_fails;
    VkResult semaphore_fd_result;
    VkPhysicalDeviceType type; /* with says_type */
    bool says_type;
    /* Every semaphore is a binary one, and exported as a duplicate of binary_fd */
    bool plays_binaries;
    int binary_fd;
    /* The device offers them; what is imported or asked of as one goes to it as an opaque fd */
    bool plays_dma_bufs;
    uint32_t dma_buf_types;
    VkResult dma_buf_result; /* of vkGetMemoryFdPropertiesKHR */
    uint32_t second_type;    /* property flags of a memory type 1 that is added, when not 0 */
} lib_lies;

extern lib_lies lib_lying;
/* By this loader: the last vkAllocateMemory had VkMemoryDedicatedAllocateInfo; the last
 * vkCreateBuffer or vkCreateImage had Culvert's structure in its chain, and
 * VkBufferOpaqueCaptureAddressCreateInfo or VkImageFormatListCreateInfo. */
extern bool lib_saw_dedicated, lib_saw_chain;
extern uint32_t lib_saw_type; /* VkMemoryAllocateInfo::memoryTypeIndex */
/* What was recorded by this loader's functions since it was set to zero; of the arrays what they
 * have room for. */
enum { LIB_SEEN = 8 };
typedef struct lib_seen {
    uint32_t barriers, images, copies; /* calls, image barriers in them, copies of images */
    VkPipelineStageFlags src[LIB_SEEN], dst[LIB_SEEN];
    VkMemoryBarrier memory[LIB_SEEN]; /* a call's first one */
    VkImageMemoryBarrier image[LIB_SEEN];
    VkDeviceSize offset_bits; /* all VkBufferImageCopy::bufferOffset, put together by "or" */
} lib_seen;
extern lib_seen lib_saw;
VkPhysicalDevice lib_stranger(void);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL lib_lying_loader(VkInstance instance, const char *name);

/* Barriers in the form of Vulkan 1.0. */
culv_result lib_buffer_barrier(const culv_vk_buffer_transfer *transfer, culv_vk_direction direction,
                               culv_vk_buffer_barrier *out);
culv_result lib_image_barrier(const culv_vk_image_transfer *transfer, culv_vk_direction direction,
                              culv_vk_image_barrier *out);

#endif
