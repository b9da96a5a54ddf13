/* SPDX-License-Identifier: MIT */
/* culvert-check's model: what processes of one tree tell each other of what they share.
 *
 * A payload that leaves its process has an order in the region: a timeline the values that were
 * signaled, each with what is known to be done then, a memory its accesses. Clocks name queues and
 * streams of all processes by their numbers there.
 *
 * Messages between hosts are not seen. So what the host of one process knows counts as known to
 * the hosts of all, as it does for the threads of one. */
#include "model_inside.h"

#include "tree.h"

#include <stdio.h>
#include <string.h>

static check_region *enter(const check_model *m)
{
    return m->tree.region != NULL && m->tree.enter() ? m->tree.region : NULL;
}

/* Others hear at once that what they were told is not all. */
void check_tree_opaque(check_payload *p)
{
    if (p->shared == NULL) return;
    p->shared->foreign = 1;
    if (p->ordered) (*p->unseen_events)++;
}

static uint64_t own_bit(const check_model *m)
{
    return UINT64_C(1) << m->tree.process;
}

bool check_foreign(const check_model *m, const check_payload *p)
{
    const tree_payload *s = p->shared;
    return p->info.foreign ||
           (s != NULL && (s->foreign != 0 || (s->participants & m->tree.region->left) != 0));
}

void check_model_join(check_model *m, const check_tree *tree)
{
    m->tree = *tree;
}

bool check_model_active(const check_model *m)
{
    return m->active && m->tree.region != NULL;
}

void check_model_run(check_model *m)
{
    check_run(m);
}

void check_tree_pending(check_model *m, bool pending)
{
    check_region *r = m->active ? m->tree.region : NULL;
    if (r == NULL) return;
    if (pending)
        r->pending |= own_bit(m);
    else if ((r->pending & own_bit(m)) != 0)
        r->pending &= ~own_bit(m);
}

/* Its work waits for ours in its list until it looks again. */
void check_tree_catch_up(check_model *m, check_payload *p, uint64_t value)
{
    if (!p->ordered || m->tree.region == NULL || m->tree.pause == NULL) return;
    for (int i = 0; i < 200 && check_reached(p) < value && !check_foreign(m, p); i++) {
        if ((m->tree.region->pending & ~own_bit(m)) == 0) return;
        m->tree.ring();
        m->tree.pause();
        check_run(m);
    }
}

/* ---- payloads ---- */

static bool has_heir(const check_region *r, uint32_t number)
{
    for (unsigned i = 0; i < TREE_HEIRS; i++)
        if (r->heirs[i].used != 0 && r->heirs[i].payload == number) return true;
    return false;
}

static void release(check_region *r, tree_payload *s)
{
    const uint32_t number = (uint32_t)(s - r->payloads) + 1, order = s->order;
    if (s->participants != 0 || check_tree_in_flight(r, number) || has_heir(r, number)) return;
    s->used = 0;
    if (order != 0) {
        s->order = 0;
        r->orders[order - 1].used = 0;
    }
}

static void lose(check_region *r, uint64_t to);

void check_tree_clear(check_region *r, unsigned process)
{
    const uint64_t bit = UINT64_C(1) << process;
    r->pending &= ~bit;
    for (unsigned i = 0; i < CHECK_FAR; i++)
        if (r->agents[i].process == process) r->agents[i].used = 0;
    for (unsigned i = 0; i < TREE_MESSAGES; i++) {
        tree_message *t = &r->messages[i];
        if (t->used != 0 && t->pending && t->sender == process) lose(r, t->to);
    }
    for (unsigned i = 0; i < TREE_ORDERS; i++)
        for (unsigned j = 0; r->orders[i].used == TREE_OF_MEMORY && j < TREE_RECORDS; j++)
            if (r->orders[i].of.records[j].process == process) r->orders[i].of.records[j].used = 0;
    for (unsigned i = 0; i < TREE_PAYLOADS; i++) {
        tree_payload *s = &r->payloads[i];
        if (s->used == 0 || (s->participants & bit) == 0) continue;
        s->participants &= ~bit;
        release(r, s);
    }
}

