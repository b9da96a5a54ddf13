/* SPDX-License-Identifier: MIT */
/* culvert-check's model: work, what it waits for, and what happens before what.
 *
 * Each queue and each stream is an agent whose works come one after another. Each agent has a
 * vector clock: up to which work of each other agent all is known to be done. A signal carries the
 * clock of its work to whoever waits for it. The host is agent 0, and all its threads are one: how
 * they order each other is not seen, so what one of them knows counts as known to all.
 *
 * A wait may be submitted before its signal. So works lie in the agent's list until what they wait
 * for is there, and what never leaves the list waits for ever. */
#include "model_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIGNALS 64 /* that a timeline remembers; a wait for an older value takes the next */

void check_merge(check_clock *into, const check_clock *from)
{
    for (int i = 0; i < CHECK_AGENTS; i++)
        if (into->at[i] < from->at[i]) into->at[i] = from->at[i];
    for (int i = 0; i < CHECK_FAR; i++)
        if (into->far[i] < from->far[i]) into->far[i] = from->far[i];
    into->unsure |= from->unsure;
}

static void join_all(const check_model *m, check_clock *clock)
{
    for (int i = 0; i < CHECK_AGENTS; i++)
        check_merge(clock, &m->agents[i].clock);
    clock->unsure = true; /* and after others' work that comes only later */
}

int check_agent_make(check_model *m, check_api api, const char *name)
{
    for (int i = 1; i < CHECK_AGENTS; i++) {
        check_agent *a = &m->agents[i];
        if (a->used || a->first != NULL) continue;
        a->used = true;
        a->api = api;
        a->serial = ++m->serial;
        (void)snprintf(a->name, sizeof a->name, "%s", name);
        return i;
    }
    m->unjudged++;
    return 0;
}

void check_agent_end(check_model *m, int agent)
{
    if (agent > 0) m->agents[agent].used = false;
}

check_mark *check_mark_make(void)
{
    check_mark *mark = calloc(1, sizeof *mark);
    if (mark != NULL) mark->references = 1;
    return mark;
}

void check_mark_keep(check_mark *mark)
{
    if (mark != NULL) mark->references++;
}

void check_mark_drop(check_mark *mark)
{
    if (mark != NULL && --mark->references == 0) free(mark);
}

bool check_conflict(check_access_kind a, check_access_kind b)
{
    return a == CHECK_WRITE || b == CHECK_WRITE;
}

const char *check_verb(check_access_kind kind)
{
    return kind == CHECK_WRITE ? "writes" : kind == CHECK_READ ? "reads" : "uses";
}

check_words check_bytes(check_access_kind one, check_access_kind other, uint64_t begin,
                        uint64_t end)
{
    check_words w = {.again = "them"};
    const unsigned long long first = begin, last = end - 1;
    /* Of what a kernel uses only the address is known that it was given. */
    if (first == last && (one == CHECK_READ_OR_WRITE || other == CHECK_READ_OR_WRITE)) {
        (void)snprintf(w.name, sizeof w.name, "memory from byte %llu on", first);
        w.again = "it";
    } else {
        (void)snprintf(w.name, sizeof w.name, "bytes %llu to %llu", first, last);
    }
    return w;
}

static void keep(check_payload *p, check_api api, const check_access *a, const check_site *site)
{
    if (p->kept == NULL) p->kept = calloc(CHECK_KEPT, sizeof *p->kept);
    if (p->kept == NULL) return;
    for (unsigned i = 0; i < p->num_kept; i++)
        if (p->kept[i].api == api && p->kept[i].begin == a->begin && p->kept[i].end == a->end)
            return;
    if (p->num_kept == CHECK_KEPT) memmove(p->kept, p->kept + 1, --p->num_kept * sizeof *p->kept);
    p->kept[p->num_kept++] = (check_kept){api, a->begin, a->end, a->how, *site};
}

/* Hands over what one API keeps of these bytes: by a barrier (not told), by a write of the other
 * one over all of it (not told), or by a use without a barrier, which is told once. */
