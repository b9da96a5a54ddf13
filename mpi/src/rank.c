/* SPDX-License-Identifier: MIT */
/* culvert-mpi: a rank's part. */
#include <stdio.h>

#include "mpi_inside.h"

/* What arrives --------------------------------------------------------------------------------- */

static bool post_grant(culv_mpi *m)
{
    return culvi_mpi_receive(m, &m->grant, sizeof m->grant, m->renderer, TAG_GRANT,
                             &m->grant_request);
}

static bool take_grants(culv_mpi *m)
{
    bool come = true;
    if (m->peers) return true; /* the renderer's own part reads `granted` itself */
    while (!m->ended && come) {
        if (m->grant_request == MPI_REQUEST_NULL && !post_grant(m)) return false;
        if (!culvi_mpi_test(m, &m->grant_request, &come)) return false;
        if (!come) break;
        if (m->grant.kind == GRANT_SLOT && m->grant.slot < m->num_slots) {
            m->slot_of[m->grant.frame % MAX_SLOTS] = m->grant.slot;
            m->granted = m->grant.frame + 1;
        } else {
            m->ended = true;
            m->lost = m->grant.kind == GRANT_FAILED;
        }
    }
    return true;
}

/* What leaves ---------------------------------------------------------------------------------- */

static bool send_state(culv_mpi *m, uint64_t frame)
{
    state *s = &m->states[frame % MAX_SLOTS];
    *s = (state){.frame = frame, .kind = STATE_DONE};
    return culvi_mpi_send(m, s, STATE_DONE_BYTES, m->renderer, TAG_STATE,
                          &m->state_requests[frame % MAX_SLOTS]);
}

static bool step_direct(culv_mpi *m)
{
    bool done = true;
    while (done && m->finished < m->released) {
        const uint64_t frame = m->finished;
        if (!culvi_mpi_event_done(m, m->events[frame % MAX_SLOTS], &done)) return false;
        if (!done) break;
        if (m->peers) {
            culvi_mpi_part_done(m, &m->peers[m->rank]);
        } else {
            if (!culvi_mpi_test(m, &m->state_requests[frame % MAX_SLOTS], &done)) return false;
            if (!done) break;
            if (!send_state(m, frame)) return false;
        }
        m->finished++;
    }
    return true;
}

static bool step_device(culv_mpi *m)
{
    bool done = true;
    while (done && m->finished < m->released) {
        if (!m->sending) {
            if (!culvi_mpi_event_done(m, m->events[m->finished % MAX_SLOTS], &done)) return false;
            if (!done) break;
            /* MPI's buffers are host pointers by their type alone. */
            void *from = (void *)(uintptr_t)m->staging[m->finished % STAGINGS];
            if (!culvi_mpi_ok(m,
                              MPI_Isend(from, 1, m->type, m->renderer, TAG_DATA, m->comm, &m->data),
                              "MPI_Isend"))
                return false;
            m->sending = true;
        }
        if (!culvi_mpi_test(m, &m->data, &done)) return false;
        if (!done) break;
        m->sending = false;
        m->finished++;
    }
    return true;
}

/* The copies down, up to two at once, then their sends. */
static bool step_host(culv_mpi *m)
{
    pipe_line *p = &m->pipe;
    bool done = true;
    while (p->ended < p->middle) {
        const chunk *c = &p->chunks[p->ended % CHUNKS];
        if (!culvi_mpi_test(m, c->request, &done)) return false;
        if (!done) break;
        p->ended++;
        if (c->last) m->finished++;
    }
    while (p->middle < p->begun) {
        chunk *c = &p->chunks[p->middle % CHUNKS];
        if (!culvi_mpi_event_done(m, c->event, &done)) return false;
        if (!done) break;
        if (!culvi_mpi_send(m, c->host, c->size, m->renderer, TAG_DATA, c->request)) return false;
        p->middle++;
    }
    while (p->begun - p->ended < CHUNKS && p->frame < m->released) {
        chunk *c = &p->chunks[p->begun % CHUNKS];
        const uint64_t frame = p->frame;
        if (p->position == 0 &&
            !CU(m, cuStreamWaitEvent, m->stream, m->events[frame % MAX_SLOTS], 0))
            return false;
        culvi_mpi_pipe_next(p, &m->part, c);
        if (!CU(m, cuMemcpyDtoHAsync, c->host, m->staging[frame % STAGINGS] + c->position,
                (size_t)c->size, m->stream) ||
            !CU(m, cuEventRecord, c->event, m->stream))
            return false;
    }
    return true;
}

bool culvi_mpi_step_rank(culv_mpi *m)
{
    if (!take_grants(m)) return false;
    switch (m->way) {
    case CULV_MPI_WAY_DIRECT: return step_direct(m);
    case CULV_MPI_WAY_DEVICE: return step_device(m);
    case CULV_MPI_WAY_HOST: return step_host(m);
    default: return true;
    }
}

/* Calls ---------------------------------------------------------------------------------------- */

culv_result culvi_mpi_renderer_ended(culv_mpi *m)
{
    const culv_result result =
        culvi_mpi_fail(CULV_ERROR_ASYNC, CULV_REASON_IPC_GONE,
                       "the renderer's process (rank %d, pid %d on %s) has ended", m->renderer,
                       m->welcome.place.pid, m->welcome.place.host);
    (void)culvi_mpi_broken(m);
    return result;
}

