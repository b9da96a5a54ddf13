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
    CULV_LOG_NONE = 0,  /**< As a threshold: the default, which is warnings and errors. */
    CULV_LOG_ERROR = 1, /**< A call failed. The text is the last error's message. */
    /** Culvert repaired something or left it behind, such as an object that the driver refused to
     * release. Or a destroy has waited for a second: the text names the object, the streams that
     * wait, and the semaphores and values that they wait for. */
    CULV_LOG_WARNING = 2,
    /** A device was opened, closed, attached or detached, or an object was made or destroyed: its
     * kind, its label and its bytes. The text of a deferred destroy comes when the object is
     * released. */
    CULV_LOG_INFO = 3,
    /** Each CUDA or Vulkan call outside the frame path, with its values and its result. Calls that
     * only make a context current are left out. */
    CULV_LOG_DEBUG = 4,
    CULV_LOG_FORCE32 = 0x7fffffff
} culv_log_level;

/** The log callback. Culvert calls it on any thread that has a message, on several threads at the
 * same time, and often while it holds the device's lock. A thread of Culvert reports long waits.
 * The device starts that thread at the first destroy if warnings are logged.
 *
 * The callback must not call Culvert or CUDA, and must not wait for a thread that does: that thread
 * may wait for the same lock. It must return: it must not throw an exception, call longjmp() or end
 * the thread. It should be quick: other calls for the device wait for it.
 *
 * `message` is one line, valid only during the call. Control characters in a label are replaced by
 * '?'. */
typedef void (*culv_log_fn)(void *user, culv_log_level level, const char *message);

/** The receiver of messages. A zero-filled culv_log is silent, unless CULVERT_LOG is set. */
typedef struct culv_log {
    culv_log_fn fn;
    void *user;
    culv_log_level level; /**< The least severe level that you want. */
} culv_log;

CULV_EXTERN_C_END

#endif
