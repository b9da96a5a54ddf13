/* SPDX-License-Identifier: MIT */
/* culvert-mpi: the renderer. */
#include <stdio.h>

#include "mpi_inside.h"

static bool has_part(const peer *p)
{
    return p->way != CULV_MPI_WAY_NONE;
}

static slot *slot_of(culv_mpi *m, uint64_t frame)
{
    return &m->slots[m->slot_of[frame % MAX_SLOTS]];
}

static bool newest(const culv_mpi *m)
{
    return m->desc.policy == CULV_RING_MAILBOX;
}

/* What arrives --------------------------------------------------------------------------------- */

void culvi_mpi_part_done(culv_mpi *m, peer *p)
{
    m->missing[p->done % MAX_SLOTS]--;
    p->done++;
    p->since = culvi_mpi_now();
}

/* Of a rank that has left (`left`), or that is gone. */
static void ended(culv_mpi *m, peer *p, bool left)
{
    if (has_part(p) && !p->left && !p->gone) m->num_ended++;
    if (left)
        p->left = true;
    else
        p->gone = true;
}

bool culvi_mpi_send_end(culv_mpi *m, peer *p, grant_kind kind)
{
    if (p->end_sent || p->self || p->gone) return true;
    p->end_sent = true;
    p->end = (grant){.kind = (uint32_t)kind};
    return culvi_mpi_send(m, &p->end, sizeof p->end, p->rank, TAG_GRANT, &p->end_request);
}

bool culvi_mpi_listen(culv_mpi *m, peer *p)
{
    return culvi_mpi_receive(m, &p->state, sizeof p->state, p->rank, TAG_STATE, p->in);
}

static bool take_state(culv_mpi *m, peer *p)
{
    if (p->state.kind != STATE_LEFT) {
        culvi_mpi_part_done(m, p);
        return culvi_mpi_listen(m, p);
    }
    ended(m, p, true);
    p->left_after = p->state.frame;
    p->last_words = p->state.verdict;
    return culvi_mpi_send_end(m, p, GRANT_END); /* it waits for this */
}

static bool step_device(culv_mpi *m, peer *p)
{
    if (*p->data != MPI_REQUEST_NULL || p->done >= m->granted) return true;
    /* MPI's buffers are host pointers by their type alone. */
    void *to = (void *)(uintptr_t)slot_of(m, p->done)->pointer;
    return culvi_mpi_ok(m, MPI_Irecv(to, 1, p->type, p->rank, TAG_DATA, m->comm, p->data),
                        "MPI_Irecv");
}

/* A chunk's bytes, each range's to its place. */
static bool copy_up(culv_mpi *m, peer *p, const chunk *c, CUdeviceptr to)
{
    const layout *l = &p->part;
    const uint64_t end = c->position + c->size;
    size_t i = c->position == 0 ? 0 : p->pipe.range;
    for (; i < l->num_ranges && l->packed[i] < end; i++) {
        const uint64_t last = l->packed[i] + l->ranges[i].size;
        const uint64_t from = l->packed[i] > c->position ? l->packed[i] : c->position;
        const uint64_t until = last < end ? last : end;
        p->pipe.range = i;
        if (until <= from) continue;
        if (!CU(m, cuMemcpyHtoDAsync, to + l->ranges[i].offset + (from - l->packed[i]),
                (const char *)c->host + (from - c->position), (size_t)(until - from), m->stream))
            return false;
    }
    return CU(m, cuEventRecord, c->event, m->stream);
}

/* Two receives at once, then their copies up. */
static bool step_host(culv_mpi *m, peer *p)
{
    pipe_line *l = &p->pipe;
    bool done = true;
    while (l->ended < l->middle) {
        const chunk *c = &l->chunks[l->ended % CHUNKS];
        if (!culvi_mpi_event_done(m, c->event, &done)) return false;
        if (!done) break;
        l->ended++;
        m->copying--;
        if (c->last) culvi_mpi_part_done(m, p);
    }
    while (l->middle < l->begun) {
        chunk *c = &l->chunks[l->middle % CHUNKS];
        if (*c->request != MPI_REQUEST_NULL) break;
        if (!copy_up(m, p, c, slot_of(m, c->frame)->pointer)) return false;
        l->middle++;
        m->copying++;
    }
    while (l->begun - l->ended < CHUNKS && l->frame < m->granted) {
        chunk *c = &l->chunks[l->begun % CHUNKS];
        culvi_mpi_pipe_next(l, &p->part, c);
        if (!culvi_mpi_receive(m, c->host, c->size, p->rank, TAG_DATA, c->request)) return false;
    }
    return true;
}

