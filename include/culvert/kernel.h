/* SPDX-License-Identifier: MIT */
/* Culvert: kernels loaded from a file and launched by name, without <<<>>>, on NVIDIA's driver or
 * on Culvert's CUDA driver for the CPU (the software twin, device.h).
 *
 * culvert_add_kernels() in CMake and the script culvert-kernels make two files from one .cu source:
 * NAME.fatbin for NVIDIA's devices and NAME.soft.so for the software twin. culv_kernels_load()
 * loads the file that the device's driver runs. docs/kernels.md shows all steps.
 *
 *   culv_kernels_load(device, "share/myapp", "scale", &kernels);      in C
 *   culv_kernels_get(kernels, "scale", &scale);
 *   culv_launch_desc d = culv_launch_1d(n, 256, stream);
 *   CULV_LAUNCH(scale, &d, CULV_ARG(pointer), CULV_ARG(factor), CULV_ARG(n));
 *
 *   culv::launch(scale, d, pointer, 2.0f, n);                         in C++
 *   culv::kernel<CUdeviceptr, float, int> typed(scale);               the compiler checks
 *   typed(d, pointer, 2, n);                                          and converts arguments */
#ifndef CULV_KERNEL_H_
#define CULV_KERNEL_H_

#include "device.h"

CULV_EXTERN_C_BEGIN

/* CUDA's own handle, declared here as in base.h. */
typedef struct CUfunc_st *CUfunction;

/** Opaque: a loaded file of kernels. */
typedef struct culv_kernels culv_kernels;

/** Opaque: one kernel of a culv_kernels, which owns it. */
typedef struct culv_kernel culv_kernel;

/** Loads directory/NAME.soft.so if the software twin serves the device, and directory/NAME.fatbin
 * if NVIDIA's driver does. The call reads the file once and keeps its bytes, so later changes of
 * the file have no effect.
 * Errors: INVALID (NULL_ARGUMENT; MODULE: there is no such file, or it is for another driver);
 * UNSUPPORTED (MODULE: the file has no code for this GPU); DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_kernels_unload().
 * Source: cuda.h, cuModuleLoadData. */
CULV_EXPORT culv_result culv_kernels_load(culv_device *device, const char *directory,
                                          const char *name, culv_kernels **out);

/** Loads the file of this path, as culv_kernels_load() does. NVIDIA's driver takes a fatbin, a
 * cubin, or PTX as text. The twin takes only a .soft.so.
 *
 * If `kernel` is not NULL, the file is a program or a shared library (ELF) that nvcc built (on
 * Linux "/proc/self/exe" is the program itself). The call then loads all kernels of the .cu file
 * that has this kernel. If a graph was captured from <<<>>> launches, culv_vk_record_graph() finds
 * their kernels here. In C++ the name is the mangled name that cuFuncGetName returns. The kernels
 * are a second copy, with their own __constant__ variables and other globals. The call loads one
 * fatbinary of the file after another until one has the kernel.
 * Errors: as culv_kernels_load(); INVALID (MODULE: the file has no section .nv_fatbin, or the twin
 * serves the device: it runs no fatbinary; KERNEL: the file has no such kernel).
 * Ownership: *out is yours, for culv_kernels_unload(). */
CULV_EXPORT culv_result culv_kernels_load_file(culv_device *device, const char *path,
                                               const char *kernel, culv_kernels **out);

/** Loads kernels from memory: the output of NVRTC, Triton, CuPy or Numba, or a file that you read
 * yourself. NVIDIA's driver takes a fatbin, a cubin, or PTX as text, with or without its final 0.
 * The twin takes the bytes of a .soft.so. `label` replaces the file's name in messages. It is
 * copied (up to 63 bytes) and may be NULL.
 * Errors: as culv_kernels_load(); INVALID (SIZE: size is 0).
 * Ownership: the bytes are copied. *out is yours, for culv_kernels_unload().
 * Source: cuda.h, cuModuleLoadData. */
CULV_EXPORT culv_result culv_kernels_load_data(culv_device *device, const void *data, size_t size,
                                               const char *label, culv_kernels **out);

/** Unloads the file. Its culv_kernel objects are destroyed, unless a culv_vk_kernels keeps them.
 * The driver waits for the context's work. */
CULV_EXPORT void culv_kernels_unload(culv_kernels **kernels);

/** Finds a kernel by its name, and loads its code to the device (CUDA 12.4). Before CUDA 12.4 the
 * first launch loads it; if that launch comes after a wait, it can delay other streams. A second
 * call returns the same object.
 * Errors: INVALID (NULL_ARGUMENT; KERNEL: there is no such kernel; the message lists the file's
 * kernels if the driver can); DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: the culv_kernels owns *out.
 * Source: cuda.h, cuModuleGetFunction and cuFuncLoad. */
