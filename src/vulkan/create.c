/* SPDX-License-Identifier: MIT */
/* Buffers and images that Culvert makes: the calls. */
#include "base/alloc.h"
#include "base/attempt.h"
#include "base/desc.h"
#include "vulkan/vk_resource.h"

static culv_result no_create_info(const culvi_voice *voice, const char *label, const char *desc)
{
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                      "%s.create_info is NULL", desc);
}

/* Buffers -------------------------------------------------------------------------------------- */

static culv_result check_kind(const culvi_voice *voice, const culv_vk_buffer_create_desc *d)
{
    const bool known = d->memory_kind == CULV_MEMORY_KIND_UNKNOWN ||
                       d->memory_kind == CULV_MEMORY_KIND_FAST ||
                       d->memory_kind == CULV_MEMORY_KIND_COMPRESSIBLE;
    if (known && (d->memory_kind == CULV_MEMORY_KIND_UNKNOWN || d->host_memory == 0))
        return CULV_OK;
    return culvi_fail(
        voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "culv_vk_buffer_create_desc.memory_kind is %d; %s", (int)d->memory_kind,
        known ? "host memory has no kinds, leave it 0 with host_memory"
              : "set CULV_MEMORY_KIND_FAST or CULV_MEMORY_KIND_COMPRESSIBLE, or leave it 0");
}

static culv_result check_host(const culvi_voice *voice, const culv_vk_buffer_create_desc *d)
{
    const char *wrong = NULL;
    if (d->host_memory == 0 && (d->host_pointer != NULL || d->host_size != 0))
        wrong =
            "host_memory is not set, but host_pointer or host_size is; set it for a buffer in host memory";
    else if (d->host_pointer == NULL && d->host_size != 0)
        wrong = "host_size says how much is at host_pointer, but that is NULL; leave host_size 0";
    else if (d->host_memory != 0 && d->fallback != 0)
        wrong = "host_memory and fallback are both set; a buffer in host memory is used in place, "
                "not copied; set one of them";
    if (wrong == NULL) return CULV_OK;
    return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_vk_buffer_create_desc: %s", wrong);
}

/* Vulkan's own host-visible memory is stale for CUDA (host.c). Pages of the host's are not. */
static bool wants_pages(const culv_vk_device *vk, const culv_vk_buffer_create_desc *d)
{
    return culvi_vk_is_stale(d->memory_properties) && vk->host_alignment != 0;
}

static culv_result make_buffer(culv_vk_device *vk, const culv_vk_buffer_create_desc *d,
                               culvi_pair *pair)
{
    culvi_plan plan = {.label = d->label,
                       .desc = d,
                       .desc_name = "culv_vk_buffer_create_desc",
                       .fallback = d->fallback};
    if (d->host_memory != 0) return culvi_vk_buffer_share_host(vk, d, pair);
    if (wants_pages(vk, d)) {
        culvi_attempt_begin();
        culv_result result = culvi_vk_buffer_share_host(vk, d, pair);
        (void)culvi_attempt_end(NULL, result);
        if (result == CULV_OK || result == CULV_ERROR_OUT_OF_MEMORY || result == CULV_ERROR_ASYNC)
            return result;
        *pair = (culvi_pair){0};
    }
    culv_result result = culvi_pair_make(&vk->base, &plan, pair);
    const char *warning = culvi_vk_stale_warning(d->memory_properties);
    if (result == CULV_OK && warning != NULL)
        culvi_log(&vk->base.device->voice, CULV_LOG_WARNING, "%s: %s",
                  culvi_named("buffer", d->label).text, warning);
    return result;
}

culv_result culv_vk_buffer_create(culv_vk_device *vk, const culv_vk_buffer_create_desc *desc,
                                  culv_shared_buffer **out)
{
    culv_vk_buffer_create_desc d;
    CULVI_REQUIRE(NULL, vk);
    const culvi_voice *voice = &vk->base.device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_buffer_create_desc");
    if (result != CULV_OK) return result;
    if (d.create_info == NULL) return no_create_info(voice, d.label, "culv_vk_buffer_create_desc");
    result = check_host(voice, &d);
    if (result == CULV_OK) result = check_kind(voice, &d);
    if (result != CULV_OK) return result;
    culv_shared_buffer *buffer = culvi_alloc(sizeof *buffer);
    if (buffer == NULL) return culvi_fail_host_memory(voice, d.label);
    result = make_buffer(vk, &d, &buffer->pair);
    if (result != CULV_OK) {
        culvi_free(buffer);
        return result;
    }
    culvi_pair_made(&buffer->pair);
    *out = buffer;
    return CULV_OK;
}

VkBuffer culv_vk_buffer_handle(const culv_shared_buffer *buffer)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_vk_api);
    return half != NULL ? culvi_vk_native_buffer(half) : VK_NULL_HANDLE;
}

VkDeviceMemory culv_vk_buffer_memory(const culv_shared_buffer *buffer, VkDeviceSize *size)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_vk_api);
    if (size != NULL) *size = half != NULL ? half->size : 0;
    return half != NULL ? culvi_vk_native_memory(half) : VK_NULL_HANDLE;
}

/* Images --------------------------------------------------------------------------------------- */

culv_result culv_vk_image_create(culv_vk_device *vk, const culv_vk_image_create_desc *desc,
                                 culv_shared_image **out)
{
    culv_vk_image_create_desc d;
    CULVI_REQUIRE(NULL, vk);
    const culvi_voice *voice = &vk->base.device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_vk_image_create_desc");
    if (result != CULV_OK) return result;
    if (d.create_info == NULL) return no_create_info(voice, d.label, "culv_vk_image_create_desc");
    culvi_plan plan = {.label = d.label,
                       .desc = &d,
                       .desc_name = "culv_vk_image_create_desc",
                       .fallback = d.fallback};
    return culvi_shared_image_create(&vk->base, &plan, out);
}

VkImage culv_vk_image_handle(const culv_shared_image *image)
{
    const culvi_native *half = culvi_image_half(image, &culvi_vk_api);
    return half != NULL ? culvi_vk_native_image(half) : VK_NULL_HANDLE;
}

VkDeviceMemory culv_vk_image_memory(const culv_shared_image *image, VkDeviceSize *size)
{
    const culvi_native *half = culvi_image_half(image, &culvi_vk_api);
    if (size != NULL) *size = half != NULL ? half->size : 0;
    return half != NULL ? culvi_vk_native_memory(half) : VK_NULL_HANDLE;
}
