/* SPDX-License-Identifier: MIT */
/* Culvert: kernels loaded from a file and launched by name, on either driver, without <<<>>>.
 *
 * culvert_add_kernels() of CMake, and the script culvert-kernels, make two files of one .cu source:
 * NAME.fatbin for NVIDIA devices and NAME.soft.so for the software twin. culv_kernels_load() takes
 * the one that the device's driver runs. docs/kernels.md shows the whole way.
 *
 *   culv_kernels_load(device, "share/myapp", "scale", &kernels);      in C
 *   culv_kernels_get(kernels, "scale", &scale);
 *   culv_launch_desc d = culv_launch_1d(n, 256, stream);
 *   CULV_LAUNCH(scale, &d, CULV_ARG(pointer), CULV_ARG(factor), CULV_ARG(n));
 *
 *   culv::launch(scale, d, pointer, 2.0f, n);                         in C++
 *   culv::kernel<CUdeviceptr, float, int> typed(scale);               converts, and counts, when
 *   typed(d, pointer, 2, n);                                          compiled */
#ifndef CULV_KERNEL_H_
#define CULV_KERNEL_H_

#include "device.h"

CULV_EXTERN_C_BEGIN

/* CUDA's own handle, repeated here as in base.h. */
typedef struct CUfunc_st *CUfunction;

/** Opaque: a loaded file of kernels. */
typedef struct culv_kernels culv_kernels;

/** Opaque: one kernel of a culv_kernels, which owns it. */
typedef struct culv_kernel culv_kernel;

/** Loads directory/NAME.soft.so if the software twin serves the device, and directory/NAME.fatbin
 * if NVIDIA's driver does. The call reads the file once and keeps its bytes, so later changes of
 * the file have no effect.
 * Errors: INVALID (NULL_ARGUMENT; MODULE: there is no such file, or it is not for this driver);
 * UNSUPPORTED (MODULE: the file has no code for this GPU); DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_kernels_unload().
 * Source: cuda.h, cuModuleLoadData. */
CULV_EXPORT culv_result culv_kernels_load(culv_device *device, const char *directory,
                                          const char *name, culv_kernels **out);

/** Loads the file of this path, as culv_kernels_load() does. NVIDIA's driver takes a fatbin, a
 * cubin, or PTX as text. The twin takes only a .soft.so.
 *
 * If `kernel` is not NULL, the file is a program or a shared library (ELF) that nvcc built (on
 * Linux "/proc/self/exe" for the program itself). The call loads the kernels of the .cu file that
 * has this one. culv_vk_record_graph() finds a captured <<<>>> in them. In C++ the name is the
 * mangled one, which cuFuncGetName returns. It is a second copy, with its own __constant__
 * variables and other globals. Each fatbinary of the file is loaded until one has the kernel.
 * Errors: as culv_kernels_load(); INVALID (MODULE: the file has no section .nv_fatbin, or this is
 * the twin, which runs no fatbinary; KERNEL: the file has no such kernel).
 * Ownership: *out is yours, for culv_kernels_unload(). */
CULV_EXPORT culv_result culv_kernels_load_file(culv_device *device, const char *path,
                                               const char *kernel, culv_kernels **out);

/** Loads kernels from memory: the output of NVRTC, Triton, CuPy or Numba, or a file that you read
 * yourself. NVIDIA's driver takes a fatbin, a cubin, or PTX as text, with or without its final 0.
 * The twin takes the bytes of a .soft.so. `label` replaces the file's name in messages (up to 63
 * bytes are copied); it may be NULL.
 * Errors: as culv_kernels_load(); INVALID (SIZE: size is 0).
 * Ownership: the bytes are copied. *out is yours, for culv_kernels_unload().
 * Source: cuda.h, cuModuleLoadData. */
CULV_EXPORT culv_result culv_kernels_load_data(culv_device *device, const void *data, size_t size,
                                               const char *label, culv_kernels **out);

