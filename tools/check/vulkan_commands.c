/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: what command buffers do to shared memory, and submissions. */
#include "vulkan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct framebuffer {
    unsigned count;
    uint64_t views[];
} framebuffer;

check_commands *check_vk_commands(VkCommandBuffer handle)
{
    check_commands *c = check_get(CHECK_OF_VK_COMMANDS, CHECK_KEY(handle));
    if (c == NULL) {
        c = calloc(1, sizeof *c);
        if (c != NULL) (void)check_put(CHECK_OF_VK_COMMANDS, CHECK_KEY(handle), c);
    }
    return c;
}

static void commands_clear(check_model *m, check_commands *c)
{
    for (unsigned i = 0; i < c->count; i++)
        check_payload_drop(m, c->accesses[i].payload);
    c->count = 0;
    c->runs_code = c->ordered = false;
    memset(c->sets, 0, sizeof c->sets);
    memset(c->pipelines, 0, sizeof c->pipelines);
    c->pushed[0].count = c->pushed[1].count = 0;
}

static bool same_access(const check_access *a, const check_access *b)
{
    return a->payload == b->payload && a->begin == b->begin && a->end == b->end &&
           a->kind == b->kind && a->exclusive == b->exclusive && a->image == b->image &&
           a->layout == b->layout;
}

void check_vk_add(check_commands *c, const check_access *a)
{
    for (unsigned i = a->kind < CHECK_RELEASE ? c->count : 0; i > 0;
         i--) /* an access after a barrier is another one */
        if (c->accesses[i - 1].kind >= CHECK_RELEASE)
            break;
        else if (same_access(&c->accesses[i - 1], a))
            return;
    if (c->count == c->room) {
        const unsigned room = c->room == 0 ? 16 : c->room * 2;
        check_access *grown = realloc(c->accesses, room * sizeof *grown);
        if (grown == NULL) return;
        c->accesses = grown;
        c->room = room;
    }
    check_payload_keep(a->payload);
    c->accesses[c->count++] = *a;
}

static void add_resource(check_commands *c, const check_resource *r, uint64_t offset, uint64_t size,
                         check_access_kind kind, VkImageLayout layout, const char *how)
{
    if (c == NULL || r == NULL || r->payload == NULL || offset >= r->size) return;
    if (size > r->size - offset) size = r->size - offset; /* VK_WHOLE_SIZE too */
    const check_access a = {.payload = r->payload,
                            .begin = r->offset + offset,
                            .end = r->offset + offset + size,
                            .kind = kind,
                            .how = how,
                            .exclusive = r->exclusive,
                            .image = r->image,
                            .layout = (uint32_t)layout,
                            .stage = c->ordered ? 0 : c->stage};
    check_vk_add(c, &a);
}

static void add_buffer(check_commands *c, VkBuffer buffer, uint64_t offset, uint64_t size,
                       check_access_kind kind, const char *how)
{
    add_resource(c, check_get(CHECK_OF_VK_BUFFER, CHECK_KEY(buffer)), offset, size, kind,
                 VK_IMAGE_LAYOUT_UNDEFINED, how);
}

static void add_image(check_commands *c, uint64_t image, check_access_kind kind,
                      VkImageLayout layout, const char *how)
{
    add_resource(c, check_get(CHECK_OF_VK_IMAGE, image), 0, UINT64_MAX, kind, layout, how);
}

static void add_view(check_commands *c, uint64_t view, check_access_kind kind, VkImageLayout layout,
                     const char *how)
{
    add_image(c, CHECK_KEY(check_get(CHECK_OF_VK_VIEW, view)), kind, layout, how);
}

void check_vk_runs_code(VkCommandBuffer handle)
{
    check_commands *c = check_vk_commands(handle);
    if (c != NULL) c->runs_code = true;
}

void check_vk_use_buffer(VkCommandBuffer handle, uint64_t buffer, uint64_t offset, uint64_t size,
                         const char *how)
{
    add_resource(check_vk_commands(handle), check_get(CHECK_OF_VK_BUFFER, buffer), offset, size,
                 CHECK_READ_OR_WRITE, VK_IMAGE_LAYOUT_UNDEFINED, how);
}

/* ---- framebuffers ---- */

VkResult VKAPI_CALL check_vkCreateFramebuffer(VkDevice handle, const VkFramebufferCreateInfo *info,
                                              const VkAllocationCallbacks *callbacks,
                                              VkFramebuffer *out)
{
    const check_vk_device *d = check_vk_find(handle);
    const VkResult result = d->next.CreateFramebuffer(handle, info, callbacks, out);
    const bool has_views = (info->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT) == 0;
    check_model *m = result == VK_SUCCESS && has_views ? open_if(check_inside == 0) : NULL;
    if (m == NULL) return result;
    framebuffer *f = calloc(1, sizeof *f + (size_t)info->attachmentCount * sizeof(uint64_t));
    if (f != NULL) {
        for (uint32_t i = 0; i < info->attachmentCount; i++)
            f->views[f->count++] = CHECK_KEY(info->pAttachments[i]);
        free(check_put(CHECK_OF_VK_FRAMEBUFFER, CHECK_KEY(*out), f));
    }
    check_close();
    return result;
}

void VKAPI_CALL check_vkDestroyFramebuffer(VkDevice handle, VkFramebuffer buffer,
                                           const VkAllocationCallbacks *callbacks)
{
    const check_vk_device *d = check_vk_find(handle);
    check_model *m = buffer != VK_NULL_HANDLE ? open_if(check_inside == 0) : NULL;
    if (m != NULL) {
        free(check_put(CHECK_OF_VK_FRAMEBUFFER, CHECK_KEY(buffer), NULL));
        check_close();
    }
    d->next.DestroyFramebuffer(handle, buffer, callbacks);
}

/* ---- recording ---- */

