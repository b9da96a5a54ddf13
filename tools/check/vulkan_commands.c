/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: what command buffers do to shared memory, and submissions. */
#include "vulkan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SETS 8

typedef struct descriptor {
    uint32_t binding, element;
    VkDescriptorType type;
    uint64_t buffer, view; /* keys; one of them is 0 */
    uint64_t offset, range;
} descriptor;

typedef struct set {
    descriptor *list;
    unsigned count;
} set;

typedef struct framebuffer {
    unsigned count;
    uint64_t views[];
} framebuffer;

/* A command buffer, with what it does to shared memory since it was begun. */
typedef struct commands {
    check_access *accesses;
    unsigned count, room;
    uint64_t sets[2][MOST_SETS]; /* graphics, compute */
} commands;

static commands *commands_of(VkCommandBuffer handle)
{
    commands *c = check_get(CHECK_OF_VK_COMMANDS, CHECK_KEY(handle));
    if (c == NULL) {
        c = calloc(1, sizeof *c);
        if (c != NULL) (void)check_put(CHECK_OF_VK_COMMANDS, CHECK_KEY(handle), c);
    }
    return c;
}

static void commands_clear(check_model *m, commands *c)
{
    for (unsigned i = 0; i < c->count; i++)
        check_payload_drop(m, c->accesses[i].payload);
    c->count = 0;
    memset(c->sets, 0, sizeof c->sets);
}

static bool same_access(const check_access *a, const check_access *b)
{
    return a->payload == b->payload && a->begin == b->begin && a->end == b->end &&
           a->kind == b->kind && a->exclusive == b->exclusive;
}