/** Unloads the file. Its culv_kernel objects are destroyed, unless a culv_vk_kernels keeps them.
 * The driver waits for work of the context. */
CULV_EXPORT void culv_kernels_unload(culv_kernels **kernels);

/** Finds a kernel by its name, and loads its code to the device (CUDA 12.4): a first launch that
 * loads it behind a wait can hold up other streams. A second call returns the same object.
 * Errors: INVALID (NULL_ARGUMENT; KERNEL: there is no such kernel; the message lists the file's
 * kernels, if the driver does); DRIVER; ASYNC; OUT_OF_MEMORY.
 * Ownership: the culv_kernels owns *out.
 * Source: cuda.h, cuModuleGetFunction and cuFuncLoad. */
CULV_EXPORT culv_result culv_kernels_get(culv_kernels *kernels, const char *name,
                                         culv_kernel **out);

/** Returns the driver's handle, for cuLaunchKernel and graphs, or NULL for NULL.
 * Ownership: the culv_kernels owns it. */
CULV_EXPORT CUfunction culv_kernel_native_handle(const culv_kernel *kernel);

/** The numbers of blocks and threads that run a kernel. */
typedef struct culv_launch_desc {
    size_t struct_size; /**< Set by culv_launch_desc_init(). */
    uint32_t grid[3];   /**< Blocks in x, y and z. Default: 1. */
    uint32_t block[3];  /**< Threads of a block in x, y and z. Default: 1. */
    /** Bytes of dynamic shared memory. The first launch with more than 48 KiB sets the kernel's
     * CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES to the most that the device has for it. Do
     * not set that attribute yourself. */
    uint32_t shared_bytes;
    CUstream stream; /**< A stream of culv_device_context(). Default: the legacy default stream. */
} culv_launch_desc;

/** culv_launch_desc_init(): one block of one thread. */
CULV_INIT(culv_launch_desc)

/** Returns as many blocks of `block` threads as have at least `threads` threads together. The last
 * block may have more than are needed, so the kernel compares its index with the count. At least
 * one block.
 * Errors: none. A count that needs more than 2^32 - 1 blocks gives that many, which no driver
 * launches. */
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

/** Does the same for an area: blocks of block_x by block_y threads.
 * Errors: as culv_launch_1d(). */
CULV_INLINE culv_launch_desc culv_launch_2d(uint64_t width, uint64_t height, uint32_t block_x,
                                            uint32_t block_y, CUstream stream)
{
    culv_launch_desc d = culv_launch_1d(width, block_x, stream);
    d.grid[1] = culv_launch_1d(height, block_y, stream).grid[0];
    d.block[1] = block_y;
    return d;
}

/** One argument of a kernel: a pointer to its value, and its bytes. CULV_ARG() fills it. */
typedef struct culv_kernel_arg {
    const void *value;
    size_t size;
} culv_kernel_arg;

enum { CULV_KERNEL_ARGS_MAX = 64 };

/** Launches a kernel. The values are read during the call. Their number and sizes are compared with
 * the kernel's parameters, if the driver lists these (CUDA 12.4). The call allocates nothing and
 * takes no lock. A stream that is being captured gets a node.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: more than CULV_KERNEL_ARGS_MAX arguments; KERNEL: another
 * number of arguments than the kernel takes, or an argument of another size; STREAM_DEVICE); DRIVER
 * (a grid, block or shared_bytes beyond what the device has); ASYNC.
 * Source: cuda.h, cuLaunchKernel, cuFuncGetParamInfo. */
CULV_EXPORT culv_result culv_kernel_launch(culv_kernel *kernel, const culv_launch_desc *desc,
                                           const culv_kernel_arg *args, size_t num_args);

/* An argument of CULV_LAUNCH: a variable (or another lvalue) of the parameter's type. */
#define CULV_ARG(lvalue)                                                                           \
    {                                                                                              \
        &(lvalue), sizeof(lvalue)                                                                  \
    }
