/* SPDX-License-Identifier: MIT */
/* The software twin's CUDA driver: state and helpers shared by its files.
 *
 * One lock guards everything but the memory that programs share: soft_begin takes it, soft_end
 * gives it back, and a wait for the workers releases it meanwhile (a condition variable). Work
 * itself runs unlocked on the workers. */
#ifndef SOFT_H_
#define SOFT_H_

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cuda.h's own switch for drivers: it declares each version of a function under its exported
 * name. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
/* Of cudaProfiler.h. */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

#include "../shared/control.h"
#include "../shared/layer_calls.h"
#pragma GCC visibility pop

#ifdef _WIN32 /* which has no setuid programs */
#    define secure_getenv getenv
#endif

#define SOFT_DRIVER_VERSION 13000
#define SOFT_MAX_DEVICES    16
#define SOFT_MAX_PEERS      8u /* "eight peers" of the CUDA Programming Guide */
#define SOFT_MAX_BLOCK      1024u
#define SOFT_MAX_SHARED     49152u
/* Of a block's, for the GPU itself. */
#define SOFT_RESERVED_SHARED 1024u
/* An H200's 227 KiB: "a kernel must opt in", CUDA Programming Guide, compute capability 9.0 */
#define SOFT_MAX_SHARED_OPTIN 232448u
/* As an H200's; workers have no priorities, so that it means nothing. */
#define SOFT_GREATEST_PRIORITY (-5)

/* Objects with handles. The registry knows every live handle, so a stale one is refused without
 * being read. */
enum soft_kind {
    SOFT_CONTEXT,
    SOFT_STREAM,
    SOFT_EVENT,
    SOFT_EXTERNAL_MEMORY,
    SOFT_EXTERNAL_SEMAPHORE,
    SOFT_MODULE,
    SOFT_FUNCTION,
    SOFT_LIBRARY, /* these two belong to no context */
    SOFT_KERNEL,
    SOFT_LINKER,
    SOFT_ARRAY,
    SOFT_LEVEL, /* an array that belongs to a mipmapped one */
    SOFT_MIPMAP,
    SOFT_SURFACE,
    SOFT_TEXTURE,
    SOFT_GRAPH, /* these four belong to no context, executable graphs aside */
    SOFT_NODE,
    SOFT_EXEC,
    SOFT_USER_OBJECT,
    SOFT_PHYSICAL, /* an allocation of cuMemCreate, or a multicast object: vmm.h */
    SOFT_MEMORY_POOL,
    SOFT_GRAPHICS, /* a registered buffer or image of a graphics API: graphics.c */
    SOFT_KINDS
};

struct soft_object { /* the first member of each */
    enum soft_kind kind;
    struct soft_context *context;
    struct soft_object *next; /* in the registry's bucket */
};

void soft_object_add(struct soft_object *object, enum soft_kind kind, struct soft_context *context);
void soft_object_remove(struct soft_object *object);
void *soft_object_find(const void *handle, enum soft_kind kind);
/* Any object of this kind in the context, NULL when there is none. */
void *soft_object_any(enum soft_kind kind, const struct soft_context *context);
/* Calls visit(object, arg) for each of this kind; visit adds and removes none. */
void soft_objects_each(enum soft_kind kind, void (*visit)(void *object, void *arg), void *arg);
uint64_t soft_object_count(enum soft_kind kind);

/* A moment in a stream: reached once the stream has completed `seq` operations. */
struct soft_stream;
struct soft_point {
    struct soft_stream *stream; /* a reference */
    uint64_t seq;
};

struct soft_context {
    struct soft_object object;
    int device;
    bool primary;
    bool active;
    unsigned retained;    /* primary only */
    unsigned green_count; /* a green context's multiprocessors; 0: it is none */
    unsigned flags;
    bool cig;          /* cuCtxCreate's cigParams */
    bool no_fallback;  /* CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED was set to 0 */
    size_t stack_size; /* CU_LIMIT_STACK_SIZE; 0: as it was at the begin */
    void *cig_object;  /* the graphics API's: a reference */
    uint64_t id;
    _Atomic int error;           /* the sticky CUresult; 0 = none */
    _Atomic bool dying;          /* waits for other APIs are given up */
    uint64_t holder;             /* the thread whose call holds the context; 0: none */
    struct soft_stream *streams; /* those whose worker may still run */
    struct soft_stream *legacy;
    struct soft_stream *marker; /* private: completes the records of cuCtxRecordEvent */
    unsigned num_peers;
    struct soft_context *peers[SOFT_MAX_PEERS]; /* whose memory this one may use */
};

