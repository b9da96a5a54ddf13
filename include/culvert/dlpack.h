/* SPDX-License-Identifier: MIT */
/* Culvert: makes DLPack tensors of shared memory, for NumPy, PyTorch, CuPy, JAX and others.
 *
 *   culv_dlpack_desc desc = culv_dlpack_desc_init();
 *   desc.type.code = CULV_DL_FLOAT;
 *   desc.type.bits = 32;
 *   desc.ndim = 2;
 *   desc.shape = shape;
 *   culv_buffer_get_dlpack(buffer, &desc, &tensor);
 *   ... tensor->deleter(tensor);          the consumer calls it
 *
 * Nothing is copied: the tensor is the memory that the graphics API draws from. The tensor keeps
 * the mapping. You may unmap the buffer, destroy the object that owns it, free the native memory
 * and close the device while a consumer still has the tensor. The last deleter frees the memory, on
 * any thread, and makes no call of the graphics API.
 *
 * A slot of a ring has a buffer: culv_ring_buffer(). A LINEAR image is a buffer with a layout: call
 * culv_vk_image_map_pitched(), then culv_dlpack_describe_image().
 *
 * DLPack has no semaphores. Call culv_dlpack_hand_over() to order the reader after the writer.
 *
 * The structs have the layout of dlpack/dlpack.h but different names, so you may include both
 * headers. Cast a pointer from one to the other. */
#ifndef CULV_DLPACK_H_
#define CULV_DLPACK_H_

#include "image.h"
#include "vector.h"

CULV_EXTERN_C_BEGIN

/** The DLPack version of the structs below. Consumers check only the first number. */
#define CULV_DLPACK_VERSION_MAJOR 1
#define CULV_DLPACK_VERSION_MINOR 1

/** Maximum number of dimensions of Culvert's tensors, as in NumPy. */
#define CULV_DLPACK_MAX_DIMENSIONS 32

/** The place of a tensor's memory: DLDeviceType. DLPack has more values than these. */
typedef enum culv_dl_device_type {
    CULV_DL_DEVICE_CPU = 1,
    CULV_DL_DEVICE_CUDA = 2,
    CULV_DL_DEVICE_CUDA_HOST = 3, /**< Host memory that CUDA has pinned. */
    CULV_DL_DEVICE_CUDA_MANAGED = 13,
    CULV_DL_DEVICE_FORCE32 = 0x7fffffff
} culv_dl_device_type;

/** The type of an element: DLDataTypeCode. DLPack has more values than these. */
typedef enum culv_dl_type_code {
    CULV_DL_INT = 0,
    CULV_DL_UINT = 1,
    CULV_DL_FLOAT = 2,
    CULV_DL_BFLOAT = 4,
    CULV_DL_COMPLEX = 5,
    CULV_DL_BOOL = 6,
    CULV_DL_TYPE_FORCE32 = 0x7fffffff
} culv_dl_type_code;

/** Bits of culv_dl_managed_tensor_versioned::flags. */
typedef enum culv_dl_flags {
    CULV_DL_READ_ONLY = 1, /**< DLPACK_FLAG_BITMASK_READ_ONLY */
    CULV_DL_IS_COPIED = 2, /**< DLPACK_FLAG_BITMASK_IS_COPIED. Culvert never sets it. */
    CULV_DL_FLAGS_FORCE32 = 0x7fffffff
} culv_dl_flags;

/** DLDevice. */
typedef struct culv_dl_device {
    int32_t device_type; /**< A culv_dl_device_type, or another value of DLDeviceType. */
    int32_t device_id;   /**< Ordinal of the CUDA device, or 0 for other devices. */
} culv_dl_device;

/** DLDataType. */
typedef struct culv_dl_type {
    uint8_t code;   /**< A culv_dl_type_code, or another value of DLDataTypeCode. */
    uint8_t bits;   /**< Bits of one lane. */
    uint16_t lanes; /**< 1, except for vector types. */
} culv_dl_type;

