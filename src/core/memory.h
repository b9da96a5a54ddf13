/* SPDX-License-Identifier: MIT */
/* culv_memory: an import, and its one mapping. */
#ifndef CULVI_CORE_MEMORY_H_
#define CULVI_CORE_MEMORY_H_

#include "core/import.h"
#include "cuda/retire.h"
#include "culvert/dlpack.h"

/* How CUDA takes what a graphics API exports. */
typedef enum culvi_memory_way {
    CULVI_MEMORY_IMPORTED, /* cuImportExternalMemory; it is of the device's own GPU */
    CULVI_MEMORY_ACROSS,   /* the same; it is of another GPU */
    /* Of another GPU, by cuMemImportFromShareableHandle: mapped whole into addresses of its own */
    CULVI_MEMORY_PLACED,
    CULVI_MEMORY_OPENED /* another process's cuMemAlloc, by cuIpcOpenMemHandle: `base` alone */
} culvi_memory_way;

/* Handles of VMM map whole, in multiples of this: sizes are rounded up (measured). */
#define CULVI_PLACED_UNIT (UINT64_C(2) << 20)

struct culv_memory {
    culv_device *device;
    const culvi_words *words; /* of the API that made it */
    char label[64];
    CUexternalMemory external;
    culvi_memory_way way;
    CUmemGenericAllocationHandle placed; /* PLACED, in place of `external` */
    bool placed_mapped;                  /* else `base` is reserved addresses alone */
    uint64_t size;
    /* CUDA's own memory, for a fallback: not an import; `base` is allocated, arrays are created */
    bool own;
    /* Or pages of the host: not an import; `base` is CUDA's address of them. NULL: neither */
    void *host;
    void *block;     /* those pages belong to Culvert and are freed last */
    bool registered; /* CUDA knows those pages; guarded by the device's lock */
    bool dedicated;
    culv_memory_kind kind;
    /* What it was imported from; CUDA maps no arrays on a dma-buf (cuda.h) */
    culv_handle_type handle_type;
    /* Identifies the native object that it was imported from, where the API compares them. It is
     * never followed, since the object may be gone. 0: not known */
    uint64_t identity;
    /* Guarded by the device's lock. */
    uint32_t refs;          /* the caller's handle, each buffer, each image */
    uint32_t buffers;       /* live mapped ranges, including deferred ones */
    uint32_t holders;       /* like refs, without tensors, and what was given up and is deferred */
    CUdeviceptr base;       /* the one mapping of all of it; 0 when not mapped */
    culvi_tree_node mapped; /* culv_device::mapped */
    bool waiting;           /* on the deferred list after a refused release */
    /* An acquired import can be found while somebody holds it. */
    culvi_tree_node shared; /* by culvi_graphics::id, which is never 0, and the native memory */
    bool acquired;          /* it is in culv_device::shared */
    /* For checkpoints (core/suspend.c). Guarded by the device's lock. */
    culv_memory *next, **link; /* culv_device::memories; CUDA's own memory is not there */
    struct culv_buffer *first_buffer;
    struct culv_image *first_image;
    culvi_source source;
    bool away;          /* the import is given up */
    CUdeviceptr before; /* where the mapping was that is given up; 0: there was none */
    CUdeviceptr kept;   /* the same addresses, reserved for the next one; 0: they are not */
    bool by_vmm;        /* `placed` is a second import, which is mapped at `base` */
    culvi_deferred deferred;
};

/* Gives up at the driver what there is of it, and makes it again: mapping, arrays, import. The
 * caller holds the lock and has entered the context. False: the driver refused. An error leaves
 * what could be made; the next call makes the rest. */
bool culvi_memory_suspend(culv_memory *memory);
culv_result culvi_memory_resume(culv_memory *memory);

/* Imports a handle that an API has just exported, only for this call (culvi_import_trust()).
 * `words` are that API's. The handle is gone, whatever the result. */
culv_result culvi_memory_import_exported(culv_device *device, const culvi_words *words,
                                         const culv_memory_desc *d, culvi_memory_way way,
                                         culv_memory **out);
/* Maps what is PLACED, and takes that away again, after a wait for all work of the context, as the
 * driver has it with other imports. False: the driver refused, try again. In the device's
 * context. */
culv_result culvi_memory_place(culv_memory *memory);
bool culvi_memory_displace(culv_memory *memory, bool last_try);
/* Maps it at its kept addresses, by a second import. False: the driver refused, and the addresses
 * are free. */