/* Whose memory and images a device of the twin's reads. */
enum soft_partner { SOFT_NO_PARTNER, SOFT_LAVAPIPE, SOFT_SWIFTSHADER };

struct soft_device {
    enum soft_partner partner;
    char name[256];
    uint8_t uuid[16];
    bool invented;   /* no Vulkan device has this UUID */
    uint8_t luid[8]; /* culvSoftPlayLuid */
    unsigned node_mask;
    bool has_luid;
    struct soft_context primary;
};

struct soft_driver {
    pthread_mutex_t lock;
    pthread_cond_t progress; /* some stream completed an operation, or ended */
    bool initialized;
    int device_count;
    struct soft_device devices[SOFT_MAX_DEVICES];
    uint64_t next_id;         /* of threads, streams and buffers */
    uint64_t next_context_id; /* counted apart, as on an H200: the first is 1 */
    int driver_version;       /* what is played: SOFT_DRIVER_VERSION or older */
    char played_name[256];    /* culvSoftPlayName; "": none */
    bool peers_barred;        /* culvSoftBarPeers */
    int peers_spoiled;        /* culvSoftSpoilPeers */
    bool takes_dma_bufs;      /* culvSoftPlayDmaBufImport */
    uint64_t memory_at_start; /* free at cuInit: what cuMemGetInfo counts from */
};
extern struct soft_driver soft;

/* --- control.c: the way in and out of every call */
enum soft_need {
    SOFT_NEED_NOTHING,
    SOFT_NEED_INIT,
    SOFT_NEED_CONTEXT, /* current, alive, without a sticky error */
    /* Current and alive; a sticky error does not keep things from being freed */
    SOFT_NEED_CONTEXT_TO_FREE
};
/* Counts the call and fails it if it is the one to fail. On success the lock is held. */
CUresult soft_begin(const char *call, enum soft_need need, struct soft_context **context);
CUresult soft_end(CUresult result);
/* After cuInit: in a child process that fork() makes, all calls answer CUDA_ERROR_NOT_INITIALIZED
 * until it calls exec. */
void soft_refuse_children(void);
bool soft_is_child(void); /* it is one */
/* A call that works on a stream: the context is the current one for a default stream, and may be
 * NULL for others, which bring their own along (measured). */
CUresult soft_begin_stream(const char *call, CUstream stream, struct soft_context **context);
/* The same, and the stream. */
CUresult soft_begin_on(const char *call, CUstream handle, struct soft_stream **stream);
/* Declares `result`, with which the function ends unless it is a success. */
#define SOFT_TRY(call)                                                                             \
    CUresult result = (call);                                                                      \
    if (result != CUDA_SUCCESS) return result
/* A step of a call, after the first: it ends the call unless it is a success. */
#define SOFT_STEP(call)                                                                            \
    do {                                                                                           \
        result = (call);                                                                           \
        if (result != CUDA_SUCCESS) return soft_end(result);                                       \
    } while (0)
/* The first statement of a call of the driver's, which the second form gives the current context.
 */
#define SOFT_BEGIN(need) SOFT_TRY(soft_begin(__func__, need, NULL))
#define SOFT_BEGIN_IN(need, context)                                                               \
    struct soft_context *context;                                                                  \
    SOFT_TRY(soft_begin(__func__, need, &(context)))
void soft_forbid_calls(bool forbid); /* on this thread, while a host function runs */

/* --- context_kinds.c: checkpoints */
/* Whether a call may be made now: it waits while the process is locked. With the lock. */
CUresult soft_checkpoint_pass(const char *call);

