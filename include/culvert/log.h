/* SPDX-License-Identifier: MIT */
/* Culvert: the log callback.
 *
 * Culvert prints nothing by itself. To see its messages, put a callback into culv_device_desc::log.
 * Or set the environment variable CULVERT_LOG to a level (error, warning, info, debug): devices
 * that were opened without a callback then log to stderr. */
#ifndef CULV_LOG_H_
#define CULV_LOG_H_

#include "base.h"

CULV_EXTERN_C_BEGIN

typedef enum culv_log_level {
    CULV_LOG_NONE = 0,  /**< As a threshold it means the default: warnings and errors. */
    CULV_LOG_ERROR = 1, /**< A call failed. The text is the last error's message. */
    /** Culvert repaired something or left it behind, such as a release that the driver refused. Or
     * a destroy has waited for a second: the text names the object, and the streams that wait, with
     * the semaphores and values that they wait for. */
    CULV_LOG_WARNING = 2,
    /** A device was opened or closed, attached or detached, or an object was made or destroyed: its
     * kind, its label and its bytes. What a deferring call gave up is destroyed when it is
     * released. */
    CULV_LOG_INFO = 3,
    /** Each driver call outside the frame path, CUDA's and Vulkan's, with its values and its
     * result. Calls that only make a context current are left out. */
    CULV_LOG_DEBUG = 4,
    CULV_LOG_FORCE32 = 0x7fffffff
} culv_log_level;

/** The log callback. Culvert calls it on whichever thread has a message, on several threads at the
 * same time, and often while it holds the device's lock. What waits is told by a thread of
 * Culvert's own, which the device starts with its first destroy if somebody hears warnings.
 *
 * The callback must not call Culvert or CUDA, and must not wait for a thread that does: that thread
 * may wait for the lock for ever. It must return: it must not throw an exception, call longjmp() or
 * end the thread. It should be quick, because other calls for the device wait meanwhile.
 *
 * `message` is one line without control characters: control characters in a label are replaced by
 * '?'. It is valid only during the call. */
typedef void (*culv_log_fn)(void *user, culv_log_level level, const char *message);

/** Where messages go. A zero-filled culv_log is silent, unless CULVERT_LOG is set. */
typedef struct culv_log {
    culv_log_fn fn;
    void *user;
    culv_log_level level; /**< The least severe level that you want. */
} culv_log;

CULV_EXTERN_C_END

#endif