static bool step_data(culv_mpi *m, peer *p)
{
    if (p->self || p->gone) return true;
    if (p->way == CULV_MPI_WAY_DEVICE) return step_device(m, p);
    return p->way != CULV_MPI_WAY_HOST || step_host(m, p);
}

static bool take_one(culv_mpi *m, int index)
{
    peer *p = &m->peers[index % m->size];
    if (index < m->size) return take_state(m, p);
    if (p->way == CULV_MPI_WAY_DEVICE) culvi_mpi_part_done(m, p);
    return step_data(m, p);
}

bool culvi_mpi_take(culv_mpi *m, bool data)
{
    const int all = data && m->has_data ? m->size * IN_KINDS : m->size;
    for (;;) {
        int count = 0;
        const int code = MPI_Testsome(all, m->incoming, &count, m->arrived, m->statuses);
        if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
            return culvi_mpi_ok(m, code, "MPI_Testsome");
        if (count == MPI_UNDEFINED || count == 0) return true;
        m->moved += (uint64_t)count;
        for (int i = 0; i < count; i++) {
            const int error = code == MPI_SUCCESS ? code : m->statuses[i].MPI_ERROR;
            if (culvi_mpi_is_death(error))
                ended(m, &m->peers[m->arrived[i] % m->size], false);
            else if (!culvi_mpi_ok(m, error, "MPI_Testsome") || !take_one(m, m->arrived[i]))
                return false;
        }
    }
}

/* Slots ---------------------------------------------------------------------------------------- */

static bool grant_slot(culv_mpi *m, uint32_t index)
{
    slot *s = &m->slots[index];
    const uint64_t frame = m->granted;
    for (int i = 0; i < m->size; i++) {
        peer *p = &m->peers[i];
        const size_t at = frame % MAX_SLOTS;
        if (p->self || p->left || p->gone || !has_part(p)) continue;
        p->grants[at] = (grant){.frame = frame, .slot = index, .kind = GRANT_SLOT};
        /* The rank has the grant that was here before: it filled that slot. */
        if (p->grant_requests[at] != MPI_REQUEST_NULL &&
            !culvi_mpi_ok(m, MPI_Wait(&p->grant_requests[at], MPI_STATUS_IGNORE), "MPI_Wait"))
            return false;
        const int sent = MPI_Isend(&p->grants[at], sizeof(grant), MPI_BYTE, p->rank, TAG_GRANT,
                                   m->comm, &p->grant_requests[at]);
        if (culvi_mpi_is_death(sent))
            ended(m, p, false);
        else if (!culvi_mpi_ok(m, sent, "MPI_Isend"))
            return false;
    }
    m->missing[frame % MAX_SLOTS] = m->num_parts;
    s->state = SLOT_FILLING;
    s->frame = frame;
    s->granted_at = culvi_mpi_now();
    m->slot_of[frame % MAX_SLOTS] = index;
    m->granted++;
    return true;
}

static bool step_slots(culv_mpi *m)
{
    for (; m->complete < m->granted && m->missing[m->complete % MAX_SLOTS] == 0; m->complete++) {
        slot_of(m, m->complete)->state = SLOT_READY;
        if (!newest(m) || m->complete == 0) continue;
        slot *before = slot_of(m, m->complete - 1);
        if (before->state == SLOT_READY && before->frame + 1 == m->complete)
            before->state = SLOT_FREE;
    }
    for (uint32_t i = 0; i < m->num_slots; i++) {
        slot *s = &m->slots[i];
        if (s->state == SLOT_READ && s->pending) {
            bool done;
            if (!culvi_mpi_event_done(m, s->event, &done)) return false;
            s->pending = !done;
        }
        /* The last one of MAILBOX may be asked for again. */
        if (s->state == SLOT_READ && !s->pending && m->last != (int)i) s->state = SLOT_FREE;
        if (s->state == SLOT_FREE && !m->ended && m->num_ended == 0 && !grant_slot(m, i))
            return false;
    }
    return true;
}

