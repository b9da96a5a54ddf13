/* SPDX-License-Identifier: MIT */
/* Culvert: shares memory, vectors, images and semaphores with other processes of this machine.
 *
 * A server offers objects by name, and clients receive them. Both processes then use the same
 * memory: nothing is copied.
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
 * culvert/ipc_ring.h adds a ring of frames. The last part of this header shares objects for which
 * CUDA itself has IPC calls.
 *
 * The calls here start no threads: a server answers only inside culv_ipc_server_poll(), so call it
 * now and then, or when culv_ipc_server_fd() is readable. Calls that wait take a timeout in
 * nanoseconds. If a process ends, the other side's next call notices it; received objects stay
 * usable (except CUDA's own, below).
 *
 * Both sides check each other: the user of the other process, the protocol's version, every size
 * and count of every message, and the GPU's UUID. A peer that sends invalid messages loses its
 * connection, and nothing else happens. A server never waits for a slow client. But a peer that you
 * admit uses the same memory and may write to it.
 *
 * On Linux messages and file descriptors travel over Unix sockets. On Windows messages travel over
 * named pipes, and the receiver duplicates NT handles from the process that sent them
 * (DuplicateHandle), so both processes need the same user and the same rights: if only one runs as
 * administrator, they refuse each other. If the other program cannot send a handle and only knows
 * its number, culv_ipc_fetch_dup() (culvert/handle.h) gets the handle. */
#ifndef CULV_IPC_H_
#define CULV_IPC_H_

#include "format.h"
#include "image.h"
#include "semaphore.h"
#include "vector.h"
#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a server. Only one thread at a time may call it, its offers and its rings. */
typedef struct culv_ipc_server culv_ipc_server;
/** Opaque: a client. Only one thread at a time may call it and the objects that it received. */
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

/** The meaning of an image's colours. The order of the channels follows from the format. */
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

/** The description of an offered object. The server fills it in, and clients get it. A field that
 * does not apply to the kind is 0. */