static void add(commands *c, const check_access *a)
{
    for (unsigned i = c->count; i > 0; i--) /* an access after a barrier is another one */
        if (c->accesses[i - 1].kind == CHECK_RELEASE || c->accesses[i - 1].kind == CHECK_ACQUIRE)
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

static void add_resource(commands *c, const check_resource *r, uint64_t offset, uint64_t size,
                         check_access_kind kind, const char *how)
{
    if (c == NULL || r == NULL || r->payload == NULL || offset >= r->size) return;
    if (size > r->size - offset) size = r->size - offset; /* VK_WHOLE_SIZE too */
    const check_access a = {.payload = r->payload,
                            .begin = r->offset + offset,
                            .end = r->offset + offset + size,
                            .kind = kind,
                            .how = how,
                            .exclusive = r->exclusive};
    add(c, &a);
}

static void add_buffer(commands *c, VkBuffer buffer, uint64_t offset, uint64_t size,
                       check_access_kind kind, const char *how)
{
    add_resource(c, check_get(CHECK_OF_VK_BUFFER, CHECK_KEY(buffer)), offset, size, kind, how);
}

static void add_image(commands *c, uint64_t image, check_access_kind kind, const char *how)
{
    add_resource(c, check_get(CHECK_OF_VK_IMAGE, image), 0, UINT64_MAX, kind, how);
}

static void add_view(commands *c, uint64_t view, check_access_kind kind, const char *how)
{
    add_image(c, CHECK_KEY(check_get(CHECK_OF_VK_VIEW, view)), kind, how);
}

void check_vk_use_buffer(VkCommandBuffer handle, uint64_t buffer, uint64_t offset, uint64_t size,
                         const char *how)
{
    add_resource(commands_of(handle), check_get(CHECK_OF_VK_BUFFER, buffer), offset, size,
                 CHECK_READ_OR_WRITE, how);
}

static check_model *open_if(bool own)
{
    return own ? check_open() : NULL;
}

/* ---- descriptors and framebuffers ---- */

VkResult VKAPI_CALL check_vkAllocateDescriptorSets(VkDevice handle,
                                                   const VkDescriptorSetAllocateInfo *info,
                                                   VkDescriptorSet *out)
{
    const check_vk_device *d = check_vk_find(handle);
    const VkResult result = d->next.AllocateDescriptorSets(handle, info, out);
    check_model *m = result == VK_SUCCESS ? open_if(check_inside == 0) : NULL;
    if (m == NULL) return result;
    for (uint32_t i = 0; i < info->descriptorSetCount; i++) {
        set *s = check_get(CHECK_OF_VK_SET, CHECK_KEY(out[i]));
        if (s != NULL) s->count = 0; /* the handle of a set that is gone */
    }
    check_close();
    return result;
}

static void set_write(uint64_t key, const descriptor *to)
{
    set *s = check_get(CHECK_OF_VK_SET, key);
    const bool concerns = to->buffer != 0
                              ? check_get(CHECK_OF_VK_BUFFER, to->buffer) != NULL
                              : to->view != 0 && check_get(CHECK_OF_VK_VIEW, to->view) != NULL;
    if (s == NULL) {
        s = concerns ? calloc(1, sizeof *s) : NULL;
        if (s == NULL) return;
        (void)check_put(CHECK_OF_VK_SET, key, s);
    }
    for (unsigned i = 0; i < s->count; i++)
        if (s->list[i].binding == to->binding && s->list[i].element == to->element) {
            s->list[i] = *to;
            return;
        }
    if (!concerns) return;
    descriptor *grown = realloc(s->list, (s->count + 1) * sizeof *grown);
    if (grown == NULL) return;
    s->list = grown;
    s->list[s->count++] = *to;
}

void VKAPI_CALL check_vkUpdateDescriptorSets(VkDevice handle, uint32_t writes,
                                             const VkWriteDescriptorSet *write, uint32_t copies,
                                             const VkCopyDescriptorSet *copy)
{
    const check_vk_device *d = check_vk_find(handle);
    check_model *m = open_if(check_inside == 0);
    for (uint32_t i = 0; m != NULL && i < writes; i++)
        for (uint32_t j = 0; j < write[i].descriptorCount; j++) {
            descriptor to = {.binding = write[i].dstBinding,
                             .element = write[i].dstArrayElement + j,
                             .type = write[i].descriptorType};
            switch (write[i].descriptorType) {
            case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
            case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
            case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
            case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
                to.buffer = CHECK_KEY(write[i].pBufferInfo[j].buffer);
                to.offset = write[i].pBufferInfo[j].offset;
                to.range = write[i].pBufferInfo[j].range;
                break;
            case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
            case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
            case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
            case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
                to.view = CHECK_KEY(write[i].pImageInfo[j].imageView);
                break;
            default: break; /* what is not followed still ends what was there */
            }
            set_write(CHECK_KEY(write[i].dstSet), &to);
        }
    if (m != NULL) check_close();
    d->next.UpdateDescriptorSets(handle, writes, write, copies, copy);
}

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
        commands *c = check_get(CHECK_OF_VK_COMMANDS, CHECK_KEY(handle));
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
        commands *c = check_put(CHECK_OF_VK_COMMANDS, CHECK_KEY(buffers[i]), NULL);
        if (c == NULL) continue;
        commands_clear(m, c);
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
            commands *c = commands_of(cb);                                                         \
            if (c != NULL) {                                                                       \
                tell;                                                                              \
            }                                                                                      \
            check_close();                                                                         \
        }                                                                                          \
        (void)how;                                                                                 \
        check_vk_find(cb)->next.name arguments;                                                    \
    }

static void bind_sets(commands *c, VkPipelineBindPoint point, uint32_t first, uint32_t count,
                      const VkDescriptorSet *sets)
{
    if (point != VK_PIPELINE_BIND_POINT_GRAPHICS && point != VK_PIPELINE_BIND_POINT_COMPUTE) return;
    for (uint32_t i = 0; i < count && first + i < MOST_SETS; i++)
        c->sets[point == VK_PIPELINE_BIND_POINT_COMPUTE][first + i] = CHECK_KEY(sets[i]);
}

/* A shader may do with its descriptors what their types allow. Which it uses is not known, so of
 * storage nothing is a sure write. A dynamic offset only moves what is bound. */
static void use_sets(commands *c, int point, const char *how)
{
    for (int i = 0; i < MOST_SETS; i++) {
        const set *s =
            c->sets[point][i] != 0 ? check_get(CHECK_OF_VK_SET, c->sets[point][i]) : NULL;
        for (unsigned j = 0; s != NULL && j < s->count; j++) {
            const descriptor *d = &s->list[j];
            switch (d->type) {
            case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
                add_resource(c, check_get(CHECK_OF_VK_BUFFER, d->buffer), d->offset, d->range,
                             CHECK_READ, how);
                break;
            case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
                add_resource(c, check_get(CHECK_OF_VK_BUFFER, d->buffer), d->offset, d->range,
                             CHECK_READ_OR_WRITE, how);
                break;
            case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
            case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
            case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT: add_view(c, d->view, CHECK_READ, how); break;
            case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
                add_view(c, d->view, CHECK_READ_OR_WRITE, how);
                break;
            default: break;
            }
        }
    }
}

