/* SPDX-License-Identifier: MIT */
/* culv_vk_kernels: CUDA kernels in Vulkan's command buffers, by VK_NVX_binary_import. */
#include "culvert/vulkan_kernel.h"

#include "cuda/context.h"
#include "vulkan/vk_kernel.h"
#include "vulkan/vk_resource.h"

culv_result culvi_vk_refuse_kernels(const culv_vk_device *vk, const char *label)
{
    culv_vk_device_desc desc = vk->how;
    desc.device = vk->vk_device;
    CULVI_TRY(culv_vk_check_kernels(&desc)); /* records why */
    return culvi_fail(
        vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENSION_MISSING,
        "'%s' was attached without culv_vk_device_desc.kernels; set it to 1 before vkCreateDevice and culv_vk_attach()",
        vk->base.name);
}

/* Making -------------------------------------------------------------------------------------- */

static culv_result read_limits(culv_device *device, const char *label, culvi_vk_launch_limits *out)
{
    const struct {
        CUdevice_attribute which;
        uint32_t *to;
    } rows[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &out->grid[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &out->grid[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &out->grid[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &out->block[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &out->block[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &out->block[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &out->threads},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &out->shared},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &out->reserved},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int value = 0;
        CULVI_CU_TRY(device, label, cuDeviceGetAttribute, (&value, rows[i].which, device->ordinal),
                     CULV_REASON_DRIVER_REFUSED, "attribute %d of '%s' could not be read",
                     (int)rows[i].which, device->caps.name);
        *rows[i].to = value > 0 ? (uint32_t)value : 0;
    }
    /* A stream's blocks have what is reserved besides. A block in Vulkan's queue has not: a launch
     * that wants it loses the VkDevice (measured on an H200). */
    out->shared -= out->reserved < out->shared ? out->reserved : out->shared;
    return CULV_OK;
}

static culv_result fail_module(const culv_vk_kernels *made, const void *image, size_t size,
                               VkResult r)
{
    const culv_device *device = made->vk->base.device;
    CULVI_TEXT(text, 256);
    if (r != VK_ERROR_INITIALIZATION_FAILED)
        return culvi_fail_vk(&device->voice, made->label, r, "vkCreateCuModuleNVX",
                             CULV_REASON_DRIVER_REFUSED, "the kernels could not be loaded");
    culvi_kernel_image_text(image, size, &text);
    return culvi_fail_native(
        &device->voice, made->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_MODULE, CULV_NATIVE_VULKAN,
        (int64_t)r, "vkCreateCuModuleNVX",
        "Vulkan's driver did not take the image, which CUDA's took: the GPU needs sm_%u%u, and the image has %s",
        device->caps.compute_major, device->caps.compute_minor,
        text.length > 0 ? text.data : "code that Culvert cannot list");
}

static culv_result make_module(culv_vk_kernels *made)
{
    const culv_kernels *from = made->kernels;
    const VkCuModuleCreateInfoNVX info = {CULVI_STYPE(CU_MODULE_CREATE_INFO_NVX),
                                          .dataSize = from->image_size, .pData = from->image};
    VkResult r = CULVI_VK(made->vk, vkCreateCuModuleNVX,
                          (made->vk->vk_device, &info, made->vk->callbacks, &made->module));
    return r == VK_SUCCESS ? CULV_OK : fail_module(made, from->image, from->image_size, r);
}

static culv_result check_attachment(const culv_vk_device *vk, const culv_kernels *kernels)
{
    if (!vk->kernels) return culvi_vk_refuse_kernels(vk, kernels->label);
    CULVI_REFUSE_IF(
        vk->base.foreign || kernels->device != vk->base.device, vk->voice, kernels->label,
        CULV_REASON_DEVICE_MISMATCH,
        "the kernels were loaded for the culv_device '%s', and the VkDevice is '%s'%s; load them with the attachment's culv_device",
        kernels->device->caps.name, vk->base.name,
        vk->base.foreign ? ", another GPU" : " of another culv_device");
    return CULV_OK;
}

culv_result culv_vk_kernels_create(culv_vk_device *vk, culv_kernels *kernels, culv_vk_kernels **out)
{
    CULVI_REQUIRE_WITH2(vk, vk->voice, kernels, out);
    CULVI_TRY(check_attachment(vk, kernels));
    CULVI_NEW(culv_vk_kernels, made, vk->voice, kernels->label);
    made->vk = vk;
    made->kernels = kernels;
    culvi_label_set(made->label, kernels->label);
    atomic_init(&made->functions, NULL);
    CULVI_TRY_OR(read_limits(vk->base.device, made->label, &made->limits), culvi_free(made));
    CULVI_TRY_OR(make_module(made), culvi_free(made));
    culvi_mutex_init(&made->lock);
    atomic_fetch_add(&kernels->refs, 1);
    culvi_graphics_ref(&vk->base);
    culvi_log_object(vk->voice, "made", "kernels of Vulkan", made->label, 0);
    *out = made;
    return CULV_OK;
}

void culv_vk_kernels_destroy(culv_vk_kernels **kernels)
{
    CULVI_TAKE(culv_vk_kernels, mine, kernels);
    culv_vk_device *vk = mine->vk;
    for (culvi_vk_function *f = atomic_load(&mine->functions), *next; f != NULL; f = next) {
        next = f->next;
        CULVI_VK_DO(vk, vkDestroyCuFunctionNVX, (vk->vk_device, f->handle, vk->callbacks));
        culvi_free(f);
    }
    CULVI_VK_DO(vk, vkDestroyCuModuleNVX, (vk->vk_device, mine->module, vk->callbacks));
    culvi_log_object(vk->voice, "destroyed", "kernels of Vulkan", mine->label, 0);
    culvi_mutex_destroy(&mine->lock);
    culvi_kernels_unref(mine->kernels);
    culvi_free(mine);
    culvi_graphics_unref(&vk->base);
}

/* Functions ----------------------------------------------------------------------------------- */

/* Returns the most threads that a block of the kernel may have. */
static uint32_t most_threads(const culvi_vk_launch_limits *most, const culv_kernel *kernel)
{
    return kernel->max_threads != 0 && kernel->max_threads < most->threads ? kernel->max_threads
                                                                           : most->threads;
}

static culv_result make_function(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                 const culvi_vk_function **out)
{
    culv_vk_device *vk = kernels->vk;
    const VkCuFunctionCreateInfoNVX info = {CULVI_STYPE(CU_FUNCTION_CREATE_INFO_NVX),
                                            .module = kernels->module, .pName = kernel->name};
    CULVI_NEW(culvi_vk_function, made, vk->voice, kernels->label);
    VkResult r =
        CULVI_VK(vk, vkCreateCuFunctionNVX, (vk->vk_device, &info, vk->callbacks, &made->handle));
    if (r != VK_SUCCESS) {
        culvi_free(made);
        if (r != VK_ERROR_INITIALIZATION_FAILED)
            return culvi_vk_failed(vk, kernels->label, r, "vkCreateCuFunctionNVX",
                                   "the kernel '%s' could not be made", kernel->name);
        return culvi_fail_native(
            vk->voice, kernels->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_KERNEL,
            CULV_NATIVE_VULKAN, (int64_t)r, "vkCreateCuFunctionNVX",
            "Vulkan's driver does not find the kernel '%s', which CUDA's found", kernel->name);
    }
    made->kernel = kernel;
    made->threads = most_threads(&kernels->limits, kernel);
    if (kernel->static_shared <= kernels->limits.shared)
        made->shared = kernels->limits.shared - kernel->static_shared;
    else
        made->threads = 0; /* no launch of it fits */
    made->next = atomic_load(&kernels->functions);
    atomic_store_explicit(&kernels->functions, made, memory_order_release);
    *out = made;
    return CULV_OK;
}

culv_result culvi_vk_kernel_get(culv_vk_kernels *kernels, const culv_kernel *kernel,
                                const culvi_vk_function **out)
{
    *out = culvi_vk_kernel_find(kernels, kernel);
    if (*out != NULL) return CULV_OK;
    CULVI_REFUSE_IF(
        kernel->owner != kernels->kernels, kernels->vk->voice, kernels->label, CULV_REASON_KERNEL,
        "the kernel '%s' is of another culv_kernels than the culv_vk_kernels; create one of it by culv_vk_kernels_create()",
        kernel->name);
    if (kernel->clusters.needed) /* the driver would take it, and run it without */
        return culvi_kernel_refuse_clusters(kernels->vk->voice, kernels->label, "", kernel->name,
                                            &kernel->clusters);
    culv_result result = CULV_OK;
    culvi_mutex_lock(&kernels->lock);
    *out = culvi_vk_kernel_find(kernels, kernel);
    if (*out == NULL) result = make_function(kernels, kernel, out);
    culvi_mutex_unlock(&kernels->lock);
    return result;
}

culv_result culv_vk_kernels_prepare(culv_vk_kernels *kernels, culv_kernel *kernel)
{
    const culvi_vk_function *made;
    CULVI_REQUIRE_WITH(kernels, kernels->vk->voice, kernel);
    return culvi_vk_kernel_get(kernels, kernel, &made);
}

/* Refusals of launches ------------------------------------------------------------------------ */

culv_result culvi_vk_kernel_refuse(const culv_vk_kernels *kernels, const culv_kernel *kernel,
                                   const uint32_t grid[3], const uint32_t block[3],
                                   uint32_t shared_bytes)
{
    static const char axes[] = "xyz";
    const culvi_voice *voice = kernels->vk->voice;
    const culvi_vk_launch_limits *most = &kernels->limits;
    uint32_t of_block[3];
    for (unsigned i = 0; i < 3; i++) {
        const uint32_t blocks = culvi_at_least_one(&grid[i]);
        of_block[i] = culvi_at_least_one(&block[i]);
        const bool too_many = blocks > most->grid[i];
        if (!too_many && of_block[i] <= most->block[i]) continue;
        return culvi_fail(
            voice, kernels->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "the kernel '%s': culv_kernel_call.%s is %" PRIu32 " in %c, and the GPU takes %" PRIu32,
            kernel->name, too_many ? "grid" : "block", too_many ? blocks : of_block[i], axes[i],
            too_many ? most->grid[i] : most->block[i]);
    }
    const uint64_t threads = (uint64_t)of_block[0] * of_block[1] * of_block[2];
    CULVI_REFUSE_IF(threads > most_threads(most, kernel), voice, kernels->label, CULV_REASON_VALUE,
                    "the kernel '%s': a block of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                    " has %" PRIu64 " threads, and this kernel can have %" PRIu32,
                    kernel->name, of_block[0], of_block[1], of_block[2], threads,
                    most_threads(most, kernel));
    return culvi_fail(
        voice, kernels->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "the kernel '%s': %" PRIu32 " bytes of dynamic shared memory and %" PRIu32
        " of its own are more than the %" PRIu32
        " that a launch in a command buffer has; a CUDA stream takes more (culv_kernel_call_launch())",
        kernel->name, shared_bytes, kernel->static_shared, most->shared);
}

culv_result culvi_vk_check_kernel_family(const culv_vk_device *vk, const char *label,
                                         uint32_t family)
{
    if (culvi_vk_family_runs(vk, family)) return CULV_OK;
    const bool known = family < vk->queue_families;
    return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_QUEUE,
                      known ? "queue family %" PRIu32
                              " of '%s' has neither GRAPHICS nor COMPUTE, and runs no kernels"
                            : "there is no queue family %" PRIu32
                              " of '%s'; pass that of the command buffer's pool",
                      family, vk->base.name);
}

/* Recording ----------------------------------------------------------------------------------- */

culv_result culv_vk_kernel_call_record(culv_vk_kernels *kernels, const culv_kernel_call *call,
                                       VkCommandBuffer command_buffer, uint32_t queue_family)
{
    culvi_kernel_values values;
    VkCuLaunchInfoNVX info;
    CULVI_REQUIRE_WITH2(kernels, kernels->vk->voice, call, command_buffer);
    CULVI_TRY(culvi_kernel_call_read(call, __func__, true, &values));
    call = values.call;
    CULVI_TRY(culvi_vk_kernel_prepare(kernels, call->kernel, call->grid, call->block,
                                      call->shared_bytes, &info));
    if (!culvi_vk_family_runs(kernels->vk, queue_family))
        CULVI_TRY(culvi_vk_check_kernel_family(kernels->vk, kernels->label, queue_family));
    culvi_vk_kernel_launch(kernels->vk, &info, &values, command_buffer);
    return CULV_OK;
}

/* Arguments: addresses of buffers, handles of image views -------------------------------------- */

VkDeviceAddress culvi_vk_buffer_address(const culv_vk_device *vk, VkBuffer buffer)
{
    const VkBufferDeviceAddressInfo info = {CULVI_STYPE(BUFFER_DEVICE_ADDRESS_INFO),
                                            .buffer = buffer};
    return vk->table.vkGetBufferDeviceAddress != NULL
               ? vk->table.vkGetBufferDeviceAddress(vk->vk_device, &info)
               : 0;
}

culv_result culvi_vk_refuse_addresses(const culv_vk_device *vk)
{
    return culvi_fail(
        vk->voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice of '%s' tells no addresses of buffers; it needs Vulkan 1.2 or VK_KHR_buffer_device_address, and the feature bufferDeviceAddress",
        vk->base.name);
}

VkDeviceAddress culv_vk_buffer_address(const culv_shared_buffer *buffer)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_vk_api);
    if (half == NULL || !(half->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)) return 0;
    return culvi_vk_buffer_address(culvi_vk_of(buffer->pair.graphics), (VkBuffer)half->object);
}