VkResult VKAPI_CALL check_vkBeginCommandBuffer(VkCommandBuffer handle,
                                               const VkCommandBufferBeginInfo *info)
{
    check_model *m = open_if(check_inside == 0);
    if (m != NULL) {
        check_commands *c = check_get(CHECK_OF_VK_COMMANDS, CHECK_KEY(handle));
        if (c != NULL) commands_clear(m, c);
        check_close();
    }
    return check_vk_find(handle)->next.BeginCommandBuffer(handle, info);
}

void VKAPI_CALL check_vkFreeCommandBuffers(VkDevice handle, VkCommandPool pool, uint32_t count,
                                           const VkCommandBuffer *buffers)
{
    check_model *m = open_if(check_inside == 0);
    for (uint32_t i = 0; m != NULL && i < count; i++) {
        if (buffers[i] == NULL) continue;
        check_commands *c = check_put(CHECK_OF_VK_COMMANDS, CHECK_KEY(buffers[i]), NULL);
        if (c == NULL) continue;
        commands_clear(m, c);
        free(c->pushed[0].list);
        free(c->pushed[1].list);
        free(c->accesses);
        free(c);
    }
    if (m != NULL) check_close();
    check_vk_find(handle)->next.FreeCommandBuffers(handle, pool, count, buffers);
}

/* A command: `tell` adds to `c` what it does. */
#define COMMAND(name, parameters, arguments, tell)                                                 \
    void VKAPI_CALL check_vk##name parameters                                                      \
    {                                                                                              \
        const char *const how = "vk" #name;                                                        \
        check_model *m = open_if(check_inside == 0);                                               \
        if (m != NULL) {                                                                           \
            check_commands *c = check_vk_commands(cb);                                             \
            if (c != NULL) {                                                                       \
                tell;                                                                              \
            }                                                                                      \
            check_close();                                                                         \
        }                                                                                          \
        (void)how;                                                                                 \
        check_vk_find(cb)->next.name arguments;                                                    \
    }

/* A command that the copies' stages do. */
#define COPIES(name, parameters, arguments, tell)                                                  \
    COMMAND(name, parameters, arguments, c->stage = CHECK_STAGE_COPY; tell; c->stage = 0)
/* A command that orders what comes after it. */
#define ORDERS(name, parameters, arguments, tell)                                                  \
    COMMAND(name, parameters, arguments, c->ordered = true; tell)

static void bind_pipeline(check_commands *c, VkPipelineBindPoint point, VkPipeline pipeline)
{
    const bool compute = point == VK_PIPELINE_BIND_POINT_COMPUTE;
    c->runs_code = true;
    if (point == VK_PIPELINE_BIND_POINT_GRAPHICS || compute)
        c->pipelines[compute] = CHECK_KEY(pipeline);
}

/* Offsets are in the order of sets, bindings, elements. */
static void bind_sets(check_commands *c, VkPipelineBindPoint point, uint32_t first, uint32_t count,
                      const VkDescriptorSet *sets, uint32_t num_offsets, const uint32_t *offsets)
{
    const bool compute = point == VK_PIPELINE_BIND_POINT_COMPUTE;
    uint32_t next = 0;
    if (point != VK_PIPELINE_BIND_POINT_GRAPHICS && !compute) return;
    for (uint32_t i = 0; i < count && first + i < CHECK_SETS; i++) {
        const check_set *s = check_get(CHECK_OF_VK_SET, CHECK_KEY(sets[i]));
        unsigned at = 0;
        c->sets[compute][first + i] = CHECK_KEY(sets[i]);
        for (unsigned j = 0; s != NULL && j < s->num_dynamic; j++)
            for (uint32_t k = 0; k < s->dynamic[j].count && next < num_offsets; k++, next++, at++)
                if (at < CHECK_DYNAMIC) c->offsets[compute][first + i][at] = offsets[next];
    }
}

/* False: it is not known. */
static bool find_offset(const check_set *s, const uint32_t *offsets, const check_descriptor *d,
                        uint64_t *out)
{
    unsigned at = 0;
    for (unsigned j = 0; j < s->num_dynamic && at < CHECK_DYNAMIC; at += s->dynamic[j++].count)
        if (s->dynamic[j].binding == d->binding && d->element < s->dynamic[j].count &&
            at + d->element < CHECK_DYNAMIC) {
            *out = offsets[at + d->element];
            return true;
        }
    return false;
}

/* A shader may do with its descriptors what their types and its declarations allow. Which it uses
 * is not known, so of storage nothing is a sure write. */
static void use_sets(check_commands *c, int point, const char *how)
{
    uint64_t offset;
    const struct check_shaders *shaders =
        c->pipelines[point] != 0 ? check_get(CHECK_OF_VK_PIPELINE, c->pipelines[point]) : NULL;
    c->runs_code = true;
    c->stage = point == 1 ? CHECK_STAGE_DISPATCH : CHECK_STAGE_DRAW;
    for (int i = 0; i < CHECK_SETS; i++) {
        const uint64_t key = c->sets[point][i];
        const check_set *s = key == CHECK_PUSHED ? &c->pushed[point]
                             : key != 0          ? check_get(CHECK_OF_VK_SET, key)
                                                 : NULL;
        for (unsigned j = 0; s != NULL && j < s->count; j++) {
            const check_descriptor *d = &s->list[j];
            const check_access_kind storage = check_vk_may_write(shaders, (uint32_t)i, d->binding)
                                                  ? CHECK_READ_OR_WRITE
                                                  : CHECK_READ;
            switch (d->type) {
            case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
                add_resource(c, check_get(CHECK_OF_VK_BUFFER, d->buffer), d->offset, d->range,
                             CHECK_READ, VK_IMAGE_LAYOUT_UNDEFINED, how);
                break;
            case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
                add_resource(c, check_get(CHECK_OF_VK_BUFFER, d->buffer), d->offset, d->range,
                             storage, VK_IMAGE_LAYOUT_UNDEFINED, how);
                break;
            case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
            case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
                if (find_offset(s, c->offsets[point][i], d, &offset))
                    add_resource(
                        c, check_get(CHECK_OF_VK_BUFFER, d->buffer), d->offset + offset, d->range,
                        d->type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ? CHECK_READ : storage,
                        VK_IMAGE_LAYOUT_UNDEFINED, how);
                break;
            case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
            case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
            case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
                add_view(c, d->view, CHECK_READ, d->layout, how);
                break;
            case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
                add_view(c, d->view, CHECK_READ_OR_WRITE, d->layout, how);
                break;
            default: break;
            }
        }
    }
    c->stage = 0;
}