static void begin_pass(commands *c, const VkRenderPassBeginInfo *info, const char *how)
{
    const framebuffer *f = check_get(CHECK_OF_VK_FRAMEBUFFER, CHECK_KEY(info->framebuffer));
    /* Which attachments are only read, the render pass knows, and it is not followed. */
    for (unsigned i = 0; f != NULL && i < f->count; i++)
        add_view(c, f->views[i], CHECK_READ_OR_WRITE, how);
    const VkRenderPassAttachmentBeginInfo *views =
        check_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
    for (uint32_t i = 0; f == NULL && views != NULL && i < views->attachmentCount; i++)
        add_view(c, CHECK_KEY(views->pAttachments[i]), CHECK_READ_OR_WRITE, how);
}

static void attach(commands *c, const VkRenderingAttachmentInfo *a, const char *how)
{
    if (a == NULL) return;
    const bool clears = a->loadOp == VK_ATTACHMENT_LOAD_OP_CLEAR;
    add_view(c, CHECK_KEY(a->imageView), clears ? CHECK_WRITE : CHECK_READ_OR_WRITE, how);
    if (a->resolveMode != VK_RESOLVE_MODE_NONE)
        add_view(c, CHECK_KEY(a->resolveImageView), CHECK_WRITE, how);
}

static void begin_rendering(commands *c, const VkRenderingInfo *info, const char *how)
{
    for (uint32_t i = 0; i < info->colorAttachmentCount; i++)
        attach(c, &info->pColorAttachments[i], how);
    attach(c, info->pDepthAttachment, how);
    attach(c, info->pStencilAttachment, how);
}

static void copy_buffer(commands *c, VkBuffer from, VkBuffer to, uint32_t n, const VkBufferCopy *r,
                        const char *how)
{
    for (uint32_t i = 0; i < n; i++) {
        add_buffer(c, from, r[i].srcOffset, r[i].size, CHECK_READ, how);
        add_buffer(c, to, r[i].dstOffset, r[i].size, CHECK_WRITE, how);
    }
}

/* How many bytes rows take in a buffer, the image's format says; the first one is touched. */
static void copy_rows(commands *c, VkBuffer buffer, uint32_t n, const VkBufferImageCopy *r,
                      check_access_kind kind, const char *how)
{
    for (uint32_t i = 0; i < n; i++)
        add_buffer(c, buffer, r[i].bufferOffset, 1, kind, how);
}

static void copy_buffer2(commands *c, const VkCopyBufferInfo2 *info, const char *how)
{
    for (uint32_t i = 0; i < info->regionCount; i++) {
        const VkBufferCopy2 *r = &info->pRegions[i];
        add_buffer(c, info->srcBuffer, r->srcOffset, r->size, CHECK_READ, how);
        add_buffer(c, info->dstBuffer, r->dstOffset, r->size, CHECK_WRITE, how);
    }
}

static void copy_rows2(commands *c, VkBuffer buffer, uint32_t n, const VkBufferImageCopy2 *r,
                       check_access_kind kind, const char *how)
{
    for (uint32_t i = 0; i < n; i++)
        add_buffer(c, buffer, r[i].bufferOffset, 1, kind, how);
}

/* A barrier that hands a resource over to another API, or takes it back. */
static void transfer(commands *c, const check_resource *r, uint64_t offset, uint64_t size,
                     uint32_t from, uint32_t to, const char *how)
{
    const bool out = to == VK_QUEUE_FAMILY_EXTERNAL || to == VK_QUEUE_FAMILY_FOREIGN_EXT;
    const bool in = from == VK_QUEUE_FAMILY_EXTERNAL || from == VK_QUEUE_FAMILY_FOREIGN_EXT;
    if (out != in) add_resource(c, r, offset, size, out ? CHECK_RELEASE : CHECK_ACQUIRE, how);
}

