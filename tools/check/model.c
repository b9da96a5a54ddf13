/* SPDX-License-Identifier: MIT */
/* culvert-check's model: what is shared, and what an import says of it. */
#include "model_inside.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

check_model *check_model_make(check_report report, void *user, bool ordered)
{
    check_model *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->report = report;
    m->user = user;
    m->ordered = ordered;
    for (int i = 0; i < CHECK_AGENTS; i++)
        m->agents[i].last = &m->agents[i].first;
    m->agents[0].used = true;
    m->agents[0].api = CHECK_HOST;
    return m;
}

static void payload_free(check_payload *p)
{
    while (p->signals != NULL) {
        check_signal *s = p->signals;
        p->signals = s->next;
        free(s);
    }
    free(p->records);
    free(p->kept);
    free(p->uses);
    check_pictures_free(p);
    free(p);
}

static void op_free(check_op *op)
{
    if (op->after != NULL) check_mark_drop(op->after);
    if (op->mark != NULL) check_mark_drop(op->mark);
    free(op->waits);
    free(op->accesses);
    free(op->signals);
    free(op);
}

void check_model_free(check_model *m)
{
    if (m == NULL) return;
    for (int i = 0; i < CHECK_AGENTS; i++)
        while (m->agents[i].first != NULL) {
            check_op *op = m->agents[i].first;
            m->agents[i].first = op->next;
            op_free(op);
        }
    while (m->fds != NULL) {
        check_fd *f = m->fds;
        m->fds = f->next;
        free(f);
    }
    while (m->payloads != NULL) {
        check_payload *p = m->payloads;
        m->payloads = p->next;
        payload_free(p);
    }
    free(m);
}

unsigned check_model_unjudged(const check_model *m)
{
    return m->unjudged;
}

check_counts check_model_counts(const check_model *m)
{
    return m->counts;
}

void check_model_look(check_model *m, check_look look)
{
    m->look = look;
}

void check_model_watch(check_model *m, const check_watch *watch)
{
    m->watch = watch;
}

void check_payload_describe(const check_payload *p, char *out, size_t size)
{
    (void)snprintf(out, size, "%s", p->name[0] != '\0' ? p->name : p->object);
}

void check_find(check_model *m, check_what what, const check_payload *p, const check_site *here,
                const check_site *earlier, const char *sentence, ...)
{
    static const char *const kinds[] = {"memory", "timeline semaphore", "binary semaphore"};
    check_finding f = {.what = what};
    if (m->lost && strchr("deg", check_rules[what].letter) != NULL) return;
    va_list arguments;
    va_start(arguments, sentence);
    (void)vsnprintf(f.sentence, sizeof f.sentence, sentence, arguments);
    va_end(arguments);
    if (p != NULL) {
        int length = snprintf(f.object, sizeof f.object, "%s %s", kinds[p->info.kind], p->object);
        if (p->name[0] != '\0' && length > 0 && (size_t)length < sizeof f.object)
            (void)snprintf(f.object + length, sizeof f.object - (size_t)length, " \"%s\"", p->name);
    }
    if (p == NULL && m->object != NULL) (void)snprintf(f.object, sizeof f.object, "%s", m->object);
    f.unless = m->unless;
    f.generation = m->unless_generation;
    f.value = m->unless_value;
    if (here != NULL) f.here = *here;
    if (earlier != NULL) f.earlier = *earlier;
    m->report(m->user, &f);
}

check_payload *check_payload_make(check_model *m, const check_payload_info *info,
                                  const char *object, const check_site *site)
{
    check_payload *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->references = 1;
    p->info = *info;
    p->unseen = info->foreign;
    p->reached = info->value;
    if (info->uuid != NULL) {
        memcpy(p->uuid, info->uuid, CHECK_UUID);
        p->info.uuid = p->uuid;
    }
    (void)snprintf(p->object, sizeof p->object, "%s", object);
    if (site != NULL) p->made = *site;
    p->next = m->payloads;
    if (p->next != NULL) p->next->previous = p;
    m->payloads = p;
    return p;
}

void check_payload_keep(check_payload *p)
{
    if (p != NULL) p->references++;
}

void check_payload_drop(check_model *m, check_payload *p)
{
    if (p == NULL || --p->references > 0) return;
    if (p->previous != NULL)
        p->previous->next = p->next;
    else
        m->payloads = p->next;
    if (p->next != NULL) p->next->previous = p->previous;
    check_tree_drop(m, p);
    payload_free(p);
}

void check_payload_name(check_payload *p, const char *name)
{
    if (p != NULL) (void)snprintf(p->name, sizeof p->name, "%s", name != NULL ? name : "");
}

void check_payload_opaque(check_payload *p)
{
    if (p == NULL || p->info.foreign) return;
    p->info.foreign = true;
    check_tree_opaque(p);
}

