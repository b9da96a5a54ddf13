/* SPDX-License-Identifier: MIT */
/* What handles.c and fake_vulkan.c share. */
#ifndef CULVERT_TESTS_WINDOWS_HANDLES_H_
#define CULVERT_TESTS_WINDOWS_HANDLES_H_

#include "scene.h"

/* A section that stands for an exported object. */
void *section_make(const wchar_t *name);
/* A device whose imports are of such sections, and whose memory maps nothing. */
culv_device *handles_device(void);

#endif