static void hand_over(check_model *m, check_payload *p, check_api api, const check_access *a,
                      const check_op *op, bool told, bool all)
{
    unsigned left = 0;
    for (unsigned i = 0; i < p->num_kept; i++) {
        const check_kept k = p->kept[i];
        const bool overlaps = k.begin < a->end && a->begin < k.end;
        const bool covered = k.begin >= a->begin && k.end <= a->end;
        if (k.api != api || !(all ? covered : overlaps)) {
            p->kept[left++] = k;
            continue;
        }
        if (told && !m->strict)
            *(api == CHECK_VULKAN ? &m->counts.unreleased : &m->counts.unacquired) += 1;
        else if (told)
            check_find(m, api == CHECK_VULKAN ? CHECK_NO_RELEASE : CHECK_NO_ACQUIRE, p, &op->site,
                       &k.site, "%s uses bytes that %s wrote, and Vulkan recorded no barrier %s.",
                       a->how, k.how,
                       api == CHECK_VULKAN ? "that releases them to VK_QUEUE_FAMILY_EXTERNAL"
                                           : "that acquires them from VK_QUEUE_FAMILY_EXTERNAL");
        told = false;
    }
    p->num_kept = left;
}

static void judge_barriers(check_model *m, check_api api, const check_op *op, const check_access *a)
{
    check_payload *p = a->payload;
    if (p->unjudged || p->ordered || check_foreign(m, p)) return;
    if (a->kind == CHECK_RELEASE || a->kind == CHECK_ACQUIRE) {
        hand_over(m, p, a->kind == CHECK_RELEASE ? CHECK_VULKAN : CHECK_CUDA, a, op, false, false);
    } else if (api == CHECK_CUDA) {
        hand_over(m, p, CHECK_VULKAN, a, op, a->kind != CHECK_WRITE, a->kind == CHECK_WRITE);
        if (a->kind == CHECK_WRITE) keep(p, CHECK_CUDA, a, &op->site);
    } else if (a->exclusive) {
        hand_over(m, p, CHECK_CUDA, a, op, a->kind != CHECK_WRITE, a->kind == CHECK_WRITE);
        if (a->kind == CHECK_WRITE) keep(p, CHECK_VULKAN, a, &op->site);
    }
}

/* Whether something was found. */
static bool judge(check_model *m, int agent, const check_op *op, const check_access *a,
                  const check_clock *clock)
{
    check_payload *p = a->payload;
    const check_api api = m->agents[agent].api;
    bool found = false, unsure = false;
    unsigned kept = 0;
    if (p->unjudged) return false;
    if (p->records == NULL) p->records = calloc(CHECK_RECORDS, sizeof *p->records);
    if (p->records == NULL) return false;
    for (unsigned i = 0; i < p->num_records; i++) {
        const check_record *r = &p->records[i];
        const bool before = clock->at[r->agent] >= r->at;
        const bool overlap = r->access.begin < a->end && a->begin < r->access.end;
        unsure |= !before && overlap && r->api != api &&
                  (a->kind == CHECK_READ_OR_WRITE || r->access.kind == CHECK_READ_OR_WRITE);
        if (!found && !before && overlap && r->api != api &&
            check_conflict(r->access.kind, a->kind)) {
            const check_what what = a->kind != CHECK_WRITE          ? CHECK_WRITE_READ
                                    : r->access.kind == CHECK_WRITE ? CHECK_WRITE_WRITE
                                                                    : CHECK_READ_WRITE;
            const uint64_t begin = a->begin > r->access.begin ? a->begin : r->access.begin;
            const uint64_t end = a->end < r->access.end ? a->end : r->access.end;
            const check_words bytes = check_bytes(a->kind, r->access.kind, begin, end);
            const char *early = a->early ? a->how : r->access.early ? r->access.how : NULL;
            check_find(
                m, what, p, &op->site, &r->site,
                "%s (%s) %s %s, and nothing orders that after %s (%s), which %s %s.%s%s%s", a->how,
                m->agents[agent].name, check_verb(a->kind), bytes.name, r->access.how,
                m->agents[r->agent].name, check_verb(r->access.kind), bytes.again,
                early != NULL ? " The batch of " : "", early != NULL ? early : "",
                early != NULL ? " waits for a semaphore at other pipeline stages only." : "");
            found = true; /* one is enough for a work */
        }
        /* What comes after this write comes after the older one too. */
        const bool covered =
            r->access.begin >= a->begin && r->access.end <= a->end && before &&
            (a->kind == CHECK_WRITE || (r->agent == agent && r->access.kind == a->kind));
        if (!covered) p->records[kept++] = *r;
    }
    p->num_records = kept;
    if (kept == CHECK_RECORDS) {
        memmove(p->records, p->records + 1, (CHECK_RECORDS - 1) * sizeof *p->records);
        p->num_records--;
    }
    p->records[p->num_records++] = (check_record){
        .access = *a, .api = api, .agent = agent, .at = op->number, .site = op->site};
    m->counts.unsure += unsure && !found;
    return found;
}

