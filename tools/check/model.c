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

/* culvert-check's model: descriptors from birth to their end. */

static check_fd *find(const check_model *m, int fd)
{
    check_fd *f = m->fds;
    while (f != NULL && f->fd != fd)
        f = f->next;
    return f;
}

static void forget(check_model *m, check_fd *f)
{
    check_fd **link = &m->fds;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    check_payload_drop(m, f->payload);
    free(f);
}

void check_fd_forget(check_model *m, int fd)
{
    check_fd *f = find(m, fd);
    if (f != NULL) forget(m, f);
}

bool check_fd_known(const check_model *m, int fd)
{
    return find(m, fd) != NULL;
}

bool check_fd_is(const check_model *m, int fd, const check_payload *p)
{
    const check_fd *f = find(m, fd);
    return f != NULL && f->payload == p;
}

void check_fd_born(check_model *m, int fd, check_payload *p, const check_identity *identity,
                   const check_site *site)
{
    check_fd_forget(m, fd); /* the number has been another file's */
    check_fd *f = p != NULL && fd >= 0 ? calloc(1, sizeof *f) : NULL;
    if (f == NULL) return;
    check_payload_keep(p);
    m->counts.exported++;
    f->fd = fd;
    f->payload = p;
    if (identity != NULL) f->identity = *identity;
    if (identity != NULL && identity->own) p->file = *identity;
    check_tree_register(m, p);
    if (site != NULL) f->born = *site;
    f->next = m->fds;
    m->fds = f;
}

/* The record of a number that is still what it was; one of another file is forgotten. Once a driver
 * has a descriptor, it may close it at any time: the number is then nobody's. */
static check_fd *current(check_model *m, int fd)
{
    check_fd *f = find(m, fd);
    if (f == NULL || m->look == NULL) return f;
    const check_same same = m->look(fd, &f->identity);
    if (same == CHECK_SAME || (same == CHECK_GONE && f->state == FD_TAKEN)) return f;
    forget(m, f);
    return NULL;
}

static void find_taken(check_model *m, check_what what, const check_fd *f, const check_site *site,
                       const char *does)
{
    m->object = f->object;
    check_find(m, what, NULL, site, &f->taken, "The program %s descriptor %d, which %s took.", does,
               f->fd, f->taken.call);
    m->object = NULL;
}

check_payload *check_fd_asked(check_model *m, int fd, const check_identity *now,
                              const check_site *site)
{
    check_fd *f = current(m, fd);
    if (f == NULL && now != NULL && now->own) {
        check_payload *p = m->payloads;
        while (p != NULL &&
               (!p->file.own || p->file.device != now->device || p->file.inode != now->inode))
            p = p->next;
        if (p != NULL) {
            check_fd_born(m, fd, p, now, site);
            return p;
        }
        p = check_payload_of_file(m, now);
        if (p == NULL) return NULL;
        check_fd_received(m, fd, p, now, true, site);
        check_payload_drop(m, p);
        return p;
    }
    if (f == NULL) return NULL;
    if (f->state != FD_TAKEN) return f->payload;
    find_taken(m, CHECK_FD_TWICE, f, site, "imports");
    return NULL;
}

void check_fd_taken(check_model *m, int fd, bool taken, const check_site *site)
{
    check_fd *f = find(m, fd);
    if (f == NULL || f->state == FD_TAKEN) return;
    f->state = taken ? FD_TAKEN : FD_UNSURE;
    if (site != NULL) f->taken = *site;
    if (!taken) return;
    (void)snprintf(f->object, sizeof f->object, "%s%s%s%s", f->payload->object,
                   f->payload->name[0] != '\0' ? " \"" : "", f->payload->name,
                   f->payload->name[0] != '\0' ? "\"" : "");
    check_payload_drop(m, f->payload);
    f->payload = NULL;
}

void check_fd_closing(check_model *m, int fd, const check_site *site)
{
    check_fd *f = current(m, fd);
    if (f == NULL) return;
    if (f->state == FD_TAKEN) find_taken(m, CHECK_FD_CLOSED, f, site, "closes");
    forget(m, f);
}

void check_fd_duplicated(check_model *m, int fd, int copy, const check_site *site)
{
    check_fd_forget(m, copy);
    check_fd *f = current(m, fd);
    if (f == NULL) return;
    if (f->state == FD_TAKEN)
        find_taken(m, CHECK_FD_USED, f, site, "duplicates");
    else {
        check_fd_born(m, copy, f->payload, &f->identity, &f->born);
        if (f->received) m->counts.exported--;
    }
}

bool check_fd_sent(check_model *m, int fd, const check_site *site)
{
    check_fd *f = current(m, fd);
    if (f == NULL) return false;
    if (f->state != FD_TAKEN) return true;
    find_taken(m, CHECK_FD_USED, f, site, "sends");
    return false;
}