/* --- device.c, partner.c, win32.c */
struct soft_found_device {
    enum soft_partner partner;
    char name[256];
    uint8_t uuid[16];
    uint8_t luid[8]; /* Windows', with has_luid */
    bool has_luid;
};
int soft_vulkan_devices(struct soft_found_device *found, int capacity);
void soft_vulkan_keep_drivers(void); /* while an instance is there */
bool soft_device_valid(CUdevice device);
/* What cuDeviceGetAttribute answers: culvSoftPlayAttribute's value, where there is one. */
int soft_attribute(int attribute, CUdevice device);
void soft_play_attribute(int attribute, int value);

/* --- context.c */
void soft_context_init(struct soft_context *context, int device, bool primary);
struct soft_context *soft_context_current(void);
CUresult soft_context_green(int device, unsigned count, struct soft_context **out);
void soft_context_destroy(struct soft_context *context); /* not a primary one */
/* Of a green context its device's primary one, of all others themselves. */
const struct soft_context *soft_context_family(const struct soft_context *context);
/* `need`, but no more than SOFT_NEED_INIT where no context is current: for calls that are given
 * what has a context of its own (measured). */
enum soft_need soft_need_if_any(enum soft_need need);
void soft_context_fail(struct soft_context *context, CUresult error);
uint64_t soft_context_references(void);

/* --- peer.c */
struct soft_context *soft_context_find(CUcontext handle); /* alive, or NULL */
/* The context ends: it has no peers, and is nobody's. */
void soft_peers_forget(struct soft_context *context);
uint64_t soft_peers_count(void);
/* Whether the context's kernels may use the addresses in an argument of one. Called without the
 * lock. */
bool soft_peers_reach(const struct soft_context *context, const void *argument, size_t size);
/* For the work of both, which must be alive afterwards. */
CUresult soft_contexts_wait(CUcontext first, CUcontext second);

/* --- stream.c */
#define SOFT_NO_NODE ((CUgraphNodeType)0xff)
struct soft_op {
    struct soft_op *next;
    struct soft_stream *stream;
    uint64_t seq;
    /* Does the work, unlocked, on the worker; not called once the context has failed. NULL: nothing
     * to do. */
    CUresult (*run)(struct soft_op *op);
    /* Always called, locked, after the work or instead of it, before the operation counts as
     * complete; frees what the operation holds, not the operation. NULL: nothing. */
    void (*retire)(struct soft_op *op);
    size_t num_points;
    struct soft_point *points; /* what the operation waits for besides its turn */
    /* A graph's node holds its work as an operation that is never submitted: each launch runs it
     * from one that is, so that run must change nothing in it. */
    CUgraphNodeType type; /* of a node that holds it; SOFT_NO_NODE: it cannot be captured */
    unsigned more_owners; /* besides the first */
    /* Called locked when it is submitted, or its graph launched: whether it may be. NULL:
     * always. */
    CUresult (*admit)(struct soft_op *op, const struct soft_context *context);
    void (*recall)(struct soft_op *op); /* undoes admit: it was not submitted after all */
};
void *soft_op_new(size_t size, CUresult (*run)(struct soft_op *), void (*retire)(struct soft_op *));
/* Gives up an operation that was never submitted, or one of its owners' share: the last one retires
 * and frees it. */
void soft_op_drop(void *op);
CUresult soft_op_admit(struct soft_op *op, const struct soft_context *context);
void soft_op_recall(struct soft_op *op);
/* Takes the operation, also when it fails. In a stream that is being captured it becomes a node. */
CUresult soft_submit(struct soft_stream *stream, void *op);
CUresult soft_op_add_point(void *op, struct soft_stream *stream, uint64_t seq);
/* Submits, then waits until the work is done. */
CUresult soft_submit_and_wait(struct soft_stream *stream, void *op);

/* Whether the thread is in a call of whose streams 0 is its own default stream (procs.h). */
extern _Thread_local bool soft_null_is_per_thread;
/* A default stream is `context`'s, which may be NULL for the others. */
CUresult soft_stream_get(struct soft_context *context, CUstream handle,
                         struct soft_stream **stream);
CUresult soft_stream_marker(struct soft_context *context, struct soft_stream **stream);
/* A stream of the driver's own, with a reference to it, until soft_stream_release. */
CUresult soft_stream_private(struct soft_context *context, struct soft_stream **stream);
void soft_stream_release(struct soft_stream *stream); /* its work goes on */
bool soft_stream_start(struct soft_stream *stream);   /* its worker; false: no memory */
/* The program's. */
CUresult soft_stream_create(struct soft_context *context, unsigned flags, int priority,
                            CUstream *handle);