bool check_payload_is(const check_payload *p, check_kind kind)
{
    return p != NULL && p->info.kind == kind;
}

uint64_t check_payload_size(const check_payload *p)
{
    return p != NULL ? p->info.size : 0;
}

void check_imported(check_model *m, const check_import *i, const check_site *site)
{
    const check_payload *p = i->payload;
    static const char *const kinds[] = {"memory", "a timeline semaphore", "a binary semaphore"};
    if (p == NULL) return;
    m->counts.imported++;
    const check_kind asked = i->memory ? CHECK_MEMORY : i->timeline ? CHECK_TIMELINE : CHECK_BINARY;
    if (asked != p->info.kind) {
        check_find(m, CHECK_HANDLE_TYPE, p, site, &p->made,
                   "CUDA is told that the descriptor is %s, but it is %s.", kinds[asked],
                   kinds[p->info.kind]);
        return;
    }
    if (p->info.type != 0 && i->type != p->info.type)
        check_find(m, CHECK_HANDLE_TYPE, p, site, &p->made,
                   "The handle was exported as Vulkan's type 0x%" PRIx32
                   ", and CUDA is told what is type 0x%" PRIx32 ".",
                   p->info.type, i->type);
    if (p->info.uuid != NULL && i->uuid != NULL && memcmp(p->info.uuid, i->uuid, CHECK_UUID) != 0)
        check_find(
            m, CHECK_OTHER_GPU, p, site, &p->made,
            "The VkDevice is on the GPU %02x%02x%02x%02x...%02x%02x, and CUDA imports on the "
            "GPU %02x%02x%02x%02x...%02x%02x (first and last bytes of the UUIDs).",
            p->info.uuid[0], p->info.uuid[1], p->info.uuid[2], p->info.uuid[3], p->info.uuid[14],
            p->info.uuid[15], i->uuid[0], i->uuid[1], i->uuid[2], i->uuid[3], i->uuid[14],
            i->uuid[15]);
    if (!i->memory || p->unseen || (p->info.foreign && p->tree == 0)) return;
    if (i->size != p->info.size)
        check_find(m, CHECK_SIZE, p, site, &p->made,
                   "CUDA is told %" PRIu64 " bytes, and the memory has %" PRIu64 ".", i->size,
                   p->info.size);
    if (p->info.any_dedication) return;
    if (p->info.dedicated && !i->dedicated)
        check_find(m, CHECK_DEDICATED, p, site, &p->made,
                   "Vulkan allocated the memory for one buffer or image alone "
                   "(VkMemoryDedicatedAllocateInfo), and CUDA is not told so.");
    /* NVIDIA's sample simpleVulkan of 2022 does. */
    if (!p->info.dedicated && i->dedicated && m->strict)
        check_find(m, CHECK_NOT_DEDICATED, p, site, &p->made,
                   "CUDA is told that the memory is dedicated, and Vulkan allocated it without "
                   "VkMemoryDedicatedAllocateInfo.");
}

void check_used_on(check_model *m, const check_payload *p, const uint8_t *uuid,
                   const check_site *site)
{
    if (p == NULL || p->info.uuid == NULL || memcmp(p->info.uuid, uuid, CHECK_UUID) == 0) return;
    check_find(m, CHECK_OTHER_GPU, p, site, &p->made,
               "The driver refused the call: the VkDevice is on the GPU %02x%02x...%02x%02x, and "
               "the stream on the GPU %02x%02x...%02x%02x (first and last bytes of the UUIDs).",
               p->info.uuid[0], p->info.uuid[1], p->info.uuid[14], p->info.uuid[15], uuid[0],
               uuid[1], uuid[14], uuid[15]);
}

void check_mapped(check_model *m, check_payload *p, uint64_t imported, uint64_t offset,
                  uint64_t size, const check_site *site)
{
    if (p == NULL || (offset <= imported && size <= imported - offset)) return;
    check_find(m, CHECK_RANGE, p, site, &p->made,
               "The mapping is %" PRIu64 " bytes from offset %" PRIu64
               ", and the import has %" PRIu64 " bytes.",
               size, offset, imported);
}

void check_used_after(check_model *m, check_payload *p, const check_site *site,
                      const check_site *gone)
{
    check_find(m, CHECK_USED_AFTER, p, site, gone,
               "The call uses an address of imported memory that %s has ended.",
               gone->call != NULL ? gone->call : "its destruction");
}

void check_model_strict(check_model *m)
{
    m->strict = true;
}

void check_model_lost(check_model *m)
{
    m->lost = true;
}

void check_payload_typed(check_payload *p, uint32_t type)
{
    if (p != NULL) p->info.type = type;
}
