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
 * Nothing is copied: the tensor is the memory that the graphics API draws from. The tensor holds
 * the mapping. You may unmap the buffer, destroy the object that owns it, free the native memory
 * and close the device while a consumer still has the tensor. The last deleter frees the memory, on
 * any thread, and makes no call of the graphics API.
 *
 * A slot of a ring is a buffer: culv_ring_buffer(). A
 * LINEAR image is a buffer and a layout: culv_vk_image_map_pitched(), then
 * culv_dlpack_describe_image().
 *
 * DLPack has no semaphores. Order the reader of the tensor after the writer of the memory:
 * culv_dlpack_hand_over().
 *
 * The structs have the layout of dlpack/dlpack.h and names of their own, so that both headers may
 * be included. Cast a pointer from one to the other. */
#ifndef CULV_DLPACK_H_
#define CULV_DLPACK_H_

#include "image.h"
#include "vector.h"

CULV_EXTERN_C_BEGIN

/** The DLPack version of the structs below. Consumers check only the first number. */
#define CULV_DLPACK_VERSION_MAJOR 1
#define CULV_DLPACK_VERSION_MINOR 1

/** Maximum number of dimensions of Culvert's tensors, the same as NumPy's. */
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
    int32_t device_id;   /**< The CUDA device's ordinal. 0 for other devices. */
} culv_dl_device;

/** DLDataType. */
typedef struct culv_dl_type {
    uint8_t code;   /**< A culv_dl_type_code, or another value of DLDataTypeCode. */
    uint8_t bits;   /**< Bits of one lane. */
    uint16_t lanes; /**< 1, but for vector types. */
} culv_dl_type;

/** DLTensor. */
typedef struct culv_dl_tensor {
    void *data; /**< A device pointer, if the device is CUDA's. */
    culv_dl_device device;
    int32_t ndim;
    culv_dl_type dtype;
    int64_t *shape;       /**< `ndim` numbers of elements. */
    int64_t *strides;     /**< `ndim` distances in elements. Culvert never leaves it NULL. */
    uint64_t byte_offset; /**< Bytes from data to the first element. Culvert's are 0. */
} culv_dl_tensor;

/** DLManagedTensor: the form without a version, which consumers before 2025 take. */
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

/** The tensor to make. Zero in every field but struct_size means the default: all bytes of the
 * memory, as one dimension of uint8. */
typedef struct culv_dlpack_desc {
    size_t struct_size; /**< Set by culv_dlpack_desc_init(). */
    /** The element. Its bits times its lanes are whole bytes. lanes 0 means 1. All zero: uint8. */
    culv_dl_type type;
    /** Number of dimensions, at most CULV_DLPACK_MAX_DIMENSIONS. 0 with a `shape` that is not NULL
     * is a scalar. */
    int32_t ndim;
    /** `ndim` numbers of elements. Read during the call. NULL: one dimension of as many elements as
     * the memory has from `offset` on. */
    const int64_t *shape;
    /** `ndim` distances in elements, which may be 0 or negative. Read during the call. NULL:
     * row-major without gaps. */
    const int64_t *strides;
    uint64_t offset;     /**< Bytes from the beginning of the memory to the first element. */
    culv_bool read_only; /**< Nonzero: the tensor says CULV_DL_READ_ONLY. */
    /** The place that the tensor states. 0: CUDA; CPU for the software twin, whose memory is the
     * host's; CUDA_HOST for a buffer in host memory, for which you may also set CPU or CUDA. */
    culv_dl_device_type device_type;
} culv_dlpack_desc;

CULV_INIT(culv_dlpack_desc)

/** Makes a tensor of a buffer. desc may be NULL for the default. The tensor has its own mapping (at
 * no cost, because the import is mapped once): you may unmap the buffer, and destroy its owner,
 * before the tensor.
 *
 * The deleter does what culv_buffer_unmap() does. If it releases the last mapping, the driver waits
 * for all CUDA work of the context, as cudaFree() does.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the element, the number of dimensions or the
 * device; SIZE: a negative extent, or one that overflows; RANGE: an element outside the buffer, or
 * one that does not begin at a multiple of its lane's size; OWNED: a registered buffer, which a
 * tensor cannot keep after the unmap), OUT_OF_MEMORY, ASYNC.
 * Ownership: *out is yours; give it to a consumer, or call its deleter.
 * Source: DLPack 1.1, dlpack.h; strides must not be NULL since 1.2. */