/* The use comes last: it may write all that the transition throws away. */
static void use_attachment(check_commands *c, VkRenderPass pass, unsigned i, uint64_t view,
                           const char *how)
{
    check_vk_pass_changes(c, pass, i, view, how);
    add_view(c, view, CHECK_READ_OR_WRITE, VK_IMAGE_LAYOUT_UNDEFINED, how);
}

static void begin_pass(check_commands *c, const VkRenderPassBeginInfo *info, const char *how)
{
    const framebuffer *f = check_get(CHECK_OF_VK_FRAMEBUFFER, CHECK_KEY(info->framebuffer));
    /* Which attachments are only read, the render pass knows, and it is not followed. */
    for (unsigned i = 0; f != NULL && i < f->count; i++)
        use_attachment(c, info->renderPass, i, f->views[i], how);
    const VkRenderPassAttachmentBeginInfo *views =
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
    for (uint32_t i = 0; f == NULL && views != NULL && i < views->attachmentCount; i++)
        use_attachment(c, info->renderPass, i, CHECK_KEY(views->pAttachments[i]), how);
}

static void attach(check_commands *c, const VkRenderingAttachmentInfo *a, const char *how)
{
    if (a == NULL) return;
    const bool clears = a->loadOp == VK_ATTACHMENT_LOAD_OP_CLEAR;
    add_view(c, CHECK_KEY(a->imageView), clears ? CHECK_WRITE : CHECK_READ_OR_WRITE, a->imageLayout,
             how);
    if (a->resolveMode != VK_RESOLVE_MODE_NONE)
        add_view(c, CHECK_KEY(a->resolveImageView), CHECK_WRITE, a->resolveImageLayout, how);
}

static void begin_rendering(check_commands *c, const VkRenderingInfo *info, const char *how)
{
    for (uint32_t i = 0; i < info->colorAttachmentCount; i++)
        attach(c, &info->pColorAttachments[i], how);
    attach(c, info->pDepthAttachment, how);
    attach(c, info->pStencilAttachment, how);
}

static void copy_buffer(check_commands *c, VkBuffer from, VkBuffer to, uint32_t n,
                        const VkBufferCopy *r, const char *how)
{
    for (uint32_t i = 0; i < n; i++) {
        add_buffer(c, from, r[i].srcOffset, r[i].size, CHECK_READ, how);
        add_buffer(c, to, r[i].dstOffset, r[i].size, CHECK_WRITE, how);
    }
}

/* How many bytes rows take in a buffer, the image's format says; the first one is touched. */
static void copy_rows(check_commands *c, VkBuffer buffer, uint32_t n, const VkBufferImageCopy *r,
                      check_access_kind kind, const char *how)
{
    for (uint32_t i = 0; i < n; i++)
        add_buffer(c, buffer, r[i].bufferOffset, 1, kind, how);
}

static void copy_buffer2(check_commands *c, const VkCopyBufferInfo2 *info, const char *how)
{
    for (uint32_t i = 0; i < info->regionCount; i++) {
        const VkBufferCopy2 *r = &info->pRegions[i];
        add_buffer(c, info->srcBuffer, r->srcOffset, r->size, CHECK_READ, how);
        add_buffer(c, info->dstBuffer, r->dstOffset, r->size, CHECK_WRITE, how);
    }
}

static void copy_rows2(check_commands *c, VkBuffer buffer, uint32_t n, const VkBufferImageCopy2 *r,
                       check_access_kind kind, const char *how)
{
    for (uint32_t i = 0; i < n; i++)
        add_buffer(c, buffer, r[i].bufferOffset, 1, kind, how);
}

/* A barrier that hands a resource over to another API, or takes it back. */
static void transfer(check_commands *c, const check_resource *r, uint64_t offset, uint64_t size,
                     uint32_t from, uint32_t to, const char *how)
{
    const bool out = to == VK_QUEUE_FAMILY_EXTERNAL || to == VK_QUEUE_FAMILY_FOREIGN_EXT;
    const bool in = from == VK_QUEUE_FAMILY_EXTERNAL || from == VK_QUEUE_FAMILY_FOREIGN_EXT;
    if (out != in)
        add_resource(c, r, offset, size, out ? CHECK_RELEASE : CHECK_ACQUIRE,
                     VK_IMAGE_LAYOUT_UNDEFINED, how);
}

#define TRANSFER_BUFFERS(n, list)                                                                  \
    for (uint32_t i = 0; i < (n); i++)                                                             \
    transfer(c, check_get(CHECK_OF_VK_BUFFER, CHECK_KEY((list)[i].buffer)), (list)[i].offset,      \
             (list)[i].size, (list)[i].srcQueueFamilyIndex, (list)[i].dstQueueFamilyIndex, how)
#define TRANSFER_IMAGES(n, list)                                                                   \
    for (uint32_t i = 0; i < (n); i++) {                                                           \
        transfer(c, check_get(CHECK_OF_VK_IMAGE, CHECK_KEY((list)[i].image)), 0, UINT64_MAX,       \
                 (list)[i].srcQueueFamilyIndex, (list)[i].dstQueueFamilyIndex, how);               \
        check_vk_change(c, (list)[i].image, (list)[i].oldLayout, (list)[i].newLayout,              \
                        &(list)[i].subresourceRange, (list)[i].srcQueueFamilyIndex, how);          \
    }

static void execute(check_commands *c, uint32_t n, const VkCommandBuffer *seconds)
{
    for (uint32_t i = 0; i < n; i++) {
        const check_commands *s = check_get(CHECK_OF_VK_COMMANDS, CHECK_KEY(seconds[i]));
        c->runs_code |= s != NULL && s->runs_code;
        for (unsigned j = 0; s != NULL && j < s->count; j++) {
            check_access a = s->accesses[j];
            if (c->ordered) a.stage = 0;
            check_vk_add(c, &a);
        }
        c->ordered |= s != NULL && s->ordered;
    }
}