/* Of a kernel nobody knows whether it writes. But Vulkan takes its memory over, so it is done. */
static bool judge_acquire(check_model *m, int agent, const check_op *op, const check_access *a,
                          const check_clock *clock)
{
    const check_payload *p = a->payload;
    for (unsigned i = 0; !p->unjudged && i < p->num_records; i++) {
        const check_record *r = &p->records[i];
        if (r->api != CHECK_CUDA || r->access.kind != CHECK_READ_OR_WRITE ||
            clock->at[r->agent] >= r->at || r->access.begin >= a->end || a->begin >= r->access.end)
            continue;
        check_find(m, CHECK_EARLY_ACQUIRE, p, &op->site, &r->site,
                   "%s (%s) takes bytes %llu to %llu over from CUDA, and nothing orders that after "
                   "%s (%s), which uses memory from byte %llu on.",
                   a->how, m->agents[agent].name, (unsigned long long)a->begin,
                   (unsigned long long)(a->end - 1), r->access.how, m->agents[r->agent].name,
                   (unsigned long long)r->access.begin);
        return true;
    }
    return false;
}

static void add_signal(const check_model *m, check_payload *p, uint64_t value,
                       const check_clock *clock, int agent, uint32_t number, const check_site *site)
{
    unsigned count = 1;
    check_signal **link = &p->signals;
    while (*link != NULL && (*link)->value < value) {
        link = &(*link)->next;
        count++;
    }
    check_signal *s = calloc(1, sizeof *s);
    if (s == NULL) return;
    s->value = value;
    s->clock = *clock;
    s->site = *site;
    s->agent = agent;
    s->number = number;
    s->track = m->now_agent;
    s->then = m->now;
    s->next = *link;
    *link = s;
    if (count > MOST_SIGNALS) {
        check_signal *oldest = p->signals;
        p->signals = oldest->next;
        free(oldest);
    }
}

static void signal_now(check_model *m, check_payload *p, uint64_t value, const check_clock *clock,
                       int agent, uint32_t number, const check_site *site)
{
    if (p->info.kind == CHECK_TIMELINE && p->ordered && !check_foreign(m, p)) {
        if (!check_tree_signal(m, p, value, clock, agent, number, site)) return;
        p->reached = value;
        add_signal(m, p, value, clock, agent, number, site);
        return;
    }
    if (p->info.kind == CHECK_TIMELINE) {
        const check_signal *last = p->signals;
        while (last != NULL && last->next != NULL)
            last = last->next;
        if (value <= p->reached && p->info.shared && !check_foreign(m, p))
            check_find(m, CHECK_NO_RISE, p, site, last != NULL ? &last->site : &p->made,
                       "The signal has the value %llu, and the timeline has reached %llu.",
                       (unsigned long long)value, (unsigned long long)p->reached);
        if (value <= p->reached) return;
        p->reached = value;
        add_signal(m, p, value, clock, agent, number, site);
        return;
    }
    if (p->signals != NULL) {
        check_signal *s = p->signals;
        if (p->info.shared && !check_foreign(m, p))
            check_find(m, CHECK_SIGNALED_TWICE, p, site, &s->site,
                       "The binary semaphore is signaled, and nothing has waited for the signal "
                       "before.");
        s->clock = *clock;
        s->site = *site;
        return;
    }
    add_signal(m, p, 0, clock, agent, number, site);
}

static bool turn_ready(const check_model *m, const check_turn *w)
{
    const check_payload *p = w->payload;
    if (p == NULL || check_foreign(m, p)) return true;
    if (p->info.kind == CHECK_TIMELINE) return check_reached(p) >= w->value;
    /* A presentation engine signals what is not shared, and nobody sees that. */
    return p->signals != NULL || !p->info.shared;
}

static bool ready(const check_model *m, const check_op *op)
{
    for (unsigned i = 0; i < op->num_waits; i++)
        if (!turn_ready(m, &op->waits[i])) return false;
    if (op->after != NULL && op->after->number != 0 && !op->after->reached) return false;
    for (int i = 0; i < CHECK_AGENTS; i++)
        if ((op->after_agents >> i & 1) != 0 && m->agents[i].done < op->after_numbers[i])
            return false;
    return true;
}

static void draw_arrow(const check_model *m, const check_signal *s, int to, const check_payload *p)
{
    if (m->watch != NULL && s != NULL) m->watch->arrow(s->track, s->then, to, p, s->value);
}