/* There is no room: what processes had goes that have ended. */
static void sweep(const check_model *m, check_region *r)
{
    for (unsigned i = 0; i < TREE_PROCESSES; i++) {
        if (i == m->tree.process || r->processes[i].used == 0 || m->tree.alive(r, i)) continue;
        for (unsigned j = 0; j < TREE_HEIRS; j++)
            if (r->heirs[j].pid == r->processes[i].pid) r->heirs[j].used = 0;
        check_tree_clear(r, i);
    }
}

static void share(check_region *r, check_payload *p, uint32_t number)
{
    p->tree = number;
    p->shared = &r->payloads[number - 1];
    p->unseen_events = &r->unseen;
}

void check_tree_register(check_model *m, check_payload *p)
{
    check_region *r = p->tree == 0 && p->info.shared && !p->unseen ? enter(m) : NULL;
    tree_payload *s = NULL;
    if (r == NULL) return;
    (void)atomic_fetch_or(&r->saw, TREE_SHARED);
    for (unsigned turn = 0; turn < 2 && s == NULL; turn++) {
        for (unsigned i = 0; i < TREE_PAYLOADS && s == NULL; i++)
            if (r->payloads[i].used == 0) s = &r->payloads[i];
        if (s == NULL) sweep(m, r);
    }
    if (s == NULL) return;
    s->generation++;
    s->foreign = p->info.foreign;
    s->order = 0;
    s->participants = own_bit(m);
    s->reached = p->reached;
    s->kind = p->info.kind;
    s->type = p->info.type;
    s->size = p->info.size;
    s->value = p->info.value;
    s->dedicated = p->info.dedicated;
    s->any_dedication = p->info.any_dedication;
    s->has_uuid = p->info.uuid != NULL;
    memcpy(s->uuid, p->uuid, CHECK_UUID);
    s->file = p->file;
    memcpy(s->object, p->object, sizeof s->object);
    memcpy(s->name, p->name, sizeof s->name);
    m->tree.write_site(&s->made, &p->made);
    s->used = 1;
    share(r, p, (uint32_t)(s - r->payloads) + 1);
}

void check_tree_drop(check_model *m, check_payload *p)
{
    check_region *r = p->tree != 0 ? enter(m) : NULL;
    if (r == NULL) return;
    tree_payload *s = &r->payloads[p->tree - 1];
    s->participants &= ~own_bit(m);
    release(r, s);
}

bool check_payload_is_file(const check_payload *p, const check_identity *file)
{
    return !p->file.own ||
           (file->own && p->file.device == file->device && p->file.inode == file->inode);
}

bool check_payload_is_binary(const check_payload *p)
{
    return p != NULL && p->info.kind == CHECK_BINARY;
}

uint32_t check_payload_number(const check_payload *p)
{
    return p != NULL ? p->tree : 0;
}

check_payload *check_payload_adopt(check_model *m, uint32_t number)
{
    check_region *r = number != 0 && number <= TREE_PAYLOADS ? enter(m) : NULL;
    tree_payload *s = r != NULL ? &r->payloads[number - 1] : NULL;
    if (s == NULL || s->used == 0) return NULL;
    for (check_payload *p = m->payloads; p != NULL; p = p->next) {
        if (p->tree != number) continue;
        check_payload_keep(p);
        return p;
    }
    const check_site made = m->tree.read_site(&s->made);
    const check_payload_info info = {.kind = (check_kind)s->kind,
                                     .size = s->size,
                                     .value = s->value,
                                     .uuid = s->has_uuid ? s->uuid : NULL,
                                     .shared = true,
                                     .dedicated = s->dedicated,
                                     .any_dedication = s->any_dedication,
                                     .type = s->type};
    check_payload *p = check_payload_make(m, &info, s->object, &made);
    if (p == NULL) return NULL;
    check_payload_name(p, s->name);
    p->file = s->file;
    share(r, p, number);
    p->ordered = s->order != 0;
    s->participants |= own_bit(m);
    if (p->ordered)
        m->active = true;
    else
        check_payload_opaque(p); /* its maker tells nobody what happens to it */
    return p;
}

