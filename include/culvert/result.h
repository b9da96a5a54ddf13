/* SPDX-License-Identifier: MIT */
/* Culvert: result codes, reasons, and the last error of each thread.
 *
 * Every call that can fail returns a culv_result. Zero is success. A negative code is the class of
 * the error. The thread's last error says more: a stable reason, the driver's own code, and a
 * message with the values and what to do. docs/errors.md lists the usual cause of each reason.
 *
 *   if (culv_memory_import(device, &desc, &memory) != CULV_OK)
 *       fprintf(stderr, "%s", culv_last_error_message()); */
#ifndef CULV_RESULT_H_
#define CULV_RESULT_H_

#include "base.h"

CULV_EXTERN_C_BEGIN

/** The result of a call. The values never change. */
typedef enum culv_result {
    CULV_OK = 0,
    /* The caller has to act. */
    /** The call is wrong: fix it. Nothing has changed, and every handle is still yours. */
    CULV_ERROR_INVALID = -1,
    /** The call is right but comes too early: something still uses the object. */
    CULV_ERROR_BUSY = -2,
    /** The call is right, but the other side is late. Nothing has changed. */
    CULV_ERROR_TIMEOUT = -3,
    /* The machine cannot do it. */
    CULV_ERROR_UNSUPPORTED = -10, /**< This machine, driver or build cannot do it. */
    /** None of the CUDA devices is the graphics device that was asked for. */
    CULV_ERROR_NO_DEVICE = -11,
    CULV_ERROR_OUT_OF_MEMORY = -12, /**< Host or device memory is exhausted. */
    /* The driver refused. */
    /** CUDA or the graphics API refused this call. See native_call and native_code. */
    CULV_ERROR_DRIVER = -20,
    /** An earlier asynchronous failure (a faulted kernel, a lost device) surfaced in this call.
     * This call is not its cause. You can still destroy objects. */
    CULV_ERROR_ASYNC = -21,
    /* Culvert is at fault. */
    CULV_ERROR_INTERNAL = -30, /**< A defect in Culvert: please report it. */
    CULV_RESULT_FORCE32 = 0x7fffffff
} culv_result;