CULV_EXPORT culv_result culv_kernels_get(culv_kernels *kernels, const char *name,
                                         culv_kernel **out);

/** Returns the driver's handle, for cuLaunchKernel and graphs, or NULL for NULL.
 * Ownership: the culv_kernels owns it. */
CULV_EXPORT CUfunction culv_kernel_native_handle(const culv_kernel *kernel);

/** The grid, the blocks and the stream of a launch. */
typedef struct culv_launch_desc {
    size_t struct_size; /**< Set by culv_launch_desc_init(). */
    uint32_t grid[3];   /**< Blocks in x, y and z. Default: 1. */
    uint32_t block[3];  /**< Threads of a block in x, y and z. Default: 1. */
    /** Bytes of dynamic shared memory. The first launch with more than 48 KiB sets the kernel's
     * CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES to the maximum that the device allows. Do not
     * set that attribute yourself. */
    uint32_t shared_bytes;
    CUstream stream; /**< Stream of culv_device_context(). Default: the legacy default stream. */
} culv_launch_desc;

/** culv_launch_desc_init(): one block of one thread. */
CULV_INIT(culv_launch_desc)

/** Returns a launch of at least `threads` threads, in one or more blocks of `block` threads. The
 * last block may have too many threads, so the kernel must compare its index with the count.
 * Errors: none. The launch has at most 2^32 - 1 blocks, a number that no driver launches. */
CULV_INLINE culv_launch_desc culv_launch_1d(uint64_t threads, uint32_t block, CUstream stream)
{
    culv_launch_desc d = culv_launch_desc_init();
    const uint64_t size = block == 0 ? 1 : block;
    const uint64_t blocks = threads / size + (threads % size != 0);
    d.grid[0] = blocks > 0xffffffffu ? 0xffffffffu : (uint32_t)blocks;
    d.block[0] = block;
    d.stream = stream;
    return d;
}

/** Returns the same for an area, in blocks of block_x by block_y threads.
 * Errors: as culv_launch_1d(). */
CULV_INLINE culv_launch_desc culv_launch_2d(uint64_t width, uint64_t height, uint32_t block_x,
                                            uint32_t block_y, CUstream stream)
{
    culv_launch_desc d = culv_launch_1d(width, block_x, stream);
    d.grid[1] = culv_launch_1d(height, block_y, stream).grid[0];
    d.block[1] = block_y;
    return d;
}

/** One argument of a kernel: a pointer to its value, and its size in bytes. CULV_ARG() fills it. */
typedef struct culv_kernel_arg {
    const void *value;
    size_t size;
} culv_kernel_arg;

enum { CULV_KERNEL_ARGS_MAX = 64 };

/** Launches a kernel. The values are read during the call. If the driver lists the kernel's
 * parameters (CUDA 12.4), the call compares the arguments' number and sizes with them. The call
 * allocates nothing and takes no lock. If the stream is being captured, it gets a graph node.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: more than CULV_KERNEL_ARGS_MAX arguments; KERNEL: a wrong
 * number of arguments, or an argument of a wrong size; STREAM_DEVICE); DRIVER (a grid, block or
 * shared_bytes beyond the device's limits); ASYNC.
 * Source: cuda.h, cuLaunchKernel, cuFuncGetParamInfo. */
CULV_EXPORT culv_result culv_kernel_launch(culv_kernel *kernel, const culv_launch_desc *desc,
                                           const culv_kernel_arg *args, size_t num_args);

/* An argument of CULV_LAUNCH: a variable (or other lvalue) of the parameter's type. */
#define CULV_ARG(lvalue)                                                                           \
    {                                                                                              \
        &(lvalue), sizeof(lvalue)                                                                  \
    }
/* culv_kernel_launch() in one line: CULV_LAUNCH(kernel, &desc, CULV_ARG(a), CULV_ARG(b)). It works
 * in C99, and within a function in C++11. */
#ifdef __cplusplus
#    define CULV_LAUNCH(kernel, desc, ...)                                                         \
        ([&]() -> culv_result {                                                                    \
            const culv_kernel_arg culv_args[] = {__VA_ARGS__};                                     \
            return culv_kernel_launch((kernel), (desc), culv_args,                                 \
                                      sizeof culv_args / sizeof *culv_args);                       \
        }())
#else
#    define CULV_LAUNCH(kernel, desc, ...)                                                         \
        culv_kernel_launch((kernel), (desc), (const culv_kernel_arg[]){__VA_ARGS__},               \
                           sizeof((const culv_kernel_arg[]){__VA_ARGS__}) /                        \
                               sizeof(culv_kernel_arg))