bool culvi_mpi_step_renderer(culv_mpi *m)
{
    if (!culvi_mpi_take(m, true)) return false;
    for (int i = 0; (m->copying || m->asked < m->granted) && m->has_data && i < m->size; i++) {
        if (!step_data(m, &m->peers[i])) return false;
    }
    m->asked = m->granted;
    const uint64_t now = culvi_mpi_now();
    if (now - m->watched_at >= WATCH_NS) {
        m->watched_at = now;
        (void)poll(m->watch, (nfds_t)m->size, 0); /* /proc costs 40 us for each */
        for (int i = 0; i < m->size; i++) {
            peer *p = &m->peers[i];
            if (!p->watched || p->left || p->gone) continue;
            if (m->watch[i].fd >= 0 ? m->watch[i].revents != 0 : !culvi_mpi_alive(&p->hello.place))
                ended(m, p, false);
        }
    }
    return step_slots(m);
}

/* Calls ---------------------------------------------------------------------------------------- */

static uint64_t late_for(const culv_mpi *m, const peer *p)
{
    if (!has_part(p) || p->done >= m->granted) return 0;
    const uint64_t granted = m->slots[m->slot_of[p->done % MAX_SLOTS]].granted_at;
    return culvi_mpi_now() - (granted > p->since ? granted : p->since);
}

/* A rank from which the next frame's part never comes. */
static const peer *ended_peer(const culv_mpi *m)
{
    const peer *left = NULL;
    for (int i = 0; m->num_ended && i < m->size; i++) {
        const peer *p = &m->peers[i];
        if (!has_part(p)) continue;
        if (p->gone && p->done <= m->complete) return p;
        if (p->left && p->left_after <= m->complete &&
            (!left || (p->last_words.result != CULV_OK && left->last_words.result == CULV_OK)))
            left = p;
    }
    return left;
}

static culv_result stopped(const peer *p)
{
    const unsigned long long done = p->done;
    if (p->gone)
        return culvi_mpi_fail(
            CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE,
            "the process of rank %d (pid %d on %s) has ended without culv_mpi_destroy(); its last whole part was number %llu of all it handed over",
            p->rank, p->hello.place.pid, p->hello.place.host, done);
    if (p->last_words.result != CULV_OK)
        return culvi_mpi_fail(CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED,
                              "rank %d has ended its side after %llu frames, because of: %s",
                              p->rank, done, p->last_words.text);
    return culvi_mpi_fail(CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED,
                          "rank %d has ended its side after %llu frames", p->rank, done);
}

static culv_result incomplete(culv_mpi *m)
{
    char names[320] = "";
    size_t used = 0;
    int more = 0;
    for (int i = 0; i < m->size; i++) {
        const peer *p = &m->peers[i];
        if (!has_part(p) || p->done > m->complete || p->done >= m->granted) continue;
        if (used > sizeof names - 80) {
            more++;
            continue;
        }
        used += (size_t)snprintf(names + used, sizeof names - used,
                                 "%srank %d (for %.3f ms, by %s)", used ? ", " : "", p->rank,
                                 (double)late_for(m, p) / 1e6, culv_mpi_way_name(p->way));
    }
    if (!used)
        return culvi_mpi_fail(
            CULV_ERROR_TIMEOUT, CULV_REASON_RING_EMPTY,
            "no slot is free for frame %llu: the renderer's GPU still reads the earlier ones",
            (unsigned long long)m->granted);
    if (more) snprintf(names + used, sizeof names - used, " and %d more", more);
    return culvi_mpi_fail(CULV_ERROR_TIMEOUT, CULV_REASON_RING_EMPTY,
                          "frame %llu lacks the part of %s", (unsigned long long)m->complete,
                          names);
}

/* A whole frame that the renderer has not had, or MAILBOX's last one again. -1: none. */
static int find_frame(const culv_mpi *m)
{
    int found = -1;
    for (uint32_t i = 0; i < m->num_slots; i++) {
        const slot *s = &m->slots[i];
        if (s->state != SLOT_READY) continue;
        const bool later = found >= 0 && s->frame > m->slots[found].frame;
        if (found < 0 || later == newest(m)) found = (int)i;
    }
    return found < 0 ? m->last : found;
}

static culv_result check_renderer(const culv_mpi *m, const char *call)
{
    if (m->peers) return CULV_OK;
    return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s: rank %d is not the renderer, which is rank %d", call, m->rank,
                          m->renderer);
}

