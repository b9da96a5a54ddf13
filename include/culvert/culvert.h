/* SPDX-License-Identifier: MIT */
/* Culvert: includes every core header that is stable. To use an experimental header, define
 * CULV_EXPERIMENTAL and include that header by itself (docs/stability.md).
 *
 * Culvert lets CUDA and a graphics API use the same GPU memory without copies. Each graphics API
 * has its own header, for example culvert/vulkan.h, which you include in addition. Code that uses
 * the CUDA runtime API includes culvert/cudart.h too. culvert/cuda_api.h has the functions of the
 * CUDA driver API (CULV_CUDA()).
 *
 * A program opens a culv_device (device.h), shares memory and images with it (memory.h, image.h),
 * and orders both sides with semaphores (semaphore.h) or with a ring of frames (ring.h). Nearly
 * every call that can fail returns a culv_result (result.h).
 *
 * Rules that hold for every call, and that the comments do not repeat:
 * - If a comment has no "Errors:", the function cannot fail. If it has no "Ownership:", no object
 *   gets a new owner (a struct that a call fills is yours). If it has no "Threads:", see the
 *   comment of the object's type. If that names no threads, any thread may call the function.
 * - A call that ends an object (destroys, closes, detaches or unmaps it) takes a pointer to your
 *   pointer, and comes after all other calls on the object. If it succeeds, your pointer is NULL.
 *   If it fails, you still own the object. It does nothing for NULL or a pointer to NULL.
 * - Begin a descriptor with its ..._init() function, and set the fields that are "Required". The
 *   others have defaults. A label is copied (up to 63 bytes) and appears in messages.
 * - A call that returns a list writes up to `capacity` elements into your array (NULL is allowed if
 *   capacity is 0), and sets *count to the number of all elements.
 * - Outputs are written only on success. handle.h says what _dup in a name means.
 *
 * Pages such as "docs/gl.md" are in the source tree, and in share/doc/culvert/docs of an
 * installation. */
#ifndef CULV_CULVERT_H_
#define CULV_CULVERT_H_

#include "base.h"
#include "device.h"
#include "dlpack.h"
#include "format.h"
#include "handle.h"
#include "image.h"
#include "ipc.h"
#include "ipc_ring.h"
#include "kernel.h"
#include "memory.h"
#include "result.h"
#include "ring.h"
#include "semaphore.h"
#include "shared.h"
#include "vector.h"
#include "vmm.h"

/* What the compiler says if CULV_CUDA() is used without its header. */
#ifndef CULV_CUDA
#    define CULV_CUDA(device) include_culvert_cuda_api_h_for_CULV_CUDA
#endif

#endif