/* culv_kernel_launch() in one line: CULV_LAUNCH(kernel, &desc, CULV_ARG(a), CULV_ARG(b)), in C99
 * and within a function of C++11. */
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

/** One argument of a culv_kernel_call. An address or a handle may be one number on CUDA's streams
 * and another one in a graphics API's queue, so the struct holds both. */
typedef struct culv_kernel_call_arg {
    const void *value; /**< Required: the value for a launch on a stream. */
    /** The value for a launch in a graphics API's queue, of the same size. NULL: `value`. */
    const void *queue_value;
    size_t size; /**< Bytes of the value. */
} culv_kernel_call_arg;

/** A kernel with its parameters: one launch, written down once. culv_kernel_call_launch() launches
 * it on a CUDA stream, and culv_vk_kernel_call_record() records it in a command buffer
 * (culvert/vulkan_kernel.h). Zero means the default in every field except struct_size and
 * kernel. */
typedef struct culv_kernel_call {
    size_t struct_size;    /**< Set by culv_kernel_call_init(). */
    culv_kernel *kernel;   /**< Required. */
    uint32_t grid[3];      /**< Blocks in x, y and z. Default: 1. */
    uint32_t block[3];     /**< Threads of a block in x, y and z. Default: 1. */
    uint32_t shared_bytes; /**< Bytes of dynamic shared memory. */
    uint32_t reserved;     /**< 0. */
    /** The arguments one by one, as cuLaunchKernel takes them in kernelParams. */
    const culv_kernel_call_arg *args;
    size_t num_args; /**< Elements of `args`. */
    /** Replaces `args`: all arguments as one block, laid out as the kernel's parameters are (as the
     * members of a struct). */
    const void *params;
    const void *queue_params; /**< The same for a graphics API's queue. NULL: `params`. */
    size_t params_size;       /**< Bytes of the block. */
} culv_kernel_call;

/** Returns a call of this kernel: one block of one thread, without arguments. */
CULV_INLINE culv_kernel_call culv_kernel_call_init(culv_kernel *kernel)
{
    /* Member by member: clearing it as one block takes longer than reading it (measured). */
    culv_kernel_call c;
    c.struct_size = sizeof c;
    c.kernel = kernel;
    c.grid[0] = c.grid[1] = c.grid[2] = 0;
    c.block[0] = c.block[1] = c.block[2] = 0;
    c.shared_bytes = c.reserved = 0;
    c.args = NULL;
    c.num_args = 0;
    c.params = c.queue_params = NULL;
    c.params_size = 0;
    return c;
}

/** Launches the call on a CUDA stream. The values are read during the call. It allocates nothing
 * and takes no lock.
 * Errors: as culv_kernel_launch(); INVALID (VALUE: both args and params are set; KERNEL:
 * params_size is less than the kernel's parameters take, or at least 16 bytes more, which is too
 * much for padding at the end of a struct).
 * Source: cuda.h, cuLaunchKernel. */
CULV_EXPORT culv_result culv_kernel_call_launch(const culv_kernel_call *call, CUstream stream);

/* Elements of culv_kernel_call::args: a variable (or another lvalue) of the parameter's type, and
 * one with another value for a graphics API's queue. */
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

/* culv_kernel_launch() with the values themselves. Each must have the parameter's type: 2.0 is a
 * double, and a kernel that takes a float refuses it. */
template <typename... A>
inline culv_result launch(culv_kernel *k, const culv_launch_desc &desc, const A &...values)
{
    static_assert(sizeof...(A) > 0, "a kernel takes at least one argument");
    static_assert(sizeof...(A) <= CULV_KERNEL_ARGS_MAX, "too many arguments");
    const culv_kernel_arg args[] = {{&values, sizeof(values)}...};
    return culv_kernel_launch(k, &desc, args, sizeof...(A));
}

/* A kernel whose parameters' types are known when the call is compiled: it takes as many, and
 * converts. Device pointers are CUdeviceptr. */
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
