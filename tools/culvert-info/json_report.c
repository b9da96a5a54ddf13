/* SPDX-License-Identifier: MIT */
/* culvert-info: the report for programs. docs/culvert-info.md describes it; `schema` rises when a
 * key changes its meaning or goes, not when one is added. */
#include "info.h"
#include "json.h"

enum { SCHEMA = 1 };

/* -1: it could not be told. */
static void put_count(struct json *json, const char *key, int count)
{
    if (count >= 0)
        json_integer(json, key, count);
    else
        json_null(json, key);
}

static void put_features(struct json *json, const struct feature *features, int count)
{
    json_begin(json, "features", '{');
    for (int i = 0; i < count; i++) {
        const struct feature *f = &features[i];
        json_begin(json, f->key, '{');
        if (f->answer == ANSWER_UNKNOWN)
            json_null(json, "supported");
        else
            json_bool(json, "supported", f->answer == ANSWER_YES);
        json_text(json, "reason", f->why);
        if (f->attribute != NULL) {
            json_string(json, "attribute", f->attribute);
            if (f->answer == ANSWER_UNKNOWN)
                json_null(json, "value");
            else
                json_integer(json, "value", f->value);
        }
        json_end(json, '}');
    }
    json_end(json, '}');
}

static void put_vulkan(struct json *json, const struct vulkan_info *vulkan, uint32_t num_devices)
{
    char version[32];
    vulkan_version_text(vulkan->version, version);
    json_begin(json, "vulkan", '{');
    json_bool(json, "usable", num_devices > 0);
    json_text(json, "loader_path", vulkan->path);
    json_string(json, "loader_version", vulkan->version != 0 ? version : NULL);
    json_bool(json, "soft_layer", vulkan->soft_layer);
    json_text(json, "why", vulkan->why);
    json_begin(json, "loader_messages", '[');
    for (int i = 0; i < vulkan->num_messages; i++)
        json_string(json, NULL, vulkan->messages[i]);
    json_end(json, ']');
    json_end(json, '}');
}