check_payload *check_payload_of_file(check_model *m, const check_identity *file)
{
    check_region *r = file != NULL && file->own ? enter(m) : NULL;
    if (r == NULL) return NULL;
    for (uint32_t i = 0; i < TREE_PAYLOADS; i++) {
        const tree_payload *s = &r->payloads[i];
        if (s->used != 0 && s->file.own && s->file.device == file->device &&
            s->file.inode == file->inode)
            return check_payload_adopt(m, i + 1);
    }
    return NULL;
}

/* ---- clocks ---- */

static uint32_t number_of(check_model *m, check_region *r, int agent)
{
    check_agent *a = &m->agents[agent];
    if (agent == 0 || a->far != 0) return a->far;
    for (unsigned turn = 0; turn < 2; turn++) {
        for (uint32_t i = 1; i < CHECK_FAR; i++) {
            tree_agent *t = &r->agents[i];
            if (t->used != 0) continue;
            t->process = m->tree.process;
            t->base = t->done;
            t->done = t->base + a->done;
            t->used = 1;
            a->far = i;
            a->base = t->base;
            return i;
        }
        sweep(m, r);
    }
    return 0;
}

/* As other processes read it: works of this one have numbers there, too. */
static void outward(check_model *m, check_region *r, check_clock *clock)
{
    for (int i = 1; i < CHECK_AGENTS; i++) {
        const check_agent *a = &m->agents[i];
        if (clock->at[i] == 0) continue;
        const uint32_t far = number_of(m, r, i);
        if (far != 0 && clock->far[far] < a->base + clock->at[i])
            clock->far[far] = a->base + clock->at[i];
    }
}

static void inward(const check_model *m, check_clock *clock)
{
    for (int i = 1; i < CHECK_AGENTS; i++) {
        const check_agent *a = &m->agents[i];
        const uint32_t known = a->far != 0 ? clock->far[a->far] : 0;
        if (known > a->base && clock->at[i] < known - a->base) clock->at[i] = known - a->base;
    }
}

void check_tree_ask_hosts(check_model *m)
{
    check_region *r = m->active ? m->tree.region : NULL;
    if (r == NULL) return;
    for (unsigned i = 1; i < CHECK_FAR; i++) {
        const uint32_t known = r->host[i];
        if (m->agents[0].clock.far[i] < known) m->agents[0].clock.far[i] = known;
    }
}

static void tell(check_region *r, const check_clock *clock)
{
    for (unsigned i = 1; i < CHECK_FAR; i++)
        if (r->host[i] < clock->far[i]) r->host[i] = clock->far[i];
}

void check_tree_tell_hosts(check_model *m)
{
    check_region *r = m->active ? enter(m) : NULL;
    check_clock *host = &m->agents[0].clock;
    if (r == NULL) {
        host->unsure = false;
        return;
    }
    /* Whatever unseen was before what the host saw is done, too: all that was told until now. */
    for (unsigned i = 1; host->unsure && i < CHECK_FAR; i++)
        if (host->far[i] < r->agents[i].done) host->far[i] = r->agents[i].done;
    host->unsure = false;
    check_clock told = *host;
    outward(m, r, &told);
    tell(r, &told);
}

/* ---- what is shared leaves ---- */

static tree_order *order_of(const check_model *m, const check_payload *p)
{
    check_region *r = p->ordered ? enter(m) : NULL;
    const uint32_t order = r != NULL ? r->payloads[p->tree - 1].order : 0;
    return order != 0 ? &r->orders[order - 1] : NULL;
}

