/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: a stream capture. */
#ifndef SOFT_CAPTURE_H_
#define SOFT_CAPTURE_H_

#include "graph.h"

struct soft_capture {
    struct soft_capture *next;
    unsigned refs;            /* the list's, until it ends, and one for each place in it */
    struct soft_graph *graph; /* NULL: it has ended */
    struct soft_stream *origin;
    CUstreamCaptureMode mode;
    uint64_t thread;
    uint64_t id;
    bool broken;
    size_t num_streams;
    struct soft_stream **streams; /* those in it, each with a reference */
};
extern struct soft_capture *soft_captures; /* those under way */

/* The next one, from this one on, in which a stream of the context takes part; a blocking stream,
 * if asked. */
struct soft_capture *soft_capture_in_context(struct soft_capture *capture,
                                             const struct soft_context *context,
                                             bool blocking_only);

#endif
