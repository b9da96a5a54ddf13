/* SPDX-License-Identifier: MIT */
/* Exportable memory by Vulkan: the caller's VkDevice, or one of Culvert's own. It is reached by the
 * public calls and by the table that every attachment has. */
#include "culvert/vulkan.h"
#include "gl/gl_object.h"

struct culvi_gl_exporter {
    culv_vk_device *vk; /* the caller's, or attached here */
    void *module;       /* Culvert's own from here on; NULL: the caller's VkDevice */
    VkInstance instance;
    VkDevice device;
    PFN_vkDestroyDevice destroy_device;
    PFN_vkDestroyInstance destroy_instance;
};

/* Its first member, as in every attachment. */
static culvi_graphics *graphics_of(culv_vk_device *vk)
{
    return (culvi_graphics *)vk;
}

culv_result culvi_gl_exporter_check(const culv_device *device, const culv_gl_desc *desc)
{
    if (desc->vk == NULL || graphics_of(desc->vk)->device == device) return CULV_OK;
    return culvi_fail(
        &device->voice, desc->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "culv_gl_desc.vk is attached to the culv_device '%s', not to '%s' here; attach the VkDevice to the same culv_device",
        graphics_of(desc->vk)->device->caps.name, device->caps.name);
}

/* A VkDevice of its own ------------------------------------------------------------------------ */

enum { API_VERSION = VK_API_VERSION_1_3 };

static culv_result fail_vk(const culv_gl *gl, const char *label, VkResult r, const char *call)
{
    culv_reason reason = CULV_REASON_DRIVER_REFUSED;
    const culv_result result = culvi_vk_cause(r, CULV_ERROR_DRIVER, &reason);
    return culvi_fail_native(
        gl->voice, label, result, reason, CULV_NATIVE_VULKAN, r, call,
        "Culvert's own VkDevice, which exports memory for OpenGL, could not be made: %s answered %d",
        call, (int)r);
}

static culv_result open_loader(const culv_gl *gl, const char *label, culvi_gl_exporter *e,
                               PFN_vkGetInstanceProcAddr *get)
{
#ifdef _WIN32
    static const char name[] = "vulkan-1.dll";
#else
    static const char name[] = "libvulkan.so.1";
#endif
    char why[256] = "";
    void *found = NULL;
    e->module = culvi_module_open(name, why, sizeof why);
    if (e->module != NULL) found = culvi_module_symbol(e->module, "vkGetInstanceProcAddr");
    memcpy(get, &found, sizeof found);
    if (found != NULL) return CULV_OK;
    return culvi_fail(
        gl->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
        "OpenGL exports no memory, and the Vulkan loader that could is missing (%s: %s); install it, set culv_gl_desc.vk, or allow a fallback",
        name, why);
}

static culv_result make_instance(const culv_gl *gl, const char *label, culvi_gl_exporter *e,
                                 PFN_vkGetInstanceProcAddr get)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    const char *layers[2];
    uint32_t num_layers = 2;
    CULVI_TRY(culv_vk_merge_instance_layers(get, 0, NULL, &num_layers, layers));
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pEngineName = "Culvert",
                                     .apiVersion = API_VERSION};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application,
                                 .enabledLayerCount = num_layers,
                                 .ppEnabledLayerNames = layers};
    VkResult r =
        create != NULL ? create(&info, NULL, &e->instance) : VK_ERROR_INITIALIZATION_FAILED;
    if (r != VK_SUCCESS) {
        e->instance = NULL;
        return fail_vk(gl, label, r, "vkCreateInstance");
    }
    culvi_gl_keep_drivers();
    e->destroy_instance = (PFN_vkDestroyInstance)get(e->instance, "vkDestroyInstance");
    return CULV_OK;
}

/* The context's GPU. A context that shares nothing (`foreign`) needs only timelines on the host,
 * which any device has. */