/** DLTensor. */
typedef struct culv_dl_tensor {
    void *data; /**< A device pointer if the device is CUDA. */
    culv_dl_device device;
    int32_t ndim;
    culv_dl_type dtype;
    int64_t *shape;       /**< `ndim` numbers of elements. */
    int64_t *strides;     /**< `ndim` distances in elements. Culvert never leaves it NULL. */
    uint64_t byte_offset; /**< Bytes from data to the first element. Culvert sets 0. */
} culv_dl_tensor;

/** DLManagedTensor: the form without a version, for consumers from before 2025. */
typedef struct culv_dl_managed_tensor {
    culv_dl_tensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct culv_dl_managed_tensor *self);
} culv_dl_managed_tensor;

/** DLPackVersion. */
typedef struct culv_dl_version {
    uint32_t major;
    uint32_t minor;
} culv_dl_version;

/** DLManagedTensorVersioned. The consumer calls `deleter` once, from any thread. */
typedef struct culv_dl_managed_tensor_versioned {
    culv_dl_version version;
    void *manager_ctx;
    void (*deleter)(struct culv_dl_managed_tensor_versioned *self);
    uint64_t flags; /**< Bits of culv_dl_flags. */
    culv_dl_tensor dl_tensor;
} culv_dl_managed_tensor_versioned;

/** The tensor to make. If all fields but struct_size are zero, it has all bytes of the memory, as
 * one dimension of uint8. */
typedef struct culv_dlpack_desc {
    size_t struct_size; /**< Set by culv_dlpack_desc_init(). */
    /** Type of an element. Bits times lanes are whole bytes. lanes 0 means 1. All zero: uint8. */
    culv_dl_type type;
    /** Number of dimensions, at most CULV_DLPACK_MAX_DIMENSIONS. 0 with a `shape`: a scalar. */
    int32_t ndim;
    /** `ndim` numbers of elements. Read during the call. NULL: one dimension with all elements of
     * the memory from `offset` on. */
    const int64_t *shape;
    /** `ndim` distances in elements, which may be 0 or negative. Read during the call. NULL:
     * row-major without gaps. */
    const int64_t *strides;
    uint64_t offset;     /**< Bytes from the beginning of the memory to the first element. */
    culv_bool read_only; /**< Nonzero: the tensor has the flag CULV_DL_READ_ONLY. */
    /** Device type that the tensor states. 0: CUDA; for the software twin CPU, because its memory
     * is host memory; for a buffer in host memory CUDA_HOST; you may set CPU or CUDA instead. */
    culv_dl_device_type device_type;
} culv_dlpack_desc;

CULV_INIT(culv_dlpack_desc)

/** Makes a tensor of a buffer. desc may be NULL for the default. The tensor has its own mapping, at
 * no cost, because the import is mapped only once. So you may unmap the buffer, and destroy its
 * owner, before the tensor is deleted.
 *
 * The deleter does what culv_buffer_unmap() does. If it releases the last mapping, the driver waits
 * for all CUDA work of the context, as cudaFree() does.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the element, the number of dimensions or the
 * device; SIZE: a negative extent, or one that overflows; RANGE: an element outside the buffer, or
 * one that does not begin at a multiple of its lane's size; OWNED: a registered buffer, because a
 * tensor cannot keep it after the unmap), OUT_OF_MEMORY, ASYNC.
 * Ownership: *out is yours; give it to a consumer, or call its deleter.
 * Source: DLPack 1.1, dlpack.h; strides must not be NULL since 1.2. */
CULV_EXPORT culv_result culv_buffer_get_dlpack(culv_buffer *buffer, const culv_dlpack_desc *desc,
                                               culv_dl_managed_tensor_versioned **out);