static void wait_now(check_model *m, int agent, const check_turn *w, check_clock *clock)
{
    check_payload *p = w->payload;
    if (p == NULL) return;
    if (check_foreign(m, p)) {
        m->vague = true;
        join_all(m, clock);
        return;
    }
    check_signal *s = p->signals;
    if (p->info.kind == CHECK_BINARY) {
        if (s == NULL) return;
        check_merge(clock, &s->clock);
        draw_arrow(m, s, agent, p);
        p->signals = NULL;
        free(s);
        return;
    }
    if (w->value <= p->info.value) return; /* it began with that value */
    while (s != NULL && s->value < w->value)
        s = s->next;
    if (p->ordered) {
        check_tree_wait(m, p, w->value, clock);
        if (clock->unsure) { /* perhaps after anything of this process, too */
            m->vague = true;
            join_all(m, clock);
        }
    } else if (s != NULL) {
        check_merge(clock, &s->clock);
    }
    draw_arrow(m, s, agent, p);
}

static void execute(check_model *m, int agent, check_op *op)
{
    check_agent *a = &m->agents[agent];
    check_clock clock = a->clock;
    const check_seen seen = {.agent = agent,
                             .serial = a->serial,
                             .api = a->api,
                             .agent_name = a->name,
                             .call = op->site.call,
                             .number = op->number,
                             .waits = op->waits,
                             .signals = op->signals,
                             .num_waits = op->num_waits,
                             .num_signals = op->num_signals,
                             .num_accesses = op->num_accesses};
    const uint64_t now = m->watch != NULL ? m->watch->began(&seen) : 0;
    check_merge(&clock, &op->host);
    for (unsigned i = 0; i < op->num_waits; i++)
        wait_now(m, agent, &op->waits[i], &clock);
    if (op->after != NULL) check_merge(&clock, &op->after->clock);
    for (int i = 0; i < CHECK_AGENTS; i++)
        if ((op->after_agents >> i & 1) != 0) check_merge(&clock, &m->agents[i].clock);
    if (op->joins_all) join_all(m, &clock);
    m->vague |= op->joins_all;
    if (op->waited && check_tree_late(m, op)) clock.unsure = true;
    clock.at[agent] = op->number;
    bool found = !m->ordered;
    for (unsigned i = 0; i < op->num_accesses; i++) {
        const check_access *access = &op->accesses[i];
        check_judge_layouts(m, agent, op, access, &clock);
        if (access->kind == CHECK_LAYOUT) continue;
        judge_barriers(m, a->api, op, access);
        if (m->ordered && access->kind != CHECK_RELEASE && access->kind != CHECK_ACQUIRE)
            found |= judge(m, agent, op, access, &clock);
        if (m->ordered && access->kind != CHECK_RELEASE && access->kind != CHECK_ACQUIRE)
            check_tree_judge(m, agent, op, access, &clock);
    }
    for (unsigned i = 0; !found && i < op->num_accesses; i++) /* one is enough for a work */
        found = op->accesses[i].kind == CHECK_ACQUIRE &&
                judge_acquire(m, agent, op, &op->accesses[i], &clock);
    a->clock = clock;
    a->done = op->number;
    m->now_agent = agent;
    m->now = now;
    check_tree_done(m, agent, op);
    if (op->host_may_know) { /* a value in memory, which the host may look at */
        check_merge(&m->agents[0].clock, &clock);
        check_tree_tell_hosts(m);
    }
    for (unsigned i = 0; i < op->num_signals; i++)
        if (op->signals[i].payload != NULL)
            signal_now(m, op->signals[i].payload, op->signals[i].value, &clock, agent, op->number,
                       &op->site);
    if (op->mark != NULL) {
        op->mark->reached = true;
        op->mark->clock = clock;
    }
}

static void drop_op(check_model *m, check_op *op)
{
    for (unsigned i = 0; i < op->num_waits; i++)
        check_payload_drop(m, op->waits[i].payload);
    for (unsigned i = 0; i < op->num_accesses; i++)
        check_payload_drop(m, op->accesses[i].payload);
    for (unsigned i = 0; i < op->num_signals; i++)
        check_payload_drop(m, op->signals[i].payload);
    check_mark_drop(op->after);
    check_mark_drop(op->mark);
    free(op->waits);
    free(op->accesses);
    free(op->signals);
    free(op);
}