static culv_result choose(const culv_gl *gl, const char *label, PFN_vkGetInstanceProcAddr get,
                          VkInstance instance, VkPhysicalDevice *out)
{
    culv_vk_candidate list[16];
    uint32_t count = 16;
    culv_device_desc d = culv_device_desc_init();
    d.driver = gl->base.device->cuda->kind;
    for (uint32_t i = 0; i < 16; i++)
        list[i] = culv_vk_candidate_init();
    CULVI_TRY(culv_vk_rank_physical_devices(get, instance, &d, list, count, &count));
    if (count > 16) count = 16;
    for (uint32_t i = 0; i < count; i++)
        if (culvi_uuid_equal(&list[i].uuid, &gl->base.uuid)) {
            *out = list[i].physical_device;
            return CULV_OK;
        }
    if (gl->base.foreign && !gl->base.across && count > 0) {
        *out = list[0].physical_device;
        return CULV_OK;
    }
    CULVI_TEXT(text, 128);
    culvi_text_add_uuid(&text, &gl->base.uuid);
    return culvi_fail(
        gl->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
        "OpenGL exports no memory, and Vulkan has no device with the UUID %s of '%s' that could; let VK_DRIVER_FILES not exclude it, set culv_gl_desc.vk, or allow a fallback",
        text.data, gl->base.name);
}

static culv_result make_device(const culv_gl *gl, const char *label, culvi_gl_exporter *e,
                               PFN_vkGetInstanceProcAddr get, culv_vk_device_desc *d)
{
    const char *names[16];
    const void *chain = NULL;
    uint32_t num_names = 16;
    culv_vk_device_features features = culv_vk_device_features_init();
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)get(e->instance, "vkCreateDevice");
    CULVI_TRY(culv_vk_merge_device_extensions(d, 0, NULL, &num_names, names));
    CULVI_TRY(culv_vk_merge_device_features(d, NULL, &features, &chain));
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = chain,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = num_names,
                               .ppEnabledExtensionNames = names};
    VkResult r = create != NULL ? create(d->physical_device, &info, NULL, &e->device)
                                : VK_ERROR_INITIALIZATION_FAILED;
    if (r != VK_SUCCESS) {
        e->device = NULL;
        return fail_vk(gl, label, r, "vkCreateDevice");
    }
    PFN_vkGetDeviceProcAddr of_device =
        (PFN_vkGetDeviceProcAddr)get(e->instance, "vkGetDeviceProcAddr");
    e->destroy_device = (PFN_vkDestroyDevice)of_device(e->device, "vkDestroyDevice");
    d->device = e->device;
    return CULV_OK;
}

static culv_result make_own(culv_gl *gl, const char *label, culvi_gl_exporter *e)
{
    culv_vk_device_desc d = culv_vk_device_desc_init();
    CULVI_TRY(open_loader(gl, label, e, &d.get_instance_proc_addr));
    CULVI_TRY(make_instance(gl, label, e, d.get_instance_proc_addr));
    d.instance = e->instance;
    d.api_version = API_VERSION;
    d.num_physical_devices = 1;
    d.label = "OpenGL's exporter";
    d.fallback = gl->how.fallback;
    d.allow_other_gpu = gl->how.allow_other_gpu;
    CULVI_TRY(choose(gl, label, d.get_instance_proc_addr, e->instance, &d.physical_device));
    CULVI_TRY(make_device(gl, label, e, d.get_instance_proc_addr, &d));
    return culv_vk_attach(gl->base.device, &d, &e->vk);
}

static void free_own(culvi_gl_exporter *e)
{
    if (e == NULL) return;
    if (e->module != NULL) {
        culv_vk_detach(&e->vk);
        if (e->device != NULL) e->destroy_device(e->device, NULL);
        if (e->instance != NULL) e->destroy_instance(e->instance, NULL);
        culvi_module_close(e->module);
    }
    culvi_free(e);
}

void culvi_gl_exporter_hold(culv_gl *gl)
{
    if (gl->how.vk != NULL) culvi_graphics_ref(graphics_of(gl->how.vk));
}

void culvi_gl_exporter_free(culv_gl *gl)
{
    if (gl->how.vk != NULL) culvi_graphics_unref(graphics_of(gl->how.vk));
    free_own(gl->exporter);
}

culv_result culvi_gl_exporter_get(culv_gl *gl, const char *label, culvi_graphics **out)
{
    culv_result result = CULV_OK;
    if (gl->how.vk != NULL) {
        *out = graphics_of(gl->how.vk);
        return CULV_OK;
    }
    culvi_mutex_lock(&gl->lock);
    if (gl->exporter == NULL) {
        culvi_gl_exporter *e = culvi_alloc(sizeof *e);
        result = e != NULL ? make_own(gl, label, e) : culvi_fail_host_memory(gl->voice, label);
        if (result == CULV_OK)
            gl->exporter = e;
        else
            free_own(e);
    }
    if (result == CULV_OK) *out = graphics_of(gl->exporter->vk);
    culvi_mutex_unlock(&gl->lock);
    return result;
}

