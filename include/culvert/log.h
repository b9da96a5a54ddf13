/* SPDX-License-Identifier: MIT */
/* Culvert: the log callback. Culvert prints nothing by itself, unless the environment variable
 * CULVERT_LOG names a level (error, warning, info, debug): then devices that were opened without a
 * callback log to stderr. */
#ifndef CULV_LOG_H_
#define CULV_LOG_H_

#include "base.h"

CULV_EXTERN_C_BEGIN

typedef enum culv_log_level {
    CULV_LOG_NONE = 0,  /**< As a threshold: the default, warnings and errors. */
    CULV_LOG_ERROR = 1, /**< A call failed; the text is the last error's message. */
    /** Something was mended or left behind, such as a release that the driver refused. */
    CULV_LOG_WARNING = 2,
    CULV_LOG_INFO = 3,  /**< Devices opened and closed, objects made. */
    CULV_LOG_DEBUG = 4, /**< Each driver call outside the frame path. */
    CULV_LOG_FORCE32 = 0x7fffffff
} culv_log_level;

/** Called on whichever thread has something to say, several at a time, and often while Culvert
 * holds the device's lock. So it must not call Culvert or CUDA, nor wait for a thread that does,
 * which may wait for that lock for ever; and it must return (no exception, no longjmp(), no end of
 * the thread). Other calls for the device wait meanwhile: be quick. `message` is one line without
 * control characters ('?' stands for those of a label) and lives only for the call. */
typedef void (*culv_log_fn)(void *user, culv_log_level level, const char *message);

/** Where messages go. A zero-filled one keeps silent (but for CULVERT_LOG). */
typedef struct culv_log {
    culv_log_fn fn;
    void *user;
    culv_log_level level; /**< The least severe level wanted. */
} culv_log;

CULV_EXTERN_C_END

#endif