static void bind_vertices(check_commands *c, uint32_t n, const VkBuffer *buffers,
                          const VkDeviceSize *offsets, const char *how)
{
    for (uint32_t i = 0; i < n; i++)
        if (buffers[i] != VK_NULL_HANDLE) add_buffer(c, buffers[i], offsets[i], 1, CHECK_READ, how);
}

// clang-format off
COMMAND(CmdExecuteCommands, (VkCommandBuffer cb, uint32_t n, const VkCommandBuffer *seconds), (cb, n, seconds), execute(c, n, seconds))
COMMAND(CmdBindPipeline, (VkCommandBuffer cb, VkPipelineBindPoint point, VkPipeline pipeline), (cb, point, pipeline), bind_pipeline(c, point, pipeline))
COMMAND(CmdBindDescriptorSets, (VkCommandBuffer cb, VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t first, uint32_t n, const VkDescriptorSet *sets, uint32_t dynamics, const uint32_t *dynamic),
        (cb, point, layout, first, n, sets, dynamics, dynamic), bind_sets(c, point, first, n, sets, dynamics, dynamic))
COMMAND(CmdBindVertexBuffers, (VkCommandBuffer cb, uint32_t first, uint32_t n, const VkBuffer *buffers, const VkDeviceSize *offsets),
        (cb, first, n, buffers, offsets), bind_vertices(c, n, buffers, offsets, how))
COMMAND(CmdBindIndexBuffer, (VkCommandBuffer cb, VkBuffer buffer, VkDeviceSize offset, VkIndexType type), (cb, buffer, offset, type),
        add_buffer(c, buffer, offset, 1, CHECK_READ, how))
COMMAND(CmdDispatch, (VkCommandBuffer cb, uint32_t x, uint32_t y, uint32_t z), (cb, x, y, z), use_sets(c, 1, how))
COMMAND(CmdDispatchIndirect, (VkCommandBuffer cb, VkBuffer buffer, VkDeviceSize offset), (cb, buffer, offset),
        use_sets(c, 1, how); add_buffer(c, buffer, offset, 12, CHECK_READ, how))
COMMAND(CmdDraw, (VkCommandBuffer cb, uint32_t v, uint32_t i, uint32_t fv, uint32_t fi), (cb, v, i, fv, fi), use_sets(c, 0, how))
COMMAND(CmdDrawIndexed, (VkCommandBuffer cb, uint32_t n, uint32_t i, uint32_t fn, int32_t o, uint32_t fi), (cb, n, i, fn, o, fi), use_sets(c, 0, how))
COMMAND(CmdDrawIndirect, (VkCommandBuffer cb, VkBuffer buffer, VkDeviceSize offset, uint32_t n, uint32_t stride), (cb, buffer, offset, n, stride),
        use_sets(c, 0, how); if (n > 0) add_buffer(c, buffer, offset, 16, CHECK_READ, how))
COMMAND(CmdDrawIndexedIndirect, (VkCommandBuffer cb, VkBuffer buffer, VkDeviceSize offset, uint32_t n, uint32_t stride), (cb, buffer, offset, n, stride),
        use_sets(c, 0, how); if (n > 0) add_buffer(c, buffer, offset, 20, CHECK_READ, how))
COPIES(CmdCopyBuffer, (VkCommandBuffer cb, VkBuffer from, VkBuffer to, uint32_t n, const VkBufferCopy *r), (cb, from, to, n, r),
        copy_buffer(c, from, to, n, r, how))
COPIES(CmdCopyImage, (VkCommandBuffer cb, VkImage from, VkImageLayout fl, VkImage to, VkImageLayout tl, uint32_t n, const VkImageCopy *r), (cb, from, fl, to, tl, n, r),
        add_image(c, CHECK_KEY(from), CHECK_READ, fl, how); add_image(c, CHECK_KEY(to), CHECK_WRITE, tl, how))
COPIES(CmdBlitImage, (VkCommandBuffer cb, VkImage from, VkImageLayout fl, VkImage to, VkImageLayout tl, uint32_t n, const VkImageBlit *r, VkFilter filter), (cb, from, fl, to, tl, n, r, filter),
        add_image(c, CHECK_KEY(from), CHECK_READ, fl, how); add_image(c, CHECK_KEY(to), CHECK_WRITE, tl, how))
COPIES(CmdCopyBufferToImage, (VkCommandBuffer cb, VkBuffer from, VkImage to, VkImageLayout tl, uint32_t n, const VkBufferImageCopy *r), (cb, from, to, tl, n, r),
        copy_rows(c, from, n, r, CHECK_READ, how); add_image(c, CHECK_KEY(to), CHECK_WRITE, tl, how))
COPIES(CmdCopyImageToBuffer, (VkCommandBuffer cb, VkImage from, VkImageLayout fl, VkBuffer to, uint32_t n, const VkBufferImageCopy *r), (cb, from, fl, to, n, r),
        add_image(c, CHECK_KEY(from), CHECK_READ, fl, how); copy_rows(c, to, n, r, CHECK_WRITE, how))
COPIES(CmdCopyBuffer2, (VkCommandBuffer cb, const VkCopyBufferInfo2 *info), (cb, info), copy_buffer2(c, info, how))
COPIES(CmdCopyImage2, (VkCommandBuffer cb, const VkCopyImageInfo2 *info), (cb, info),
        add_image(c, CHECK_KEY(info->srcImage), CHECK_READ, info->srcImageLayout, how); add_image(c, CHECK_KEY(info->dstImage), CHECK_WRITE, info->dstImageLayout, how))
COPIES(CmdBlitImage2, (VkCommandBuffer cb, const VkBlitImageInfo2 *info), (cb, info),
        add_image(c, CHECK_KEY(info->srcImage), CHECK_READ, info->srcImageLayout, how); add_image(c, CHECK_KEY(info->dstImage), CHECK_WRITE, info->dstImageLayout, how))