unsigned soft_stream_flags(const struct soft_stream *stream);
bool soft_stream_captured(const struct soft_stream *stream);
struct soft_capture_place *soft_stream_place(struct soft_stream *stream);
uint64_t soft_thread_id(void); /* of the calling thread, never used again */
struct soft_context *soft_stream_context(const struct soft_stream *stream);
struct soft_stream *soft_stream_ref(struct soft_stream *stream);
void soft_stream_unref(struct soft_stream *stream);
uint64_t soft_stream_submitted(const struct soft_stream *stream);
bool soft_point_reached(const struct soft_point *point);
void soft_point_wait(const struct soft_point *point);
/* Makes `op` wait for all that was submitted to the context's streams (to the blocking ones only,
 * if asked). */
CUresult soft_op_after_context(void *op, const struct soft_context *context, bool blocking_only);
CUresult soft_context_wait(struct soft_context *context);
/* For what was submitted to the stream. */
CUresult soft_stream_wait(struct soft_stream *stream);
/* The same, and other threads' calls in the context wait meanwhile, as they do in NVIDIA's driver
 * (measured of cuMemFree). */
CUresult soft_context_wait_holding(struct soft_context *context);
/* Returns once no other thread holds the context; it may have ended meanwhile. */
void soft_context_enter(const struct soft_context *context);
/* Ends every stream of a dying context and waits for the workers. */
void soft_streams_end(struct soft_context *context);

/* --- event.c */
void soft_event_free(void *event);

/* --- memory.c */
enum soft_range_kind {
    SOFT_RANGE_DEVICE,
    SOFT_RANGE_HOST,
    SOFT_RANGE_REGISTERED,
    SOFT_RANGE_MAPPED,
    SOFT_RANGE_VIRTUAL,  /* one cuMemMap */
    SOFT_RANGE_POOLED,   /* of a memory pool */
    SOFT_RANGE_GRAPHICS, /* of a mapped graphics resource */
    SOFT_RANGE_OPENED,   /* of another process's cuMemAlloc */
    SOFT_RANGE_VARIABLE  /* of a module */
};
struct soft_external_memory;
struct soft_range {
    uintptr_t start;
    size_t size;
    enum soft_range_kind kind;
    struct soft_context *context; /* NULL: no context's, it is the process's */
    int device;                   /* whose memory it is; set from the context where there is one */
    void *map; /* what to unmap: guard pages and all; NULL when it is the program's own memory */
    size_t map_size;
    unsigned flags;
    uint64_t buffer_id; /* no other range's, ever; never 0 */
    bool sync_memops;
    bool managed;               /* cuMemAllocManaged, or culvSoftPlayManaged */
    struct soft_advice *advice; /* managed.c: what was said of its pages; NULL: nothing */
    void *image;                /* SOFT_RANGE_VARIABLE: soft_image.library */
    /* Counted there while it lives; NULL after its destruction */
    struct soft_external_memory *external;
    struct soft_virtual *virtual; /* SOFT_RANGE_VIRTUAL: vmm.h */
    struct soft_pooled *pooled;   /* SOFT_RANGE_POOLED: vmm.h */
    struct soft_ipc *ipc;         /* ipc.c: it is shared with other processes; else NULL */
};
/* Takes nothing on failure. */
CUresult soft_range_add(const struct soft_range *range);
struct soft_range *soft_range_find(uintptr_t address);
/* The first range that has a byte of [address, address + size), NULL when none has. */
struct soft_range *soft_range_first(uintptr_t address, size_t size);
/* The range that holds all of [address, address + size), or the first of those, mapped one behind
 * the other by cuMemMap, that do; NULL when none does. */
struct soft_range *soft_range_holding(uintptr_t address, size_t size);
void soft_range_remove(struct soft_range *range);
void soft_ranges_free(struct soft_context *context); /* not those of variables */
void soft_ranges_forget_external(struct soft_external_memory *external);
/* The image's variables are that context's from then on; NULL: they are gone. */
void soft_ranges_of_image_pass(const void *image, struct soft_context *heir);
uint64_t soft_range_count(enum soft_range_kind kind);
/* Bytes of the device's memory of cuMemAlloc and of pools. */
uint64_t soft_range_bytes(int device);