/* Has the renderer ended, as it said or as the system says? */
static culv_result renderer_gone(culv_mpi *m)
{
    if (m->ended)
        return culvi_mpi_fail(CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED,
                              "the renderer (rank %d) has ended its side%s", m->renderer,
                              m->lost ? " after an error, of its own or of another rank" : "");
    const uint64_t now = culvi_mpi_now();
    if (!m->renderer_watched || now - m->watched_at < WATCH_NS) return CULV_OK;
    m->watched_at = now;
    return culvi_mpi_alive(&m->welcome.place) ? CULV_OK : culvi_mpi_renderer_ended(m);
}

static bool may_write(const culv_mpi *m)
{
    if (m->way == CULV_MPI_WAY_NONE) return true;
    return m->granted > m->released &&
           (m->way == CULV_MPI_WAY_DIRECT || m->released - m->finished < STAGINGS);
}

static culv_result late(const culv_mpi *m)
{
    if (m->granted <= m->released)
        return culvi_mpi_fail(
            CULV_ERROR_TIMEOUT, CULV_REASON_RING_FULL,
            "the renderer (rank %d) has given rank %d no slot for frame %llu: it reads the earlier frames, or it makes no calls",
            m->renderer, m->rank, (unsigned long long)m->released);
    return culvi_mpi_fail(
        CULV_ERROR_TIMEOUT, CULV_REASON_RING_FULL,
        "frame %llu of rank %d has not left it yet, by %s: its stream, MPI or the renderer (rank %d) is late",
        (unsigned long long)m->finished, m->rank, culv_mpi_way_name(m->way), m->renderer);
}

culv_result culv_mpi_acquire(culv_mpi *m, uint64_t timeout, culv_mpi_part *part)
{
    const culv_result wrong =
        culvi_mpi_check("culv_mpi_acquire", m && part, part ? part->struct_size : 0, sizeof *part);
    if (wrong != CULV_OK) return wrong;
    if (m->part_held)
        return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                              "rank %d holds frame %llu: release it first", m->rank,
                              (unsigned long long)m->released);
    if (!culvi_mpi_enter(m)) return culvi_mpi_answer(&m->failure);
    waiting w = culvi_mpi_wait_begin(timeout);
    culv_result result = CULV_OK;
    do {
        result = culvi_mpi_step(m) ? renderer_gone(m) : culvi_mpi_answer(&m->failure);
    } while (result == CULV_OK && !may_write(m) && culvi_mpi_wait_more(m, &w));
    culvi_mpi_leave(m);
    if (result == CULV_OK && !may_write(m)) result = late(m);
    if (result != CULV_OK) return result;
    m->part_held = true;
    part->number = m->released;
    part->num_ranges = m->part.num_ranges;
    return CULV_OK;
}

CUdeviceptr culv_mpi_pointer(const culv_mpi *m, size_t range)
{
    if (!m || !m->part_held || range >= m->part.num_ranges) return 0;
    if (m->way == CULV_MPI_WAY_DIRECT)
        return m->slots[m->slot_of[m->released % MAX_SLOTS]].pointer + m->part.ranges[range].offset;
    if (m->way == CULV_MPI_WAY_NONE) return 0;
    return m->staging[m->released % STAGINGS] + m->part.packed[range];
}

/* Does the part arrive without another call of this rank's? */
static bool on_its_way(const culv_mpi *m)
{
    return m->peers || m->desc.overlap || m->finished == m->released ||
           (m->sending && m->finished + 1 == m->released);
}

culv_result culv_mpi_release(culv_mpi *m, CUstream stream)
{
    if (!m) return culvi_mpi_check("culv_mpi_release", false, 0, 0);
    if (!m->part_held)
        return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_RING_ORDER,
                              "rank %d holds no part: acquire one first", m->rank);
    if (!culvi_mpi_enter(m)) return culvi_mpi_answer(&m->failure);
    bool fine = m->way == CULV_MPI_WAY_NONE ||
                CU(m, cuEventRecord, m->events[m->released % MAX_SLOTS], stream);
    culv_result result = CULV_OK;
    if (fine) {
        waiting w = culvi_mpi_wait_begin(m->desc.timeout);
        m->part_held = false;
        m->released++;
        if (m->way == CULV_MPI_WAY_NONE) m->finished = m->released;
        do {
            fine = culvi_mpi_step(m);
            if (fine && !on_its_way(m)) result = renderer_gone(m);
        } while (fine && result == CULV_OK && !on_its_way(m) && culvi_mpi_wait_more(m, &w));
    }
    culvi_mpi_leave(m);
    if (!fine) return culvi_mpi_answer(&m->failure);
    return result == CULV_OK && !on_its_way(m) ? late(m) : result;
}

culv_result culv_mpi_progress(culv_mpi *m, uint64_t timeout, uint32_t *pending)
{
    if (!m) return culvi_mpi_check("culv_mpi_progress", false, 0, 0);
    if (!culvi_mpi_enter(m)) return culvi_mpi_answer(&m->failure);
    waiting w = culvi_mpi_wait_begin(timeout);
    bool fine = culvi_mpi_step(m);
    while (fine && m->finished < m->released && culvi_mpi_wait_more(m, &w))
        fine = culvi_mpi_step(m);
    culvi_mpi_leave(m);
    if (!fine) return culvi_mpi_answer(&m->failure);
    if (pending) *pending = (uint32_t)(m->released - m->finished);
    return CULV_OK;
}