check_payload *check_fd_payload(check_model *m, int fd)
{
    const check_fd *f = find(m, fd);
    return f != NULL && f->state != FD_TAKEN ? f->payload : NULL;
}

void check_fd_received(check_model *m, int fd, check_payload *p, const check_identity *identity,
                       bool inherited, const check_site *site)
{
    check_fd_born(m, fd, p, identity, site);
    check_fd *f = find(m, fd);
    if (f == NULL || f->payload != p) return;
    m->counts.exported--;
    f->received = true;
    f->inherited = inherited;
}

void check_fds_live(check_model *m,
                    void (*each)(void *user, int fd, check_payload *p, const check_identity *is),
                    void *user)
{
    for (check_fd *f = m->fds; f != NULL; f = f->next)
        if (f->state == FD_LIVE && (m->look == NULL || m->look(f->fd, &f->identity) == CHECK_SAME))
            each(user, f->fd, f->payload, &f->identity);
}

static void find_leaks(check_model *m)
{
    for (check_fd *f = m->fds; f != NULL; f = f->next) {
        /* A driver that refused one may have closed it, and the number may be another file of the
         * same kind; only a file of its own is known again. */
        if (f->state == FD_TAKEN || (f->state == FD_UNSURE && !f->identity.own)) continue;
        if (f->inherited) continue; /* its parent's business */
        if (m->look != NULL && m->look(f->fd, &f->identity) != CHECK_SAME) continue;
        check_find(m, CHECK_FD_LEAKED, f->payload, &f->born, NULL,
                   "Descriptor %d was %s and neither imported nor closed.", f->fd,
                   f->received ? "received" : "exported");
    }
}

/* Who submitted the signal, behind a wait that does not end either; NULL: nobody. */
static const char *held_by(const check_model *m, const check_payload *p, uint64_t value)
{
    for (int i = 1; i < CHECK_AGENTS; i++)
        for (const check_op *op = m->agents[i].first; op != NULL; op = op->next)
            for (unsigned j = 0; j < op->num_signals; j++)
                if (op->signals[j].payload == p && op->signals[j].value == value)
                    return m->agents[i].name;
    return NULL;
}

/* The waits whose signal nobody submitted, then those that they hold up. At the end of a process
 * another one may still end what it waits for. */
static bool find_endless(check_model *m, bool at_end, bool held)
{
    bool found = false;
    for (int i = 1; i < CHECK_AGENTS; i++) {
        const check_op *op = m->agents[i].first;
        if (op == NULL) continue;
        for (unsigned j = 0; j < op->num_waits; j++) {
            const check_payload *p = op->waits[j].payload;
            if (p == NULL || check_foreign(m, p) || !p->info.shared) continue;
            const uint64_t reached = check_reached(p);
            if (p->info.kind == CHECK_TIMELINE && reached < op->waits[j].value) {
                const char *holder = held_by(m, p, op->waits[j].value);
                if ((holder != NULL) != held) continue;
                const bool settled = check_tree_settled(m, p);
                if (!settled && !at_end) break;
                if (!settled) check_tree_unless(m, p, op->waits[j].value);
                check_find(m, CHECK_ENDLESS_WAIT, p, &op->site, &p->made,
                           "%s waits for the value %llu, and what was submitted signals no more "
                           "than %llu%s%s.",
                           m->agents[i].name, (unsigned long long)op->waits[j].value,
                           (unsigned long long)reached, held ? ", since this waits itself: " : "",
                           held ? holder : "");
                m->unless = 0;
                found = true;
                break;
            }
            if (p->info.kind == CHECK_BINARY && p->signals == NULL && !held) {
                check_find(m, CHECK_ENDLESS_WAIT, p, &op->site, &p->made,
                           "%s waits for a binary semaphore that nothing signals.",
                           m->agents[i].name);
                found = true;
                break;
            }
        }
    }
    if (!held && find_endless(m, at_end, true)) found = true;
    return found;
}

bool check_stuck(check_model *m, check_payload *p, uint64_t value, const check_site *site)
{
    check_run(m);
    if (p != NULL && p->info.shared && !check_foreign(m, p) && check_reached(p) < value &&
        check_tree_settled(m, p)) {
        check_find(
            m, CHECK_ENDLESS_WAIT, p, site, &p->made,
            "The host waits for the value %llu for a long time, and what can be done signals no "
            "more than %llu.",
            (unsigned long long)value, (unsigned long long)check_reached(p));
        (void)find_endless(m, false, false);
        return true;
    }
    return find_endless(m, false, false);
}

void check_end(check_model *m, const check_site *site)
{
    (void)site;
    check_run(m);
    find_leaks(m);
    (void)find_endless(m, true, false);
}