/* --- ipc.c */
void soft_ipc_free(struct soft_ipc *ipc);

/* --- vmm_posix.c: RDMA */
/* Of the memory there, whose allocations act synchronously from then on, as by SYNC_MEMOPS. */
CUresult soft_p2p_tokens(struct soft_range *range, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS *out);
void soft_count_sync_memops(bool of_context);

/* --- external_memory.c, external_semaphore.c, module.c, array.c, texture.c */
struct soft_mapping {
    void *start;
    void *map; /* what soft_unmap takes */
    size_t map_size;
    /* Counted there while it lives; NULL after its destruction */
    struct soft_external_memory *external;
    bool image; /* set by the caller: a dedicated import's image lies at its start */
};
/* Maps a range of the import and counts it; soft_external_memory_unmapped when it is unmapped. */
CUresult soft_external_memory_map(struct soft_external_memory *memory, uint64_t offset,
                                  uint64_t size, struct soft_mapping *out);
bool soft_external_memory_of_swiftshader(const struct soft_external_memory *memory);
/* Whether Vulkan has an image there that NVIDIA's driver reads wrong: shared/labels.h. */
bool soft_external_memory_misread(const struct soft_external_memory *memory, uint64_t offset);
/* --- partner.c: what a file is that SwiftShader exported */
#define SOFT_SWIFTSHADER_SPARE 15u /* bytes behind its memory */
bool soft_swiftshader_made(int fd, const char *what);
void soft_external_memory_free(void *memory);
void soft_external_memory_unmapped(struct soft_external_memory *memory);
void soft_mipmaps_forget_external(struct soft_external_memory *external);
uint64_t soft_mipmaps_mapped(void); /* on external memory */
void soft_array_free(void *array);
void soft_mipmap_free(void *mipmap);
void soft_slot_free(void *surface_or_texture);
void soft_graphics_free(void *resource);
uint64_t soft_external_memory_fds(void);
uint64_t soft_external_memories_dedicated(void);
void soft_external_semaphore_free(void *semaphore);
void soft_module_free(void *module);
void soft_linker_free(void *linker);
/* The error for code that is none of the twin's; says why, where it is a GPU's. */
CUresult soft_code_refuse(const void *code, unsigned num_options, const CUjit_option *options,
                          void **values);
/* A file of kernels, opened. */
struct soft_image {
    void *library;
    const culv_soft_module_table *table;
    unsigned *shared;                 /* bytes that each kernel declares */
    struct soft_variables *variables; /* module_posix.c; NULL: the file does not tell them */
};
/* A variable of the module's source, by C++'s name, which is nvcc's too. */
bool soft_image_variable(const struct soft_image *image, const char *name, uintptr_t *start,
                         size_t *size);
CUresult soft_image_open(const char *name, struct soft_image *out);
/* Where the file of a shared object in memory ends, of which a call is told nothing; 0: it is
 * none. */
size_t soft_image_size(const void *data);
CUresult soft_image_open_memory(const void *data, size_t size, struct soft_image *out);
void soft_image_close(struct soft_image *image);
/* Of a parameter in a block of all of them; with num_params, the block's size. */
size_t soft_param_offset(const culv_soft_kernel *kernel, size_t index);
struct soft_function {
    struct soft_object object;
    uint64_t id; /* no other function's, ever */
    const culv_soft_kernel *kernel;
    CUmodule module;
    bool meets;              /* its threads wait for one another: block.c */
    unsigned static_shared;  /* bytes */
    unsigned dynamic_shared; /* the most that a launch may ask for */
    int carveout;
    uint32_t cluster[3]; /* blocks of a cluster, of a launch that says none; 0: none */
    bool large_clusters; /* more than 8 blocks */
    uint32_t set_here;   /* attributes that cuFuncSetAttribute set, a bit each */
};
/* Of a function, or of a library's kernel in the context, where its library is loaded if need be.
 * INVALID_HANDLE: it is neither. */
CUresult soft_function_in(const void *handle, struct soft_context *context,
                          struct soft_function **out);

