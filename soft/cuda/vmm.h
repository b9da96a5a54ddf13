/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: virtual memory management. Physical allocations, reserved addresses, and
 * what is mapped where. All of it is the process's, no context's. */
#ifndef SOFT_VMM_H_
#define SOFT_VMM_H_

#include "soft.h"

/* Minimum and recommended, as measured on an H200. */
#define SOFT_GRANULARITY ((size_t)2 << 20)

#define SOFT_HANDLE_TYPE_FABRIC 8u /* CU_MEM_HANDLE_TYPE_FABRIC, from cuda.h 12.3 on */

/* Of CUdevice_attribute, from cuda.h 12.9 on. */
#define SOFT_ATTRIBUTE_HOST_NUMA_VMM 141 /* HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
#define SOFT_ATTRIBUTE_HOST_VMM      145 /* HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */

struct soft_team; /* vmm.c */

/* What a CUmemGenericAllocationHandle names. It is in the registry as long as its handle is
 * referred to, and lives on as long as it is mapped or bound somewhere. */
struct soft_physical {
    struct soft_object object;
    CUmemAllocationProp prop; /* as granted */
    size_t size;
    uint64_t id;         /* CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID */
    unsigned references; /* of the handle */
    unsigned uses;       /* mappings, bindings */
    bool imported;
    int fd;                 /* of the file that holds it; -1 when it is not to be shared */
    uint64_t payload;       /* where the memory starts in the file */
    bool labelled;          /* the file says what it is: vmm_share.c */
    void *pages;            /* not shared: the pages themselves, never accessible at this address */
    void *window;           /* soft_physical_open's */
    uint32_t kmt;           /* Windows: its number, once it was exported so */
    int kmt_record;         /* what that leads to; 0: nothing */
    struct soft_team *team; /* a multicast object: it has no pages of its own */
};

struct soft_reservation {
    struct soft_reservation *next;
    uintptr_t start;
    size_t size;
};

#define SOFT_ACCESS_HOST SOFT_MAX_DEVICES
struct soft_virtual { /* one cuMemMap; the rest is in its soft_range */
    struct soft_physical *physical;
    const struct soft_reservation *reservation;
    uint8_t access[SOFT_MAX_DEVICES + 1]; /* CUmemAccess_flags by device, then the host's */
};

/* --- vmm.c */
/* Locked on success. */
CUresult soft_vmm_begin(const char *call);
/* The current context's sticky error; CUDA_SUCCESS without one, or without a context. */
CUresult soft_vmm_error(void);
/* What a device that has fabric handles says without an IMEX channel (measured on an H200), and
 * what the others do. */
CUresult soft_fabric_refusal(void);
/* --- vmm_posix.c */
/* Whether this user has an IMEX channel. */
bool soft_fabric_channel(void);
/* The 64 bytes that stand for memory, or for a pool, in a file. */
bool soft_fabric_write(int fd, void *out);
/* The file behind such bytes; -1: there is none. */
int soft_fabric_open(const void *handle);
/* --- vmm.c */
bool soft_on_host(const CUmemLocation *location);
/* Whose Vulkan takes memory of that place; the host's goes to the first device's. */
enum soft_partner soft_partner_at(const CUmemLocation *location);
/* Whether an allocation can be made so, and why not. */
CUresult soft_prop_check(const CUmemAllocationProp *prop);
struct soft_physical *soft_physical_find(CUmemGenericAllocationHandle handle);
CUmemGenericAllocationHandle soft_physical_handle(const struct soft_physical *physical);
/* One without pages, in the registry, with one reference; NULL: no memory. */
struct soft_physical *soft_physical_new(const CUmemAllocationProp *prop, size_t size);
/* Makes the memory accessible to the twin itself, at `window`. */
bool soft_physical_open(struct soft_physical *physical);
void soft_physical_refer(struct soft_physical *physical);
void soft_physical_release(struct soft_physical *physical); /* of a reference */
void soft_physical_unuse(struct soft_physical *physical);
uint64_t soft_physical_bytes(int device); /* made in this process, and alive */
uint64_t soft_physical_count(void);
uint64_t soft_physical_fds(void);
uint64_t soft_physical_imports(void);
/* A checkpoint: what was exported gets memory of its own, with the same data. */
CUresult soft_physicals_part(void);

/* --- vmm_address.c */
struct soft_reservation *soft_reservation_at(uintptr_t address);
/* The first one that touches [start, start + size). */
struct soft_reservation *soft_reservation_first(uintptr_t start, size_t size);
uint64_t soft_reservation_count(void);
/* Whether any device may use all of what soft_range_holding() found to be there. */
bool soft_virtual_accessible(const struct soft_range *range, uintptr_t start, size_t size);
/* The pages of a mapping changed (a multicast object's): maps them again with its access. */
CUresult soft_virtual_refresh(const struct soft_range *range);
/* Maps a part of a mapping again with its access, in one step where it is a file's. */
void soft_virtual_show(const struct soft_range *range, uintptr_t start, size_t size);

/* --- vmm_address.c: what Vulkan shows. */
bool soft_shown_covers(uintptr_t start, size_t size); /* it has reserved all of that */
void soft_shown_again(uintptr_t start, size_t size);  /* after CUDA mapped there */
bool soft_shown_blank_others(uintptr_t start, size_t size);
void soft_shown_unmap_others(uintptr_t start, size_t size);
uint64_t soft_shown_fds(void);

