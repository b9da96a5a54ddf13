/* SPDX-License-Identifier: MIT */
/* Samples: error messages. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>

static const char *program_name = "sample";

void report_set_program(const char *name)
{
    program_name = name;
}

void report(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

bool culv_ok(culv_result result, const char *what)
{
    if (result == CULV_OK) return true;
    report("%s: %s: %s", what, culv_result_name(result), culv_last_error_message());
    return false;
}

static const char *vk_result_name(VkResult result)
{
    switch (result) {
    case VK_NOT_READY: return "VK_NOT_READY";
    case VK_TIMEOUT: return "VK_TIMEOUT";
    case VK_INCOMPLETE: return "VK_INCOMPLETE";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST: return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED: return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS: return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FORMAT_NOT_SUPPORTED: return "VK_ERROR_FORMAT_NOT_SUPPORTED";
    case VK_ERROR_INVALID_EXTERNAL_HANDLE: return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
    default: return "VkResult";
    }
}

bool vk_ok(VkResult result, const char *what)
{
    if (result == VK_SUCCESS) return true;
    report("%s: %s (%d)", what, vk_result_name(result), (int)result);
    return false;
}

void print_json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text >= ' ') putchar(*text);
    }
    putchar('"');
}

bool cuda_ok(const culv_cuda_api *cu, CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return true;
    const char *name = NULL, *text = NULL;
    if (cu->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "CUresult";
    if (cu->cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "no description";
    report("%s: %s (%d): %s", what, name, (int)result, text);
    return false;
}
