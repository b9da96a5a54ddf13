/* SPDX-License-Identifier: MIT */
/* Culvert: shares memory, vectors, images and semaphores with other processes of this machine.
 *
 * A server offers objects by name, and clients receive them. A client uses the memory of the server
 * itself: nothing is copied.
 *
 *   the solver                                     the viewer
 *   culv_ipc_server_create(device, &d, &server);   culv_ipc_client_connect(device, &d, time, &c);
 *   culv_ipc_offer(server, &info,                  culv_ipc_client_receive(c, "field", time, &o);
 *       culv_ipc_from_vmm(memory));                culv_ipc_import_vmm(o, &memory);
 *   for (;;) {
 *       solve();                                   ... map it, read it ...
 *       culv_ipc_server_poll(server, 0, NULL);
 *   }
 *
 * culvert/ipc_ring.h hands frames over. Objects for which CUDA has IPC calls are shared, too.
 *
 * Culvert starts no threads: a server answers only inside culv_ipc_server_poll(), so call it now
 * and then, or when culv_ipc_server_fd() is readable. Calls that wait take a timeout in
 * nanoseconds. When a process ends, the other side's next call notices it. Received objects stay
 * usable.
 *
 * Both sides check each other: the user of the other process, the protocol's version, every size
 * and count of every message, and the GPU's UUID. A peer that sends invalid messages loses its
 * connection, and nothing else happens. No call waits for a slow peer. But a peer that you admit
 * shares your memory and may write to it.
 *
 * On Linux messages and file descriptors travel over Unix sockets. On Windows messages travel over
 * named pipes, and the receiver duplicates NT handles from the process that sent them
 * (DuplicateHandle), so both processes need the same user and the same rights. Two processes of
 * which only one runs as administrator refuse each other. culv_ipc_fetch_dup() (culvert/handle.h)
 * gets a handle from a program that can only tell its number. */
#ifndef CULV_IPC_H_
#define CULV_IPC_H_

#include "format.h"
#include "image.h"
#include "semaphore.h"
#include "vector.h"
#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: what a process offers. Calls for one server, its offers and its rings come from one
 * thread at a time. */
typedef struct culv_ipc_server culv_ipc_server;
/** Opaque: a connection to a server. Calls for one client and for objects received by it come from
 * one thread at a time. */
typedef struct culv_ipc_client culv_ipc_client;
/** Opaque: a received object: its description and its handle. */
typedef struct culv_ipc_object culv_ipc_object;

/** Bytes of a name with its final 0. A name has letters, digits, '.', '_' and '-', and does not
 * begin with '.'. */
#define CULV_IPC_NAME_SIZE 64
/** A timeout without end. Timeouts are in nanoseconds. */
#define CULV_IPC_FOREVER UINT64_MAX
/** Maximum number of clients of a server. */
#define CULV_IPC_MAX_CLIENTS 64

/** The kind of an offered object. */
typedef enum culv_ipc_kind {
    CULV_IPC_NONE = 0,
    CULV_IPC_VMM = 1,          /**< A culv_vmm_allocation. */
    CULV_IPC_VECTOR = 2,       /**< A culv_vector, with its chunks at the time of the request. */
    CULV_IPC_BUFFER = 3,       /**< A buffer in exported memory of a graphics API. */
    CULV_IPC_IMAGE = 4,        /**< An image in exported memory of a graphics API. */
    CULV_IPC_SEMAPHORE = 5,    /**< An exported semaphore of a graphics API. */
    CULV_IPC_RING = 6,         /**< A ring of frames: culvert/ipc_ring.h. */
    CULV_IPC_CUDA_MEMORY = 7,  /**< Memory of cuMemAlloc. */
    CULV_IPC_EVENT = 8,        /**< A CUDA event. */
    CULV_IPC_POOL = 9,         /**< A memory pool. */
    CULV_IPC_POOL_MEMORY = 10, /**< An allocation of a pool. */
    /** A culv_vmm_allocation by its fabric handle. */
    CULV_IPC_VMM_FABRIC = 11,
    CULV_IPC_POOL_FABRIC = 12, /**< A memory pool by its fabric handle. */
    CULV_IPC_KIND_FORCE32 = 0x7fffffff
} culv_ipc_kind;