COPIES(CmdCopyBufferToImage2, (VkCommandBuffer cb, const VkCopyBufferToImageInfo2 *info), (cb, info),
        copy_rows2(c, info->srcBuffer, info->regionCount, info->pRegions, CHECK_READ, how); add_image(c, CHECK_KEY(info->dstImage), CHECK_WRITE, info->dstImageLayout, how))
COPIES(CmdCopyImageToBuffer2, (VkCommandBuffer cb, const VkCopyImageToBufferInfo2 *info), (cb, info),
        add_image(c, CHECK_KEY(info->srcImage), CHECK_READ, info->srcImageLayout, how); copy_rows2(c, info->dstBuffer, info->regionCount, info->pRegions, CHECK_WRITE, how))
ORDERS(CmdPipelineBarrier, (VkCommandBuffer cb, VkPipelineStageFlags from, VkPipelineStageFlags to, VkDependencyFlags flags, uint32_t nm, const VkMemoryBarrier *ms, uint32_t nb, const VkBufferMemoryBarrier *bs, uint32_t ni, const VkImageMemoryBarrier *is),
        (cb, from, to, flags, nm, ms, nb, bs, ni, is), TRANSFER_BUFFERS(nb, bs); TRANSFER_IMAGES(ni, is))
ORDERS(CmdPipelineBarrier2, (VkCommandBuffer cb, const VkDependencyInfo *info), (cb, info),
        TRANSFER_BUFFERS(info->bufferMemoryBarrierCount, info->pBufferMemoryBarriers); TRANSFER_IMAGES(info->imageMemoryBarrierCount, info->pImageMemoryBarriers))
COPIES(CmdFillBuffer, (VkCommandBuffer cb, VkBuffer to, VkDeviceSize offset, VkDeviceSize size, uint32_t word), (cb, to, offset, size, word),
        add_buffer(c, to, offset, size, CHECK_WRITE, how))
COPIES(CmdUpdateBuffer, (VkCommandBuffer cb, VkBuffer to, VkDeviceSize offset, VkDeviceSize size, const void *bytes), (cb, to, offset, size, bytes),
        add_buffer(c, to, offset, size, CHECK_WRITE, how))
COPIES(CmdClearColorImage, (VkCommandBuffer cb, VkImage to, VkImageLayout tl, const VkClearColorValue *v, uint32_t n, const VkImageSubresourceRange *r), (cb, to, tl, v, n, r),
        add_image(c, CHECK_KEY(to), CHECK_WRITE, tl, how))
COPIES(CmdClearDepthStencilImage, (VkCommandBuffer cb, VkImage to, VkImageLayout tl, const VkClearDepthStencilValue *v, uint32_t n, const VkImageSubresourceRange *r), (cb, to, tl, v, n, r),
        add_image(c, CHECK_KEY(to), CHECK_WRITE, tl, how))
COPIES(CmdResolveImage, (VkCommandBuffer cb, VkImage from, VkImageLayout fl, VkImage to, VkImageLayout tl, uint32_t n, const VkImageResolve *r), (cb, from, fl, to, tl, n, r),
        add_image(c, CHECK_KEY(from), CHECK_READ, fl, how); add_image(c, CHECK_KEY(to), CHECK_WRITE, tl, how))
COPIES(CmdResolveImage2, (VkCommandBuffer cb, const VkResolveImageInfo2 *info), (cb, info),
        add_image(c, CHECK_KEY(info->srcImage), CHECK_READ, info->srcImageLayout, how); add_image(c, CHECK_KEY(info->dstImage), CHECK_WRITE, info->dstImageLayout, how))
COPIES(CmdCopyQueryPoolResults, (VkCommandBuffer cb, VkQueryPool queries, uint32_t first, uint32_t n, VkBuffer to, VkDeviceSize offset, VkDeviceSize stride, VkQueryResultFlags flags), (cb, queries, first, n, to, offset, stride, flags),
        if (n > 0 && (flags & (VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_PARTIAL_BIT)) != 0) add_buffer(c, to, offset, 4, CHECK_WRITE, how))
COMMAND(CmdDispatchBase, (VkCommandBuffer cb, uint32_t x, uint32_t y, uint32_t z, uint32_t nx, uint32_t ny, uint32_t nz), (cb, x, y, z, nx, ny, nz), use_sets(c, 1, how))
COMMAND(CmdDrawIndirectCount, (VkCommandBuffer cb, VkBuffer buffer, VkDeviceSize offset, VkBuffer count, VkDeviceSize at, uint32_t most, uint32_t stride), (cb, buffer, offset, count, at, most, stride),
        use_sets(c, 0, how); add_buffer(c, count, at, 4, CHECK_READ, how))
COMMAND(CmdDrawIndexedIndirectCount, (VkCommandBuffer cb, VkBuffer buffer, VkDeviceSize offset, VkBuffer count, VkDeviceSize at, uint32_t most, uint32_t stride), (cb, buffer, offset, count, at, most, stride),
        use_sets(c, 0, how); add_buffer(c, count, at, 4, CHECK_READ, how))
COMMAND(CmdBindVertexBuffers2, (VkCommandBuffer cb, uint32_t first, uint32_t n, const VkBuffer *buffers, const VkDeviceSize *offsets, const VkDeviceSize *sizes, const VkDeviceSize *strides),
        (cb, first, n, buffers, offsets, sizes, strides), bind_vertices(c, n, buffers, offsets, how))
ORDERS(CmdWaitEvents, (VkCommandBuffer cb, uint32_t n, const VkEvent *events, VkPipelineStageFlags from, VkPipelineStageFlags to, uint32_t nm, const VkMemoryBarrier *ms, uint32_t nb, const VkBufferMemoryBarrier *bs, uint32_t ni, const VkImageMemoryBarrier *is),
        (cb, n, events, from, to, nm, ms, nb, bs, ni, is), TRANSFER_BUFFERS(nb, bs); TRANSFER_IMAGES(ni, is))