culv_result culv_mpi_acquire_frame(culv_mpi *m, uint64_t timeout, culv_mpi_frame *frame)
{
    culv_result wrong = culvi_mpi_check("culv_mpi_acquire_frame", m && frame,
                                        frame ? frame->struct_size : 0, sizeof *frame);
    if (wrong == CULV_OK) wrong = check_renderer(m, "culv_mpi_acquire_frame");
    if (wrong != CULV_OK) return wrong;
    if (m->held >= 0)
        return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                              "the renderer holds frame %llu: release it first",
                              (unsigned long long)m->slots[m->held].frame);
    if (!culvi_mpi_enter(m)) return culvi_mpi_answer(&m->failure);
    waiting w = culvi_mpi_wait_begin(timeout);
    int found = -1;
    const peer *ended = NULL;
    bool fine;
    do {
        fine = culvi_mpi_step(m);
        found = fine ? find_frame(m) : -1;
        ended = ended_peer(m);
    } while (fine && found < 0 && !ended && culvi_mpi_wait_more(m, &w));
    culvi_mpi_leave(m);
    if (!fine) return culvi_mpi_answer(&m->failure);
    /* What a rank that ended completed comes first. */
    if (ended && (found < 0 || found == m->last)) return stopped(ended);
    if (found < 0) return incomplete(m);

    slot *s = &m->slots[found];
    frame->repeated = found == m->last;
    frame->number = s->frame;
    frame->skipped = frame->repeated ? 0 : s->frame - m->drawn;
    frame->slot = (uint32_t)found;
    frame->pointer = s->pointer;
    s->state = SLOT_HELD;
    m->held = found;
    m->drawn = s->frame + 1;
    m->last = newest(m) ? found : -1;
    return CULV_OK;
}

culv_result culv_mpi_release_frame(culv_mpi *m, culv_semaphore *done, uint64_t value)
{
    if (!m) return culvi_mpi_check("culv_mpi_release_frame", false, 0, 0);
    const culv_result wrong = check_renderer(m, "culv_mpi_release_frame");
    if (wrong != CULV_OK) return wrong;
    if (m->held < 0)
        return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                              "the renderer holds no frame: acquire one first");
    if (!culvi_mpi_enter(m)) return culvi_mpi_answer(&m->failure);
    slot *s = &m->slots[m->held];
    culv_result result = CULV_OK;
    if (done) {
        result = culv_semaphore_wait(done, m->read, value);
        if (result == CULV_OK && !CU(m, cuEventRecord, s->event, m->read))
            result = culvi_mpi_answer(&m->failure);
        if (result == CULV_OK) s->pending = true;
    }
    if (result == CULV_OK) {
        s->state = SLOT_READ;
        m->held = -1;
        if (!culvi_mpi_step(m)) result = culvi_mpi_answer(&m->failure);
    }
    culvi_mpi_leave(m);
    return result;
}

culv_vmm_allocation *culv_mpi_slot(const culv_mpi *m, uint32_t index)
{
    return m && m->peers && index < m->num_slots ? m->slots[index].allocation : NULL;
}

static culv_mpi_rank_info describe(int rank, culv_mpi_way way, uint64_t bytes, uint64_t frames,
                                   const char *why)
{
    culv_mpi_rank_info info = culv_mpi_rank_info_init();
    info.rank = rank;
    info.way = way;
    info.bytes = bytes;
    info.frames = frames;
    snprintf(info.why, sizeof info.why, "%s", why);
    return info;
}

culv_result culv_mpi_get_ranks(culv_mpi *m, culv_mpi_rank_info *ranks, size_t capacity,
                               size_t *count)
{
    const culv_result wrong =
        culvi_mpi_check("culv_mpi_get_ranks", m && count && (ranks || !capacity),
                        ranks && capacity ? ranks[0].struct_size : sizeof *ranks, sizeof *ranks);
    if (wrong != CULV_OK) return wrong;
    *count = m->peers ? (size_t)m->size : 1;
    if (!m->peers && capacity > 0)
        ranks[0] = describe(m->rank, m->way, m->part.bytes, m->finished, m->why);
    uint64_t furthest = 0;
    for (int i = 0; m->peers && i < m->size; i++) {
        if (has_part(&m->peers[i]) && m->peers[i].done > furthest) furthest = m->peers[i].done;
    }
    for (size_t i = 0; m->peers && i < capacity && i < *count; i++) {
        const peer *p = &m->peers[i];
        ranks[i] = describe(p->rank, p->way, p->part.bytes, p->done, p->why);
        ranks[i].behind = has_part(p) ? furthest - p->done : 0;
        ranks[i].late = late_for(m, p);
        ranks[i].ended = p->left || p->gone;
    }
    return CULV_OK;
}
