/* SPDX-License-Identifier: MIT */
/* Kernels: what is known about a loaded file of them. */
#ifndef CULVI_CORE_KERNEL_H_
#define CULVI_CORE_KERNEL_H_

#include "cuda/retire.h"
#include "culvert/kernel.h"

struct culv_kernel {
    culv_kernel *next;
    culv_kernels *owner;
    CUfunction function;
    bool params_known; /* the driver told the parameters */
    uint32_t num_params;
    uint32_t sizes[CULV_KERNEL_ARGS_MAX]; /* bytes */
    atomic_uint dynamic_shared;           /* the most that a launch may ask for */
    char name[];
};

struct culv_kernels {
    culv_device *device;
    CUmodule module;
    culvi_mutex lock; /* guards the list of kernels */
    culv_kernel *kernels;
    char label[64]; /* the file's name */
    culvi_deferred deferred;
};

/* What a file holds, by its first bytes. */
typedef enum culvi_kernel_file {
    CULVI_FILE_MISSING, /* or it cannot be read: errno says why */
    CULVI_FILE_FATBIN,
    CULVI_FILE_CUBIN,
    CULVI_FILE_PTX,
    CULVI_FILE_SHARED_OBJECT,
    CULVI_FILE_OTHER
} culvi_kernel_file;
culvi_kernel_file culvi_kernel_file_kind(const char *path);

/* Refuses a file that the device's driver cannot load. */
culv_result culvi_kernel_file_check(const culv_device *device, const char *path, const char *label);
/* Records why the driver did not load it. */
culv_result culvi_kernel_file_fail(const culv_device *device, const char *path, const char *label,
                                   CUresult code);

#endif