static void put_driver(struct json *json, const struct cuda_driver *driver)
{
    char version[32];
    cuda_version_text(driver->version, version);
    json_begin(json, driver_key(driver->kind), '{');
    json_bool(json, "allowed", driver->asked);
    json_bool(json, "usable", driver->usable);
    json_text(json, "path", driver->path);
    json_string(json, "cuda_version", driver->version != 0 ? version : NULL);
    json_text(json, "release", driver->release);
    json_integer(json, "num_devices", driver->num_devices);
    json_begin(json, "pairs", '[');
    for (int i = 0; i < driver->num_pairs; i++) {
        const struct cuda_pair *p = &driver->pairs[i];
        json_begin(json, NULL, '{');
        json_integer(json, "from", p->from);
        json_integer(json, "to", p->to);
        put_count(json, "access", p->access);
        put_count(json, "array_access", p->array_access);
        put_count(json, "native_atomics", p->native_atomics);
        put_count(json, "performance_rank", p->performance_rank);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_string(json, "reason",
                driver->reason != CULV_REASON_NONE ? culv_reason_name(driver->reason) : NULL);
    json_text(json, "why", driver->why);
    json_end(json, '}');
}

static void put_luid(struct json *json, bool valid, const culv_luid *luid, uint32_t node_mask)
{
    char text[17];
    luid_text(luid, text);
    json_string(json, "luid", valid ? text : NULL);
    if (valid)
        json_integer(json, "node_mask", node_mask);
    else
        json_null(json, "node_mask");
}

static void put_graphics(struct json *json, const struct graphics_device *d)
{
    char text[64];
    const culv_vk_candidate *c = &d->match;
    json_begin(json, NULL, '{');
    json_integer(json, "vulkan_index", d->index);
    json_string(json, "name", c->name);
    json_string(json, "type", device_type_key(c->type));
    json_integer(json, "vendor_id", d->vendor_id);
    uuid_text(&c->uuid, text);
    json_string(json, "uuid", text);
    put_luid(json, c->luid_valid != 0, &c->luid, c->node_mask);
    vulkan_version_text(c->api_version, text);
    json_string(json, "api_version", text);
    json_text(json, "driver_name", c->driver_name);
    json_text(json, "driver_info", c->driver_info);
    json_integer(json, "group_size", c->group_size);
    json_bool(json, "reachable", d->reachable);
    json_string(json, "reason", d->reachable ? NULL : culv_reason_name(d->reason));
    json_text(json, "why", d->reachable ? "" : d->why);
    json_text(json, "message", c->reason_text);
    if (c->cuda_ordinal < 0) {
        json_null(json, "cuda");
    } else {
        json_begin(json, "cuda", '{');
        json_string(json, "driver", driver_key(c->driver));
        json_integer(json, "ordinal", c->cuda_ordinal);
        json_string(json, "name", c->cuda_name);
        json_end(json, '}');
    }
    put_features(json, d->features, NUM_SHARE_FEATURES);
    json_end(json, '}');
}

static void put_cuda(struct json *json, const struct report *report, const struct cuda_device *d)
{
    char text[64];
    const culv_device_caps *caps = &d->caps;
    json_begin(json, NULL, '{');
    json_string(json, "driver", driver_key(d->driver));
    json_integer(json, "ordinal", d->ordinal);
    json_bool(json, "opened", d->opened);
    json_string(json, "reason", d->opened ? NULL : culv_reason_name(d->reason));
    json_text(json, "why", d->why);
    if (d->graphics >= 0)
        json_integer(json, "vulkan_index", report->graphics[d->graphics].index);
    else
        json_null(json, "vulkan_index");
    if (!d->opened) {
        static const char *const unknown[] = {
            "name",       "uuid",      "luid",        "node_mask",    "compute_capability",
            "pci_bus_id", "pcie_path", "iommu_group", "total_memory", "mig_slice"};
        for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
            json_null(json, unknown[i]);
    } else {
        json_string(json, "name", caps->name);
        uuid_text(&caps->uuid, text);
        json_string(json, "uuid", text);
        put_luid(json, caps->luid_valid != 0, &caps->luid, caps->node_mask);
        text_set(text, sizeof text, "%u.%u", caps->compute_major, caps->compute_minor);
        json_string(json, "compute_capability", text);
        json_text(json, "pci_bus_id", caps->pci_bus_id);
        json_text(json, "pcie_path", d->pci.path);
        put_count(json, "iommu_group", d->pci.iommu_group);
        json_integer(json, "total_memory", (int64_t)caps->total_memory);
        json_bool(json, "mig_slice", caps->mig_slice != 0);
    }
    put_features(json, d->features, NUM_CUDA_FEATURES);
    json_end(json, '}');
}

static void put_opengl(struct json *json, const struct report *report)
{
    json_begin(json, "opengl", '{');
    json_text(json, "why", report->opengl.why);
    json_begin(json, "egl_devices", '[');
    for (int i = 0; i < report->opengl.count; i++) {
        const struct opengl_device *d = &report->opengl.devices[i];
        const int match = opengl_graphics(report, d);
        char text[64];
        json_begin(json, NULL, '{');
        json_text(json, "renderer", d->renderer);
        json_text(json, "version", d->version);
        json_text(json, "vendor", d->vendor);
        uuid_text(&d->uuid, text);
        json_string(json, "uuid", d->has_uuid ? text : NULL);
        if (match >= 0)
            json_integer(json, "vulkan_index", report->graphics[match].index);
        else
            json_null(json, "vulkan_index");
        json_bool(json, "memory_fd", d->memory_fd);
        json_bool(json, "semaphore_fd", d->semaphore_fd);
        json_text(json, "why", d->why);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}

void print_json(const struct report *report, FILE *out)
{
    struct json json = {out, 0, true};
    const struct system_info *system = &report->system;
    json_begin(&json, NULL, '{');
    json_integer(&json, "schema", SCHEMA);
    json_string(&json, "culvert_version", culv_version_string());
    json_bool(&json, "reachable", report->reachable);
    json_string(&json, "verdict", report->verdict);
    json_text(&json, "hint", report->hint);
    put_vulkan(&json, &report->vulkan, report->num_graphics);
    json_begin(&json, "cuda", '{');
    for (int i = 0; i < 2; i++)
        put_driver(&json, &report->drivers[i]);
    json_end(&json, '}');
    json_begin(&json, "system", '{');
    put_count(&json, "nvidia_gpus", system->nvidia_gpus);
    json_text(&json, "nvidia_kernel_version", system->nvidia_kernel_version);
    json_bool(&json, "nvidia_kernel_open", system->nvidia_kernel_open);
    json_text(&json, "nvidia_icd", system->nvidia_icd);
    put_count(&json, "iommu_units", system->iommu_units);
    put_count(&json, "iommu_groups", system->iommu_groups);
    json_end(&json, '}');
    json_begin(&json, "graphics_devices", '[');
    for (uint32_t i = 0; i < report->num_graphics; i++)
        put_graphics(&json, &report->graphics[i]);
    json_end(&json, ']');
    json_begin(&json, "cuda_devices", '[');
    for (int i = 0; i < report->num_cuda; i++)
        put_cuda(&json, report, &report->cuda[i]);
    json_end(&json, ']');
    put_opengl(&json, report);
    json_begin(&json, "environment", '{');
    for (size_t i = 0; i < report->num_variables; i++)
        json_string(&json, report->variables[i].name, report->variables[i].value);
    json_end(&json, '}');
    json_end(&json, '}');
}
