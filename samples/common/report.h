/* SPDX-License-Identifier: MIT */
/* Samples: error messages of the sample itself, of Culvert, of Vulkan and of CUDA, on stderr. */
#ifndef CULVERT_SAMPLES_REPORT_H_
#define CULVERT_SAMPLES_REPORT_H_

#include <stdbool.h>

#include <vulkan/vulkan_core.h>

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>

/* The name that precedes every message. */
void report_set_program(const char *name);

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void report(const char *format, ...);

/* True when the call succeeded; otherwise says what failed and why. */
bool culv_ok(culv_result result, const char *what);
bool vk_ok(VkResult result, const char *what);
bool cuda_ok(const culv_cuda_api *cu, CUresult result, const char *what);

/* To stdout, for RESULT lines; names of devices are ASCII. */
void print_json_string(const char *text);

#endif