static void note_signal(check_model *m, check_region *r, tree_order *o, uint64_t value,
                        const check_clock *clock, int agent, uint32_t number,
                        const check_site *site)
{
    tree_signal *to = &o->of.signals[0];
    for (unsigned i = 0; i < TREE_SIGNALS; i++) { /* the lowest value goes */
        tree_signal *s = &o->of.signals[i];
        if (s->used == 0) {
            to = s;
            break;
        }
        if (s->value < to->value) to = s;
    }
    check_clock told = *clock;
    outward(m, r, &told);
    to->used = 0;
    to->value = value;
    to->agent = number_of(m, r, agent);
    to->number = m->agents[agent].base + number;
    to->process = m->tree.process;
    /* Without a number it cannot be said what is before it. */
    to->unsure = told.unsure || (agent > 0 && to->agent == 0);
    memcpy(to->far, told.far, sizeof to->far);
    m->tree.write_site(&to->site, site);
    to->used = 1;
}

static void note_record(check_model *m, check_region *r, tree_order *o, const check_record *from)
{
    tree_record *to = &o->of.records[0];
    const uint32_t far = number_of(m, r, from->agent);
    if (far == 0) return;
    for (unsigned i = 0; i < TREE_RECORDS; i++) { /* the oldest goes */
        tree_record *s = &o->of.records[i];
        if (s->used == 0) {
            to = s;
            break;
        }
        if (s->serial < to->serial) to = s;
    }
    to->used = 0;
    to->agent = far;
    to->number = m->agents[from->agent].base + from->at;
    to->process = m->tree.process;
    to->api = from->api;
    to->kind = from->access.kind;
    to->serial = ++r->serial;
    to->begin = from->access.begin;
    to->end = from->access.end;
    (void)snprintf(to->how, sizeof to->how, "%s", from->access.how);
    (void)snprintf(to->name, sizeof to->name, "%s", m->agents[from->agent].name);
    m->tree.write_site(&to->site, &from->site);
    to->used = 1;
}

void check_payload_publish(check_model *m, check_payload *p)
{
    tree_order *o = NULL;
    check_region *r = p != NULL ? enter(m) : NULL;
    if (p != NULL && r == NULL) p->info.foreign = true;
    if (r == NULL || p->ordered) return;
    check_tree_register(m, p);
    if (p->tree == 0 || p->info.kind == CHECK_BINARY || check_foreign(m, p)) {
        check_payload_opaque(p);
        return;
    }
    for (unsigned turn = 0; turn < 2 && o == NULL; turn++) {
        for (unsigned i = 0; i < TREE_ORDERS && o == NULL; i++)
            if (r->orders[i].used == 0) o = &r->orders[i];
        if (o == NULL) sweep(m, r);
    }
    if (o == NULL) {
        check_payload_opaque(p);
        return;
    }
    m->active = true;
    memset(&o->of, 0, sizeof o->of);
    o->used = p->info.kind == CHECK_MEMORY ? TREE_OF_MEMORY : TREE_OF_TIMELINE;
    for (const check_signal *s = p->signals; s != NULL; s = s->next)
        note_signal(m, r, o, s->value, &s->clock, s->agent, s->number, &s->site);
    /* The local list is for what is known of this process alone. */
    for (unsigned i = 0; p->info.kind == CHECK_MEMORY && i < p->num_records; i++)
        note_record(m, r, o, &p->records[i]);
    r->payloads[p->tree - 1].reached = p->reached;
    r->payloads[p->tree - 1].order = (uint32_t)(o - r->orders) + 1;
    memcpy(r->payloads[p->tree - 1].name, p->name, sizeof p->name);
    p->ordered = true;
    check_tree_tell_hosts(m);
}

/* ---- timelines ---- */

uint64_t check_reached(const check_payload *p)
{
    const uint64_t reached = p->ordered ? p->shared->reached : 0;
    return reached > p->reached ? reached : p->reached;
}