/* Buffers and images --------------------------------------------------------------------------- */

/* Mesa's llvmpipe keeps 48 bytes behind a buffer for itself (measured). */
enum { SLACK = 64 };

static VkBufferCreateInfo buffer_info(const culv_gl *gl, const culvi_gl_shape *shape)
{
    return (VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = shape->size + (gl->table.nvidia ? 0 : SLACK),
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
                 VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT};
}

static VkImageCreateInfo image_info(const culvi_gl_shape *shape, VkImageUsageFlags usage)
{
    return (VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .flags = shape->type == CULV_IMAGE_CUBE ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
        .imageType = shape->type == CULV_IMAGE_1D   ? VK_IMAGE_TYPE_1D
                     : shape->type == CULV_IMAGE_3D ? VK_IMAGE_TYPE_3D
                                                    : VK_IMAGE_TYPE_2D,
        .format = (VkFormat)shape->row->format,
        .extent = {shape->width, shape->height, shape->depth},
        .mipLevels = shape->levels,
        .arrayLayers = shape->layers,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = usage};
}

/* A GL texture is used in every way that its format has, so the most that Vulkan exports is asked
 * for first. */
static const VkImageUsageFlags copies =
    VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT;
static const VkImageUsageFlags color_usages[] = {
    VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
    VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, VK_IMAGE_USAGE_STORAGE_BIT, 0};
static const VkImageUsageFlags depth_usages[] = {VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, 0};

/* Plans, and with `made` makes too. `plan` is Vulkan's. */
static culv_result plan_image(culvi_graphics *vk, const culvi_gl_shape *shape, culvi_plan *plan,
                              culvi_native *made)
{
    bool color = (shape->row->aspects & VK_IMAGE_ASPECT_COLOR_BIT) != 0;
    const VkImageUsageFlags *usages = color ? color_usages : depth_usages;
    size_t count = color ? sizeof color_usages / sizeof color_usages[0]
                         : sizeof depth_usages / sizeof depth_usages[0];
    culv_result result = CULV_OK;
    for (size_t i = 0; i < count; i++) {
        VkImageCreateInfo info = image_info(shape, usages[i] | copies);
        culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
        d.create_info = &info;
        d.texels = shape->texels;
        d.no_surfaces = shape->no_surfaces;
        d.label = shape->label;
        plan->desc = &d;
        if (i + 1 < count) culvi_attempt_begin();
        result = vk->api->plan(vk, plan);
        if (i + 1 < count) (void)culvi_attempt_end(NULL, result);
        if (result == CULV_OK && made != NULL) result = vk->api->make(vk, plan, made);
        plan->desc = NULL;
        if (result != CULV_ERROR_UNSUPPORTED) return result;
    }
    return result;
}

static culv_result plan_buffer(const culv_gl *gl, culvi_graphics *vk, const culvi_gl_shape *shape,
                               culvi_plan *plan, culvi_native *made)
{
    VkBufferCreateInfo info = buffer_info(gl, shape);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = shape->label;
    plan->desc = &d;
    culv_result result = vk->api->plan(vk, plan);
    if (result == CULV_OK && made != NULL) result = vk->api->make(vk, plan, made);
    plan->desc = NULL;
    return result;
}

culv_result culvi_gl_exporter_run(culv_gl *gl, const culvi_gl_shape *shape, culvi_plan *out,
                                  culvi_native *made)
{
    culvi_graphics *vk = NULL;
    culvi_plan plan = {
        .label = shape->label, .is_image = shape->is_image, .path = CULV_SHARING_SHARED};
    CULVI_TRY(culvi_gl_exporter_get(gl, shape->label, &vk));
    CULVI_TRY(culvi_graphics_check_shares(
        vk, shape->label, shape->is_image ? CULVI_SHARE_IMAGES : CULVI_SHARE_BUFFERS));
    culvi_attempt_begin();
    CULVI_TRY(culvi_gl_reworded(gl, shape->is_image ? plan_image(vk, shape, &plan, made)
                                                    : plan_buffer(gl, vk, shape, &plan, made)));
    if (out != NULL) {
        out->handle_types = plan.handle_types;
        out->dedicated = plan.dedicated;
        out->size = shape->size;
        out->image = plan.image;
    }
    return CULV_OK;
}