/* --- launch.c */
bool soft_dimensions_valid(culv_soft_dim3 grid, culv_soft_dim3 block);

/* --- block.c: runs a kernel's blocks on all processors */
struct soft_grid {
    const culv_soft_kernel *kernel;
    bool meets;
    culv_soft_dim3 grid, block;
    uint32_t cluster[3];   /* blocks of a cluster; 0: none */
    unsigned shared_bytes; /* dynamic */
    unsigned static_shared;
    void *const *params;
};
CUresult soft_pool_run(const struct soft_grid *grid);

/* --- block_posix.c, block_win32.c */
/* Runs work(arg); a fault in it ends it and is the result. The first call installs the handler. */
CUresult soft_guarded(void (*work)(void *), void *arg);
/* Counts it for culvSoftFaults(). */
void soft_note_fault(void);
/* Ends the work that soft_guarded() runs on this thread, whose result this is. */
_Noreturn void soft_fault_end(CUresult result);
void *soft_fault_thread_begin(void); /* a stack for the handler; what it returns goes to the end */
void soft_fault_thread_end(void *token);

/* --- procs.c */
bool soft_proc_known(const char *name); /* with a version's suffix or without one */

/* --- posix.c, win32.c */
bool soft_thread_start(void *(*entry)(void *),
                       void *arg); /* detached, application signals blocked */
/* From now on a child process that fork() makes begins with this call. */
void soft_on_fork(void (*child)(void));
unsigned soft_processors(void);
uint64_t soft_now_ns(void);
size_t soft_page_size(void);
uint64_t soft_memory_total(void);
uint64_t soft_memory_free(void);
/* `size` bytes, aligned to 256 and ending at a guard page; *map and *map_size are what soft_unmap
 * takes. */
void *soft_map_guarded(size_t size, void **map, size_t *map_size);
/* The same at an address that is a multiple of `alignment`, which the size is, too. */
void *soft_map_guarded_at(size_t size, size_t alignment, void **map, size_t *map_size);
/* The pages of a whole file between guard pages. */
void *soft_map_file_guarded(int fd, size_t size, void **map, size_t *map_size);
/* Puts the pages of a file where others are. */
bool soft_map_over(void *start, size_t size, int fd);
int soft_open(const char *path); /* for reading and writing; -1 on failure */
bool soft_file_inode(int fd, uint64_t *inode);
/* `size` bytes of an open file from `offset`, any alignment, shared. */
void *soft_map_file(int fd, uint64_t offset, size_t size, void **map, size_t *map_size);
/* The same, from `unit` bytes on at a multiple of that. */
void *soft_map_file_at_unit(int fd, uint64_t offset, size_t size, size_t unit, void **map,
                            size_t *map_size);
/* A new nameless file of zeros whose size stays; -1 and errno on failure. */
int soft_make_file(const char *name, size_t size);
void soft_unmap(void *map, size_t map_size);
/* Whether the pages are there and may be written (or read only), as pinning them would find out. */
bool soft_pages_usable(const void *start, size_t size, bool read_only);
void soft_close(int fd);
/* The size of a regular file (a memfd is one); false for everything else. */
bool soft_file_size(int fd, uint64_t *size);
/* Nobody can cut the file off under a mapping. */
bool soft_file_stays(int fd);
bool soft_read_at(int fd, void *data, size_t size, uint64_t offset);
void soft_futex_wait(_Atomic uint32_t *word, uint32_t seen, unsigned milliseconds);
void soft_futex_wake(_Atomic uint32_t *word);

/* --- capture.c */
/* Whether a stream capture forbids the call, which breaks the captures that do. */
bool soft_capture_forbids(const char *call);

/* --- procs.c */
bool soft_error_by_name(const char *name, CUresult *error);

/* --- context_kinds.c */
/* Checks what a CIG context is made of, and takes a reference where there is an object. */
CUresult soft_cig_take(const CUctxCigParam *param, CUdevice device, unsigned flags, void **held);
void soft_cig_drop(void *held);
/* CUDA_ERROR_NOT_SUPPORTED in a CIG context: what it has none of. Under the lock. */
CUresult soft_cig_refusal(void);

#endif