/** The meaning of an image's colours. The format has the order of the channels. */
typedef enum culv_ipc_color {
    CULV_IPC_COLOR_UNKNOWN = 0,
    CULV_IPC_COLOR_DATA = 1,   /**< No colours. */
    CULV_IPC_COLOR_SRGB = 2,   /**< sRGB primaries, encoded values. */
    CULV_IPC_COLOR_LINEAR = 3, /**< sRGB primaries, linear values. */
    CULV_IPC_COLOR_DISPLAY_P3 = 4,
    CULV_IPC_COLOR_BT709 = 5,
    CULV_IPC_COLOR_BT2020_PQ = 6,
    CULV_IPC_COLOR_BT2020_HLG = 7,
    CULV_IPC_COLOR_FORCE32 = 0x7fffffff
} culv_ipc_color;

/** The meaning of an image's alpha channel. */
typedef enum culv_ipc_alpha {
    CULV_IPC_ALPHA_UNKNOWN = 0,
    CULV_IPC_ALPHA_OPAQUE = 1, /**< Ignore it. */
    CULV_IPC_ALPHA_STRAIGHT = 2,
    CULV_IPC_ALPHA_PREMULTIPLIED = 3,
    CULV_IPC_ALPHA_FORCE32 = 0x7fffffff
} culv_ipc_alpha;

/** An image's tiling. */
typedef enum culv_ipc_tiling {
    CULV_IPC_TILING_OPTIMAL = 0, /**< VK_IMAGE_TILING_OPTIMAL. */
    CULV_IPC_TILING_LINEAR = 1,  /**< VK_IMAGE_TILING_LINEAR. */
    CULV_IPC_TILING_FORCE32 = 0x7fffffff
} culv_ipc_tiling;

/** The description of an offered object. The server fills it in, and clients get it. Fields that
 * the kind lacks are 0. */
typedef struct culv_ipc_info {
    size_t struct_size;            /**< Set by culv_ipc_info_init(). */
    char name[CULV_IPC_NAME_SIZE]; /**< Required. */
    /** Your own text for the other side, such as the meaning of the numbers. UTF-8 without control
     * characters. */
    char text[CULV_IPC_NAME_SIZE];
    culv_ipc_kind kind; /**< BUFFER, IMAGE, SEMAPHORE: required. The other calls set it. */
    culv_handle_type handle_type; /**< Set by the call. */
    /** UUID of the GPU. BUFFER, IMAGE, SEMAPHORE: that of the graphics API's device, if it is
     * another one than the server's (allow_other_gpu); 0: the server's. The other calls set it. */
    culv_uuid device;
    /** BUFFER, IMAGE: required, the size of the whole allocation in bytes
     * (VkMemoryAllocateInfo::allocationSize). VMM, VECTOR: set by the call. */
    uint64_t allocation_size;
    uint64_t offset; /**< BUFFER, IMAGE, VMM: bytes into the allocation. */
    /** BUFFER: bytes; 0: to the end. VMM: bytes in use; 0: all behind `offset`. VECTOR: bytes in
     * use, set. */
    uint64_t size;
    culv_bool dedicated;       /**< BUFFER, IMAGE: as culv_memory_desc::dedicated. */
    uint32_t memory_type_bits; /**< The graphics API's memory types, for its own import. 0: any. */
    /** Format of one element of a buffer or vector (a vertex, a texel, a float). */
    culv_format element_format;
    uint32_t element_size;  /**< Bytes from one element to the next. */
    uint64_t element_count; /**< Number of elements. element_size * element_count fits in `size`. */
    culv_image_type image_type; /**< IMAGE: as in culv_image_desc. */
    culv_format format;
    uint32_t width, height, depth, array_layers, mip_levels;
    culv_ipc_tiling tiling;
    /** IMAGE, BUFFER: `usage` and `flags` of VkImageCreateInfo or VkBufferCreateInfo. */
    uint32_t usage, create_flags;
    culv_ipc_color color;
    culv_ipc_alpha alpha;
    culv_semaphore_type semaphore_type; /**< SEMAPHORE: required. */
    uint32_t num_slots;                 /**< RING: its slots. Set by the call. */
    uint64_t value;                     /**< SEMAPHORE: as culv_semaphore_desc::value. */
    uint64_t generation;                /**< VECTOR: culv_vector_generation(). Set by the call. */
    uint32_t parts;                     /**< RING: objects in each slot. VECTOR: chunks. Set. */
    uint32_t reserved;                  /**< 0. */
} culv_ipc_info;