bool check_tree_signal(check_model *m, check_payload *p, uint64_t value, const check_clock *clock,
                       int agent, uint32_t number, const check_site *site)
{
    tree_order *o = order_of(m, p);
    if (o == NULL) {
        check_payload_opaque(p);
        return false;
    }
    check_region *r = m->tree.region;
    tree_payload *s = &r->payloads[p->tree - 1];
    if (value > s->reached) {
        note_signal(m, r, o, value, clock, agent, number, site);
        s->reached = value;
        if ((r->pending & ~own_bit(m)) != 0) m->tree.ring();
        return true;
    }
    /* It is wrong only if a signal of no less is surely before it. */
    const tree_signal *before = NULL;
    check_clock now = *clock;
    outward(m, r, &now);
    for (unsigned i = 0; i < TREE_SIGNALS; i++) {
        const tree_signal *t = &o->of.signals[i];
        if (t->used == 0 || t->value < value) continue;
        const bool same = t->process == m->tree.process && t->agent == m->agents[agent].far;
        /* What only another host knows orders nothing: this one may not have been told. */
        const bool sure = same || t->agent == 0
                              ? !t->unsure
                              : now.far[t->agent] >= t->number && r->host[t->agent] < t->number;
        if (sure && (before == NULL || t->value > before->value)) before = t;
    }
    const bool foreign = check_foreign(m, p) || check_tree_in_flight(r, p->tree);
    if (before != NULL && !foreign) {
        const check_site earlier = m->tree.read_site(&before->site);
        check_find(m, CHECK_NO_RISE, p, site, &earlier,
                   "The signal has the value %llu, and the timeline has reached %llu.",
                   (unsigned long long)value, (unsigned long long)before->value);
    } else if (value <= s->value && !foreign)
        check_find(m, CHECK_NO_RISE, p, site, &p->made,
                   "The signal has the value %llu, and the timeline began with %llu.",
                   (unsigned long long)value, (unsigned long long)s->value);
    else
        check_payload_opaque(p);
    return false;
}

void check_tree_wait(check_model *m, check_payload *p, uint64_t value, check_clock *clock)
{
    const tree_order *o = order_of(m, p);
    const tree_signal *first = NULL;
    for (unsigned i = 0; o != NULL && i < TREE_SIGNALS; i++) {
        const tree_signal *s = &o->of.signals[i];
        if (s->used != 0 && s->value >= value && (first == NULL || s->value < first->value))
            first = s;
    }
    if (first == NULL || first->unsure) clock->unsure = true;
    if (first == NULL) return;
    for (unsigned i = 1; i < CHECK_FAR; i++)
        if (clock->far[i] < first->far[i]) clock->far[i] = first->far[i];
    inward(m, clock);
    /* Of this process more is known here. */
    const check_signal *own = p->signals;
    while (own != NULL && own->value < first->value)
        own = own->next;
    if (own != NULL && first->process == m->tree.process && own->value == first->value)
        check_merge(clock, &own->clock);
}

bool check_tree_settled(check_model *m, const check_payload *p)
{
    if (!p->ordered) return true;
    check_region *r = enter(m);
    if (r == NULL || check_foreign(m, p) || check_tree_in_flight(r, p->tree)) return false;
    for (unsigned i = 0; i < TREE_PROCESSES; i++)
        if (i != m->tree.process && (r->payloads[p->tree - 1].participants >> i & 1) != 0 &&
            r->processes[i].stuck == 0 && m->tree.alive(r, i))
            return false;
    return true;
}

void check_tree_unless(check_model *m, const check_payload *p, uint64_t value)
{
    m->unless = p->tree;
    m->unless_generation = m->tree.region->payloads[p->tree - 1].generation;
    m->unless_value = value;
}

/* ---- memory ---- */