culv_result culv_vk_get_buffer_address(const culv_vk_device *vk, VkBuffer buffer,
                                       VkDeviceAddress *out)
{
    CULVI_REQUIRE_WITH(vk, vk->voice, out);
    if (buffer == VK_NULL_HANDLE) return culvi_fail_null(vk->voice, __func__, "buffer");
    const VkDeviceAddress address = culvi_vk_buffer_address(vk, buffer);
    if (address == 0) return culvi_vk_refuse_addresses(vk);
    *out = address;
    return CULV_OK;
}

/* The 32-bit call's numbers are the 64-bit handles of kernels (measured). The 64-bit call is not
 * used: a validation layer that does not know it hands its own numbers of image views on to the
 * driver. */
culv_result culv_vk_get_view_handle(const culv_vk_device *vk, VkImageView view, VkSampler sampler,
                                    uint64_t *out)
{
    CULVI_REQUIRE_WITH(vk, vk->voice, out);
    if (view == VK_NULL_HANDLE) return culvi_fail_null(vk->voice, __func__, "view");
    const VkImageViewHandleInfoNVX info = {
        CULVI_STYPE(IMAGE_VIEW_HANDLE_INFO_NVX), .imageView = view,
        .descriptorType = sampler != VK_NULL_HANDLE ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
                                                    : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
        .sampler = sampler};
    if (!vk->kernels) return culvi_vk_refuse_kernels(vk, NULL);
    const uint32_t handle = vk->table.vkGetImageViewHandleNVX(vk->vk_device, &info);
    if (handle == 0)
        return culvi_fail_native(
            vk->voice, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED, CULV_NATIVE_VULKAN, 0,
            "vkGetImageViewHandleNVX",
            "vkGetImageViewHandleNVX gave no handle of the image view; the image needs the usage %s, and memory must be bound to it",
            sampler != VK_NULL_HANDLE ? "SAMPLED" : "STORAGE");
    *out = handle;
    return CULV_OK;
}