#endif

/** One argument of a culv_kernel_call. An address or a handle may have one value on CUDA's streams
 * and another in a graphics API's queue, so the struct has both. */
typedef struct culv_kernel_call_arg {
    const void *value; /**< Required: value for a launch on a stream. */
    /** Value for a launch in a graphics API's queue, of the same size. NULL: `value`. */
    const void *queue_value;
    size_t size; /**< Bytes of the value. */
} culv_kernel_call_arg;

/** A kernel with its arguments: one launch that is described once. culv_kernel_call_launch()
 * launches it on a CUDA stream, and culv_vk_kernel_call_record() records it in a command buffer
 * (culvert/vulkan_kernel.h). Zero fields have their defaults; struct_size and kernel must be
 * set. */
typedef struct culv_kernel_call {
    size_t struct_size;    /**< Set by culv_kernel_call_init(). */
    culv_kernel *kernel;   /**< Required. */
    uint32_t grid[3];      /**< Blocks in x, y and z. Default: 1. */
    uint32_t block[3];     /**< Threads of a block in x, y and z. Default: 1. */
    uint32_t shared_bytes; /**< Bytes of dynamic shared memory. */
    uint32_t reserved;     /**< 0. */
    /** Arguments one by one, as in kernelParams of cuLaunchKernel. */
    const culv_kernel_call_arg *args;
    size_t num_args; /**< Elements of `args`. */
    /** Block of all arguments in place of `args`, laid out like the kernel's parameters (as a
     * struct). Its addresses and handles are those of the one way in which the call is launched. */
    const void *params;
    size_t params_size; /**< Bytes of the block. */
} culv_kernel_call;

/** Returns a call of this kernel with one block of one thread and without arguments. */
CULV_INLINE culv_kernel_call culv_kernel_call_init(culv_kernel *kernel)
{
    /* Member by member: a memset of the struct takes longer (measured). */
    culv_kernel_call c;
    c.struct_size = sizeof c;
    c.kernel = kernel;
    c.grid[0] = c.grid[1] = c.grid[2] = 0;
    c.block[0] = c.block[1] = c.block[2] = 0;
    c.shared_bytes = c.reserved = 0;
    c.args = NULL;
    c.num_args = 0;
    c.params = NULL;
    c.params_size = 0;
    return c;
}

/** Launches the call on a CUDA stream. The values are read during the call. It allocates nothing
 * and takes no lock.
 * Errors: as culv_kernel_launch(); INVALID (VALUE: both args and params are set; KERNEL:
 * params_size is less than the size of the kernel's parameters, or exceeds it by 16 bytes or more,
 * which cannot be padding at the end of a struct).
 * Source: cuda.h, cuLaunchKernel. */
CULV_EXPORT culv_result culv_kernel_call_launch(const culv_kernel_call *call, CUstream stream);

/* Elements of culv_kernel_call::args: a variable (or other lvalue) of the parameter's type;
 * CULV_CALL_ARG_OF adds the variable for a graphics API's queue. */
#define CULV_CALL_ARG(lvalue)                                                                      \
    {                                                                                              \
        &(lvalue), NULL, sizeof(lvalue)                                                            \
    }
#define CULV_CALL_ARG_OF(lvalue, queue_lvalue)                                                     \
    {                                                                                              \
        &(lvalue), &(queue_lvalue), sizeof(lvalue)                                                 \
    }

CULV_EXTERN_C_END

#ifdef __cplusplus
namespace culv {

/* culv_kernel_launch() with values. Each value must have the parameter's type: 2.0 is a double, and
 * the launch fails if the kernel takes a float. */
template <typename... A>
inline culv_result launch(culv_kernel *k, const culv_launch_desc &desc, const A &...values)
{
    static_assert(sizeof...(A) > 0, "without arguments, call culv_kernel_launch()");
    static_assert(sizeof...(A) <= CULV_KERNEL_ARGS_MAX, "too many arguments");
    const culv_kernel_arg args[] = {{&values, sizeof(values)}...};
    return culv_kernel_launch(k, &desc, args, sizeof...(A));
}

/* A kernel whose parameter types the compiler knows: it checks the number of arguments and converts
 * them. Device pointers are CUdeviceptr. */
template <typename... P> class kernel {
  public:
    explicit kernel(culv_kernel *k) : kernel_(k) {}
    culv_result operator()(const culv_launch_desc &desc, P... values) const
    {
        return launch(kernel_, desc, values...);
    }

  private:
    culv_kernel *kernel_;
};

} // namespace culv
#endif

#endif
