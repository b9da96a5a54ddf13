/* SPDX-License-Identifier: MIT */
/* Where exportable memory and semaphores come from: the caller's culv_vk_device, or a small
 * VkDevice of Culvert's own on the context's GPU, made when it is first needed. OpenGL itself
 * exports nothing. */
#ifndef CULVI_GL_EXPORTER_H_
#define CULVI_GL_EXPORTER_H_

#include "gl/gl_core.h"

/* Refuses a descriptor's `vk` that is not the device's. */
culv_result culvi_gl_exporter_check(const culv_device *device, const culv_gl_desc *desc);
/* NULL is a no-op. Makes no OpenGL call. */
void culvi_gl_exporter_free(culvi_gl_exporter *exporter);

#endif