typedef struct culv_ipc_info {
    size_t struct_size;            /**< Set by culv_ipc_info_init(). */
    char name[CULV_IPC_NAME_SIZE]; /**< Required. */
    /** Your own text for the other side, such as the meaning of the numbers. UTF-8 without control
     * characters. */
    char text[CULV_IPC_NAME_SIZE];
    culv_ipc_kind kind; /**< BUFFER, IMAGE, SEMAPHORE: required. Other kinds: set by the call. */
    culv_handle_type handle_type; /**< Set by the call. */
    /** UUID of the GPU. BUFFER, IMAGE, SEMAPHORE: 0 for the server's GPU, or the UUID of another
     * GPU on which the graphics API runs (culv_vk_device_desc::allow_other_gpu). Other kinds: set
     * by the call. */
    culv_uuid device;
    /** BUFFER, IMAGE: required, the size of the whole allocation in bytes
     * (VkMemoryAllocateInfo::allocationSize). VMM, VECTOR: set by the call. */
    uint64_t allocation_size;
    uint64_t offset; /**< BUFFER, IMAGE, VMM: bytes into the allocation. */
    /** Bytes in use. BUFFER, VMM: 0 means all bytes from `offset` to the end. VECTOR: set by the
     * call. */
    uint64_t size;
    culv_bool dedicated;       /**< BUFFER, IMAGE: as culv_memory_desc::dedicated. */
    uint32_t memory_type_bits; /**< Memory types for the graphics API's import. 0: any. */
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
    uint32_t num_slots;                 /**< RING: number of slots. Set by the call. */
    uint64_t value;                     /**< SEMAPHORE: as culv_semaphore_desc::value. */
    uint64_t generation;                /**< VECTOR: culv_vector_generation(). Set by the call. */
    uint32_t parts;    /**< RING: objects in each slot. VECTOR: chunks. Set by the call. */
    uint32_t reserved; /**< 0. */
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
    const char *name;   /**< Required: clients connect by this name. Read during the call. */
    /** A directory for the socket. It must belong to your user and be closed to others (mode 0700).
     * NULL: the socket is abstract: it has no file, and only processes of this network namespace
     * see it. Windows: NULL. Pipes lie in no directory, and only this user's processes can open
     * them. */
    const char *directory;
    /** The users (uids) whose processes are admitted. NULL: only the user of this process. Windows:
     * NULL. */
    const uint32_t *users;
    size_t num_users;
    /** Maximum number of clients, 1 to CULV_IPC_MAX_CLIENTS. Default: 16. If all places are taken,
     * the server disconnects a client that has sent nothing yet. It also disconnects a client if
     * its first request, or its reading of an answer, is a second late. Each user in `users` has
     * one place that other users cannot take, if there are enough places. */
    uint32_t max_clients;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_ipc_server_desc;

CULV_INIT(culv_ipc_server_desc)

/** Makes a server, which listens from then on. Starts no thread. On Windows, each
 * culv_ipc_server_poll() admits one client, and the others wait.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: a name, a count, or a directory that does not
 * exist; IPC_REFUSED: the directory belongs to another user or is open to others), BUSY (IPC_NAME:
 * there is a server of this name already), UNSUPPORTED (NOT_BUILT: `directory` or `users` is set on
 * Windows), OUT_OF_MEMORY, DRIVER (OS).
 * Ownership: *out is yours, for culv_ipc_server_destroy(). It keeps the device open.
 * Source: unix(7), SCM_RIGHTS, SO_PEERCRED; Windows: CreateNamedPipe. */
CULV_EXPORT culv_result culv_ipc_server_create(culv_device *device,
                                               const culv_ipc_server_desc *desc,
                                               culv_ipc_server **out);

/** Destroys the server and its offers. Its rings end as if they were destroyed: their consumers'
 * calls answer RING_STOPPED. You still have to call culv_ring_destroy() for each ring, before this
 * call or after it. Clients keep the objects that they received.
 * Ownership: offered objects and rings stay yours. A ring keeps the device open. */
CULV_EXPORT void culv_ipc_server_destroy(culv_ipc_server **server);

/** Answers all requests that clients have sent, admits new clients, and notices clients that have
 * gone. If there is nothing to do, it waits up to `timeout` nanoseconds (0: it does not wait). It
 * never waits for a slow client. `answered` (may be NULL) gets the number of requests and
 * departures.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER (OS). A client's fault is logged, and is no error.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_server_poll(culv_ipc_server *server, uint64_t timeout,
                                             uint32_t *answered);

/** Returns a file descriptor for poll() and similar calls. It is readable when
 * culv_ipc_server_poll() has something to do. Returns -1 for NULL and on Windows. On Windows, call
 * culv_ipc_server_poll() regularly.
 * Ownership: the server owns it: never close it. */
CULV_EXPORT int culv_ipc_server_fd(const culv_ipc_server *server);

/** Returns how many clients are connected, or 0 for NULL. Threads: one at a time. */
CULV_EXPORT uint32_t culv_ipc_server_clients(const culv_ipc_server *server);

/** The object to offer. These functions make it: culv_ipc_from_vmm(), culv_ipc_from_vector(),
 * culv_ipc_from_handle(), and the functions in the last part of this header. */
typedef struct culv_ipc_source {
    culv_ipc_kind kind; /**< NONE: a handle, whose kind is in culv_ipc_info::kind. */
    /** The culv_vmm_allocation, culv_vector, culv_handle, CUevent or culv_mem_pool_pointer. */
    const void *object;
    CUdeviceptr pointer; /**< CUDA_MEMORY, POOL_MEMORY: the address. */
} culv_ipc_source;

/** Returns a VMM allocation as a source. It must be exportable as OPAQUE_FD (Windows:
 * OPAQUE_WIN32). The offer reads these fields of culv_ipc_info: name, text, offset, size,
 * element_*. The other process gets the whole allocation, with the data at `offset`.
 * Ownership: the allocation stays yours; you may destroy it when culv_ipc_offer() has returned. */
CULV_INLINE culv_ipc_source culv_ipc_from_vmm(culv_vmm_allocation *allocation)
{
    culv_ipc_source s = {CULV_IPC_VMM, NULL, 0};
    s.object = allocation;
    return s;
}

/** Returns a vector as a source. Its chunks must be exportable as OPAQUE_FD (Windows:
 * OPAQUE_WIN32). Clients get the chunks that it has at the time of their request. The offer reads
 * these fields of culv_ipc_info: name, text, element_format, element_size.
 * Ownership: the vector stays yours. Withdraw the offer before you destroy the vector.
 * culv_ipc_server_poll() reads the vector: do not call it during culv_vector_shrink(). */
CULV_INLINE culv_ipc_source culv_ipc_from_vector(culv_vector *vector)
{
    culv_ipc_source s = {CULV_IPC_VECTOR, NULL, 0};
    s.object = vector;
    return s;
}

/** Returns a BUFFER, an IMAGE or a SEMAPHORE (culv_ipc_info::kind) as a source. The handle comes
 * from culv_vk_memory_export_dup() or culv_vk_semaphore_export_dup(), or on Windows from
 * ID3D12Device::CreateSharedHandle(). KMT handles, and handles given by a name, are refused,
 * because they keep nothing alive.
 * Ownership: the handle stays yours, and you may close it at any time after the offer. */
CULV_INLINE culv_ipc_source culv_ipc_from_handle(const culv_handle *handle)
{
    culv_ipc_source s = {CULV_IPC_NONE, NULL, 0};
    s.object = handle;
    return s;
}

/** Offers an object to the clients, for example culv_ipc_offer(server, &info,
 * culv_ipc_from_vmm(allocation)).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND; VALUE: the
 * message names the field and its bounds; SIZE: the file behind the handle is smaller;
 * NOT_EXPORTABLE), BUSY (IPC_NAME: the name is taken), DRIVER, ASYNC, OUT_OF_MEMORY, and the errors
 * that the source's function names.
 * Ownership: see the source's function. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_offer(culv_ipc_server *server, const culv_ipc_info *info,
                                       culv_ipc_source source);

/** Withdraws an offer. Clients keep the objects that they received.
 * Errors: INVALID (NULL_ARGUMENT; IPC_NAME: no offer has that name; OWNED: it belongs to a ring,
 * which withdraws it).
 * Ownership: the offered object stays yours. Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_withdraw(culv_ipc_server *server, const char *name);

/* Client --------------------------------------------------------------------------------------- */

/** A connection to make. */
typedef struct culv_ipc_client_desc {
    size_t struct_size;    /**< Set by culv_ipc_client_desc_init(). */
    const char *name;      /**< Required: the server's name. Read during the call. */
    const char *directory; /**< As culv_ipc_server_desc::directory. */
    /** The users (uids) whose servers are trusted. NULL: only the user of this process. Windows:
     * NULL. */
    const uint32_t *users;
    size_t num_users;
    const char *label; /**< Copied (up to 63 bytes). Appears in messages. Default: none. */
} culv_ipc_client_desc;

CULV_INIT(culv_ipc_client_desc)

/** Lists the names of servers. If `directory` (culv_ipc_server_desc::directory) is NULL, it lists
 * servers with abstract sockets in this network namespace; otherwise it lists servers with sockets
 * in the directory. On Windows it lists all servers of this machine. Only culv_ipc_client_connect()
 * shows whether a server admits you.
 * Errors: INVALID (NULL_ARGUMENT), DRIVER (OS: the system does not list its sockets, or the
 * directory cannot be read; Wine lists no pipes), UNSUPPORTED (NOT_BUILT: a directory on Windows).
 * Ownership: the copies are yours.
 * Source: sock_diag(7); FindFirstFile, which lists named pipes. */
CULV_EXPORT culv_result culv_ipc_find_servers(const char *directory,
                                              char (*names)[CULV_IPC_NAME_SIZE], size_t capacity,
                                              size_t *count);

/** Connects to a server. It waits up to `timeout` nanoseconds until the server exists, has room and
 * has answered. If `device` is NULL, the client can list and receive, but not import into CUDA.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE), TIMEOUT (IPC_NAME: there is no such server;
 * IPC_GONE: it does not answer), BUSY (IPC_REFUSED: the server is full), UNSUPPORTED (NOT_BUILT;
 * IPC_REFUSED: the server does not admit this process, or belongs to a user that is not trusted),
 * ASYNC (IPC_GONE; IPC_PROTOCOL: the server uses another version of the protocol, or another
 * protocol), OUT_OF_MEMORY, DRIVER (OS).
 * Ownership: *out is yours, for culv_ipc_client_destroy(). It keeps the device open. */
CULV_EXPORT culv_result culv_ipc_client_connect(culv_device *device,
                                                const culv_ipc_client_desc *desc, uint64_t timeout,
                                                culv_ipc_client **out);

/** Ends the connection. Received and imported objects stay usable. A vector keeps its chunks, but
 * updates fail (IPC_GONE). A consumer leaves its ring. */
CULV_EXPORT void culv_ipc_client_destroy(culv_ipc_client **client);

/** Gets the description of the server's offer number `index`, which counts from 0. *count (count
 * may be NULL) gets the number of offers. If the index is too high, the call succeeds and writes
 * only *count.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE), TIMEOUT (IPC_GONE: no answer), ASYNC (IPC_GONE: the
 * server has ended; IPC_PROTOCOL: its message is no answer).
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_client_get_offer(culv_ipc_client *client, uint32_t index,
                                                  uint64_t timeout, culv_ipc_info *out,
                                                  uint32_t *count);

/** Receives an offered object: its description and its handle. A vector has no handle here: use
 * culv_ipc_vector_open().
 * Errors: as culv_ipc_client_get_offer(); INVALID (IPC_NAME: no offer has that name; OS: no handle
 * is left).
 * Ownership: *out is yours, for culv_ipc_object_destroy(). Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_client_receive(culv_ipc_client *client, const char *name,
                                                uint64_t timeout, culv_ipc_object **out);

/** Tells whether the server still exists. The call does not wait and asks the server nothing.
 * Errors: none; 0 for NULL. Threads: one at a time. */
CULV_EXPORT culv_bool culv_ipc_client_connected(culv_ipc_client *client);

/** Returns the process id of the server, as the kernel reports it, or 0 for NULL. */
CULV_EXPORT int32_t culv_ipc_client_server_pid(const culv_ipc_client *client);

/** Destroys a received object and closes its handle. Imports from it stay usable. */
CULV_EXPORT void culv_ipc_object_destroy(culv_ipc_object **object);

/** Fills *out with the description.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXPORT culv_result culv_ipc_object_get_info(const culv_ipc_object *object, culv_ipc_info *out);

/** Gets the handle, for imports by a graphics API (culv_vk_memory_from_handle()).
 * Errors: INVALID (NULL_ARGUMENT; HANDLE_TYPE: an object of this kind has no handle).
 * Ownership: the object owns it: never close it. */
CULV_EXPORT culv_result culv_ipc_object_get_handle(const culv_ipc_object *object, culv_handle *out);

/** Imports a received VMM allocation into CUDA, on the client's device. The allocation may have a
 * fabric handle, and it may lie on another GPU that the device reaches.
 * Errors: as culv_vmm_import(); INVALID (VALUE: the object is of another kind, or the client has no
 * device).
 * Ownership: *out is yours, for culv_vmm_allocation_destroy(). */
CULV_EXPORT culv_result culv_ipc_import_vmm(const culv_ipc_object *object,
                                            culv_vmm_allocation **out);

/** Imports a received buffer, VMM allocation or memory of cuMemAlloc into CUDA, on the client's
 * device. Two imports of the same memory of cuMemAlloc have the same address.
 * Errors: as culv_memory_import() and culv_buffer_map(); INVALID (VALUE: as culv_ipc_import_vmm();
 * DEVICE_MISMATCH: this process does not see its GPU), UNSUPPORTED (DRIVER_TOO_OLD), DRIVER
 * (HANDLE_REFUSED: CUDA does not open memory of the same process or freed memory).
 * Ownership: *out is yours, for culv_buffer_unmap(), and it keeps the import alive. Unmap memory of
 * cuMemAlloc before its owner frees it.
 * Source: cuda.h, cuIpcOpenMemHandle. */
CULV_EXPORT culv_result culv_ipc_import_buffer(const culv_ipc_object *object, culv_buffer **out);

/** Imports a received image into CUDA, on the client's device.
 * Errors: as culv_memory_import() and culv_image_map(); INVALID (VALUE: as culv_ipc_import_vmm();
 * TILING).
 * Ownership: *out is yours, for culv_image_unmap(). It keeps the import alive. */
CULV_EXPORT culv_result culv_ipc_import_image(const culv_ipc_object *object, culv_image **out);

/** Imports a received semaphore into CUDA, on the client's device. A timeline's value is the value
 * in the server's offer: report later values by culv_semaphore_mark_value().
 * Errors: as culv_semaphore_import(); INVALID (VALUE: as culv_ipc_import_vmm()).
 * Ownership: *out is yours, for culv_semaphore_destroy(). */
CULV_EXPORT culv_result culv_ipc_import_semaphore(const culv_ipc_object *object,
                                                  culv_semaphore **out);

/* Vectors -------------------------------------------------------------------------------------- */

/** A server's vector to open. */
typedef struct culv_ipc_vector_desc {
    size_t struct_size; /**< Set by culv_ipc_vector_desc_init(). */
    const char *name;   /**< Required. Read during the call. */
    /** Bytes of address space. If the vector needs more, it moves to a range of twice that size.
     * Default: 16 times the vector's bytes, and at least 1 GiB. */
    uint64_t reserve;
    /** Nonzero: each chunk keeps its handle. A graphics API's view of the vector needs it, and so
     * does culv_vmm_export_dup() of a chunk's allocation. */
    culv_bool keep_handles;
} culv_ipc_vector_desc;

CULV_INIT(culv_ipc_vector_desc)

/** Opens a vector that the server offers: imports its present chunks, and maps them at consecutive
 * addresses. You can pass *out to all calls that read a vector, to culv_vector_get_dlpack() and,
 * with `keep_handles`, to the calls that make a graphics API's view. Calls that change a vector
 * refuse it (USAGE).
 * Errors: as culv_ipc_client_receive(), culv_vmm_import() and culv_vmm_map().
 * Ownership: *out is yours, for culv_vector_destroy(), before or after the client.
 * Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_vector_open(culv_ipc_client *client,
                                             const culv_ipc_vector_desc *desc, uint64_t timeout,
                                             culv_vector **out);

/** Asks the server for the vector's chunks, imports and maps new chunks, and releases chunks that
 * the server's vector no longer has. It releases these chunks, and an address that the vector has
 * left, after the work that is now in `last_use` has finished. The vector's generation is then the
 * same as the server's. After an error the vector is as it was.
 * Errors: as culv_ipc_vector_open(); INVALID (CAPTURE, STREAM_DEVICE; USAGE: the vector is this
 * process's own), BUSY (OWNED: a tensor of culv_vector_get_dlpack() uses memory or an address that
 * the call would release). Threads: one at a time. */
CULV_EXPORT culv_result culv_ipc_vector_update(culv_vector *vector, CUstream last_use,
                                               uint64_t timeout);

/* What CUDA itself shares ---------------------------------------------------------------------- */

/* CUDA itself can share these objects with other processes: memory of cuMemAlloc, events, memory
 * pools with their allocations, and fabric handles.
 *
 * If your program allocates by cuMemAlloc or cuMemAllocAsync, it can offer that memory as it is. In
 * new programs, prefer VMM memory (culv_ipc_from_vmm()): it exists until no process uses it, and
 * graphics APIs can import it. Keep an object of this part as long as its function says; otherwise
 * the behavior is undefined (cuda.h). CUDA does not say what happens if the exporting process
 * ends. */

/* CUDA's own handle, repeated here as in base.h. */
typedef struct CUevent_st *CUevent;

/** The address and the size of CULV_IPC_CUDA_MEMORY must be multiples of these bytes. CUDA takes
 * smaller allocations out of such blocks. */
#define CULV_IPC_CUDA_BLOCK UINT64_C(2097152)

/** Returns a whole allocation of cuMemAlloc as a source for culv_ipc_offer(). Its address and size
 * must be multiples of CULV_IPC_CUDA_BLOCK: CUDA shares whole blocks, so the other process would
 * also get memory around a smaller allocation. The offer reads these fields of culv_ipc_info: name,
 * text, size, element_*. It fails for other memory (NOT_EXPORTABLE: the message says what to do;
 * DEVICE_MISMATCH), and if the driver has no IPC (DRIVER_TOO_OLD).
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
 * and CU_EVENT_DISABLE_TIMING (otherwise NOT_EXPORTABLE). The offer reads the name and the text of
 * culv_ipc_info. A wait in another process waits for the last record that was submitted before it.
 * Ownership: the event stays yours. Destroy it after the other processes have destroyed theirs.
 * Source: cuda.h, cuIpcGetEventHandle. */
CULV_INLINE culv_ipc_source culv_ipc_from_event(CUevent event)
{
    culv_ipc_source s = {CULV_IPC_EVENT, NULL, 0};
    s.object = event;
    return s;
}

/** Returns a memory pool as a source. The handle is an OPAQUE_FD or a fabric handle of the pool
 * (culv_pool_export_dup() of culvert-extra, cuMemPoolExportToShareableHandle); other types are
 * refused (HANDLE_TYPE). A client gets a fabric handle as 64 bytes. The offer reads name and text
 * of culv_ipc_info.
 * Ownership: the handle stays yours; you may close it after the offer. Keep the pool until the
 * clients have imported it (culv_ipc_import_pool()). */
CULV_INLINE culv_ipc_source culv_ipc_from_pool(const culv_handle *handle)
{
    culv_ipc_source s = {CULV_IPC_POOL, NULL, 0};
    s.object = handle;
    return s;
}

/** Returns an allocation of a pool as a source. `pointer` is its address in this process, and
 * `exported` is its data for export (culv_pool_export_pointer() of culvert-extra,
 * cuMemPoolExportPointer). Offer the pool too. The offer reads these fields of culv_ipc_info: name,
 * text, size, element_*. If there are several pools, name the pool in the text.
 * Ownership: the memory stays yours. Free it after the other processes have freed it. `exported` is
 * read during the offer. */
CULV_INLINE culv_ipc_source culv_ipc_from_pool_memory(CUdeviceptr pointer,
                                                      const culv_mem_pool_pointer *exported)
{
    culv_ipc_source s = {CULV_IPC_POOL_MEMORY, NULL, 0};
    s.object = exported;
    s.pointer = pointer;
    return s;
}

/** Returns a VMM allocation as a source. The client gets its fabric handle (64 bytes) and no file
 * descriptor. If culv_vmm_allocation_info::handle_types lacks the bit of CULV_HANDLE_FABRIC, use
 * culv_ipc_from_vmm(). The offer also has the errors of culv_vmm_export_dup().
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
 * (HANDLE_REFUSED: CUDA does not open an event of the same process or a destroyed event), ASYNC.
 * Ownership: *out is yours, for cuEventDestroy.
 * Source: cuda.h, cuIpcOpenEventHandle. */
CULV_EXPORT culv_result culv_ipc_import_event(const culv_ipc_object *object, CUevent *out);

/** Imports a received pool on the client's device. It may have a fabric handle.
 * Errors: as culv_mem_pool_import(); INVALID (VALUE: the object is of another kind, or the client
 * has no device).
 * Ownership: *out is yours, for culv_mem_pool_destroy(). */
CULV_EXPORT culv_result culv_ipc_import_pool(const culv_ipc_object *object, culv_mem_pool **out);

/** Imports a received allocation. `pool` is the imported pool that it belongs to.
 * Errors: as culv_mem_pool_import_pointer(); INVALID (VALUE: the object is of another kind).
 * Ownership: *out is yours: call cuMemFreeAsync before the exporting process frees the
 * allocation. */
CULV_EXPORT culv_result culv_ipc_import_pool_memory(const culv_ipc_object *object,
                                                    culv_mem_pool *pool, CUdeviceptr *out);

CULV_EXTERN_C_END

#endif