/* The reasons: (name, meaning). They are stable, and new ones are appended. */
#define CULV_REASONS(X)                                                                            \
    X(NONE, "no error")                                                                            \
    X(NULL_ARGUMENT, "a required pointer or handle is NULL")                                       \
    X(STRUCT_SIZE, "struct_size of a descriptor is not one this library knows")                    \
    X(VALUE, "a field has a value outside its range")                                              \
    X(SIZE, "a size is zero, larger than the device allows, or not that of what was exported")     \
    X(RANGE, "an offset or range leaves the allocation")                                           \
    X(HANDLE_TYPE, "the handle's type is not accepted here")                                       \
    X(HANDLE_BAD, "the file descriptor or OS handle is not open")                                  \
    X(HANDLE_KIND,                                                                                 \
      "the file descriptor is of a kind that no driver exports (a pipe, a socket, a directory)")   \
    X(HANDLE_REFUSED, "the driver does not know the handle as something it exported")              \
    X(DEVICE_MISMATCH, "the object belongs to another device")                                     \
    X(DEVICE_UNKNOWN, "no CUDA device has that UUID, LUID or ordinal")                             \
    X(DEVICE_GROUP, "the device is one of several linked GPUs, or spans them")                     \
    X(DEVICE_SLICE, "CUDA sees only a MIG slice of that GPU; graphics needs a +gfx profile")       \
    X(DRIVER_MISSING, "no CUDA driver library could be loaded")                                    \
    X(DRIVER_TOO_OLD, "the CUDA driver lacks an entry point that is required")                     \
    X(DRIVER_INIT, "the CUDA driver would not start")                                              \
    X(DRIVER_REFUSED, "the driver refused, and Culvert cannot tell why")                           \
    X(SOFT_MISSING, "the software twin was asked for and is not installed")                        \
    X(EXTENSION_MISSING, "a Vulkan extension was not enabled on the device")                       \
    X(LAYER_MISSING, "the software twin's Vulkan layer was not enabled on the instance")           \
    X(VULKAN_VERSION, "the Vulkan version is too low")                                             \
    X(DEDICATED,                                                                                   \
      "the dedicated flag contradicts what Vulkan says of the resource, or what CUDA needs")       \
    X(NOT_EXPORTABLE, "the memory or semaphore was not created for export")                        \
    X(TIMELINE_BACKWARDS, "a timeline value does not exceed one signaled before")                  \
    X(STREAM_DEVICE, "the stream belongs to another device or context")                            \
    X(CONTEXT_DEVICE, "the context belongs to another device")                                     \
    X(NOT_BUILT, "this build of Culvert leaves that API out")                                      \
    X(HOST_MEMORY, "host memory is exhausted")                                                     \
    X(DEVICE_MEMORY, "device memory is exhausted")                                                 \
    X(EARLIER_FAILURE, "an earlier asynchronous failure")                                          \
    X(DEVICE_LOST, "the device is lost")                                                           \
    X(OS, "the operating system refused a call")                                                   \
    X(FORMAT, "no CUDA array has that format")                                                     \
    X(EXTENT, "an extent, level count or layer count is not one that can be shared")               \
    X(TILING, "an image that is not OPTIMAL reads wrong through a CUDA array")                     \
    X(USAGE, "the resource was created with a usage, flag or sample count that cannot be shared")  \
    X(LEVEL, "the image has no such mip level")                                                    \
    X(MEMORY_TYPE, "no memory type has the properties asked for")                                  \
    X(DOUBLE_SIGNAL,                                                                               \
      "a binary semaphore is signaled again, and nobody has waited for it since its last signal")  \
    X(WAIT_BEFORE_SIGNAL, "a binary semaphore is waited for before its signal was submitted")      \
    X(SAME_SIDE, "a binary semaphore is waited for on the side that signaled it")                  \
    X(OWNED, "the object belongs to another object of Culvert's, which destroys it")               \
    X(RUNTIME, "the CUDA runtime API cannot serve that device")                                    \
    X(PEER, "a device cannot reach the other one's memory, or not reliably")                       \
    X(CAPTURE, "the stream is being captured, and a graph cannot hold what the call does")         \
    X(RING_ORDER, "a ring's frame is released without being acquired, or is acquired twice")       \
    X(RING_SIDE,                                                                                   \
      "a ring's side is used by a second thread at the same time, or is not of the kind called")   \
    X(RING_FULL, "the consumer is late: every frame of the ring waits for it")                     \
    X(RING_EMPTY, "the producer is late: no frame is ready")                                       \
    X(RING_LATE, "work that was submitted for a frame has not ended in time")                      \
    X(RING_STOPPED, "the ring was stopped, a side was closed, or its device is lost")              \
    X(TIMELINE_CHANGED, "a timeline's counter has a value that its owner did not signal")          \
    X(NO_FORCE, "the host cannot signal in place of the side that is late")                        \
    X(VMM, "the device has no virtual memory management, or not of this kind")                     \
    X(LOCATION, "memory cannot be allocated at that place")                                        \
    X(ADDRESS, "no free address range is large enough, or none is free where it must be")          \
    X(MAPPED, "memory is mapped there")                                                            \
    X(NOT_MAPPED, "no memory is mapped there, or only a part of a mapping is meant")               \
    X(OPT_IN, "the call may disturb other programs, and the caller did not ask for it by name")    \
    X(NOT_READY, "something that must come first has not been done yet")                           \
    X(MODULE, "there is no such file of kernels, or it is not for this driver or GPU")             \
    X(KERNEL, "the file has no kernel of that name, or the kernel takes other arguments")          \
    X(CONTEXT, "no OpenGL context is current on this thread, or not the one that was attached")    \
    X(QUEUE, "queues of that family cannot do it")                                                 \
    X(GRAPH, "a node or an edge of the CUDA graph has no counterpart in a command buffer")         \
    X(IPC_NAME, "there is no such server or offer, or there is one of that name already")          \
    X(IPC_GONE, "the other process has ended, has closed the connection, or does not answer")      \
    X(IPC_REFUSED, "the other process, or its user, is not admitted or not trusted")               \
    X(IPC_PROTOCOL, "the other process sent what is no message of this version of the protocol")   \
    X(HOST_POINTER, "the address is the host's own memory, which CUDA does not know")              \
    X(MANAGED, "managed memory moves, so no card and no other process may keep it")                \
    X(PIN_SPACE, "no room is left to pin memory for a card, and all that is pinned is in use")     \
    X(PIN_REFUSED, "the caller's function did not pin the memory")                                 \
    X(LIBRARY, "an optional library could not be loaded, or does not know the device")             \
    X(MODIFIER, "the device has no images with that DRM format modifier, or not for this use")     \
    X(CIG, "a CUDA-in-graphics context has none of it, or none can be made")                       \
    X(IPC_DROPPED, "the producer of the ring has dropped this consumer, and runs on")              \
    X(FORKED, "the process is a child of fork(), in which no CUDA driver works")

typedef enum culv_reason {
#define CULV_REASON_ENUM_(name, text) CULV_REASON_##name,
    CULV_REASONS(CULV_REASON_ENUM_)
#undef CULV_REASON_ENUM_
        CULV_REASON_COUNT_,
    CULV_REASON_FORCE32 = 0x7fffffff
} culv_reason;

