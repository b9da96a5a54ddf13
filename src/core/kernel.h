/* SPDX-License-Identifier: MIT */
/* Kernels: what is known about a loaded file of them. */
#ifndef CULVI_CORE_KERNEL_H_
#define CULVI_CORE_KERNEL_H_

#include "cuda/retire.h"
#include "culvert/kernel.h"

/* The clusters of blocks that a kernel was compiled for. */
typedef struct culvi_kernel_clusters {
    bool needed;
    uint32_t size[3]; /* blocks; 0: each launch says it */
} culvi_kernel_clusters;

struct culv_kernel {
    /* What each launch reads comes first and lies together. */
    culv_kernel *next;
    culv_kernels *owner;
    CUfunction function;
    bool params_known; /* the driver told the parameters */
    uint32_t num_params;
    uint32_t max_threads;                 /* of a block */
    uint32_t static_shared;               /* bytes */
    uint32_t sizes[CULV_KERNEL_ARGS_MAX]; /* bytes */
    uint32_t offsets[CULV_KERNEL_ARGS_MAX];
    uint32_t params_size;       /* of all, as one block */
    atomic_uint dynamic_shared; /* the most that a launch may ask for */
    culvi_kernel_clusters clusters;
    char name[];
};

struct culv_kernels {
    culv_device *device;
    atomic_uint refs; /* the caller's handle, and each culv_vk_kernels */
    CUmodule module;
    culvi_mutex lock; /* guards the list of kernels */
    culv_kernel *kernels;
    char label[64];       /* the file's name */
    unsigned char *image; /* what was loaded */
    size_t image_size;    /* as the driver is told: with the final 0 of PTX */
    culvi_deferred deferred;
};

/* The last one gives up what the caller may have unloaded. */
void culvi_kernels_unref(culv_kernels *kernels);

/* What a file holds, by its first bytes. */
typedef enum culvi_kernel_file {
    CULVI_FILE_FATBIN,
    CULVI_FILE_CUBIN,
    CULVI_FILE_PTX,
    CULVI_FILE_SHARED_OBJECT,
    CULVI_FILE_OTHER,
    CULVI_FILE_DLL /* of Windows */
} culvi_kernel_file;
culvi_kernel_file culvi_kernel_data_kind(const void *data, size_t size);

/* Of the fatbinaries in a program that nvcc built, the one that has `kernel`. */
culv_result culvi_kernels_load_program(culv_device *device, const char *path, const char *kernel,
                                       culv_kernels **out);

/* Refuses data of that name, a file's or a caller's, that the device's driver cannot load. */
culv_result culvi_kernel_kind_check(const culv_device *device, culvi_kernel_file kind,
                                    const char *name, const char *label, const void *data,
                                    size_t size);
/* Records why cuModuleLoadData() did not load `data`. */
culv_result culvi_kernel_file_fail(const culv_device *device, const char *name, const char *label,
                                   const void *data, size_t size, CUresult code);

/* The bytes of a file, for culvi_free(). PTX gets a final 0, which *size counts. */
culv_result culvi_kernel_file_read(const culv_device *device, const char *path, const char *label,
                                   unsigned char **owned, size_t *size);

/* Adds the architectures that a fatbin, a cubin or PTX has code for: "sm_75, PTX of compute_75".
 * Adds nothing where that cannot be read. */
void culvi_kernel_image_text(const void *data, size_t size, culvi_text *text);

/* Launches; the values were checked. */
culv_result culvi_kernel_start(culv_kernel *kernel, const culv_launch_desc *desc, void **params,
                               void **extra);
/* What a function was compiled for; none on a driver that knows no clusters. In the device's
 * context. */
CUresult culvi_kernel_read_clusters(culv_device *device, CUfunction function,
                                    culvi_kernel_clusters *out);
/* Refuses a launch of it that is not a stream's. `where` begins the message. */
culv_result culvi_kernel_refuse_clusters(const culvi_voice *voice, const char *label,
                                         const char *where, const char *kernel,
                                         const culvi_kernel_clusters *clusters);
culv_result culvi_kernel_check_count(const culv_kernel *kernel, size_t num_args);
culv_result culvi_kernel_fail_no_value(const culv_kernel *kernel, const char *call, size_t index);
culv_result culvi_kernel_check_size(const culv_kernel *kernel, size_t index, size_t size);

#endif