ORDERS(CmdWaitEvents2, (VkCommandBuffer cb, uint32_t n, const VkEvent *events, const VkDependencyInfo *infos), (cb, n, events, infos),
        for (uint32_t e = 0; e < n; e++) { const VkDependencyInfo *info = &infos[e]; TRANSFER_BUFFERS(info->bufferMemoryBarrierCount, info->pBufferMemoryBarriers); TRANSFER_IMAGES(info->imageMemoryBarrierCount, info->pImageMemoryBarriers) })
ORDERS(CmdBeginRenderPass, (VkCommandBuffer cb, const VkRenderPassBeginInfo *info, VkSubpassContents contents), (cb, info, contents), begin_pass(c, info, how))
ORDERS(CmdBeginRenderPass2, (VkCommandBuffer cb, const VkRenderPassBeginInfo *info, const VkSubpassBeginInfo *subpass), (cb, info, subpass), begin_pass(c, info, how))
COMMAND(CmdBeginRendering, (VkCommandBuffer cb, const VkRenderingInfo *info), (cb, info), begin_rendering(c, info, how))
// clang-format on

/* ---- submissions ---- */

/* The agent of a queue; its number plus one is in the table, for NULL is nothing. */
static int queue_agent(check_model *m, check_vk_device *d, VkQueue queue)
{
    const uintptr_t known = (uintptr_t)check_get(CHECK_OF_VK_QUEUE, CHECK_KEY(queue));
    /* One that this device has not is of a device that is gone, whose handle came again. */
    if (known == 1 || (known > 1 && (d->queues >> (known - 1) & 1) != 0)) return (int)known - 1;
    char name[48];
    (void)snprintf(name, sizeof name, "VkQueue 0x%llx", (unsigned long long)CHECK_KEY(queue));
    const int agent = check_agent_make(m, CHECK_VULKAN, name);
    (void)check_put(CHECK_OF_VK_QUEUE, CHECK_KEY(queue), (void *)((uintptr_t)agent + 1));
    if (agent > 0) d->queues |= UINT64_C(1) << agent;
    return agent;
}

/* Its handle may be another queue's later: queue_agent(). */
void check_vk_queues_end(const check_vk_device *d)
{
    check_model *m = check_open();
    if (m == NULL) return;
    for (int i = 1; i < CHECK_AGENTS; i++)
        if ((d->queues >> i & 1) != 0) check_agent_end(m, i);
    check_close();
}

typedef struct batch {
    check_access *accesses;
    unsigned num_accesses, accesses_room;
    check_turn *turns; /* waits, then signals */
    unsigned num_waits, num_turns, turns_room;
    uint8_t *stages; /* of each turn: at which of check_stages it is waited for */
    bool runs_code;
    bool ordered; /* one of its command buffers has a barrier */
    bool failed;  /* it was told of, and the driver refused it */
} batch;

static void batch_turn(batch *b, VkSemaphore semaphore, uint64_t value, uint8_t stages)
{
    if (b->num_turns == b->turns_room) {
        const unsigned room = b->turns_room == 0 ? 8 : b->turns_room * 2;
        check_turn *grown = realloc(b->turns, room * sizeof *grown);
        if (grown == NULL) return;
        b->turns = grown;
        uint8_t *stages_grown = realloc(b->stages, room);
        if (stages_grown == NULL) return;
        b->stages = stages_grown;
        b->turns_room = room;
    }
    b->stages[b->num_turns] = stages;
    b->turns[b->num_turns++] = (check_turn){
        .payload = check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(semaphore)), .value = value};
}

/* Whether a wait at these stages is one for each of check_stages. Of a drawing's shaders it is not
 * known which use what: the last of them counts. */
static uint8_t stages_of(VkPipelineStageFlags2 wait)
{
    const VkPipelineStageFlags2 all = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT |
                                      VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT,
                                copies =
                                    VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT |
                                    VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_RESOLVE_BIT |
                                    VK_PIPELINE_STAGE_2_BLIT_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT,
                                dispatches = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                after_shaders = VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT |
                                                VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT |
                                                VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT;
    if (wait == 0 || (wait & all) != 0) return CHECK_STAGES;
    return (uint8_t)(((wait & copies) != 0 ? CHECK_STAGE_COPY : 0) |
                     ((wait & dispatches) != 0 ? CHECK_STAGE_DISPATCH : 0) |
                     ((wait & ~(copies | dispatches | after_shaders)) != 0 ? CHECK_STAGE_DRAW : 0));
}

static void batch_commands(batch *b, VkCommandBuffer handle)
{
    const check_commands *c = check_get(CHECK_OF_VK_COMMANDS, CHECK_KEY(handle));
    b->runs_code |= c != NULL && c->runs_code;
    if (c == NULL) return;
    const bool ordered = b->ordered;
    b->ordered |= c->ordered;
    if (c->count == 0) return;
    if (b->num_accesses + c->count > b->accesses_room) {
        const unsigned room = (b->num_accesses + c->count) * 2;
        check_access *grown = realloc(b->accesses, room * sizeof *grown);
        if (grown == NULL) return;
        b->accesses = grown;
        b->accesses_room = room;
    }
    memcpy(b->accesses + b->num_accesses, c->accesses, c->count * sizeof *c->accesses);
    for (unsigned i = 0; ordered && i < c->count; i++)
        b->accesses[b->num_accesses + i].stage = 0;
    b->num_accesses += c->count;
}

/* What its stage does before all waits of the batch are over: a work with those waits that this
 * stage has, before the batch's own. */