CULV_INIT(culv_ipc_info)

/** Returns a description with this name. If the name is too long, the call that gets the
 * description refuses it.
 * Errors: none; NULL gives no name.
 * Ownership: the text is copied. */
CULV_INLINE culv_ipc_info culv_ipc_info_named(const char *name)
{
    culv_ipc_info i = culv_ipc_info_init();
    size_t n;
    for (n = 0; name != NULL && name[n] != 0 && n < sizeof i.name; n++)
        i.name[n] = name[n];
    return i;
}

/* Server --------------------------------------------------------------------------------------- */

/** A server to make. */
typedef struct culv_ipc_server_desc {
    size_t struct_size; /**< Set by culv_ipc_server_desc_init(). */
    const char *name;   /**< Required: clients connect by it. Read during the call. */
    /** A directory for the socket. It must be yours and closed to others (mode 0700). NULL: the
     * socket is abstract, without a file; then only processes of this network namespace see it.
     * Windows: NULL, as pipes lie in no directory; only this user's processes can open them. */
    const char *directory;
    /** The users (uids) whose processes are admitted. NULL: only the user of this process. Windows:
     * NULL. */
    const uint32_t *users;
    size_t num_users;
    /** 1 to CULV_IPC_MAX_CLIENTS. Default: 16. If all places are taken, these make room for others:
     * connections that have said nothing, and clients that for a second have left their answers
     * unread or have asked nothing since they connected. Each user that `users` names has a place
     * that the others cannot take, unless more are named than there are places. */
    uint32_t max_clients;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_ipc_server_desc;

CULV_INIT(culv_ipc_server_desc)

/** Makes a server, which listens from then on. Starts no thread. On Windows each
 * culv_ipc_server_poll() admits one client, and the others wait.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a name, a count, or a directory that is not
 * there; IPC_REFUSED: the directory is not yours or is open to others), BUSY (IPC_NAME: a server of
 * this name is there), UNSUPPORTED (NOT_BUILT: Windows has no directories and no uids),
 * OUT_OF_MEMORY, DRIVER (OS).
 * Ownership: *out is yours, for culv_ipc_server_destroy(). It keeps the device open.
 * Source: unix(7), SCM_RIGHTS, SO_PEERCRED; Windows: CreateNamedPipe. */
CULV_EXPORT culv_result culv_ipc_server_create(culv_device *device,
                                               const culv_ipc_server_desc *desc,
                                               culv_ipc_server **out);

/** Destroys the server and its offers. Its rings end as if they were destroyed: consumers are told,
 * and their calls answer RING_STOPPED. You still have to call culv_ring_destroy() for them, before
 * this call or after it. Clients keep the objects that they received.
 * Ownership: offered objects and rings stay yours. A ring keeps the device open. */
CULV_EXPORT void culv_ipc_server_destroy(culv_ipc_server **server);

/** Answers the requests of clients so far, admits new clients, and notices those that have gone. If
 * there is nothing to do, it waits up to `timeout` nanoseconds (0: does not wait). It never waits
 * for a slow client. `answered` (may be NULL) gets the number of requests and departures.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER (OS). Faults of clients are not errors: the log has them.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_server_poll(culv_ipc_server *server, uint64_t timeout,
                                             uint32_t *answered);

/** Returns a file descriptor that is readable when culv_ipc_server_poll() has something to do, for
 * poll() and the like. -1 for NULL and on Windows: call culv_ipc_server_poll() now and then there.
 * Ownership: the server's: never close it. */
CULV_EXPORT int culv_ipc_server_fd(const culv_ipc_server *server);

/** Returns how many clients are connected, or 0 for NULL. Threads: one at a time. */
CULV_EXPORT uint32_t culv_ipc_server_clients(const culv_ipc_server *server);

/** What is offered. A function makes it: culv_ipc_from_vmm(), culv_ipc_from_vector(),
 * culv_ipc_from_handle(), and those at the end for what only CUDA has. */
typedef struct culv_ipc_source {
    culv_ipc_kind kind; /**< Its kind. NONE: a handle, and culv_ipc_info::kind says of what. */
    /** The culv_vmm_allocation, culv_vector, culv_handle, CUevent or culv_mem_pool_pointer. */
    const void *object;
    CUdeviceptr pointer; /**< CUDA_MEMORY, POOL_MEMORY: the address. */
} culv_ipc_source;

/** Returns a VMM allocation as a source. It must be exportable as OPAQUE_FD (Windows:
 * OPAQUE_WIN32). The call reads these fields of culv_ipc_info: name, text, offset, size, element_*.
 * The other process gets the whole allocation, with the data at `offset`.
 * Ownership: the allocation stays yours; you may destroy it when culv_ipc_offer() has returned. */
CULV_INLINE culv_ipc_source culv_ipc_from_vmm(culv_vmm_allocation *allocation)
{
    culv_ipc_source s = {CULV_IPC_VMM, NULL, 0};
    s.object = allocation;
    return s;
}

/** Returns a vector as a source. Its chunks must be exportable as OPAQUE_FD (Windows:
 * OPAQUE_WIN32). Clients get the chunks that it has when they ask. The call reads these fields of
 * culv_ipc_info: name, text, element_format, element_size.
 * Ownership: the vector stays yours. Withdraw the offer before you destroy the vector.
 * culv_ipc_server_poll() reads the vector: order it with culv_vector_shrink(). */
CULV_INLINE culv_ipc_source culv_ipc_from_vector(culv_vector *vector)
{
    culv_ipc_source s = {CULV_IPC_VECTOR, NULL, 0};
    s.object = vector;
    return s;
}

/** Returns a BUFFER, an IMAGE or a SEMAPHORE (culv_ipc_info::kind) by its exported handle as a
 * source: culv_vk_memory_export_dup(), culv_vk_semaphore_export_dup(); on Windows also
 * ID3D12Device::CreateSharedHandle(). Names and KMT handles are refused, because they keep nothing
 * alive.
 * Ownership: the handle is borrowed; close it whenever you like after the offer. */
CULV_INLINE culv_ipc_source culv_ipc_from_handle(const culv_handle *handle)
{
    culv_ipc_source s = {CULV_IPC_NONE, NULL, 0};
    s.object = handle;
    return s;
}

/** Offers something to the clients:
 * culv_ipc_offer(server, &info, culv_ipc_from_vmm(allocation)).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND; VALUE: the
 * message names the field and its bounds; SIZE: the file behind the handle is smaller;
 * NOT_EXPORTABLE), BUSY (IPC_NAME: the name is taken), DRIVER, ASYNC, OUT_OF_MEMORY; the source may
 * have more.
 * Ownership: see the source's function. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_offer(culv_ipc_server *server, const culv_ipc_info *info,
                                       culv_ipc_source source);

/** Withdraws an offer. Clients keep the objects that they received.
 * Errors: INVALID (NULL_ARGUMENT; IPC_NAME: nothing of that name is offered; OWNED: it belongs to a
 * ring, which withdraws it).
 * Ownership: the offered object stays yours. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_withdraw(culv_ipc_server *server, const char *name);

/* Client --------------------------------------------------------------------------------------- */

/** A connection to make. */
typedef struct culv_ipc_client_desc {
    size_t struct_size;    /**< Set by culv_ipc_client_desc_init(). */
    const char *name;      /**< Required: the server's. Read during the call. */
    const char *directory; /**< As culv_ipc_server_desc::directory. */
    /** The users (uids) whose servers are trusted. NULL: only the user of this process. Windows:
     * NULL. */
    const uint32_t *users;
    size_t num_users;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_ipc_client_desc;

CULV_INIT(culv_ipc_client_desc)

/** Lists the servers by name: those with sockets in `directory` (culv_ipc_server_desc::directory),
 * or, if it is NULL, those of this network namespace with abstract sockets. On Windows it lists
 * those of this machine, of all users. Only culv_ipc_client_connect() shows whether a server admits
 * you.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER (OS: /proc or the directory cannot be read; Wine lists no
 * pipes), UNSUPPORTED (NOT_BUILT: a directory on Windows).
 * Ownership: the copies are yours.
 * Source: proc(5), /proc/net/unix; FindFirstFile, which lists named pipes. */
CULV_EXPORT culv_result culv_ipc_find_servers(const char *directory,
                                              char (*names)[CULV_IPC_NAME_SIZE], size_t capacity,
                                              size_t *count);

/** Connects to a server. It waits up to `timeout` nanoseconds for the server to appear, to have
 * room and to answer. If `device` is NULL, the client can list and receive, but not import into
 * CUDA.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE), TIMEOUT (IPC_NAME: there is no such server;
 * IPC_GONE: it does not answer), BUSY (IPC_REFUSED: the server is full), UNSUPPORTED (NOT_BUILT;
 * IPC_REFUSED: the server does not admit this process, or belongs to a user that is not trusted),
 * ASYNC (IPC_GONE; IPC_PROTOCOL: it speaks another version of the protocol, or another protocol),
 * OUT_OF_MEMORY, DRIVER (OS).
 * Ownership: *out is yours, for culv_ipc_client_destroy(). It keeps the device open. */
CULV_EXPORT culv_result culv_ipc_client_connect(culv_device *device,
                                                const culv_ipc_client_desc *desc, uint64_t timeout,
                                                culv_ipc_client **out);

/** Ends the connection. Received and imported objects stay usable. A vector keeps its chunks and
 * gets no more (IPC_GONE); a consumer leaves its ring. */
CULV_EXPORT void culv_ipc_client_destroy(culv_ipc_client **client);

/** Gets the description of the server's offer number `index`, from 0 on, and in `count` (may be
 * NULL) the number of offers. If the index is too high, only *count is written.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), TIMEOUT (IPC_GONE: no answer), ASYNC (IPC_GONE: the
 * server has ended; IPC_PROTOCOL: its message is no answer).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_client_get_offer(culv_ipc_client *client, uint32_t index,
                                                  uint64_t timeout, culv_ipc_info *out,
                                                  uint32_t *count);

/** Receives an offered object: its description and its handle. A vector comes without handles: see
 * culv_ipc_vector_open().
 * Errors: as culv_ipc_client_get_offer(); INVALID (IPC_NAME: nothing of that name is offered; OS:
 * no handle is left).
 * Ownership: *out is yours, for culv_ipc_object_destroy(). Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_client_receive(culv_ipc_client *client, const char *name,
                                                uint64_t timeout, culv_ipc_object **out);

/** Tells whether the server is still there, without waiting and without asking it.
 * Errors: none; 0 for NULL. Threads: one at a time. */
CULV_EXPORT culv_bool culv_ipc_client_connected(culv_ipc_client *client);

/** Returns the process id of the server, from the kernel, or 0 for NULL. */
CULV_EXPORT int32_t culv_ipc_client_server_pid(const culv_ipc_client *client);

/** Destroys a received object and closes its handle. Imports from it stay usable.
 * */
CULV_EXPORT void culv_ipc_object_destroy(culv_ipc_object **object);

/** Fills *out with the description.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXPORT culv_result culv_ipc_object_get_info(const culv_ipc_object *object, culv_ipc_info *out);

/** Gets the handle, for imports by a graphics API (culv_vk_memory_from_handle()).
 * Errors: INVALID (NULL_ARGUMENT; HANDLE_TYPE: its kind has none).
 * Ownership: the object owns it: never close it. */
CULV_EXPORT culv_result culv_ipc_object_get_handle(const culv_ipc_object *object, culv_handle *out);

/** Imports a received VMM allocation into CUDA, on the client's device, also by a fabric handle. It
 * may lie on another GPU that the device reaches.
 * Errors: as culv_vmm_import(); INVALID (VALUE: the object is
 * of another kind, or the client has no device).
 * Ownership: *out is yours, for culv_vmm_allocation_destroy(). */
CULV_EXPORT culv_result culv_ipc_import_vmm(const culv_ipc_object *object,
                                            culv_vmm_allocation **out);

/** Imports a received buffer, VMM allocation or memory of cuMemAlloc into CUDA, on the client's
 * device. Two imports of the same memory of cuMemAlloc have the same address.
 * Errors: as culv_memory_import() and culv_buffer_map(); INVALID (VALUE: as
 * culv_ipc_import_vmm(); DEVICE_MISMATCH: this process does not see its GPU), UNSUPPORTED
 * (DRIVER_TOO_OLD), DRIVER (HANDLE_REFUSED: CUDA does not open memory of the same process or freed
 * memory).
 * Ownership: *out is yours, for culv_buffer_unmap(); memory of cuMemAlloc before its owner frees
 * it. The buffer keeps the import alive.
 * Source: cuda.h, cuIpcOpenMemHandle. */
CULV_EXPORT culv_result culv_ipc_import_buffer(const culv_ipc_object *object, culv_buffer **out);

/** Imports a received image into CUDA, on the client's device.
 * Errors: as culv_memory_import() and culv_image_map(); INVALID (VALUE: as
 * culv_ipc_import_vmm(); TILING).
 * Ownership: *out is yours, for culv_image_unmap(). It keeps the import alive. */
CULV_EXPORT culv_result culv_ipc_import_image(const culv_ipc_object *object, culv_image **out);

/** Imports a received semaphore into CUDA, on the client's device. A timeline's value is that of
 * the server's offer: report later ones by culv_semaphore_mark_value().
 * Errors: as culv_semaphore_import(); INVALID (VALUE: as culv_ipc_import_vmm()).
 * Ownership: *out is yours, for culv_semaphore_destroy(). */
CULV_EXPORT culv_result culv_ipc_import_semaphore(const culv_ipc_object *object,
                                                  culv_semaphore **out);

/* Vectors -------------------------------------------------------------------------------------- */

/** A server's vector to open. */
typedef struct culv_ipc_vector_desc {
    size_t struct_size; /**< Set by culv_ipc_vector_desc_init(). */
    const char *name;   /**< Required. Read during the call. */
    /** Bytes of address space. If the vector outgrows it, it moves to twice as much. Default: 16
     * times the vector's bytes, and at least 1 GiB. */
    uint64_t reserve;
    /** Nonzero: each chunk keeps its handle, for imports by a graphics API: views of the vector,
     * and culv_vmm_export_dup() of a chunk's allocation. */
    culv_bool keep_handles;
} culv_ipc_vector_desc;

CULV_INIT(culv_ipc_vector_desc)

/** Opens a vector that the server offers: imports its present chunks, and maps them one after
 * another. What reads a culv_vector takes *out, as do culv_vector_get_dlpack() and, with
 * `keep_handles`, a graphics API's views; what changes one refuses it (USAGE).
 * Errors: as culv_ipc_client_receive(), culv_vmm_import() and culv_vmm_map().
 * Ownership: *out is yours, for culv_vector_destroy(), before the client.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_vector_open(culv_ipc_client *client,
                                             const culv_ipc_vector_desc *desc, uint64_t timeout,
                                             culv_vector **out);

/** Asks the server for the vector's chunks, imports and maps new ones, and releases those that the
 * server's vector no longer has. These, and an outgrown address, are released after `last_use` has
 * done the work that has been submitted to it so far. The vector's generation is then the server's.
 * After an error the vector is as it was.
 * Errors: as culv_ipc_vector_open(); INVALID (CAPTURE, STREAM_DEVICE; USAGE: the vector is this
 * process's own), BUSY (OWNED: a tensor of culv_vector_get_dlpack() uses memory or an address that
 * would go). Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_vector_update(culv_vector *vector, CUstream last_use,
                                               uint64_t timeout);

/* What CUDA itself shares ---------------------------------------------------------------------- */

/* Objects that CUDA itself can share with other processes: memory of cuMemAlloc, events,
 * and memory pools with their allocations.
 *
 * Programs that allocate by cuMemAlloc or cuMemAllocAsync can offer that memory as it is. In new
 * programs prefer VMM memory (culv_ipc_from_vmm()): it lives until its last user is done, and
 * graphics APIs can import it. Keep these objects until the other processes have
 * closed them. CUDA does not say what happens otherwise, or if the exporter dies. */

/* CUDA's own handle, repeated here as in base.h. */
typedef struct CUevent_st *CUevent;

/** Bytes of which address and size of CULV_IPC_CUDA_MEMORY must be multiples: CUDA cuts smaller
 * allocations out of such blocks. */
#define CULV_IPC_CUDA_BLOCK UINT64_C(2097152)

/** Returns a whole allocation of cuMemAlloc as a source for culv_ipc_offer(). Its address and size
 * must be multiples of CULV_IPC_CUDA_BLOCK: CUDA shares whole blocks, so with a smaller allocation
 * the other process would get the rest of the block too. The call reads these fields of
 * culv_ipc_info: name, text, size, element_*. It refuses other memory (NOT_EXPORTABLE: the message
 * says what to do; DEVICE_MISMATCH), and drivers without IPC (DRIVER_TOO_OLD).
 * Ownership: the memory stays yours. Free it when the other processes have unmapped it
 * (culv_ipc_import_buffer()).
 * Source: cuda.h, cuIpcGetMemHandle. */
CULV_INLINE culv_ipc_source culv_ipc_from_cuda_memory(CUdeviceptr pointer)
{
    culv_ipc_source s = {CULV_IPC_CUDA_MEMORY, NULL, 0};
    s.pointer = pointer;
    return s;
}

/** Returns an event of the server's device as a source. It must be made with CU_EVENT_INTERPROCESS
 * and CU_EVENT_DISABLE_TIMING (else NOT_EXPORTABLE). The call reads the name and the text of
 * culv_ipc_info. A wait in another process waits for the record that was submitted last before it.
 * Ownership: the event stays yours. Destroy it when the other processes are done with it.
 * Source: cuda.h, cuIpcGetEventHandle. */
CULV_INLINE culv_ipc_source culv_ipc_from_event(CUevent event)
{
    culv_ipc_source s = {CULV_IPC_EVENT, NULL, 0};
    s.object = event;
    return s;
}

/** Returns a memory pool as a source, by an OPAQUE_FD or a fabric handle of it
 * (culv_pool_export_dup() of culvert-extra, cuMemPoolExportToShareableHandle). A client gets a
 * fabric handle as 64 bytes. The call reads the name and the text of culv_ipc_info, and refuses
 * other handles (HANDLE_TYPE).
 * Ownership: the handle stays yours; you may close it after the offer. Keep the pool until the
 * clients have imported it (culv_ipc_import_pool()). */
CULV_INLINE culv_ipc_source culv_ipc_from_pool(const culv_handle *handle)
{
    culv_ipc_source s = {CULV_IPC_POOL, NULL, 0};
    s.object = handle;
    return s;
}

/** Returns an allocation of a pool that is offered as a source: its address here, and what was
 * exported of it (culv_pool_export_pointer() of culvert-extra, cuMemPoolExportPointer). The call
 * reads these fields of culv_ipc_info: name, text, size, element_*. If there are several pools,
 * name the pool in the text.
 * Ownership: the memory stays yours. Free it when the other processes have freed theirs. `exported`
 * is read during the offer. */
CULV_INLINE culv_ipc_source culv_ipc_from_pool_memory(CUdeviceptr pointer,
                                                      const culv_mem_pool_pointer *exported)
{
    culv_ipc_source s = {CULV_IPC_POOL_MEMORY, NULL, 0};
    s.object = exported;
    s.pointer = pointer;
    return s;
}

/** Returns VMM memory as a source that goes by its fabric handle: the client gets 64 bytes and no
 * file descriptor. If culv_vmm_allocation_info::handle_types lacks the bit of CULV_HANDLE_FABRIC,
 * use culv_ipc_from_vmm(). The call has the errors of culv_vmm_export_dup().
 * Ownership: the allocation stays yours. Keep it until the clients have imported it
 * (culv_ipc_import_vmm()). */
CULV_INLINE culv_ipc_source culv_ipc_from_vmm_fabric(culv_vmm_allocation *allocation)
{
    culv_ipc_source s = {CULV_IPC_VMM_FABRIC, NULL, 0};
    s.object = allocation;
    return s;
}

/** Opens a received event in the context of the client's device, for cuStreamWaitEvent,
 * cuEventRecord and cuEventQuery.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the object is of another kind, or the client has no
 * device; DEVICE_MISMATCH: this process does not see its GPU), UNSUPPORTED (DRIVER_TOO_OLD), DRIVER
 * (HANDLE_REFUSED: CUDA does not open events of the same process or destroyed ones), ASYNC.
 * Ownership: *out is yours, for cuEventDestroy.
 * Source: cuda.h, cuIpcOpenEventHandle. */
CULV_EXPORT culv_result culv_ipc_import_event(const culv_ipc_object *object, CUevent *out);

/** Imports a received pool on the client's device, also by a fabric handle.
 * Errors: as culv_mem_pool_import(); INVALID (VALUE: the
 * object is of another kind, or the client has no device).
 * Ownership: *out is yours, for culv_mem_pool_destroy(). */
CULV_EXPORT culv_result culv_ipc_import_pool(const culv_ipc_object *object, culv_mem_pool **out);

/** Imports a received allocation of a pool that was imported.
 * Errors: as culv_mem_pool_import_pointer(); INVALID (VALUE: the object is of another kind).
 * Ownership: *out is yours, for cuMemFreeAsync before its owner frees it. */
CULV_EXPORT culv_result culv_ipc_import_pool_memory(const culv_ipc_object *object,
                                                    culv_mem_pool *pool, CUdeviceptr *out);

CULV_EXTERN_C_END

#endif