CULV_EXPORT culv_result culv_buffer_get_dlpack(culv_buffer *buffer, const culv_dlpack_desc *desc,
                                               culv_dl_managed_tensor_versioned **out);

/** Makes a tensor of a vector's present size at its present address. desc may be NULL for the
 * default. If the vector grows, the tensor stays as it is. While the tensor lives,
 * culv_vector_shrink() does not free its memory and culv_vector_retire() does not unmap its address
 * (BUSY). If you destroy the vector, its memory stays until its last tensor is deleted.
 *
 * The deleter of the last tensor of a destroyed vector waits for all CUDA work of the context, and
 * breaks no stream capture. If the driver refuses to wait, the memory stays until a later
 * culv_device_collect().
 * Errors: as culv_buffer_get_dlpack().
 * Ownership: *out is yours; give it to a consumer, or call its deleter.
 * Threads: any, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_vector_get_dlpack(culv_vector *vector, const culv_dlpack_desc *desc,
                                               culv_dl_managed_tensor_versioned **out);

/** Makes the form without a version of one of Culvert's tensors, for consumers that take no other.
 * It is the same tensor, and *tensor becomes NULL.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: not one of Culvert's tensors; USAGE: a read-only tensor,
 * because this form cannot say so). After an error the tensor is as it was.
 * Ownership: *out is yours in place of *tensor.
 * Threads: any, ordered with other uses of the tensor. */
CULV_EXPORT culv_result culv_dlpack_to_unversioned(culv_dl_managed_tensor_versioned **tensor,
                                                   culv_dl_managed_tensor **out);

/** Describes a level of a LINEAR image as a tensor of (slices or layers,) rows, columns and
 * channels. `layout` comes from culv_vk_image_map_pitched(). `channels` elements of desc->type are
 * one texel; if it is 1, the last dimension is left out. Sets desc->ndim, desc->shape and
 * desc->strides, which point into `shape` and `strides`.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: the elements are not as large as a texel, a
 * block has several texels, the image has both slices and layers, or a pitch is not a multiple of
 * the element).
 * Ownership: the arrays are yours, of 4 numbers each. */
CULV_EXPORT culv_result culv_dlpack_describe_image(const culv_subresource_layout *layout,
                                                   uint32_t channels, culv_dlpack_desc *desc,
                                                   int64_t *shape, int64_t *strides);

/** Special values of culv_dlpack_hand_over()'s `consumer`: those of `stream` in the array API's
 * __dlpack__(), and one for consumers on the host. */
typedef enum culv_dlpack_stream {
    CULV_DLPACK_STREAM_HOST = -2,      /**< The consumer reads on the host: the call waits. */
    CULV_DLPACK_STREAM_NONE = -1,      /**< The consumer orders itself. */
    CULV_DLPACK_STREAM_LEGACY = 1,     /**< The legacy default stream. */
    CULV_DLPACK_STREAM_PER_THREAD = 2, /**< The calling thread's default stream. */
    CULV_DLPACK_STREAM_FORCE32 = 0x7fffffff
} culv_dlpack_stream;

/** Makes a consumer's stream wait for the work that has been submitted to `producer` so far.
 * `consumer` is a CUstream as a number, or a culv_dlpack_stream. Call it before you hand the tensor
 * out, and once more, the other way round, when the consumer's work goes back to your stream. The
 * software twin's tensors are CPU's, so their consumers need CULV_DLPACK_STREAM_HOST.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: 0, which the array API forbids for CUDA; STREAM_DEVICE:
 * `producer` is another device's; CAPTURE: one of the two is being captured, or is the legacy
 * stream and waits for one that is, and they are not in the same capture; the capture goes on),
 * DRIVER (DRIVER_REFUSED), ASYNC.
 * Source: Python array API, __dlpack__. */
CULV_EXPORT culv_result culv_dlpack_hand_over(culv_device *device, CUstream producer,
                                              int64_t consumer);

/** Gets the bytes that any tensor covers, for culv_vmm_adopt(): from the first byte of its lowest
 * element to the last byte of its highest one.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the tensor is impossible; SIZE: it has no elements, or it
 * overflows). */
CULV_EXPORT culv_result culv_dlpack_get_range(const culv_dl_tensor *tensor, CUdeviceptr *pointer,
                                              uint64_t *size);

CULV_EXTERN_C_END

#endif
