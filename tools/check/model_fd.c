/* SPDX-License-Identifier: MIT */
/* culvert-check's model: descriptors from birth to their end. */
#include "model_inside.h"

#include <stdio.h>
#include <stdlib.h>

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
