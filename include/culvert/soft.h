/* SPDX-License-Identifier: MIT */
/* Culvert: the software twin, a CUDA driver on the CPU. Its graphics partner is the machine's CPU
 * Vulkan device (Mesa's lavapipe). The twin lets the same program run where there is no GPU: in CI,
 * on a laptop, under a sanitizer. Culvert uses it only when the program or the environment allows
 * it. */
#ifndef CULV_SOFT_H_
#define CULV_SOFT_H_

#include "result.h"

CULV_EXTERN_C_BEGIN

/** Allows the twin for this process, as the environment variable CULVERT_SOFT=1 does. It also lets
 * the Vulkan loader find the twin's layer in a build tree, a bundle or an installation in a
 * directory of its own: the twin's library adds that directory to VK_ADD_LAYER_PATH, or to
 * VK_LAYER_PATH if that is set. culv_vk_instance_layers() does the same, so a program that makes
 * that call needs this one only to allow the twin in code. Call it at the start of main, before
 * vkCreateInstance and before the program starts other threads. A second call does nothing.
 * Errors: UNSUPPORTED (SOFT_MISSING) when the twin's library is not found. Culvert looks for it
 * beside its own library (a static one is in the program), in CULVERT_SOFT_PATH, and then in the
 * system linker's directories.
 * Threads: one, before all others. */
CULV_EXPORT culv_result culv_soft_enable(void);

/** Tells whether the process may use the twin: CULVERT_SOFT=1 is set, or culv_soft_enable()
 * succeeded. If CULVERT_SOFT is 0, off, no, false or empty, it does not allow the twin.
 * Threads: any. */
CULV_EXPORT culv_bool culv_soft_enabled(void);

CULV_EXTERN_C_END

#endif
