/* SPDX-License-Identifier: MIT */
/* Culvert: shares memory between OpenGL and CUDA by GL_EXT_memory_object. Culvert makes buffers and
 * textures, or imports your own memory.
 *
 *   desc.size = n;
 *   culv_gl_buffer_create(gl, &desc, &buffer);
 *   glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, culv_gl_buffer_name(buffer));
 *   CUdeviceptr pointer = culv_shared_buffer_pointer(buffer);
 *
 * Never read such a buffer by glGetBufferSubData() or glGetNamedBufferSubData(): after the first
 * read, NVIDIA's driver returns the same old copy (measured). Copy into your own buffer by
 * glCopyNamedBufferSubData() and read that buffer. */
#ifndef CULV_GL_MEMORY_H_
#define CULV_GL_MEMORY_H_

#include "gl_device.h"
#include "shared.h"
#include "vector.h"
#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a GL memory object for your memory. */
typedef struct culv_gl_memory culv_gl_memory;

/** A buffer for Culvert to make. */
typedef struct culv_gl_buffer_create_desc {
    size_t struct_size; /**< Set by culv_gl_buffer_create_desc_init(). */
    uint64_t size;      /**< Required: bytes. */
    const char *label;  /**< Copied (up to 63 bytes). Default: none. */
    /** CULV_FALLBACK_... that Culvert may use if sharing is impossible (culvert/shared.h). Default:
     * none. */
    uint32_t fallback;
} culv_gl_buffer_create_desc;

CULV_INIT(culv_gl_buffer_create_desc)

/** A texture for Culvert to make. */
typedef struct culv_gl_image_create_desc {
    size_t struct_size; /**< Set by culv_gl_image_create_desc_init(). */
    /** GL_TEXTURE_1D, _2D, _3D, _1D_ARRAY, _2D_ARRAY, _CUBE_MAP or _CUBE_MAP_ARRAY. Default:
     * GL_TEXTURE_2D. Other targets cannot be shared; the error names a replacement. */
    uint32_t target;
    /** Required: a sized internal format, such as GL_RGBA8
     * (culv_format_info::gl_internal_format). */
    uint32_t internal_format;
    uint32_t width;        /**< Required: texels. */
    uint32_t height;       /**< Texels. Default: 1. */
    uint32_t depth;        /**< Texels, for 3D textures. Default: 1. */
    uint32_t array_layers; /**< Layers; 6 for each cube of a cube map array. Default: 1, or 6. */
    uint32_t mip_levels;   /**< Default: 1. */
    culv_texels texels;    /**< As culv_image_desc::texels. */
    culv_bool no_surfaces; /**< As culv_image_desc::no_surfaces. */
    const char *label;     /**< Copied (up to 63 bytes). Default: none. */
    uint32_t fallback;     /**< As culv_gl_buffer_create_desc::fallback. */
    /** culv_gl_memory_bind() only: 1 for GL_LINEAR_TILING_EXT, 0 for GL_OPTIMAL_TILING_EXT. */
    culv_bool linear;
} culv_gl_image_create_desc;

CULV_INIT(culv_gl_image_create_desc)

/** Makes a GL buffer with exportable memory, imports the memory into CUDA and maps it: all or
 * nothing. If sharing is impossible and `fallback` is set, each side has separate memory, with
 * copies in between (culv_buffer_sharing()). The buffer's contents are undefined.
 *
 * The buffer is immutable: glNamedBufferData() and glMapNamedBufferRange() fail on it, as
 * GL_EXT_memory_object says.
 * Errors: INVALID (CONTEXT, SIZE, VALUE; DEVICE_MISMATCH: the context is on another GPU, and there
 * is no `fallback`), UNSUPPORTED (EXTENSION_MISSING, NOT_EXPORTABLE; PEER if no fallback is left),
 * DRIVER (a call of OpenGL, Vulkan or CUDA failed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_buffer_destroy(); it keeps the attachment alive.
 * Threads: the context's thread.
 * Source: GL_EXT_memory_object, GL_EXT_memory_object_fd. */