static void submit_early(check_model *m, batch *b, int agent, uint8_t stage, const check_site *site)
{
    unsigned waits = 0, accesses = 0, left = 0;
    for (unsigned i = 0; i < b->num_waits; i++)
        waits += (b->stages[i] & stage) != 0;
    for (unsigned i = 0; i < b->num_accesses; i++)
        accesses += b->accesses[i].stage == stage;
    if (waits == b->num_waits || accesses == 0) return;
    check_turn *turns = calloc(waits + 1, sizeof *turns);
    check_access *early = calloc(accesses, sizeof *early);
    if (turns != NULL && early != NULL) {
        waits = accesses = 0;
        for (unsigned i = 0; i < b->num_waits; i++) {
            if ((b->stages[i] & stage) == 0) continue;
            turns[waits++] = b->turns[i];
            /* A binary one is waited for once. What comes after in the queue is after it, too. */
            if (check_payload_is_binary(b->turns[i].payload)) b->turns[i].payload = NULL;
        }
        for (unsigned i = 0; i < b->num_accesses; i++)
            if (b->accesses[i].stage == stage) {
                b->accesses[i].early = true;
                early[accesses++] = b->accesses[i];
            } else {
                b->accesses[left++] = b->accesses[i];
            }
        b->num_accesses = left;
        const check_work work = {
            .waits = turns, .num_waits = waits, .accesses = early, .num_accesses = accesses};
        check_submit(m, agent, &work, site);
    }
    free(turns);
    free(early);
}

static void batch_submit(check_model *m, check_vk_device *d, batch *b, VkQueue queue, VkFence fence,
                         const check_site *site)
{
    const int agent = b->failed ? 0 : queue_agent(m, d, queue);
    for (unsigned stage = 1; !b->failed && stage < CHECK_STAGES; stage *= 2)
        submit_early(m, b, agent, (uint8_t)stage, site);
    check_work work = {.waits = b->turns,
                       .num_waits = b->num_waits,
                       .accesses = b->accesses,
                       .num_accesses = b->num_accesses,
                       .runs_code = b->runs_code};
    b->runs_code = b->ordered = false;
    if (b->num_turns > b->num_waits) {
        work.signals = b->turns + b->num_waits;
        work.num_signals = b->num_turns - b->num_waits;
    }
    if (b->failed) {
        check_submit_failed(m, &work);
        b->num_accesses = b->num_waits = b->num_turns = 0;
        return;
    }
    if (fence != VK_NULL_HANDLE) {
        work.mark = check_mark_make();
        if (work.mark != NULL)
            check_mark_drop(check_put(CHECK_OF_VK_FENCE, CHECK_KEY(fence), work.mark));
    }
    check_submit(m, agent, &work, site);
    b->num_accesses = b->num_waits = b->num_turns = 0;
}

static void batch_free(batch *b)
{
    free(b->accesses);
    free(b->turns);
    free(b->stages);
}