/** Makes a tensor of a vector's present size at its present address. desc may be NULL for the
 * default. If the vector grows, the tensor stays as it is. While the tensor exists,
 * culv_vector_shrink() does not free its memory and culv_vector_retire() does not unmap its address
 * (BUSY). If you destroy the vector, its memory stays until its last tensor is deleted.
 *
 * The deleter of the last tensor of a destroyed vector waits for all CUDA work of the context, and
 * does not break a stream capture. If the driver refuses to wait, the memory stays until a later
 * culv_device_collect().
 * Errors: as culv_buffer_get_dlpack().
 * Ownership: *out is yours; give it to a consumer, or call its deleter.
 * Threads: any, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_vector_get_dlpack(culv_vector *vector, const culv_dlpack_desc *desc,
                                               culv_dl_managed_tensor_versioned **out);

/** Converts one of Culvert's tensors to the form without a version, for consumers that take no
 * other form. It stays the same tensor, and *tensor becomes NULL.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: not one of Culvert's tensors; USAGE: a read-only tensor,
 * because this form has no such flag). After an error the tensor is as before.
 * Ownership: *out is yours in place of *tensor.
 * Threads: any, ordered with other uses of the tensor. */
CULV_EXPORT culv_result culv_dlpack_to_unversioned(culv_dl_managed_tensor_versioned **tensor,
                                                   culv_dl_managed_tensor **out);

/** Describes a level of a LINEAR image as a tensor of (slices or layers,) rows, columns and
 * channels. `layout` comes from culv_vk_image_map_pitched(). One texel is `channels` elements of
 * desc->type; if `channels` is 1, the tensor has no dimension for it. The call sets desc->ndim, and
 * sets desc->shape and desc->strides to the arrays `shape` and `strides`, which it fills.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the elements are not as large as a texel, a
 * block has several texels, the image has both slices and layers, or a pitch is not a multiple of
 * the element).
 * Ownership: the arrays are yours, and have 4 elements each. */
CULV_EXPORT culv_result culv_dlpack_describe_image(const culv_subresource_layout *layout,
                                                   uint32_t channels, culv_dlpack_desc *desc,
                                                   int64_t *shape, int64_t *strides);

/** Special values for `consumer` of culv_dlpack_hand_over(). They are the values of `stream` in
 * __dlpack__() of Python's array API, and one more for consumers on the host. */
typedef enum culv_dlpack_stream {
    CULV_DLPACK_STREAM_HOST = -2,      /**< The consumer reads on the host, so the call waits. */
    CULV_DLPACK_STREAM_NONE = -1,      /**< The consumer takes care of the order itself. */
    CULV_DLPACK_STREAM_LEGACY = 1,     /**< The legacy default stream. */
    CULV_DLPACK_STREAM_PER_THREAD = 2, /**< The calling thread's default stream. */
    CULV_DLPACK_STREAM_FORCE32 = 0x7fffffff
} culv_dlpack_stream;

/** Makes a consumer's stream wait for the work that has been submitted to `producer` so far.
 * `consumer` is a CUstream as a number, or a culv_dlpack_stream. Call it before the consumer gets
 * the tensor. Call it with the streams swapped before your stream uses the consumer's results.
 * Tensors of the software twin have the device CPU, so their consumers need
 * CULV_DLPACK_STREAM_HOST.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: 0, which the array API forbids for CUDA; STREAM_DEVICE:
 * `producer` belongs to another device; CAPTURE: one of the streams is being captured, or is the
 * legacy stream and waits for a captured one, and they are not in the same capture; the capture
 * goes on), DRIVER (DRIVER_REFUSED), ASYNC.
 * Source: Python array API, __dlpack__. */
CULV_EXPORT culv_result culv_dlpack_hand_over(culv_device *device, CUstream producer,
                                              int64_t consumer);

/** Gets the bytes that a tensor of any library covers, for culv_vmm_adopt(): from the first byte of
 * its lowest element to the last byte of its highest element.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the tensor is impossible; SIZE: it has no elements, or it
 * overflows). */
CULV_EXPORT culv_result culv_dlpack_get_range(const culv_dl_tensor *tensor, CUdeviceptr *pointer,
                                              uint64_t *size);

CULV_EXTERN_C_END

#endif