/** The API that defines culv_error::native_code. */
typedef enum culv_native_api {
    CULV_NATIVE_NONE = 0,
    CULV_NATIVE_CUDA = 1,         /**< CUresult */
    CULV_NATIVE_VULKAN = 2,       /**< VkResult */
    CULV_NATIVE_OS = 3,           /**< errno, or GetLastError() on Windows */
    CULV_NATIVE_CUDA_RUNTIME = 4, /**< cudaError_t (culvert/cudart.h) */
    CULV_NATIVE_GL = 5,           /**< what glGetError() returned */
    CULV_NATIVE_D3D = 6,          /**< HRESULT, of Direct3D and DXGI */
    CULV_NATIVE_FORCE32 = 0x7fffffff
} culv_native_api;

/** A copy of a thread's last error. */
typedef struct culv_error {
    size_t struct_size;         /**< Set by culv_error_init(). */
    culv_result result;         /**< Class: what the failed call returned. */
    culv_reason reason;         /**< Stable case within the class. */
    culv_native_api native_api; /**< API whose call failed, or CULV_NATIVE_NONE. */
    int64_t native_code;        /**< Code of that API. */
    char native_call[64];       /**< Name of that call, such as "cuImportExternalMemory", or "". */
    /** Message: what was wrong, with the values, and what to do. One paragraph of English. */
    char message[2048];
} culv_error;

CULV_INIT(culv_error)

/** Copies the calling thread's last error into *out, as far as out->struct_size reaches. A
 * successful call does not clear the last error, so never use it to find out whether a call failed.
 * Errors: none. The call does nothing if out is NULL, or if no version's culv_error_init() sets
 * such a struct_size.
 * Threads: any; each thread has its own last error. */
CULV_EXPORT void culv_last_error(culv_error *out);

/** Returns the message of the calling thread's last error, or "" if there was none.
 * Ownership: Culvert owns the text, which stays valid until this thread's next Culvert call.
 * Threads: any; each thread has its own last error. */
CULV_EXPORT const char *culv_last_error_message(void);

/** Makes *error the calling thread's last error. Use it in layers on top of Culvert, such as
 * culvert/cudart.h, so that callers can report all errors in one way. It does not log the error.
 * Errors: returns error->result. Returns INVALID, and records that, if error is NULL, its
 * struct_size is not set, or its result is not negative.
 * Ownership: Culvert keeps a copy. Threads: any; each thread has its own last error. */
CULV_EXPORT culv_result culv_last_error_set(const culv_error *error);

/** Returns the name of a result, such as "CULV_ERROR_INVALID".
 * Errors: none; "unknown" for other values.
 * Ownership: a static string, never NULL. */
CULV_EXPORT const char *culv_result_name(culv_result result);

/** Returns the name of a reason, such as "TIMELINE_BACKWARDS".
 * Errors: none; "unknown" for other values.
 * Ownership: a static string, never NULL. */
CULV_EXPORT const char *culv_reason_name(culv_reason reason);

/* The log -------------------------------------------------------------------------------------- */

/* The log callback.
 *
 * Culvert prints nothing by itself. To see its messages, set a callback in culv_device_desc::log.
 * Or set the environment variable CULVERT_LOG to a level (error, warning, info, debug): devices
 * without a callback then log to stderr. */

typedef enum culv_log_level {
    CULV_LOG_NONE = 0,  /**< As a threshold: the default, which is warnings and errors. */
    CULV_LOG_ERROR = 1, /**< A call failed. The text is the last error's message. */
    /** Culvert repaired something, or kept an object that the driver refused to release. Or a
     * destroy has waited for a second: the text names the object, the streams that wait, and the
     * semaphores and values that they wait for. */
    CULV_LOG_WARNING = 2,
    /** A device was opened, closed, attached or detached, or an object was made or destroyed: the
     * text has the object's kind, label and bytes. A deferred destroy is logged at its release. */
    CULV_LOG_INFO = 3,
    /** Each CUDA or Vulkan call outside the frame path, with its values and its result. Calls that
     * only make a context current are left out. */
    CULV_LOG_DEBUG = 4,
    CULV_LOG_FORCE32 = 0x7fffffff
} culv_log_level;

/** The log callback. Culvert calls it on any thread that has a message, on several threads at the
 * same time, and often while it holds the device's lock. Long waits are reported by a thread of
 * Culvert. If warnings are logged, the device starts that thread at the first destroy.
 *
 * The callback must not call Culvert or CUDA, and must not wait for a thread that calls them: that
 * thread may wait for the same lock. It must return: it must not throw an exception, call longjmp()
 * or end the thread. It should be quick, because other calls for the device wait for it.
 *
 * `message` is one line, valid only during the call. Control characters in a label are replaced by
 * '?'. */
typedef void (*culv_log_fn)(void *user, culv_log_level level, const char *message);

/** The receiver of messages. If it is all zero, the log is silent, unless CULVERT_LOG is set. */
typedef struct culv_log {
    culv_log_fn fn;
    void *user;
    culv_log_level level; /**< Least severe level that you want. */
} culv_log;

CULV_EXTERN_C_END

#endif
