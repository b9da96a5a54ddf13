/* SPDX-License-Identifier: MIT */
/* What the programs on the format table share. */
#ifndef CULVERT_TESTS_FORMATS_H_
#define CULVERT_TESTS_FORMATS_H_

#include "library.h"

typedef struct format_name {
    culv_format format;
    VkFormat vulkan;
    uint32_t number;
    const char *name;
} format_name;

/* CULV_FORMATS, with Vulkan's own numbers beside. */
extern const format_name format_names[];
extern const size_t format_count;

culv_format_info format_info(culv_format format);

#endif