#define TRANSFER_BUFFERS(n, list)                                                                  \
    for (uint32_t i = 0; i < (n); i++)                                                             \
    transfer(c, check_get(CHECK_OF_VK_BUFFER, CHECK_KEY((list)[i].buffer)), (list)[i].offset,      \
             (list)[i].size, (list)[i].srcQueueFamilyIndex, (list)[i].dstQueueFamilyIndex, how)
#define TRANSFER_IMAGES(n, list)                                                                   \
    for (uint32_t i = 0; i < (n); i++)                                                             \
    transfer(c, check_get(CHECK_OF_VK_IMAGE, CHECK_KEY((list)[i].image)), 0, UINT64_MAX,           \
             (list)[i].srcQueueFamilyIndex, (list)[i].dstQueueFamilyIndex, how)

static void execute(commands *c, uint32_t n, const VkCommandBuffer *seconds)
{
    for (uint32_t i = 0; i < n; i++) {
        const commands *s = check_get(CHECK_OF_VK_COMMANDS, CHECK_KEY(seconds[i]));
        for (unsigned j = 0; s != NULL && j < s->count; j++)
            add(c, &s->accesses[j]);
    }
}

static void bind_vertices(commands *c, uint32_t n, const VkBuffer *buffers,
                          const VkDeviceSize *offsets, const char *how)
{
    for (uint32_t i = 0; i < n; i++)
        if (buffers[i] != VK_NULL_HANDLE) add_buffer(c, buffers[i], offsets[i], 1, CHECK_READ, how);
}

// clang-format off
COMMAND(CmdExecuteCommands, (VkCommandBuffer cb, uint32_t n, const VkCommandBuffer *seconds), (cb, n, seconds), execute(c, n, seconds))
COMMAND(CmdBindDescriptorSets, (VkCommandBuffer cb, VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t first, uint32_t n, const VkDescriptorSet *sets, uint32_t dynamics, const uint32_t *dynamic),
        (cb, point, layout, first, n, sets, dynamics, dynamic), bind_sets(c, point, first, n, sets))
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
COMMAND(CmdCopyBuffer, (VkCommandBuffer cb, VkBuffer from, VkBuffer to, uint32_t n, const VkBufferCopy *r), (cb, from, to, n, r),
        copy_buffer(c, from, to, n, r, how))
COMMAND(CmdCopyImage, (VkCommandBuffer cb, VkImage from, VkImageLayout fl, VkImage to, VkImageLayout tl, uint32_t n, const VkImageCopy *r), (cb, from, fl, to, tl, n, r),
        add_image(c, CHECK_KEY(from), CHECK_READ, how); add_image(c, CHECK_KEY(to), CHECK_WRITE, how))
COMMAND(CmdBlitImage, (VkCommandBuffer cb, VkImage from, VkImageLayout fl, VkImage to, VkImageLayout tl, uint32_t n, const VkImageBlit *r, VkFilter filter), (cb, from, fl, to, tl, n, r, filter),
        add_image(c, CHECK_KEY(from), CHECK_READ, how); add_image(c, CHECK_KEY(to), CHECK_WRITE, how))
COMMAND(CmdCopyBufferToImage, (VkCommandBuffer cb, VkBuffer from, VkImage to, VkImageLayout tl, uint32_t n, const VkBufferImageCopy *r), (cb, from, to, tl, n, r),
        copy_rows(c, from, n, r, CHECK_READ, how); add_image(c, CHECK_KEY(to), CHECK_WRITE, how))
COMMAND(CmdCopyImageToBuffer, (VkCommandBuffer cb, VkImage from, VkImageLayout fl, VkBuffer to, uint32_t n, const VkBufferImageCopy *r), (cb, from, fl, to, n, r),
        add_image(c, CHECK_KEY(from), CHECK_READ, how); copy_rows(c, to, n, r, CHECK_WRITE, how))
COMMAND(CmdCopyBuffer2, (VkCommandBuffer cb, const VkCopyBufferInfo2 *info), (cb, info), copy_buffer2(c, info, how))
COMMAND(CmdCopyImage2, (VkCommandBuffer cb, const VkCopyImageInfo2 *info), (cb, info),
        add_image(c, CHECK_KEY(info->srcImage), CHECK_READ, how); add_image(c, CHECK_KEY(info->dstImage), CHECK_WRITE, how))