bool culvi_memory_place_again(culv_memory *memory, CUresult *reason);
/* Frees them. False: the driver refused. */
bool culvi_memory_drop_addresses(culv_memory *memory, bool last_try);
/* Reserves the addresses of the mapping that was just given up, where the driver has them. */
void culvi_memory_keep_addresses(culv_memory *memory);
CUresult culvi_memory_release_placed(culv_memory *memory);
/* CUDA's own memory; the first mapping allocates it. NULL: out of host memory (recorded). */
culv_memory *culvi_memory_own(culv_device *device, uint64_t size, const char *label);
/* Whole pages of the host, `size` bytes; the first mapping registers them. `block` is freed with
 * culvi_free() at the end, or is NULL. Returns NULL when out of host memory (recorded); `block` is
 * still the caller's then. */
culv_memory *culvi_memory_host(culv_device *device, void *pages, uint64_t size, void *block,
                               const char *label);
/* OPENED, but for its address, which the caller sets and counts as a mapping. NULL: as there. */
culv_memory *culvi_memory_to_open(culv_device *device, uint64_t size, const char *label);
/* Maps, allocates or registers the whole memory, once. The caller holds the lock. */
culv_result culvi_memory_map(culv_memory *memory);
/* Whether an import of the device's is mapped at this address. Takes the lock. */
bool culvi_memory_is_import(culv_device *device, CUdeviceptr pointer);

/* What a registered object of a graphics API lies in (core/registration.h): the driver maps it from
 * a map to an unmap, and nothing else can. */
static inline bool culvi_memory_is_registration(const culv_memory *memory)
{
    return memory->external == NULL && !memory->away && memory->way == CULVI_MEMORY_IMPORTED &&
           !memory->own && memory->host == NULL;
}

/* Whether random access in so many bytes of that kind is slow. */
static inline bool culvi_memory_kind_is_slow(culv_memory_kind kind, uint64_t size)
{
    return size >= CULV_SLOW_KIND_BYTES &&
           (kind == CULV_MEMORY_KIND_COMPRESSIBLE || kind == CULV_MEMORY_KIND_PLAIN);
}

/* Finds an acquired import and adds a reference, or returns NULL; makes an import that can be
 * found. The caller holds the lock. */
culv_memory *culvi_memory_find_shared(culv_device *device, uint64_t owner, uint64_t key);
void culvi_memory_share(culv_memory *memory, uint64_t owner, uint64_t key);
/* Removes one holder. The caller holds the lock. */
void culvi_memory_drop_holder(culv_memory *memory);

/* Releases at the driver what nobody needs any longer, or leaves it to a later call. The caller
 * holds the lock. */
void culvi_memory_release_unused(culv_memory *memory, bool entered, bool last_try);

/* buffer.c */

struct culv_buffer {
    culv_memory *memory;
    uint64_t size;
    CUdeviceptr pointer;
    const char *owner_destroy_call;   /* of the object of Culvert's that has it; or NULL */
    struct culvi_staging *staging;    /* NULL: it is shared */
    bool is_tensor;                   /* culvi_buffer_range() */
    struct culv_buffer *next, **link; /* culv_memory::first_buffer */
    char label[64];
    culvi_deferred deferred;
};

/* Maps a range that lies in the memory. A tensor's keeps the memory and is no holder of it: its
 * consumer may keep it for longer than the native memory, whose number may then be another's. */
culv_result culvi_buffer_range(culv_memory *memory, uint64_t offset, uint64_t size,
                               const char *label, bool is_tensor, culv_buffer **out);
/* Releases what an object of Culvert's owns. */
void culvi_buffer_release_or_defer(culv_buffer *buffer, const CUstream *last_use);

/* dlpack.c: a tensor of memory that some object of Culvert's keeps alive. */

/* What a tensor lies in. */
typedef struct culvi_dlpack_memory {
    const culv_device *device;
    const char *label;
    CUdeviceptr pointer;
    void *host; /* the same byte for the CPU, in a buffer of host memory; NULL: none */
    uint64_t size;
    void (*give_up)(void *owner); /* of the last deleter, from any thread */
} culvi_dlpack_memory;

/* Reads and checks the descriptor and makes the tensor. `owner` is given up with it; after an error
 * the caller still has it. */
culv_result culvi_dlpack_create(const culvi_dlpack_memory *memory, const culv_dlpack_desc *desc,
                                void *owner, culv_dl_managed_tensor_versioned **out);

#endif