static void step(check_model *m, int agent)
{
    check_agent *a = &m->agents[agent];
    check_op *op = a->first;
    execute(m, agent, op);
    a->first = op->next;
    if (a->first == NULL) a->last = &a->first;
    drop_op(m, op);
}

void check_run(check_model *m)
{
    bool progress = true;
    while (progress) {
        progress = false;
        for (int i = 1; i < CHECK_AGENTS; i++)
            while (m->agents[i].first != NULL && ready(m, m->agents[i].first)) {
                step(m, i);
                progress = true;
            }
    }
    bool pending = false;
    for (int i = 1; i < CHECK_AGENTS; i++)
        pending |= m->agents[i].first != NULL;
    check_tree_pending(m, pending);
}

/* The work is done, says the driver. What the model still waits for was signaled unseen. */
static void force(check_model *m, int agent, uint32_t number)
{
    check_agent *a = &m->agents[agent];
    check_run(m);
    while (a->first != NULL && a->done < number) {
        check_mark *after = a->first->after; /* it was submitted before this one */
        if (after != NULL && after->number != 0 && !after->reached && after->agent != agent) {
            check_mark_keep(after);
            force(m, after->agent, after->number);
            const bool reached = after->reached;
            check_mark_drop(after);
            if (reached) continue;
        }
        const check_op *op = a->first;
        const check_turn *open = NULL;
        for (unsigned i = 0; i < op->num_waits && open == NULL; i++)
            if (!turn_ready(m, &op->waits[i])) open = &op->waits[i];
        if (open != NULL) check_tree_catch_up(m, open->payload, open->value);
        if (a->first != op) continue; /* it has run, and is gone */
        for (unsigned i = 0; i < a->first->num_waits; i++)
            if (!turn_ready(m, &a->first->waits[i]))
                check_payload_opaque(a->first->waits[i].payload);
        step(m, agent);
    }
    check_run(m);
}

static void note_use(check_model *m, check_payload *p, int agent, uint32_t number,
                     const check_site *site)
{
    if (p == NULL) return;
    check_payload_keep(p);
    if (p->uses == NULL) p->uses = calloc(CHECK_AGENTS, sizeof *p->uses);
    if (p->uses == NULL) return;
    p->uses[agent] = (check_use){.at = number, .api = m->agents[agent].api, .site = *site};
}

static void *copy(const void *from, unsigned count, size_t size)
{
    if (count == 0) return NULL;
    void *to = malloc(count * size);
    if (to != NULL) memcpy(to, from, count * size);
    return to;
}

void check_submit(check_model *m, int agent, const check_work *work, const check_site *site)
{
    if (agent < 0 || agent >= CHECK_AGENTS) return;
    check_agent *a = &m->agents[agent];
    check_op *op = agent > 0 ? calloc(1, sizeof *op) : NULL;
    if (op == NULL) { /* it is not followed: what it names would wait for ever */
        check_submit_failed(m, work);
        return;
    }
    op->site = *site;
    check_tree_ask_hosts(m);
    op->host = m->agents[0].clock;
    op->number = ++a->submitted;
    if (a->api == CHECK_VULKAN)
        m->counts.submitted++;
    else
        m->counts.launched++;
    m->counts.accesses += work->num_accesses;
    op->waits = copy(work->waits, work->num_waits, sizeof *op->waits);
    op->accesses = copy(work->accesses, work->num_accesses, sizeof *op->accesses);
    op->signals = copy(work->signals, work->num_signals, sizeof *op->signals);
    op->num_waits = op->waits != NULL ? work->num_waits : 0;
    op->num_accesses = op->accesses != NULL ? work->num_accesses : 0;
    op->num_signals = op->signals != NULL ? work->num_signals : 0;
    op->host_may_know = work->host_may_know;
    op->joins_all = work->joins_all || (work->after != NULL && work->after->number == 0);
    op->runs_code = work->runs_code;
    if (op->runs_code) a->last_code = op->number;
    op->after_agents = work->after_agents & ~(UINT64_C(1) << agent) & ~UINT64_C(1);
    for (int i = 0; i < CHECK_AGENTS; i++)
        op->after_numbers[i] = m->agents[i].submitted;
    for (unsigned i = 0; i < op->num_waits; i++)
        note_use(m, op->waits[i].payload, agent, op->number, site);
    for (unsigned i = 0; i < op->num_accesses; i++)
        note_use(m, op->accesses[i].payload, agent, op->number, site);
    for (unsigned i = 0; i < op->num_signals; i++)
        note_use(m, op->signals[i].payload, agent, op->number, site);
    op->after = work->after;
    if (op->after != NULL) op->after->references++;
    op->mark = work->mark;
    if (op->mark != NULL) {
        op->mark->references++;
        op->mark->agent = agent;
        op->mark->number = op->number;
    }
    *a->last = op;
    a->last = &op->next;
    op->unseen_events = check_tree_unseen(m);
    check_run(m);
    if (a->done < a->submitted)
        for (op = a->first; op != NULL; op = op->next)
            op->waited = true;
}

