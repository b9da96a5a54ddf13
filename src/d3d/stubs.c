/* SPDX-License-Identifier: MIT */
/* The Direct3D attachment's symbols on other systems than Windows: each says so. The compiler holds
 * them against the public header. */
#include "base/message.h"
#include "culvert/d3d11.h"
#include "culvert/d3d12.h"
#include "culvert/d3d12_cig.h"
#include "culvert/d3d12_ring.h"
#include "culvert/d3d12_vmm.h"
#include "culvert/d3d_register.h"

#if defined(__GNUC__)
#    pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#define REFUSE(name, ...)                                                                          \
    culv_result name(__VA_ARGS__)                                                                  \
    {                                                                                              \
        return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT,               \
                          "%s: only Windows has Direct3D", #name);                                 \
    }
/* Nothing can have been made, so there is nothing to destroy or to ask. */
#define DESTROY(name, ...)                                                                         \
    void name(__VA_ARGS__) {}
#define NOTHING(type, name, ...)                                                                   \
    type name(__VA_ARGS__)                                                                         \
    {                                                                                              \
        return 0;                                                                                  \
    }

REFUSE(culv_device_open_for_d3d12, struct ID3D12Device *device, const culv_device_desc *desc,
       culv_device **out)
REFUSE(culv_device_open_for_dxgi, struct IDXGIAdapter *adapter, const culv_device_desc *desc,
       culv_device **out)
REFUSE(culv_d3d12_attach, culv_device *device, const culv_d3d12_device_desc *desc,
       culv_d3d12_device **out)
DESTROY(culv_d3d12_detach, culv_d3d12_device **d3d12)
REFUSE(culv_d3d12_export_dup, culv_d3d12_device *d3d12, struct ID3D12DeviceChild *object,
       const wchar_t *name, culv_handle *out)
REFUSE(culv_d3d12_memory_import, culv_d3d12_device *d3d12, const culv_d3d12_memory_desc *desc,
       culv_memory **out)
REFUSE(culv_d3d12_memory_import_shared, culv_d3d12_device *d3d12,
       const culv_d3d12_memory_desc *desc, culv_memory **out)
REFUSE(culv_d3d12_get_allocation_size, const culv_d3d12_device *d3d12,
       struct ID3D12Resource *resource, uint64_t *out)
REFUSE(culv_d3d12_image_map, culv_d3d12_device *d3d12, culv_memory *memory,
       const culv_d3d12_image_desc *desc, culv_image **out)
REFUSE(culv_d3d12_buffer_create, culv_d3d12_device *d3d12,
       const culv_d3d12_buffer_create_desc *desc, culv_d3d12_buffer **out)
DESTROY(culv_d3d12_buffer_destroy, culv_d3d12_buffer **buffer)
DESTROY(culv_d3d12_buffer_destroy_after, culv_d3d12_buffer **buffer, CUstream last_use)
NOTHING(struct ID3D12Resource *, culv_d3d12_buffer_resource, const culv_d3d12_buffer *buffer)
NOTHING(culv_buffer *, culv_d3d12_buffer_cuda, const culv_d3d12_buffer *buffer)
NOTHING(CUdeviceptr, culv_d3d12_buffer_pointer, const culv_d3d12_buffer *buffer)
REFUSE(culv_d3d12_image_create, culv_d3d12_device *d3d12, const culv_d3d12_image_create_desc *desc,
       culv_d3d12_image **out)
DESTROY(culv_d3d12_image_destroy, culv_d3d12_image **image)
DESTROY(culv_d3d12_image_destroy_after, culv_d3d12_image **image, CUstream last_use)
NOTHING(struct ID3D12Resource *, culv_d3d12_image_resource, const culv_d3d12_image *image)
NOTHING(culv_image *, culv_d3d12_image_cuda, const culv_d3d12_image *image)
REFUSE(culv_d3d12_shadow_create, culv_d3d12_device *d3d12, const culv_d3d12_shadow_desc *desc,
       culv_d3d12_shadow **out)
REFUSE(culv_d3d12_shadow_record, culv_d3d12_shadow *shadow, struct ID3D12GraphicsCommandList *list,
       uint32_t state, culv_bool from_twin)
NOTHING(uint64_t, culv_d3d12_shadow_copies, const culv_d3d12_shadow *shadow)
NOTHING(const culv_d3d12_image *, culv_d3d12_shadow_image, const culv_d3d12_shadow *shadow)
DESTROY(culv_d3d12_shadow_destroy, culv_d3d12_shadow **shadow)
REFUSE(culv_d3d12_semaphore_import, culv_d3d12_device *d3d12, struct ID3D12Fence *fence,
       const char *label, culv_semaphore **out)