void check_tree_judge(check_model *m, int agent, const check_op *op, const check_access *a,
                      const check_clock *clock)
{
    check_payload *p = a->payload;
    const check_api api = m->agents[agent].api;
    tree_order *o = p->ordered && !p->unjudged && !clock->unsure && !check_foreign(m, p)
                        ? order_of(m, p)
                        : NULL;
    if (o == NULL) return;
    check_region *r = m->tree.region;
    check_clock now = *clock;
    bool found = check_tree_in_flight(r, p->tree); /* who takes part is not known yet */
    outward(m, r, &now);
    for (unsigned i = 0; i < TREE_RECORDS; i++) {
        tree_record *t = &o->of.records[i];
        if (t->used == 0) continue;
        const bool own = t->process == m->tree.process;
        const bool before = now.far[t->agent] >= t->number;
        const bool overlap = t->begin < a->end && a->begin < t->end;
        const check_access_kind kind = (check_access_kind)t->kind;
        if (!found && !own && !before && overlap && t->api != api &&
            check_conflict(kind, a->kind)) {
            if (!m->tree.alive(r, t->process)) { /* its work ended with it */
                t->used = 0;
                continue;
            }
            const check_what what = a->kind != CHECK_WRITE ? CHECK_WRITE_READ
                                    : kind == CHECK_WRITE  ? CHECK_WRITE_WRITE
                                                           : CHECK_READ_WRITE;
            const check_site earlier = m->tree.read_site(&t->site);
            const uint64_t begin = a->begin > t->begin ? a->begin : t->begin;
            const uint64_t end = a->end < t->end ? a->end : t->end;
            const check_words bytes = check_bytes(a->kind, kind, begin, end);
            check_find(m, what, p, &op->site, &earlier,
                       "%s (%s) %s %s, and nothing orders that after %s (%s of "
                       "another process), which %s %s.",
                       a->how, m->agents[agent].name, check_verb(a->kind), bytes.name, t->how,
                       t->name, check_verb(kind), bytes.again);
            found = true;
        }
        if (t->begin >= a->begin && t->end <= a->end && before &&
            (a->kind == CHECK_WRITE ||
             (own && t->agent == m->agents[agent].far && kind == a->kind)))
            t->used = 0;
    }
    const check_record record = {
        .access = *a, .api = api, .agent = agent, .at = op->number, .site = op->site};
    note_record(m, r, o, &record);
}

/* A work that had to wait is told late. If meanwhile a host saw what the region did not have yet,
 * others did not know of this work. */
bool check_tree_late(const check_model *m, const check_op *op)
{
    return m->tree.region != NULL && m->tree.region->unseen != op->unseen_events;
}

uint32_t check_tree_unseen(const check_model *m)
{
    return m->tree.region != NULL ? m->tree.region->unseen : 0;
}

void check_tree_done(check_model *m, int agent, const check_op *op)
{
    check_region *r = m->active ? enter(m) : NULL;
    if (r == NULL) return;
    const uint32_t far = number_of(m, r, agent);
    if (far != 0) r->agents[far].done = m->agents[agent].base + op->number;
}

/* ---- messages ---- */

static tree_message *oldest(check_region *r, uint64_t to, const tree_message *after)
{
    tree_message *found = NULL;
    for (unsigned i = 0; i < TREE_MESSAGES; i++) {
        tree_message *t = &r->messages[i];
        if (t->used != 0 && t->to == to && (after == NULL || t->serial > after->serial) &&
            (found == NULL || t->serial < found->serial))
            found = t;
    }
    return found;
}

static void drop_message(check_region *r, tree_message *t)
{
    t->used = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->payloads[i] != 0) release(r, &r->payloads[t->payloads[i] - 1]);
}

static void lose(check_region *r, uint64_t to)
{
    for (tree_message *t; (t = oldest(r, to, NULL)) != NULL;) {
        for (uint32_t i = 0; i < t->count; i++)
            if (t->payloads[i] != 0) r->payloads[t->payloads[i] - 1].foreign = 1;
        drop_message(r, t);
    }
    for (uint32_t i = 0; i < r->num_lost; i++)
        if (r->lost[i] == to) return;
    if (r->num_lost < sizeof r->lost / sizeof *r->lost)
        r->lost[r->num_lost++] = to;
    else
        r->messages_lost = 1; /* of any socket from now on */
}

static bool is_lost(const check_region *r, uint64_t to)
{
    for (uint32_t i = 0; i < r->num_lost; i++)
        if (r->lost[i] == to) return true;
    return r->messages_lost != 0;
}

void check_tree_lose(check_model *m, uint64_t to)
{
    check_region *r = enter(m);
    if (r != NULL) lose(r, to);
}