void check_submit_failed(check_model *m, const check_work *work)
{
    for (unsigned i = 0; i < work->num_waits; i++)
        check_payload_opaque(work->waits[i].payload);
    for (unsigned i = 0; i < work->num_signals; i++)
        check_payload_opaque(work->signals[i].payload);
    for (unsigned i = 0; i < work->num_accesses; i++) {
        work->accesses[i].payload->unjudged = true;
        work->accesses[i].payload->num_records = work->accesses[i].payload->num_kept = 0;
    }
    check_run(m);
}

/* What the host knows is done. */
static void tell_done(const check_model *m)
{
    for (int i = 1; m->watch != NULL && i < CHECK_AGENTS; i++)
        m->watch->done(i, m->agents[0].clock.at[i]);
}

void check_host_saw_mark(check_model *m, check_mark *mark)
{
    if (mark == NULL) return;
    if (mark->number == 0) {
        join_all(m, &m->agents[0].clock); /* of work that is not followed */
    } else {
        if (!mark->reached) force(m, mark->agent, mark->number);
        check_merge(&m->agents[0].clock, &mark->clock);
    }
    check_tree_tell_hosts(m);
    tell_done(m);
}

void check_host_saw_agent(check_model *m, int agent)
{
    if (agent <= 0) {
        join_all(m, &m->agents[0].clock); /* it is not followed */
        m->vague = true;
    } else {
        force(m, agent, m->agents[agent].submitted);
        check_merge(&m->agents[0].clock, &m->agents[agent].clock);
    }
    check_tree_tell_hosts(m);
    tell_done(m);
}

void check_host_saw_api(check_model *m, check_api api)
{
    for (int i = 1; i < CHECK_AGENTS; i++)
        if (m->agents[i].api == api && m->agents[i].submitted > 0) check_host_saw_agent(m, i);
}

void check_host_saw_agents(check_model *m, uint64_t agents)
{
    for (int i = 1; i < CHECK_AGENTS; i++)
        if ((agents >> i & 1) != 0) check_host_saw_agent(m, i);
}

void check_host_may_know(check_model *m, check_api api)
{
    m->vague = true;
    for (int i = 1; i < CHECK_AGENTS; i++)
        if (m->agents[i].api == api) check_merge(&m->agents[0].clock, &m->agents[i].clock);
    check_tree_tell_hosts(m);
}

void check_host_saw_value(check_model *m, check_payload *p, uint64_t value)
{
    if (p == NULL || p->info.kind != CHECK_TIMELINE) return;
    if (check_reached(p) < value) check_tree_catch_up(m, p, value);
    if (check_reached(p) < value) check_payload_opaque(p);
    const check_turn turn = {.payload = p, .value = value};
    wait_now(m, 0, &turn, &m->agents[0].clock);
    check_tree_tell_hosts(m);
    check_run(m);
    tell_done(m);
}

void check_host_signals(check_model *m, check_payload *p, uint64_t value, const check_site *site)
{
    if (p == NULL) return;
    check_tree_ask_hosts(m);
    const check_clock clock = m->agents[0].clock;
    if (m->watch != NULL) m->now_agent = m->watch->host_signals(&m->now);
    signal_now(m, p, value, &clock, 0, 0, site);
    check_run(m);
}

void check_destroying(check_model *m, check_payload *p, check_api api, const check_site *site)
{
    if (p == NULL || p->uses == NULL || !p->info.shared) return;
    for (int i = 1; i < CHECK_AGENTS; i++) {
        const check_use *use = &p->uses[i];
        if (use->at == 0 || use->api != api || use->at <= m->agents[0].clock.at[i]) continue;
        check_find(m, p->info.kind == CHECK_MEMORY ? CHECK_MEMORY_IN_USE : CHECK_SEMAPHORE_IN_USE,
                   p, site, &use->site,
                   "It is destroyed, and the program does not know that %s in %s is done.",
                   use->site.call != NULL ? use->site.call : "a call", m->agents[i].name);
        return;
    }
}