COMMAND(CmdBlitImage2, (VkCommandBuffer cb, const VkBlitImageInfo2 *info), (cb, info),
        add_image(c, CHECK_KEY(info->srcImage), CHECK_READ, how); add_image(c, CHECK_KEY(info->dstImage), CHECK_WRITE, how))
COMMAND(CmdCopyBufferToImage2, (VkCommandBuffer cb, const VkCopyBufferToImageInfo2 *info), (cb, info),
        copy_rows2(c, info->srcBuffer, info->regionCount, info->pRegions, CHECK_READ, how); add_image(c, CHECK_KEY(info->dstImage), CHECK_WRITE, how))
COMMAND(CmdCopyImageToBuffer2, (VkCommandBuffer cb, const VkCopyImageToBufferInfo2 *info), (cb, info),
        add_image(c, CHECK_KEY(info->srcImage), CHECK_READ, how); copy_rows2(c, info->dstBuffer, info->regionCount, info->pRegions, CHECK_WRITE, how))
COMMAND(CmdPipelineBarrier, (VkCommandBuffer cb, VkPipelineStageFlags from, VkPipelineStageFlags to, VkDependencyFlags flags, uint32_t nm, const VkMemoryBarrier *ms, uint32_t nb, const VkBufferMemoryBarrier *bs, uint32_t ni, const VkImageMemoryBarrier *is),
        (cb, from, to, flags, nm, ms, nb, bs, ni, is), TRANSFER_BUFFERS(nb, bs); TRANSFER_IMAGES(ni, is))
COMMAND(CmdPipelineBarrier2, (VkCommandBuffer cb, const VkDependencyInfo *info), (cb, info),
        TRANSFER_BUFFERS(info->bufferMemoryBarrierCount, info->pBufferMemoryBarriers); TRANSFER_IMAGES(info->imageMemoryBarrierCount, info->pImageMemoryBarriers))
COMMAND(CmdFillBuffer, (VkCommandBuffer cb, VkBuffer to, VkDeviceSize offset, VkDeviceSize size, uint32_t word), (cb, to, offset, size, word),
        add_buffer(c, to, offset, size, CHECK_WRITE, how))
COMMAND(CmdUpdateBuffer, (VkCommandBuffer cb, VkBuffer to, VkDeviceSize offset, VkDeviceSize size, const void *bytes), (cb, to, offset, size, bytes),
        add_buffer(c, to, offset, size, CHECK_WRITE, how))
COMMAND(CmdClearColorImage, (VkCommandBuffer cb, VkImage to, VkImageLayout l, const VkClearColorValue *v, uint32_t n, const VkImageSubresourceRange *r), (cb, to, l, v, n, r),
        add_image(c, CHECK_KEY(to), CHECK_WRITE, how))
COMMAND(CmdBeginRenderPass, (VkCommandBuffer cb, const VkRenderPassBeginInfo *info, VkSubpassContents contents), (cb, info, contents), begin_pass(c, info, how))
COMMAND(CmdBeginRenderPass2, (VkCommandBuffer cb, const VkRenderPassBeginInfo *info, const VkSubpassBeginInfo *subpass), (cb, info, subpass), begin_pass(c, info, how))
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
    bool failed; /* it was told of, and the driver refused it */
} batch;

static void batch_turn(batch *b, VkSemaphore semaphore, uint64_t value)
{
    if (b->num_turns == b->turns_room) {
        const unsigned room = b->turns_room == 0 ? 8 : b->turns_room * 2;
        check_turn *grown = realloc(b->turns, room * sizeof *grown);
        if (grown == NULL) return;
        b->turns = grown;
        b->turns_room = room;
    }
    b->turns[b->num_turns++] = (check_turn){
        .payload = check_get(CHECK_OF_VK_SEMAPHORE, CHECK_KEY(semaphore)), .value = value};
}