CULV_EXPORT culv_result culv_gl_buffer_create(culv_gl *gl, const culv_gl_buffer_create_desc *desc,
                                              culv_shared_buffer **out);

/** Returns the name of the GL buffer, or 0 for NULL. Use it like your own, but never delete it.
 * Ownership: Culvert owns it. */
CULV_EXPORT uint32_t culv_gl_buffer_name(const culv_shared_buffer *buffer);

/** Makes a GL texture with exportable memory, imports the memory into CUDA and maps it: all or
 * nothing. If sharing is impossible and `fallback` is set, CUDA has separate arrays (or linear
 * memory), with copies in between (culv_image_sharing()). The texture's contents are undefined.
 * Errors: INVALID (CONTEXT, VALUE, EXTENT; DEVICE_MISMATCH: the context is on another GPU, and
 * there is no `fallback` ...), UNSUPPORTED (FORMAT, EXTENT, EXTENSION_MISSING, NOT_EXPORTABLE;
 * USAGE: a target that cannot be shared; PEER if no fallback is left), DRIVER (a call of OpenGL,
 * Vulkan or CUDA failed), ASYNC, OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_shared_image_destroy(); it keeps the attachment alive.
 * Threads: the context's thread.
 * Source: GL_EXT_memory_object; VkExternalImageFormatProperties. */
CULV_EXPORT culv_result culv_gl_image_create(culv_gl *gl, const culv_gl_image_create_desc *desc,
                                             culv_shared_image **out);

/** Returns the name of the GL texture, or 0 for NULL. Bind it, view it and attach it to
 * framebuffers like your own, but never delete it.
 * Ownership: Culvert owns it. */
CULV_EXPORT uint32_t culv_gl_image_name(const culv_shared_image *image);

/** Does OpenGL's half of a copy on the HOST path (culvert/shared.h). On other paths it does
 * nothing. It copies a whole buffer, or all levels and layers of a texture; pass NULL for the other
 * argument. For an upload, first call culv_gl_semaphore_wait() for CUDA's half; the upload waits
 * until the context's commands are done (glFinish). A download waits for OpenGL's earlier work.
 * Errors: INVALID (NULL_ARGUMENT, CONTEXT; VALUE: an unknown direction, or both objects are given),
 * DRIVER.
 * Threads: the context's thread. */
CULV_EXPORT culv_result culv_gl_copy(culv_shared_buffer *buffer, culv_shared_image *image,
                                     culv_copy copy);

/** Memory that OpenGL imports by a handle. */
typedef struct culv_gl_memory_desc {
    size_t struct_size; /**< Set by culv_gl_memory_desc_init(). */
    /** Required: a handle that Vulkan or CUDA (culv_vmm_export_dup()) exported: OPAQUE_FD; on
     * Windows OPAQUE_WIN32 or its KMT form. */
    culv_handle handle;
    uint64_t size;       /**< Required: bytes of the whole allocation. */
    culv_bool dedicated; /**< Nonzero: allocated with VkMemoryDedicatedAllocateInfo. */
    /** UUID of the device that exported the memory. If it is not the context's device, Culvert
     * refuses the memory. All zero: you guarantee that it is that device. */
    culv_uuid exporter;
    const char *label; /**< Copied (up to 63 bytes). Default: none. */
} culv_gl_memory_desc;

CULV_INIT(culv_gl_memory_desc)

/** Makes a GL memory object from a handle. For CUDA, pass the same handle to culv_memory_import()
 * (culvert/memory.h).
 * Errors: INVALID (NULL_ARGUMENT, CONTEXT, SIZE, HANDLE_TYPE, HANDLE_BAD, HANDLE_KIND, OS,
 * DEVICE_MISMATCH), UNSUPPORTED (HANDLE_TYPE, EXTENSION_MISSING), DRIVER (HANDLE_REFUSED),
 * OUT_OF_MEMORY.
 * Ownership: the handle stays yours. *out is yours, for culv_gl_memory_destroy().
 * Threads: the context's thread.
 * Source: GL_EXT_memory_object_fd, GL_EXT_memory_object_win32. */