unsigned check_tree_note(check_model *m, uint64_t to, const uint32_t *payloads, uint32_t count,
                         const void *bytes, uint32_t length)
{
    check_region *r = enter(m);
    tree_message *t = NULL;
    if (r == NULL) return 0;
    for (unsigned turn = 0; turn < 2 && t == NULL; turn++) {
        for (unsigned i = 0; i < TREE_MESSAGES && t == NULL; i++)
            if (r->messages[i].used == 0) t = &r->messages[i];
        if (t != NULL) break;
        tree_message *first = &r->messages[0]; /* whoever has not read it for so long */
        for (unsigned i = 1; i < TREE_MESSAGES; i++)
            if (r->messages[i].serial < first->serial) first = &r->messages[i];
        lose(r, first->to);
    }
    if (t == NULL || count > TREE_FDS || is_lost(r, to)) {
        lose(r, to);
        for (uint32_t i = 0; i < count; i++)
            if (payloads[i] != 0) r->payloads[payloads[i] - 1].foreign = 1;
        return 0;
    }
    t->pending = true;
    t->unsure = t->peeked = false;
    t->sender = m->tree.process;
    t->count = count;
    t->length = length;
    t->serial = ++r->serial;
    t->to = to;
    memcpy(t->payloads, payloads, count * sizeof *payloads);
    memset(t->prefix, 0, sizeof t->prefix);
    memcpy(t->prefix, bytes, length < TREE_PREFIX ? length : TREE_PREFIX);
    for (unsigned i = 0; i < TREE_MESSAGES; i++) /* which of two comes first is not known */
        if (r->messages[i].used != 0 && r->messages[i].to == to && r->messages[i].pending)
            r->messages[i].unsure = t->unsure = true;
    t->used = 1;
    r->noted++;
    return (unsigned)(t - r->messages) + 1;
}

void check_tree_noted(check_model *m, unsigned message, bool sent)
{
    check_region *r = message != 0 ? enter(m) : NULL;
    if (r == NULL) return;
    tree_message *t = &r->messages[message - 1];
    /* The receiver may have it by now, and the record may be another message's. */
    if (t->used == 0 || !t->pending || t->sender != m->tree.process) return;
    t->pending = false;
    if (!sent) drop_message(r, t);
}

static bool alike(const tree_message *t, uint32_t count, const void *bytes, uint32_t length,
                  bool cut)
{
    uint32_t most = length < t->length ? length : t->length;
    if (most > TREE_PREFIX) most = TREE_PREFIX;
    return (t->count == count || (cut && count < t->count)) && memcmp(t->prefix, bytes, most) == 0;
}

unsigned check_tree_match(check_model *m, uint64_t to, uint32_t count, const void *bytes,
                          uint32_t length, bool cut, uint32_t payloads[TREE_FDS])
{
    check_region *r = enter(m);
    tree_message *t = r != NULL ? oldest(r, to, NULL) : NULL;
    if (t == NULL || is_lost(r, to)) return 0;
    while (t != NULL && t->peeked) {
        /* It may be the one that was looked at, or that one was taken unseen. */
        tree_message *next = oldest(r, to, t);
        const bool same = alike(t, count, bytes, length, cut);
        if (same && (next == NULL || !alike(next, count, bytes, length, cut))) break;
        if (same) t = NULL;
        if (t == NULL) break;
        drop_message(r, t);
        t = next;
    }
    /* Of a sender that was killed meanwhile nobody knows whether it sent. */
    if (t == NULL || t->unsure || !alike(t, count, bytes, length, cut) ||
        (t->pending && oldest(r, to, t) != NULL)) {
        lose(r, to);
        return 0;
    }
    memcpy(payloads, t->payloads, count * sizeof *payloads);
    return (unsigned)(t - r->messages) + 1;
}

void check_tree_matched(check_model *m, unsigned message, bool peek)
{
    check_region *r = message != 0 ? enter(m) : NULL;
    if (r == NULL) return;
    if (peek)
        r->messages[message - 1].peeked = true;
    else
        drop_message(r, &r->messages[message - 1]);
}

void check_tree_consumed(check_model *m, uint64_t to)
{
    check_region *r = enter(m);
    tree_message *t = r != NULL ? oldest(r, to, NULL) : NULL;
    if (t != NULL) drop_message(r, t);
}