/* --- vmm_share.c */
struct soft_shared_memory { /* what a file that holds an allocation says of itself */
    int device;             /* an ordinal, CU_DEVICE_CPU, or SOFT_NOT_HERE */
    uint64_t payload, size;
    CUmemAllocationProp prop;
};
#define SOFT_NOT_HERE (-2) /* a device that this process has not */
bool soft_shared_memory_read(int fd, struct soft_shared_memory *out);
/* --- external_memory.c: the same of memory that Vulkan allocated */
bool soft_vulkan_file_read(int fd, struct soft_shared_memory *out);

/* --- partner.c */
/* The first 32 bytes of memory that Vulkan exports. */
bool soft_vulkan_memory_header(uint8_t header[32]);

/* --- vmm.c */
void soft_team_free(struct soft_physical *physical);
/* Waits until all devices were added, where it is a multicast object; false when it is gone
 * meanwhile. */
bool soft_team_wait(struct soft_physical *physical);
/* Maps what it stands for, inaccessible; reserved addresses where nothing is bound. */
CUresult soft_team_place(const struct soft_physical *physical, void *at);

/* --- vmm_posix.c, vmm_win32.c; files: posix.c, win32.c */
/* Addresses without memory. hint 0: anywhere; it is tried, not promised. */
void *soft_reserve(size_t size, size_t alignment, uintptr_t hint);
void *soft_reserve_at(uintptr_t start, size_t size); /* there, or NULL */
/* A file's pages at once with that access, in place of what is there. */
bool soft_pages_show(void *at, size_t size, int fd, uint64_t offset, CUmemAccess_flags access);
bool soft_blank(void *at, size_t size); /* back to that */
void *soft_pages_make(size_t size);     /* shared ones, inaccessible: an address, or a section */
void soft_pages_free(void *pages, size_t size);
/* Those, or a file's, at a reserved address: inaccessible still. */
bool soft_pages_place(void *at, size_t size, void *pages, int fd, uint64_t offset);
bool soft_protect(void *at, size_t size, CUmemAccess_flags access);
int soft_reopen(int fd); /* a new description of the same file */
bool soft_write_at(int fd, const void *data, size_t size, uint64_t offset);
int soft_duplicate(int fd);
void *soft_reserve_anywhere(size_t size);                /* as soft_reserve, page-aligned */
void soft_punch(int fd, uint64_t offset, uint64_t size); /* zeros, without pages */
uint64_t soft_random(void);
/* What handles this system has: whether memory can be made for those that are asked for. */
CUresult soft_share_check(const CUmemAllocationProp *prop);
size_t soft_share_alignment(void); /* of the memory in its file */
int soft_share_make(const CUmemAllocationProp *prop, size_t size);
/* Writes a new handle, as large as its type is. */
CUresult soft_share_export(struct soft_physical *physical, unsigned type, void *out);
CUresult soft_share_import(void *handle, unsigned type, int *fd, struct soft_shared_memory *memory);
void soft_share_forget(struct soft_physical *physical); /* what exports keep */

/* Memory pools. */

struct soft_pooled { /* one allocation */
    struct soft_pool *pool;
    struct soft_pooled *next; /* in soft_pool.extents */
    unsigned owners;          /* the range, and operations that are still to run */
    void *map;
    size_t map_size;
    void *start;
    size_t size;     /* whole pages */
    uint64_t offset; /* in the pool's file */
};

struct soft_pool {
    struct soft_object object; /* in the registry unless it was destroyed */
    CUmemPoolProps props;
    int device;
    bool is_default, imported, destroyed;
    bool exported;               /* its pointers may be */
    bool export_failed;          /* for lack of a file descriptor */
    int fd;                      /* of a pool that may be exported, or was imported; -1 */
    uint64_t id;                 /* in the file: which pool a pointer is of */
    uint64_t file_size;          /* its first page is a label */
    struct soft_pooled *extents; /* by offset */
    size_t allocations;
    uint64_t used, used_high;
    uint64_t release_threshold;
    int reuse[3];
    uint8_t access[SOFT_MAX_DEVICES + 1];
};

/* --- mem_pool.c */
struct soft_pool *soft_pool_find(CUmemoryPool handle);
struct soft_pool *soft_pool_new(const CUmemPoolProps *props); /* NULL: no memory */
/* The file becomes the pool's. */
void soft_pool_own_file(struct soft_pool *pool, int fd, uint64_t size);
void soft_pool_settle(struct soft_pool *pool); /* one that was destroyed and is empty goes */
/* The pool that cuMemAllocAsync takes from; NULL: no memory. */
struct soft_pool *soft_pool_of_device(CUdevice device);
uint64_t soft_pool_count(void); /* but for the devices' own */
uint64_t soft_pool_fds(void);

/* --- mem_pool.c */
/* `size` bytes of the pool, in the table of ranges, inaccessible unless `open`. `offset`: which
 * bytes of the file they are, in an imported pool; NULL: any. */
CUresult soft_pooled_new(struct soft_pool *pool, size_t size, const uint64_t *offset, bool open,
                         struct soft_range **out);
/* Takes the range out of the table, and the memory with it once no operation needs it. */
void soft_pooled_free(struct soft_range *range);

/* Work that graphs of the twin have no nodes for breaks the capture, where there is one. */
CUresult soft_capture_refuse(struct soft_stream *stream);

/* --- vmm_share.c */
bool soft_pool_label(const struct soft_pool *pool); /* says in its file what it is */

#endif