REFUSE(culv_d3d12_semaphore_create, culv_d3d12_device *d3d12,
       const culv_d3d12_semaphore_create_desc *desc, culv_d3d12_semaphore **out)
DESTROY(culv_d3d12_semaphore_destroy, culv_d3d12_semaphore **semaphore)
DESTROY(culv_d3d12_semaphore_destroy_after, culv_d3d12_semaphore **semaphore, CUstream last_use)
NOTHING(struct ID3D12Fence *, culv_d3d12_semaphore_fence, const culv_d3d12_semaphore *semaphore)
NOTHING(culv_semaphore *, culv_d3d12_semaphore_cuda, const culv_d3d12_semaphore *semaphore)

REFUSE(culv_device_open_for_d3d11, struct ID3D11Device *device, const culv_device_desc *desc,
       culv_device **out)
REFUSE(culv_d3d11_attach, culv_device *device, const culv_d3d11_device_desc *desc,
       culv_d3d11_device **out)
DESTROY(culv_d3d11_detach, culv_d3d11_device **d3d11)
REFUSE(culv_d3d11_export_dup, culv_d3d11_device *d3d11, struct IUnknown *object,
       const wchar_t *name, culv_handle *out)
REFUSE(culv_d3d11_memory_import, culv_d3d11_device *d3d11, const culv_d3d11_memory_desc *desc,
       culv_memory **out)
REFUSE(culv_d3d11_memory_import_shared, culv_d3d11_device *d3d11,
       const culv_d3d11_memory_desc *desc, culv_memory **out)
REFUSE(culv_d3d11_image_map, culv_d3d11_device *d3d11, culv_memory *memory,
       const culv_d3d11_image_desc *desc, culv_image **out)
REFUSE(culv_d3d11_keyed_mutex_import, culv_d3d11_device *d3d11, struct ID3D11Resource *resource,
       const char *label, culv_keyed_mutex **out)
REFUSE(culv_d3d11_buffer_create, culv_d3d11_device *d3d11,
       const culv_d3d11_buffer_create_desc *desc, culv_d3d11_buffer **out)
DESTROY(culv_d3d11_buffer_destroy, culv_d3d11_buffer **buffer)
DESTROY(culv_d3d11_buffer_destroy_after, culv_d3d11_buffer **buffer, CUstream last_use)
NOTHING(struct ID3D11Resource *, culv_d3d11_buffer_resource, const culv_d3d11_buffer *buffer)
NOTHING(culv_buffer *, culv_d3d11_buffer_cuda, const culv_d3d11_buffer *buffer)
NOTHING(CUdeviceptr, culv_d3d11_buffer_pointer, const culv_d3d11_buffer *buffer)
REFUSE(culv_d3d11_image_create, culv_d3d11_device *d3d11, const culv_d3d11_image_create_desc *desc,
       culv_d3d11_image **out)
DESTROY(culv_d3d11_image_destroy, culv_d3d11_image **image)
DESTROY(culv_d3d11_image_destroy_after, culv_d3d11_image **image, CUstream last_use)
NOTHING(struct ID3D11Resource *, culv_d3d11_image_resource, const culv_d3d11_image *image)
NOTHING(culv_image *, culv_d3d11_image_cuda, const culv_d3d11_image *image)
REFUSE(culv_d3d11_semaphore_import, culv_d3d11_device *d3d11, struct ID3D11Fence *fence,
       const char *label, culv_semaphore **out)
REFUSE(culv_d3d11_semaphore_create, culv_d3d11_device *d3d11,
       const culv_d3d11_semaphore_create_desc *desc, culv_d3d11_semaphore **out)
DESTROY(culv_d3d11_semaphore_destroy, culv_d3d11_semaphore **semaphore)
DESTROY(culv_d3d11_semaphore_destroy_after, culv_d3d11_semaphore **semaphore, CUstream last_use)
NOTHING(struct ID3D11Fence *, culv_d3d11_semaphore_fence, const culv_d3d11_semaphore *semaphore)
NOTHING(culv_semaphore *, culv_d3d11_semaphore_cuda, const culv_d3d11_semaphore *semaphore)

REFUSE(culv_d3d12_ring_create, culv_d3d12_device *d3d12, const culv_d3d12_ring_desc *desc,
       culv_d3d12_ring **out)
DESTROY(culv_d3d12_ring_destroy, culv_d3d12_ring **ring)
NOTHING(culv_ring *, culv_d3d12_ring_core, const culv_d3d12_ring *ring)
NOTHING(culv_d3d12_image *, culv_d3d12_ring_image, const culv_d3d12_ring *ring, uint32_t slot,
        uint32_t resource)
