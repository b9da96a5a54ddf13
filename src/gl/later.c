/* SPDX-License-Identifier: MIT */
/* To be replaced, call by call. */
#include "gl/gl_exporter.h"

#define LATER(declaration)                                                                         \
    declaration                                                                                    \
    {                                                                                              \
        return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT,               \
                          "this build of Culvert leaves that API out");                            \
    }
#define NOTHING(declaration)                                                                       \
    declaration                                                                                    \
    {                                                                                              \
        return 0;                                                                                  \
    }
#if defined(__GNUC__)
#    pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

LATER(culv_result culv_gl_buffer_create(culv_gl *gl, const culv_gl_buffer_create_desc *desc,
                                        culv_gl_buffer **out))
LATER(culv_result culv_gl_buffer_destroy(culv_gl_buffer **buffer))
LATER(culv_result culv_gl_buffer_destroy_after(culv_gl_buffer **buffer, CUstream last_use))
NOTHING(uint32_t culv_gl_buffer_name(const culv_gl_buffer *buffer))
NOTHING(culv_buffer *culv_gl_buffer_cuda(const culv_gl_buffer *buffer))
NOTHING(CUdeviceptr culv_gl_buffer_pointer(const culv_gl_buffer *buffer))
LATER(culv_result culv_gl_buffer_upload(culv_gl_buffer *buffer))
LATER(culv_result culv_gl_buffer_download(culv_gl_buffer *buffer))
LATER(culv_result culv_gl_image_create(culv_gl *gl, const culv_gl_image_create_desc *desc,
                                       culv_gl_image **out))
LATER(culv_result culv_gl_image_destroy(culv_gl_image **image))
LATER(culv_result culv_gl_image_destroy_after(culv_gl_image **image, CUstream last_use))
NOTHING(uint32_t culv_gl_image_name(const culv_gl_image *image))
NOTHING(uint32_t culv_gl_image_target(const culv_gl_image *image))
NOTHING(culv_image *culv_gl_image_cuda(const culv_gl_image *image))
LATER(culv_result culv_gl_image_upload(culv_gl_image *image))
LATER(culv_result culv_gl_image_download(culv_gl_image *image))
LATER(culv_result culv_gl_memory_import(culv_gl *gl, const culv_gl_memory_desc *desc,
                                        culv_gl_memory **out))
LATER(culv_result culv_gl_memory_from_vmm(culv_gl *gl, culv_vmm_allocation *allocation,
                                          const char *label, culv_gl_memory **out))
LATER(culv_result culv_gl_memory_bind_buffer(culv_gl_memory *memory, uint32_t buffer,
                                             uint64_t offset, uint64_t size))
LATER(culv_result culv_gl_memory_bind_texture(culv_gl_memory *memory, uint32_t texture,
                                              const culv_gl_image_create_desc *desc,
                                              culv_bool linear, uint64_t offset))
NOTHING(uint32_t culv_gl_memory_name(const culv_gl_memory *memory))
LATER(culv_result culv_gl_memory_destroy(culv_gl_memory **memory))
LATER(culv_result culv_gl_get_offsets_honoured(culv_gl *gl, culv_bool *out))
LATER(culv_result culv_gl_semaphore_create(culv_gl *gl, const culv_gl_semaphore_create_desc *desc,
                                           culv_gl_semaphore **out))
LATER(culv_result culv_gl_semaphore_signal(culv_gl_semaphore *semaphore, uint64_t value,
                                           const culv_gl_uses *uses))
LATER(culv_result culv_gl_semaphore_wait(culv_gl_semaphore *semaphore, uint64_t value,
                                         const culv_gl_uses *uses))
LATER(culv_result culv_gl_semaphore_destroy(culv_gl_semaphore **semaphore))
LATER(culv_result culv_gl_semaphore_destroy_after(culv_gl_semaphore **semaphore, CUstream last_use))
NOTHING(uint32_t culv_gl_semaphore_name(const culv_gl_semaphore *semaphore))
NOTHING(culv_semaphore *culv_gl_semaphore_cuda(const culv_gl_semaphore *semaphore))
NOTHING(culv_bool culv_gl_semaphore_waits_on_cpu(const culv_gl_semaphore *semaphore))
LATER(culv_result culv_gl_vector_create(culv_gl *gl, culv_vector *vector, const char *label,
                                        culv_gl_vector **out))
LATER(culv_result culv_gl_vector_destroy(culv_gl_vector **view))
LATER(culv_result culv_gl_vector_update(culv_gl_vector *view))
LATER(culv_result culv_gl_vector_get_buffers(const culv_gl_vector *view,
                                             culv_gl_vector_buffer *parts, size_t capacity,
                                             size_t *count))
NOTHING(uint64_t culv_gl_vector_generation(const culv_gl_vector *view))

LATER(culv_result culvi_gl_plan(culvi_graphics *graphics, culvi_plan *plan))
LATER(culv_result culvi_gl_make(culvi_graphics *graphics, const culvi_plan *plan,
                                culvi_native *out))
void culvi_gl_unmake(culvi_graphics *graphics, const culvi_native *native) {}
LATER(culv_result culvi_gl_stage(culvi_graphics *graphics, const char *label,
                                 culvi_staging *staging, culvi_native *out))
LATER(culv_result culvi_gl_export_memory(const culvi_graphics *graphics, const char *label,
                                         uint64_t memory, culv_handle *out))
LATER(culv_result culvi_gl_export_semaphore(const culvi_graphics *graphics, const char *label,
                                            uint64_t semaphore, culv_handle *out))
LATER(culv_result culvi_gl_make_semaphore(culvi_graphics *graphics,
                                          const culvi_semaphore_plan *plan, bool exportable,
                                          uint64_t *out))
void culvi_gl_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore) {}
LATER(culv_result culvi_gl_check_timelines(const culvi_graphics *graphics, const char *label,
                                           bool waits, culv_result refusal))
NOTHING(int culvi_gl_timeline_value(const culvi_graphics *graphics, uint64_t semaphore,
                                    uint64_t *out))
NOTHING(int culvi_gl_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore,
                                   uint64_t value, uint64_t timeout_ns))
NOTHING(int culvi_gl_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore,
                                     uint64_t value))
LATER(culv_result culvi_gl_fail_timeline(const culvi_graphics *graphics, const char *label,
                                         int code, const char *call, const char *what))
culv_result culvi_gl_exporter_check(const culv_device *device, const culv_gl_desc *desc)
{
    return CULV_OK;
}
void culvi_gl_exporter_free(culvi_gl_exporter *exporter) {}