static void batch_commands(batch *b, VkCommandBuffer handle)
{
    const commands *c = check_get(CHECK_OF_VK_COMMANDS, CHECK_KEY(handle));
    if (c == NULL || c->count == 0) return;
    if (b->num_accesses + c->count > b->accesses_room) {
        const unsigned room = (b->num_accesses + c->count) * 2;
        check_access *grown = realloc(b->accesses, room * sizeof *grown);
        if (grown == NULL) return;
        b->accesses = grown;
        b->accesses_room = room;
    }
    memcpy(b->accesses + b->num_accesses, c->accesses, c->count * sizeof *c->accesses);
    b->num_accesses += c->count;
}

static void batch_submit(check_model *m, check_vk_device *d, batch *b, VkQueue queue, VkFence fence,
                         const check_site *site)
{
    check_work work = {.waits = b->turns,
                       .num_waits = b->num_waits,
                       .accesses = b->accesses,
                       .num_accesses = b->num_accesses};
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
    check_submit(m, queue_agent(m, d, queue), &work, site);
    b->num_accesses = b->num_waits = b->num_turns = 0;
}

static void batch_free(batch *b)
{
    free(b->accesses);
    free(b->turns);
}

/* The model is told before the driver may begin: another thread may see the end of it at once. */
#define SUBMIT(name, type)                                                                         \
    VkResult VKAPI_CALL check_vk##name(VkQueue queue, uint32_t count, const type *infos,           \
                                       VkFence fence)                                              \
    {                                                                                              \
        check_vk_device *d = check_vk_find(queue);                                                 \
        const bool own = check_inside++ == 0;                                                      \
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
        if (own) check_will_leave();                                                               \
        check_inside--;                                                                            \
        return result;                                                                             \
    }

/* A binary semaphore has no value. */
static void batch_turns(batch *b, uint32_t count, const VkSemaphore *semaphores,
                        uint32_t num_values, const uint64_t *values)
{
    for (uint32_t i = 0; i < count; i++)
        batch_turn(b, semaphores[i], i < num_values ? values[i] : 0);
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
                    t != NULL ? t->pWaitSemaphoreValues : NULL);
        b->num_waits = b->num_turns;
        for (uint32_t j = 0; j < s->commandBufferCount; j++)
            batch_commands(b, s->pCommandBuffers[j]);
        batch_turns(b, s->signalSemaphoreCount, s->pSignalSemaphores,
                    t != NULL ? t->signalSemaphoreValueCount : 0,
                    t != NULL ? t->pSignalSemaphoreValues : NULL);
        batch_submit(m, d, b, queue, i + 1 == count ? fence : VK_NULL_HANDLE, site);
    }
    if (count == 0) batch_submit(m, d, b, queue, fence, site);
}

SUBMIT(QueueSubmit, VkSubmitInfo)

static void tell_QueueSubmit2(check_model *m, check_vk_device *d, batch *b, VkQueue queue,
                              uint32_t count, const VkSubmitInfo2 *submits, VkFence fence,
                              const check_site *site)
{
    for (uint32_t i = 0; i < count; i++) {
        const VkSubmitInfo2 *s = &submits[i];
        for (uint32_t j = 0; j < s->waitSemaphoreInfoCount; j++)
            batch_turn(b, s->pWaitSemaphoreInfos[j].semaphore, s->pWaitSemaphoreInfos[j].value);
        b->num_waits = b->num_turns;
        for (uint32_t j = 0; j < s->commandBufferInfoCount; j++)
            batch_commands(b, s->pCommandBufferInfos[j].commandBuffer);
        for (uint32_t j = 0; j < s->signalSemaphoreInfoCount; j++)
            batch_turn(b, s->pSignalSemaphoreInfos[j].semaphore, s->pSignalSemaphoreInfos[j].value);
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
                    t != NULL ? t->pWaitSemaphoreValues : NULL);
        b->num_waits = b->num_turns;
        batch_turns(b, s->signalSemaphoreCount, s->pSignalSemaphores,
                    t != NULL ? t->signalSemaphoreValueCount : 0,
                    t != NULL ? t->pSignalSemaphoreValues : NULL);
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
            batch_turn(&b, info->pWaitSemaphores[i], 0);
        b.num_waits = b.num_turns;
        batch_submit(m, d, &b, queue, VK_NULL_HANDLE, &site);
        batch_free(&b);
        check_close();
    }
    const VkResult result = d->next.QueuePresentKHR(queue, info);
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