NOTHING(culv_d3d12_buffer *, culv_d3d12_ring_buffer, const culv_d3d12_ring *ring, uint32_t slot,
        uint32_t resource)
NOTHING(struct ID3D12Fence *, culv_d3d12_ring_fence, const culv_d3d12_ring *ring,
        culv_ring_side side)
REFUSE(culv_d3d12_ring_acquire, culv_d3d12_ring *ring, uint64_t timeout, culv_ring_frame *out)
REFUSE(culv_d3d12_ring_release, culv_d3d12_ring *ring, culv_ring_frame *frame)
REFUSE(culv_d3d12_ring_submit, culv_d3d12_ring *ring, struct ID3D12CommandQueue *queue,
       struct ID3D12CommandList *list, culv_ring_frame *frame)
REFUSE(culv_d3d12_ring_flush, culv_d3d12_ring *ring, struct ID3D12CommandQueue *queue)

REFUSE(culv_d3d11_register, culv_device *device, struct ID3D11Resource *resource,
       const culv_d3d_register_desc *desc, culv_d3d_registration **out)
REFUSE(culv_d3d10_register, culv_device *device, struct ID3D10Resource *resource,
       const culv_d3d_register_desc *desc, culv_d3d_registration **out)
REFUSE(culv_d3d9_register, culv_device *device, struct IDirect3DResource9 *resource,
       const culv_d3d_register_desc *desc, culv_d3d_registration **out)
culv_result culv_d3d_unregister(culv_d3d_registration **registration)
{
    return CULV_OK;
}
REFUSE(culv_d3d_map, culv_d3d_registration *const *registrations, uint32_t count, CUstream stream)
REFUSE(culv_d3d_unmap, culv_d3d_registration *const *registrations, uint32_t count, CUstream stream)
NOTHING(culv_bool, culv_d3d_registration_is_mapped, const culv_d3d_registration *registration)
NOTHING(culv_buffer *, culv_d3d_registration_buffer, const culv_d3d_registration *registration)
NOTHING(culv_image *, culv_d3d_registration_image, const culv_d3d_registration *registration)
NOTHING(CUdeviceptr, culv_d3d_registration_pointer, const culv_d3d_registration *registration)
REFUSE(culv_d3d_registration_get_array, const culv_d3d_registration *registration, uint32_t layer,
       uint32_t level, CUarray *out)
REFUSE(culv_d3d_registration_set_access, culv_d3d_registration *registration,
       culv_d3d_access access)
REFUSE(culv_device_open_for_d3d10, struct ID3D10Device *device, const culv_device_desc *desc,
       culv_device **out)
REFUSE(culv_device_open_for_d3d9, struct IDirect3DDevice9 *device, const culv_device_desc *desc,
       culv_device **out)
REFUSE(culv_d3d11_get_devices, struct ID3D11Device *device, culv_d3d_device_list list,
       uint32_t capacity, int32_t *ordinals, uint32_t *count)
REFUSE(culv_d3d10_get_devices, struct ID3D10Device *device, culv_d3d_device_list list,
       uint32_t capacity, int32_t *ordinals, uint32_t *count)
REFUSE(culv_d3d9_get_devices, struct IDirect3DDevice9 *device, culv_d3d_device_list list,
       uint32_t capacity, int32_t *ordinals, uint32_t *count)
REFUSE(culv_d3d11_get_device, struct IDXGIAdapter *adapter, int32_t *ordinal)
REFUSE(culv_d3d10_get_device, struct IDXGIAdapter *adapter, int32_t *ordinal)
REFUSE(culv_d3d9_get_device, const char *adapter_name, int32_t *ordinal)

REFUSE(culv_d3d12_heap_from_vmm, culv_d3d12_device *d3d12, culv_vmm_allocation *allocation,
       struct ID3D12Heap **out)
REFUSE(culv_d3d12_vector_create, culv_d3d12_device *d3d12, culv_vector *vector,
       const culv_d3d12_vector_desc *desc, culv_d3d12_vector **out)
DESTROY(culv_d3d12_vector_destroy, culv_d3d12_vector **view)
REFUSE(culv_d3d12_vector_update, culv_d3d12_vector *view)
REFUSE(culv_d3d12_vector_get_buffers, const culv_d3d12_vector *view,
       culv_d3d12_vector_buffer *parts, size_t capacity, size_t *count)
NOTHING(uint64_t, culv_d3d12_vector_generation, const culv_d3d12_vector *view)

REFUSE(culv_d3d12_cig_create, culv_d3d12_device *d3d12, struct ID3D12CommandQueue *queue,
       const char *label, culv_cig **out)