/* The model is told before the driver may begin: another thread may see the end of it at once. */
#define SUBMIT(name, type)                                                                         \
    VkResult VKAPI_CALL check_vk##name(VkQueue queue, uint32_t count, const type *infos,           \
                                       VkFence fence)                                              \
    {                                                                                              \
        check_vk_device *d = check_vk_find(queue);                                                 \
        const bool own = check_inside++ == 0;                                                      \
        const uint64_t since = check_trace_now();                                                  \
        const check_site site = check_here("vk" #name);                                            \
        VkResult result = VK_SUCCESS;                                                              \
        batch b = {0};                                                                             \
        check_model *m = open_if(own);                                                             \
        if (m != NULL) {                                                                           \
            tell_##name(m, d, &b, queue, count, infos, fence, &site);                              \
            check_close();                                                                         \
        }                                                                                          \
        result = d->next.name(queue, count, infos, fence);                                         \
        m = result != VK_SUCCESS ? open_if(own) : NULL;                                            \
        if (m != NULL) {                                                                           \
            b.failed = true;                                                                       \
            if (result == VK_ERROR_DEVICE_LOST) check_model_lost(m);                               \
            tell_##name(m, d, &b, queue, count, infos, fence, &site);                              \
            check_close();                                                                         \
        }                                                                                          \
        batch_free(&b);                                                                            \
        if (own) check_trace_call("vk" #name, since);                                              \
        if (own) check_will_leave();                                                               \
        check_inside--;                                                                            \
        return result;                                                                             \
    }

/* A binary semaphore has no value. `stages` is NULL of signals and of what has one stage. */
static void batch_turns(batch *b, uint32_t count, const VkSemaphore *semaphores,
                        uint32_t num_values, const uint64_t *values,
                        const VkPipelineStageFlags *stages)
{
    for (uint32_t i = 0; i < count; i++)
        batch_turn(b, semaphores[i], i < num_values ? values[i] : 0,
                   stages != NULL ? stages_of(stages[i]) : CHECK_STAGES);
}

static void tell_QueueSubmit(check_model *m, check_vk_device *d, batch *b, VkQueue queue,
                             uint32_t count, const VkSubmitInfo *submits, VkFence fence,
                             const check_site *site)
{
    for (uint32_t i = 0; i < count; i++) {
        const VkSubmitInfo *s = &submits[i];
        const VkTimelineSemaphoreSubmitInfo *t =
            check_vk_in_chain(s->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        batch_turns(b, s->waitSemaphoreCount, s->pWaitSemaphores,
                    t != NULL ? t->waitSemaphoreValueCount : 0,
                    t != NULL ? t->pWaitSemaphoreValues : NULL, s->pWaitDstStageMask);
        b->num_waits = b->num_turns;
        for (uint32_t j = 0; j < s->commandBufferCount; j++)
            batch_commands(b, s->pCommandBuffers[j]);
        batch_turns(b, s->signalSemaphoreCount, s->pSignalSemaphores,
                    t != NULL ? t->signalSemaphoreValueCount : 0,
                    t != NULL ? t->pSignalSemaphoreValues : NULL, NULL);
        batch_submit(m, d, b, queue, i + 1 == count ? fence : VK_NULL_HANDLE, site);
    }
    if (count == 0) batch_submit(m, d, b, queue, fence, site);
}

SUBMIT(QueueSubmit, VkSubmitInfo)

static void tell_QueueSubmit2(check_model *m, check_vk_device *d, batch *b, VkQueue queue,
                              uint32_t count, const VkSubmitInfo2 *submits, VkFence fence,
                              const check_site *site)
{
    if (!d->synchronization2)
        check_note(
            "vkCreateDevice did not enable the feature synchronization2, which vkQueueSubmit2 "
            "needs (with Culvert: culv_vk_merge_device_features())");
    for (uint32_t i = 0; i < count; i++) {
        const VkSubmitInfo2 *s = &submits[i];
        for (uint32_t j = 0; j < s->waitSemaphoreInfoCount; j++)
            batch_turn(b, s->pWaitSemaphoreInfos[j].semaphore, s->pWaitSemaphoreInfos[j].value,
                       stages_of(s->pWaitSemaphoreInfos[j].stageMask));
        b->num_waits = b->num_turns;
        for (uint32_t j = 0; j < s->commandBufferInfoCount; j++)
            batch_commands(b, s->pCommandBufferInfos[j].commandBuffer);
        for (uint32_t j = 0; j < s->signalSemaphoreInfoCount; j++)
            batch_turn(b, s->pSignalSemaphoreInfos[j].semaphore, s->pSignalSemaphoreInfos[j].value,
                       CHECK_STAGES);
        batch_submit(m, d, b, queue, i + 1 == count ? fence : VK_NULL_HANDLE, site);
    }
    if (count == 0) batch_submit(m, d, b, queue, fence, site);
}

SUBMIT(QueueSubmit2, VkSubmitInfo2)

static void tell_QueueBindSparse(check_model *m, check_vk_device *d, batch *b, VkQueue queue,
                                 uint32_t count, const VkBindSparseInfo *infos, VkFence fence,
                                 const check_site *site)
{
    for (uint32_t i = 0; i < count; i++) {
        const VkBindSparseInfo *s = &infos[i];
        const VkTimelineSemaphoreSubmitInfo *t =
            check_vk_in_chain(s->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        batch_turns(b, s->waitSemaphoreCount, s->pWaitSemaphores,
                    t != NULL ? t->waitSemaphoreValueCount : 0,
                    t != NULL ? t->pWaitSemaphoreValues : NULL, NULL);
        b->num_waits = b->num_turns;
        batch_turns(b, s->signalSemaphoreCount, s->pSignalSemaphores,
                    t != NULL ? t->signalSemaphoreValueCount : 0,
                    t != NULL ? t->pSignalSemaphoreValues : NULL, NULL);
        batch_submit(m, d, b, queue, i + 1 == count ? fence : VK_NULL_HANDLE, site);
    }
    if (count == 0) batch_submit(m, d, b, queue, fence, site);
}

SUBMIT(QueueBindSparse, VkBindSparseInfo)

VkResult VKAPI_CALL check_vkQueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *info)
{
    check_vk_device *d = check_vk_find(queue);
    const bool own = check_inside++ == 0;
    const check_site site = check_here("vkQueuePresentKHR");
    check_model *m = open_if(own);
    if (m != NULL) {
        batch b = {0};
        for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
            batch_turn(&b, info->pWaitSemaphores[i], 0, CHECK_STAGES);
        b.num_waits = b.num_turns;
        batch_submit(m, d, &b, queue, VK_NULL_HANDLE, &site);
        batch_free(&b);
        check_close();
    }
    /* A software driver waits here for the picture; others wait in an acquire for an image. */
    const int slot = own ? check_wait_begin_at(&site, NULL, 0) : -1;
    const VkResult result = d->next.QueuePresentKHR(queue, info);
    check_wait_end(slot);
    check_inside--;
    return result;
}

VkResult VKAPI_CALL check_vkAcquireNextImageKHR(VkDevice handle, VkSwapchainKHR chain,
                                                uint64_t timeout, VkSemaphore semaphore,
                                                VkFence fence, uint32_t *index)
{
    const bool own = check_inside++ == 0;
    const int slot = own && timeout > 0 ? check_wait_begin("vkAcquireNextImageKHR", NULL, 0) : -1;
    const VkResult result = check_vk_find(handle)->next.AcquireNextImageKHR(
        handle, chain, timeout, semaphore, fence, index);
    check_wait_end(slot);
    check_inside--;
    return result;
}

VkResult VKAPI_CALL check_vkAcquireNextImage2KHR(VkDevice handle,
                                                 const VkAcquireNextImageInfoKHR *info,
                                                 uint32_t *index)
{
    const bool own = check_inside++ == 0;
    const int slot =
        own && info->timeout > 0 ? check_wait_begin("vkAcquireNextImage2KHR", NULL, 0) : -1;
    const VkResult result = check_vk_find(handle)->next.AcquireNextImage2KHR(handle, info, index);
    check_wait_end(slot);
    check_inside--;
    return result;
}

VkResult VKAPI_CALL check_vkQueueWaitIdle(VkQueue queue)
{
    check_vk_device *d = check_vk_find(queue);
    const bool own = check_inside++ == 0;
    const int slot = own ? check_wait_begin("vkQueueWaitIdle", NULL, 0) : -1;
    const VkResult result = d->next.QueueWaitIdle(queue);
    check_wait_end(slot);
    check_model *m = open_if(own);
    if (m != NULL && result == VK_ERROR_DEVICE_LOST) check_model_lost(m);
    if (m != NULL) {
        if (result == VK_SUCCESS) check_host_saw_agent(m, queue_agent(m, d, queue));
        check_close();
    }
    check_inside--;
    return result;
}

VkResult VKAPI_CALL check_vkDeviceWaitIdle(VkDevice handle)
{
    const check_vk_device *d = check_vk_find(handle);
    const bool own = check_inside++ == 0;
    const int slot = own ? check_wait_begin("vkDeviceWaitIdle", NULL, 0) : -1;
    const VkResult result = d->next.DeviceWaitIdle(handle);
    check_wait_end(slot);
    check_model *m = open_if(own);
    if (m != NULL && result == VK_ERROR_DEVICE_LOST) check_model_lost(m);
    if (m != NULL) {
        if (result == VK_SUCCESS) check_host_saw_agents(m, d->queues);
        check_close();
    }
    check_inside--;
    return result;
}