CULV_EXPORT culv_result culv_gl_memory_import(culv_gl *gl, const culv_gl_memory_desc *desc,
                                              culv_gl_memory **out);

/** Makes a GL memory object from a VMM allocation, which must be exportable and lie on the
 * context's GPU. CUDA uses the memory at the addresses where the allocation is mapped
 * (culv_vmm_map()).
 * Errors: as culv_vmm_export_dup() and culv_gl_memory_import(); INVALID (DEVICE_MISMATCH;
 * NOT_EXPORTABLE: the allocation was not made for export).
 * Ownership: *out is yours, for culv_gl_memory_destroy(). It keeps the memory alive even if the
 * allocation is destroyed.
 * Threads: the context's thread.
 * Source: cuda.h, cuMemExportToShareableHandle; GL_EXT_memory_object_fd. */
CULV_EXPORT culv_result culv_gl_memory_from_vmm(culv_gl *gl, culv_vmm_allocation *allocation,
                                                const char *label, culv_gl_memory **out);

/** Binds your GL buffer or texture, which has no storage yet, to the memory from `offset` on.
 *
 * If `texture` is NULL, `name` is a buffer (glCreateBuffers). It gets `size` bytes by
 * glNamedBufferStorageMemEXT() and becomes immutable. Otherwise `name` is a texture
 * (glCreateTextures), `size` is 0, and the call uses glTextureStorageMem..EXT(). `texture` must fit
 * the VkImage on the same memory, if there is one. Its texels, no_surfaces, label and fallback are
 * not read.
 *
 * Mesa's software renderer silently ignores the offset, so the buffer would show the beginning of
 * the memory: there Culvert refuses all offsets but 0. That renderer also needs 48 bytes behind a
 * buffer: allocate 64 bytes more than you use.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, CONTEXT, SIZE, EXTENT; RANGE: the memory is too
 * small; VALUE: there is no such object, or it has storage already), UNSUPPORTED (RANGE: the
 * renderer ignores offsets; TILING: the driver has no linear tiling; FORMAT; USAGE: the target),
 * DRIVER, OUT_OF_MEMORY.
 * Ownership: the object is yours. Delete it before the memory. Threads: the context's thread. */
CULV_EXPORT culv_result culv_gl_memory_bind(culv_gl_memory *memory, uint32_t name, uint64_t offset,
                                            uint64_t size,
                                            const culv_gl_image_create_desc *texture);

/** Deletes the GL memory object. Delete the buffers and textures in it first: old versions of Mesa
 * crash otherwise.
 * Errors: INVALID (CONTEXT: nothing is done).
 * Threads: the context's thread, ordered with other calls on this object. */
CULV_EXPORT culv_result culv_gl_memory_destroy(culv_gl_memory **memory);

/* Vectors -------------------------------------------------------------------------------------- */

/* A view shows a culv_vector, CUDA's memory that grows, as GL buffers: one for each chunk. vector.h
 * has the calls for all views. */

/** Makes OpenGL's view of a vector and imports its present chunks. The chunks must be exportable as
 * OPAQUE_FD (on Windows OPAQUE_WIN32). Draw and dispatch once for each chunk. A vector with
 * `min_chunk` or `growth_percent` has few large chunks.
 * Errors: as culv_gl_memory_from_vmm() and culv_gl_memory_bind().
 * Ownership: *out is yours, for culv_vector_view_destroy(), before or after the vector is
 * destroyed.
 * Threads: the context's thread, but not during a call that changes the vector. */
CULV_EXPORT culv_result culv_gl_vector_view_create(culv_gl *gl, culv_vector *vector,
                                                   const char *label, culv_vector_view **out);

CULV_EXTERN_C_END

#endif
