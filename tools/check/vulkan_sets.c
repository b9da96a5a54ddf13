/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: what is in descriptor sets, however it got there. */
#include "vulkan.h"

#include <stdlib.h>
#include <string.h>

/* The dynamic bindings of a layout, in the order of their offsets. */
typedef struct layout {
    unsigned count;
    check_dynamic list[];
} layout;

typedef struct update {
    VkPipelineBindPoint point;
    uint32_t set, count;
    VkDescriptorUpdateTemplateEntry list[];
} update;

static bool is_dynamic(VkDescriptorType type)
{
    return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
           type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

static int by_binding(const void *a, const void *b)
{
    const check_dynamic *x = a, *y = b;
    return x->binding < y->binding ? -1 : x->binding > y->binding;
}

VkResult VKAPI_CALL check_vkCreateDescriptorSetLayout(VkDevice handle,
                                                      const VkDescriptorSetLayoutCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks,
                                                      VkDescriptorSetLayout *out)
{
    const VkResult result =
        check_vk_find(handle)->next.CreateDescriptorSetLayout(handle, info, callbacks, out);
    layout *made = NULL;
    for (uint32_t i = 0; result == VK_SUCCESS && i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *b = &info->pBindings[i];
        if (!is_dynamic(b->descriptorType) || b->descriptorCount == 0) continue;
        if (made == NULL)
            made = calloc(1, sizeof *made + (size_t)info->bindingCount * sizeof *made->list);
        if (made == NULL) break;
        made->list[made->count++] = (check_dynamic){b->binding, b->descriptorCount};
    }
    if (made != NULL) qsort(made->list, made->count, sizeof *made->list, by_binding);
    check_model *m = result == VK_SUCCESS ? open_if(check_inside == 0) : NULL;
    if (m == NULL) {
        free(made);
        return result;
    }
    free(check_put(CHECK_OF_VK_SET_LAYOUT, CHECK_KEY(*out), made));
    check_close();
    return result;
}

void VKAPI_CALL check_vkDestroyDescriptorSetLayout(VkDevice handle, VkDescriptorSetLayout gone,
                                                   const VkAllocationCallbacks *callbacks)
{
    check_model *m = gone != VK_NULL_HANDLE ? open_if(check_inside == 0) : NULL;
    if (m != NULL) {
        free(check_put(CHECK_OF_VK_SET_LAYOUT, CHECK_KEY(gone), NULL));
        check_close();
    }
    check_vk_find(handle)->next.DestroyDescriptorSetLayout(handle, gone, callbacks);
}

VkResult VKAPI_CALL check_vkAllocateDescriptorSets(VkDevice handle,
                                                   const VkDescriptorSetAllocateInfo *info,
                                                   VkDescriptorSet *out)
{
    const check_vk_device *d = check_vk_find(handle);
    const VkResult result = d->next.AllocateDescriptorSets(handle, info, out);
    check_model *m = result == VK_SUCCESS ? open_if(check_inside == 0) : NULL;
    if (m == NULL) return result;
    for (uint32_t i = 0; i < info->descriptorSetCount; i++) {
        check_set *s = check_get(CHECK_OF_VK_SET, CHECK_KEY(out[i]));
        const layout *l = check_get(CHECK_OF_VK_SET_LAYOUT, CHECK_KEY(info->pSetLayouts[i]));
        if (s == NULL && l != NULL) {
            s = calloc(1, sizeof *s);
            if (s != NULL) (void)check_put(CHECK_OF_VK_SET, CHECK_KEY(out[i]), s);
        }
        if (s == NULL) continue;
        s->count = s->num_dynamic = 0; /* the handle of a set that is gone */
        for (unsigned j = 0; l != NULL && j < l->count && j < CHECK_DYNAMIC; j++)
            s->dynamic[s->num_dynamic++] = l->list[j];
    }
    check_close();
    return result;
}

static void put(check_set *s, const check_descriptor *to)
{
    const bool concerns = to->buffer != 0
                              ? check_get(CHECK_OF_VK_BUFFER, to->buffer) != NULL
                              : to->view != 0 && check_get(CHECK_OF_VK_VIEW, to->view) != NULL;
    for (unsigned i = 0; i < s->count; i++)
        if (s->list[i].binding == to->binding && s->list[i].element == to->element) {
            s->list[i] = *to;
            return;
        }
    if (!concerns) return;
    check_descriptor *grown = realloc(s->list, (s->count + 1) * sizeof *grown);
    if (grown == NULL) return;
    s->list = grown;
    s->list[s->count++] = *to;
}

static check_set *set_of(uint64_t key)
{
    check_set *s = check_get(CHECK_OF_VK_SET, key);
    if (s != NULL) return s;
    s = calloc(1, sizeof *s);
    if (s != NULL) (void)check_put(CHECK_OF_VK_SET, key, s);
    return s;
}

/* `buffer` or `image` is looked at, as the type says. What is not followed still ends what was
 * there. */
static void put_one(check_set *s, uint32_t binding, uint32_t element, VkDescriptorType type,
                    const VkDescriptorBufferInfo *buffer, const VkDescriptorImageInfo *image)
{
    check_descriptor to = {.binding = binding, .element = element, .type = type};
    switch (type) {
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        to.buffer = CHECK_KEY(buffer->buffer);
        to.offset = buffer->offset;
        to.range = buffer->range;
        break;
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        to.view = CHECK_KEY(image->imageView);
        to.layout = image->imageLayout;
        break;
    default: break;
    }
    put(s, &to);
}

/* Of an inline uniform block the count is of bytes, and no memory of others is behind it. */
static void put_write(check_set *s, const VkWriteDescriptorSet *w)
{
    if (w->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) return;
    for (uint32_t j = 0; s != NULL && j < w->descriptorCount; j++)
        put_one(s, w->dstBinding, w->dstArrayElement + j, w->descriptorType,
                w->pBufferInfo != NULL ? &w->pBufferInfo[j] : NULL,
                w->pImageInfo != NULL ? &w->pImageInfo[j] : NULL);
}

static void put_copy(const VkCopyDescriptorSet *c)
{
    const check_set *from = check_get(CHECK_OF_VK_SET, CHECK_KEY(c->srcSet));
    check_set *to = set_of(CHECK_KEY(c->dstSet));
    for (uint32_t j = 0; to != NULL && to != from && j < c->descriptorCount; j++) {
        check_descriptor one = {.binding = c->dstBinding,
                                .element = c->dstArrayElement + j,
                                .type = VK_DESCRIPTOR_TYPE_SAMPLER};
        for (unsigned k = 0; from != NULL && k < from->count; k++)
            if (from->list[k].binding == c->srcBinding &&
                from->list[k].element == c->srcArrayElement + j) {
                one = from->list[k];
                one.binding = c->dstBinding;
                one.element = c->dstArrayElement + j;
            }
        put(to, &one);
    }
}

void VKAPI_CALL check_vkUpdateDescriptorSets(VkDevice handle, uint32_t writes,
                                             const VkWriteDescriptorSet *write, uint32_t copies,
                                             const VkCopyDescriptorSet *copy)
{
    const check_vk_device *d = check_vk_find(handle);
    check_model *m = open_if(check_inside == 0);
    for (uint32_t i = 0; m != NULL && i < writes; i++)
        put_write(set_of(CHECK_KEY(write[i].dstSet)), &write[i]);
    for (uint32_t i = 0; m != NULL && i < copies; i++)
        put_copy(&copy[i]);
    if (m != NULL) check_close();
    d->next.UpdateDescriptorSets(handle, writes, write, copies, copy);
}

/* ---- templates ---- */

VkResult VKAPI_CALL check_vkCreateDescriptorUpdateTemplate(
    VkDevice handle, const VkDescriptorUpdateTemplateCreateInfo *info,
    const VkAllocationCallbacks *callbacks, VkDescriptorUpdateTemplate *out)
{
    const uint32_t count = info->descriptorUpdateEntryCount;
    const VkResult result =
        check_vk_find(handle)->next.CreateDescriptorUpdateTemplate(handle, info, callbacks, out);
    check_model *m = result == VK_SUCCESS ? open_if(check_inside == 0) : NULL;
    update *made = m != NULL ? calloc(1, sizeof *made + count * sizeof *made->list) : NULL;
    if (made != NULL) {
        made->point = info->pipelineBindPoint;
        made->set = info->set;
        made->count = count;
        memcpy(made->list, info->pDescriptorUpdateEntries, count * sizeof *made->list);
    }
    if (m != NULL) {
        free(check_put(CHECK_OF_VK_UPDATE, CHECK_KEY(*out), made));
        check_close();
    }
    return result;
}

void VKAPI_CALL check_vkDestroyDescriptorUpdateTemplate(VkDevice handle,
                                                        VkDescriptorUpdateTemplate gone,
                                                        const VkAllocationCallbacks *callbacks)
{
    check_model *m = gone != VK_NULL_HANDLE ? open_if(check_inside == 0) : NULL;
    if (m != NULL) {
        free(check_put(CHECK_OF_VK_UPDATE, CHECK_KEY(gone), NULL));
        check_close();
    }
    check_vk_find(handle)->next.DestroyDescriptorUpdateTemplate(handle, gone, callbacks);
}

static void put_all(check_set *s, const update *u, const void *data)
{
    for (uint32_t i = 0; s != NULL && u != NULL && i < u->count; i++) {
        const VkDescriptorUpdateTemplateEntry *e = &u->list[i];
        if (e->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) continue;
        for (uint32_t j = 0; j < e->descriptorCount; j++) {
            const char *at = (const char *)data + e->offset + j * e->stride;
            VkDescriptorBufferInfo buffer = {0};
            VkDescriptorImageInfo image = {0};
            if (e->descriptorType <= VK_DESCRIPTOR_TYPE_STORAGE_IMAGE ||
                e->descriptorType == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT)
                memcpy(&image, at, sizeof image);
            else if (e->descriptorType >= VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER &&
                     e->descriptorType <= VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC)
                memcpy(&buffer, at, sizeof buffer);
            put_one(s, e->dstBinding, e->dstArrayElement + j, e->descriptorType, &buffer, &image);
        }
    }
}

void VKAPI_CALL check_vkUpdateDescriptorSetWithTemplate(VkDevice handle, VkDescriptorSet set,
                                                        VkDescriptorUpdateTemplate with,
                                                        const void *data)
{
    check_model *m = open_if(check_inside == 0);
    if (m != NULL) {
        put_all(set_of(CHECK_KEY(set)), check_get(CHECK_OF_VK_UPDATE, CHECK_KEY(with)), data);
        check_close();
    }
    check_vk_find(handle)->next.UpdateDescriptorSetWithTemplate(handle, set, with, data);
}

/* ---- descriptors that a command buffer has of its own ---- */

static check_set *pushed(check_commands *c, VkPipelineBindPoint point, uint32_t set)
{
    const bool compute = point == VK_PIPELINE_BIND_POINT_COMPUTE;
    if ((!compute && point != VK_PIPELINE_BIND_POINT_GRAPHICS) || set >= CHECK_SETS) return NULL;
    check_set *s = &c->pushed[compute];
    if (c->sets[compute][set] != CHECK_PUSHED) s->count = 0; /* a pipeline has one such set */
    c->sets[compute][set] = CHECK_PUSHED;
    return s;
}

void VKAPI_CALL check_vkCmdPushDescriptorSetKHR(VkCommandBuffer cb, VkPipelineBindPoint point,
                                                VkPipelineLayout pipeline, uint32_t set,
                                                uint32_t count, const VkWriteDescriptorSet *writes)
{
    check_model *m = open_if(check_inside == 0);
    check_commands *c = m != NULL ? check_vk_commands(cb) : NULL;
    check_set *s = c != NULL ? pushed(c, point, set) : NULL;
    for (uint32_t i = 0; s != NULL && i < count; i++)
        put_write(s, &writes[i]);
    if (m != NULL) check_close();
    check_vk_find(cb)->next.CmdPushDescriptorSetKHR(cb, point, pipeline, set, count, writes);
}

void VKAPI_CALL check_vkCmdPushDescriptorSetWithTemplateKHR(VkCommandBuffer cb,
                                                            VkDescriptorUpdateTemplate with,
                                                            VkPipelineLayout pipeline, uint32_t set,
                                                            const void *data)
{
    check_model *m = open_if(check_inside == 0);
    check_commands *c = m != NULL ? check_vk_commands(cb) : NULL;
    const update *u = c != NULL ? check_get(CHECK_OF_VK_UPDATE, CHECK_KEY(with)) : NULL;
    if (u != NULL) put_all(pushed(c, u->point, set), u, data);
    if (m != NULL) check_close();
    check_vk_find(cb)->next.CmdPushDescriptorSetWithTemplateKHR(cb, with, pipeline, set, data);
}

/* culvert-check as a Vulkan layer: which storage buffers a pipeline's shaders declare, and whether
 * they may write them. Only a module's declarations are read; what is in doubt may be written. */

typedef struct declared {
    uint32_t set, binding;
    bool written; /* perhaps */
} declared;

struct check_shaders {
    size_t count;
    declared list[];
};

/* The numbers of the specification of SPIR-V 1.0. */
enum { MAGIC = 0x07230203, HEADER = 5, MOST_IDS = 1 << 20 };
enum {
    OP_TYPE_ARRAY = 28,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_GROUP_DECORATE = 74,
    OP_GROUP_MEMBER_DECORATE = 75
};
enum { BUFFER_BLOCK = 3, NON_WRITABLE = 24, BINDING = 33, DESCRIPTOR_SET = 34 };
enum { UNIFORM = 2, STORAGE_BUFFER = 12 };

/* What is known of an id. */
typedef struct id {
    uint32_t set, binding;
    uint32_t inner;                            /* what an array has, and where a pointer leads to */
    uint32_t members, read_only;               /* of a struct; counted, each is decorated once */
    bool has_set, has_binding, storage, whole; /* whole: the variable itself is not writable */
} id;

static void decorate(id *to, uint32_t decoration, uint32_t value)
{
    to->storage |= decoration == BUFFER_BLOCK;
    to->whole |= decoration == NON_WRITABLE;
    if (decoration == DESCRIPTOR_SET) to->set = value, to->has_set = true;
    if (decoration == BINDING) to->binding = value, to->has_binding = true;
}

/* A variable of that pointer type. */
static void declare(const id *ids, uint32_t bound, const id *variable, uint32_t pointer,
                    uint32_t class, struct check_shaders *out)
{
    uint32_t type = pointer < bound ? ids[pointer].inner : 0;
    for (int depth = 0; depth < 8 && type < bound && ids[type].inner != 0; depth++)
        type = ids[type].inner;
    if (type >= bound || !variable->has_set || !variable->has_binding) return;
    if (class != STORAGE_BUFFER && !(class == UNIFORM && ids[type].storage)) return;
    const bool read =
        variable->whole || (ids[type].members > 0 && ids[type].read_only >= ids[type].members);
    out->list[out->count++] = (declared){variable->set, variable->binding, !read};
}

/* NULL: it is not understood. */
static struct check_shaders *read_module(const uint32_t *words, size_t bytes)
{
    const size_t count = bytes / sizeof *words;
    if (words == NULL || count < HEADER || words[0] != MAGIC || words[3] > MOST_IDS) return NULL;
    const uint32_t bound = words[3];
    size_t variables = 0;
    bool good = true;
    id *ids = calloc((size_t)bound + 1, sizeof *ids);
    struct check_shaders *out = NULL;
    if (ids == NULL) return NULL;
    for (int pass = 0; good && pass < 2; pass++) { /* the second one has all types */
        if (pass == 1) out = calloc(1, sizeof *out + variables * sizeof *out->list);
        good = pass == 0 || out != NULL;
        for (size_t i = HEADER, n; good && i < count; i += n) {
            const uint32_t op = words[i] & 0xffff, *w = &words[i];
            n = words[i] >> 16;
            if (n == 0 || n > count - i) {
                good = false;
                break;
            }
            if (op == OP_VARIABLE && n >= 4 && w[2] < bound) {
                if (pass == 0) variables++;
                if (pass == 1) declare(ids, bound, &ids[w[2]], w[1], w[3], out);
            }
            if (pass == 1 || n < 2) continue;
            if (op == OP_GROUP_DECORATE || op == OP_GROUP_MEMBER_DECORATE) good = false;
            if (w[1] >= bound) continue;
            if (op == OP_DECORATE && n >= 3) decorate(&ids[w[1]], w[2], n > 3 ? w[3] : 0);
            if (op == OP_MEMBER_DECORATE && n >= 4) ids[w[1]].read_only += w[3] == NON_WRITABLE;
            if (op == OP_TYPE_STRUCT) ids[w[1]].members = (uint32_t)n - 2;
            if ((op == OP_TYPE_ARRAY || op == OP_TYPE_RUNTIME_ARRAY) && n >= 3)
                ids[w[1]].inner = w[2];
            if (op == OP_TYPE_POINTER && n >= 4) ids[w[1]].inner = w[3];
        }
    }
    free(ids);
    if (good) return out;
    free(out);
    return NULL;
}

bool check_vk_may_write(const struct check_shaders *s, uint32_t set, uint32_t binding)
{
    bool found = false, written = false;
    for (size_t i = 0; s != NULL && i < s->count; i++)
        if (s->list[i].set == set && s->list[i].binding == binding) {
            found = true;
            written |= s->list[i].written;
        }
    return !found || written;
}

/* Modules -------------------------------------------------------------------------------------- */

VkResult VKAPI_CALL check_vkCreateShaderModule(VkDevice handle,
                                               const VkShaderModuleCreateInfo *info,
                                               const VkAllocationCallbacks *callbacks,
                                               VkShaderModule *out)
{
    const VkResult result =
        check_vk_find(handle)->next.CreateShaderModule(handle, info, callbacks, out);
    check_model *m = result == VK_SUCCESS ? open_if(check_inside == 0) : NULL;
    if (m != NULL) {
        free(check_put(CHECK_OF_VK_SHADER, CHECK_KEY(*out),
                       read_module(info->pCode, info->codeSize)));
        check_close();
    }
    return result;
}

static void forget(unsigned kind, uint64_t key)
{
    check_model *m = key != 0 ? open_if(check_inside == 0) : NULL;
    if (m == NULL) return;
    free(check_put(kind, key, NULL));
    check_close();
}

void VKAPI_CALL check_vkDestroyShaderModule(VkDevice handle, VkShaderModule gone,
                                            const VkAllocationCallbacks *callbacks)
{
    forget(CHECK_OF_VK_SHADER, CHECK_KEY(gone));
    check_vk_find(handle)->next.DestroyShaderModule(handle, gone, callbacks);
}

/* Pipelines ------------------------------------------------------------------------------------ */

/* All that the stages declare. NULL: one of them is not known. */
static struct check_shaders *merge(uint32_t count, const VkPipelineShaderStageCreateInfo *stages)
{
    struct check_shaders *all = calloc(1, sizeof *all);
    for (uint32_t i = 0; all != NULL && i < count; i++) {
        const VkShaderModuleCreateInfo *inlined =
            check_vk_in_chain(stages[i].pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
        struct check_shaders *own = stages[i].module == VK_NULL_HANDLE && inlined != NULL
                                        ? read_module(inlined->pCode, inlined->codeSize)
                                        : NULL;
        const struct check_shaders *one =
            own != NULL ? own : check_get(CHECK_OF_VK_SHADER, CHECK_KEY(stages[i].module));
        struct check_shaders *grown =
            one != NULL ? realloc(all, sizeof *all + (all->count + one->count) * sizeof *all->list)
                        : NULL;
        if (grown != NULL) {
            all = grown;
            memcpy(all->list + all->count, one->list, one->count * sizeof *one->list);
            all->count += one->count;
        } else {
            free(all);
            all = NULL;
        }
        free(own);
    }
    return all;
}

static void put_pipeline(VkPipeline made, uint32_t count,
                         const VkPipelineShaderStageCreateInfo *stages, const void *chain)
{
    const bool parts =
        check_vk_in_chain(chain, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR) != NULL;
    if (made != VK_NULL_HANDLE)
        free(check_put(CHECK_OF_VK_PIPELINE, CHECK_KEY(made), parts ? NULL : merge(count, stages)));
}

VkResult VKAPI_CALL check_vkCreateGraphicsPipelines(VkDevice handle, VkPipelineCache cache,
                                                    uint32_t count,
                                                    const VkGraphicsPipelineCreateInfo *infos,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkPipeline *out)
{
    const VkResult result = check_vk_find(handle)->next.CreateGraphicsPipelines(
        handle, cache, count, infos, callbacks, out);
    check_model *m = result >= VK_SUCCESS ? open_if(check_inside == 0) : NULL;
    for (uint32_t i = 0; m != NULL && i < count; i++)
        put_pipeline(out[i], infos[i].stageCount, infos[i].pStages, infos[i].pNext);
    if (m != NULL) check_close();
    return result;
}

VkResult VKAPI_CALL check_vkCreateComputePipelines(VkDevice handle, VkPipelineCache cache,
                                                   uint32_t count,
                                                   const VkComputePipelineCreateInfo *infos,
                                                   const VkAllocationCallbacks *callbacks,
                                                   VkPipeline *out)
{
    const VkResult result = check_vk_find(handle)->next.CreateComputePipelines(
        handle, cache, count, infos, callbacks, out);
    check_model *m = result >= VK_SUCCESS ? open_if(check_inside == 0) : NULL;
    for (uint32_t i = 0; m != NULL && i < count; i++)
        put_pipeline(out[i], 1, &infos[i].stage, infos[i].pNext);
    if (m != NULL) check_close();
    return result;
}

void VKAPI_CALL check_vkDestroyPipeline(VkDevice handle, VkPipeline gone,
                                        const VkAllocationCallbacks *callbacks)
{
    forget(CHECK_OF_VK_PIPELINE, CHECK_KEY(gone));
    check_vk_find(handle)->next.DestroyPipeline(handle, gone, callbacks);
}
