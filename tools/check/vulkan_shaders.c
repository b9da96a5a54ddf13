/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: which storage buffers a pipeline's shaders declare, and whether
 * they may write them. Only a module's declarations are read; what is in doubt may be written. */
#include "vulkan_record.h"

#include <stdlib.h>
#include <string.h>

typedef struct declared {
    uint32_t set, binding;
    bool written; /* perhaps */
} declared;

struct check_shaders {
    size_t count;
    declared list[];
};

static check_model *open_if(bool own)
{
    return own ? check_open() : NULL;
}

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
