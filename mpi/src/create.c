/* SPDX-License-Identifier: MIT */
/* culvert-mpi: how a side is made and ended. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi_inside.h"

#define DEFAULT_TIMEOUT UINT64_C(30000000000)
#define DEFAULT_CHUNK   (UINT64_C(4) << 20)
#define MAX_CHUNK       (UINT64_C(1) << 30)

static culv_mpi *new_side(culv_device *device, const culv_mpi_desc *desc, int rank, int size)
{
    culv_mpi *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    atomic_flag_clear(&m->busy);
    m->rank = rank;
    m->size = size;
    m->renderer = desc->renderer;
    m->device = device;
    m->cu = culv_device_cuda_api(device, 0);
    m->context = culv_device_context(device);
    m->desc = *desc;
    snprintf(m->label, sizeof m->label, "%s", desc->label ? desc->label : "culvert-mpi");
    if (!m->desc.timeout) m->desc.timeout = DEFAULT_TIMEOUT;
    if (!m->desc.chunk_size) m->desc.chunk_size = DEFAULT_CHUNK;
    if (!m->desc.num_slots) m->desc.num_slots = 3;
    m->num_slots = m->desc.num_slots;
    m->held = m->last = -1;
    m->type = MPI_DATATYPE_NULL;
    m->data = m->grant_request = m->farewell_request = MPI_REQUEST_NULL;
    for (int i = 0; i < MAX_SLOTS; i++)
        m->state_requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < CHUNKS; i++)
        *(m->pipe.chunks[i].request = &m->chunk_requests[i]) = MPI_REQUEST_NULL;
    return m;
}

static bool new_peers(culv_mpi *m)
{
    const size_t size = (size_t)m->size;
    m->incoming = calloc(size * IN_KINDS, sizeof *m->incoming);
    m->arrived = calloc(size * IN_KINDS, sizeof *m->arrived);
    m->statuses = calloc(size * IN_KINDS, sizeof *m->statuses);
    m->watch = calloc(size, sizeof *m->watch);
    if (m->incoming && m->arrived && m->statuses && m->watch)
        m->peers = calloc(size, sizeof *m->peers);
    if (!m->peers) {
        (void)culvi_mpi_fail(CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY,
                             "no memory for %d ranks", m->size);
        return false;
    }
    for (size_t i = 0; i < size * IN_KINDS; i++)
        m->incoming[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < m->size; i++) {
        peer *p = &m->peers[i];
        p->rank = i;
        m->watch[i] = (struct pollfd){.fd = -1, .events = POLLIN};
        p->self = i == m->rank;
        p->type = MPI_DATATYPE_NULL;
        p->out = p->end_request = MPI_REQUEST_NULL;
        p->in = &m->incoming[i];
        p->data = &m->incoming[IN_DATA * m->size + i];
        for (int j = 0; j < MAX_SLOTS; j++)
            p->grant_requests[j] = MPI_REQUEST_NULL;
        for (int j = 0; j < CHUNKS; j++)
            p->pipe.chunks[j].request = &m->incoming[(IN_CHUNK + j) * m->size + i];
    }
    return true;
}

/* The environment's way, if the descriptor has none. */
static culv_mpi_way wanted_way(const culv_mpi_desc *d)
{
    const char *text = getenv("CULVERT_MPI_WAY");
    if (d->way != CULV_MPI_WAY_AUTO || !text || !*text) return d->way;
    for (int way = CULV_MPI_WAY_AUTO; way <= CULV_MPI_WAY_HOST; way++) {
        if (strcmp(text, culv_mpi_way_name((culv_mpi_way)way)) == 0) return (culv_mpi_way)way;
    }
    return CULV_MPI_WAY_NONE; /* no way to ask for */
}

/* What is wrong here goes to all ranks with the hello. */
static bool check(const culv_mpi *m, culv_mpi_way way)
{
    const culv_mpi_desc *d = &m->desc;
    const char *text = NULL;
    if ((int)way < 0 || way > CULV_MPI_WAY_HOST)
        text =
            "the way is none of AUTO, DIRECT, DEVICE and HOST (culv_mpi_desc::way, CULVERT_MPI_WAY)";
    else if (d->num_ranges > 0 && !d->ranges)
        text = "ranges is NULL, and num_ranges is not 0";
    else if (d->chunk_size > MAX_CHUNK)
        text = "chunk_size is more than 1 GiB";
    else if (m->rank == m->renderer && d->frame_size == 0)
        text = "frame_size of the renderer is 0";
    else if (m->rank == m->renderer && d->num_slots > MAX_SLOTS)
        text = "num_slots is more than CULV_MPI_MAX_SLOTS";
    else if (m->rank == m->renderer && d->policy == CULV_RING_MAILBOX && d->num_slots < 3)
        text = "num_slots is less than 3, which MAILBOX needs";
    else if (d->policy != CULV_RING_FIFO && d->policy != CULV_RING_MAILBOX)
        text = "the policy is neither FIFO nor MAILBOX";
    if (!text) return true;
    (void)culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_VALUE, "rank %d: %s", m->rank, text);
    return false;
}

static bool make_hello(culv_mpi *m)
{
    const culv_mpi_desc *d = &m->desc;
    culv_device_caps caps = culv_device_caps_init();
    const culv_mpi_way way = wanted_way(d);
    const bool fine = check(m, way) && culv_device_get_caps(m->device, &caps) == CULV_OK;
    culvi_mpi_place(&m->place);
    m->hello = (hello){.protocol = PROTOCOL,
                       .way = (uint32_t)way,
                       .device_pointers = culvi_mpi_device_pointers(),
                       .software = caps.is_software,
                       .chunk_size = d->chunk_size,
                       .place = m->place};
    if (!fine) culvi_mpi_last_error(&m->hello.verdict);
    const size_t count = fine ? d->num_ranges : 0;
    m->hello.num_ranges = count;
    if (culvi_mpi_layout(&m->part, d->ranges, count)) return true;
    (void)culvi_mpi_fail(CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY,
                         "rank %d: no memory for %zu ranges", m->rank, count);
    return false;
}

static bool make_cuda(culv_mpi *m)
{
    if (!CU(m, cuStreamCreate, &m->stream, CU_STREAM_NON_BLOCKING) ||
        !CU(m, cuStreamCreate, &m->read, CU_STREAM_NON_BLOCKING))
        return false;
    for (int i = 0; i < MAX_SLOTS; i++) {
        if (!CU(m, cuEventCreate, &m->events[i], CU_EVENT_DISABLE_TIMING)) return false;
    }
    return true;
}

static bool make_comm(culv_mpi *m, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    waiting w = culvi_mpi_wait_begin(m->desc.timeout);
    bool done = false;
    if (!culvi_mpi_ok(m, MPI_Comm_idup(comm, &m->comm, &request), "MPI_Comm_idup")) return false;
    for (;;) {
        if (!culvi_mpi_test(m, &request, &done)) return false;
        if (done) break;
        if (culvi_mpi_wait_more(m, &w)) continue;
        (void)culvi_mpi_fail(
            CULV_ERROR_TIMEOUT, CULV_REASON_IPC_GONE,
            "rank %d: MPI_Comm_idup() has not ended: not all ranks of the communicator call culv_mpi_create()",
            m->rank);
        return false;
    }
    m->has_comm = true;
    return culvi_mpi_ok(m, MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN),
                        "MPI_Comm_set_errhandler");
}

/* Everything that is this process's own. Sends that never ended keep what MPI may still read. */
static void free_side(culv_mpi *m, bool mpi_lives)
{
    bool pending = m->farewell_request != MPI_REQUEST_NULL || m->data != MPI_REQUEST_NULL;
    if (mpi_lives) culvi_mpi_cancel(&m->grant_request);
    for (int i = 0; mpi_lives && m->peers && i < m->size * IN_KINDS; i++)
        culvi_mpi_cancel(&m->incoming[i]);
    for (int i = 0; m->peers && i < m->size; i++) {
        peer *p = &m->peers[i];
        if (mpi_lives && p->type != MPI_DATATYPE_NULL) (void)MPI_Type_free(&p->type);
        pending |= p->out != MPI_REQUEST_NULL || p->end_request != MPI_REQUEST_NULL;
        for (int j = 0; j < MAX_SLOTS; j++)
            pending |= p->grant_requests[j] != MPI_REQUEST_NULL;
        if (m->watch[i].fd >= 0) (void)close(m->watch[i].fd);
        culvi_mpi_pipe_destroy(m, &p->pipe);
        culvi_mpi_layout_free(&p->part);
        free(p->incoming);
    }
    culvi_mpi_pipe_destroy(m, &m->pipe);
    for (int i = 0; i < STAGINGS && m->data == MPI_REQUEST_NULL; i++) {
        if (m->staging[i]) (void)m->cu->cuMemFree(m->staging[i]);
    }
    for (int i = 0; i < MAX_SLOTS; i++) {
        pending |= m->state_requests[i] != MPI_REQUEST_NULL;
        if (m->events[i]) (void)m->cu->cuEventDestroy(m->events[i]);
        if (m->slots[i].event) (void)m->cu->cuEventDestroy(m->slots[i].event);
        culvi_mpi_free_slot(&m->slots[i]);
    }
    if (m->stream) (void)m->cu->cuStreamDestroy(m->stream);
    if (m->read) (void)m->cu->cuStreamDestroy(m->read);
    if (mpi_lives && m->type != MPI_DATATYPE_NULL) (void)MPI_Type_free(&m->type);
    culvi_mpi_layout_free(&m->part);
    free(m->arrived);
    free(m->statuses);
    free(m->watch);
    if (pending) return;
    free(m->incoming);
    free(m->peers);
    free(m);
}

/* Small sends end by themselves; this takes notice. */
static void settle(culv_mpi *m)
{
    bool done;
    for (int i = 0; i < MAX_SLOTS; i++)
        (void)culvi_mpi_test(m, &m->state_requests[i], &done);
    (void)culvi_mpi_test(m, &m->farewell_request, &done);
    for (int i = 0; m->peers && i < m->size; i++) {
        peer *p = &m->peers[i];
        (void)culvi_mpi_test(m, &p->out, &done);
        (void)culvi_mpi_test(m, &p->end_request, &done);
        for (int j = 0; j < MAX_SLOTS; j++)
            (void)culvi_mpi_test(m, &p->grant_requests[j], &done);
    }
}

/* Both sides know that nothing more comes. */
static bool part_from_ranks(culv_mpi *m)
{
    waiting w = culvi_mpi_wait_begin(m->desc.timeout);
    bool lost = m->failure.result != CULV_OK, all;
    for (int i = 0; i < m->size; i++)
        lost |= m->peers[i].gone;
    m->ended = true;
    do {
        all = true;
        if (m->failure.result == CULV_OK) (void)culvi_mpi_step_renderer(m);
        if (m->failure.result != CULV_OK && !culvi_mpi_take(m, false)) lost = true;
        for (int i = 0; i < m->size; i++) {
            peer *p = &m->peers[i];
            if (p->self) continue;
            if (p->gone || !culvi_mpi_send_end(m, p, lost ? GRANT_FAILED : GRANT_END)) {
                lost = true;
                continue;
            }
            all &= p->left;
        }
    } while (!all && culvi_mpi_wait_more(m, &w));
    return all && !lost;
}

static bool part_from_renderer(culv_mpi *m)
{
    waiting w = culvi_mpi_wait_begin(m->desc.timeout);
    bool fine = m->failure.result == CULV_OK, alive = true, done = false;
    while (fine && m->finished < m->released && !m->lost && culvi_mpi_wait_more(m, &w))
        fine = culvi_mpi_step_rank(m);
    m->farewell = (state){.frame = m->finished, .kind = STATE_LEFT, .verdict = m->failure};
    if (MPI_Isend(&m->farewell, (int)sizeof m->farewell, MPI_BYTE, m->renderer, TAG_STATE, m->comm,
                  &m->farewell_request) != MPI_SUCCESS)
        return false;
    while (!(done && m->ended) && alive) {
        if (!culvi_mpi_test(m, &m->farewell_request, &done)) return false;
        if (m->failure.result == CULV_OK && !culvi_mpi_step_rank(m)) return false;
        if (m->failure.result != CULV_OK) return false; /* nobody listens to it */
        alive = !m->renderer_watched || culvi_mpi_alive(&m->welcome.place);
        if (!culvi_mpi_wait_more(m, &w)) return false;
    }
    return alive && m->finished == m->released;
}

void culv_mpi_destroy(culv_mpi **mpi)
{
    if (!mpi || !*mpi) return;
    culv_mpi *m = *mpi;
    *mpi = NULL;
    int finalized = 0;
    if (m->joined) culvi_mpi_unlist(m);
    (void)MPI_Finalized(&finalized);
    const culv_cuda_api *cu = m->cu;
    const bool entered = cu->cuCtxPushCurrent(m->context) == CUDA_SUCCESS;
    bool clean = false;
    if (!finalized && m->joined) clean = m->peers ? part_from_ranks(m) : part_from_renderer(m);
    if (!finalized && m->has_comm) settle(m);
    MPI_Comm comm = m->comm;
    const bool has_comm = m->has_comm;
    free_side(m, !finalized);
    if (entered) {
        CUcontext before;
        (void)cu->cuCtxPopCurrent(&before);
    }
    /* If a rank is missing, freeing could wait for it. */
    if (!finalized && has_comm && clean) (void)MPI_Comm_free(&comm);
}

culv_result culv_mpi_create(culv_device *device, MPI_Comm comm, const culv_mpi_desc *desc,
                            culv_mpi **out)
{
    int initialized = 0, inter = 0, rank = 0, size = 0;
    const culv_result wrong = culvi_mpi_check("culv_mpi_create", device && desc && out,
                                              desc ? desc->struct_size : 0, sizeof *desc);
    if (wrong != CULV_OK) return wrong;
    (void)MPI_Initialized(&initialized);
    if (!initialized)
        return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_NOT_READY,
                              "MPI is not initialized: call MPI_Init() first");
    if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_VALUE,
                              "the communicator is no intracommunicator");
    (void)MPI_Comm_rank(comm, &rank);
    (void)MPI_Comm_size(comm, &size);
    if (desc->renderer < 0 || desc->renderer >= size)
        return culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_VALUE,
                              "renderer is %d, and the communicator has %d ranks", desc->renderer,
                              size);
    culv_mpi *m = new_side(device, desc, rank, size);
    if (!m) return culvi_mpi_fail(CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY, "no memory");
    bool fine = culvi_mpi_enter(m);
    if (fine) {
        fine = (m->rank != m->renderer || new_peers(m)) && make_hello(m) && make_cuda(m) &&
               make_comm(m, comm) && culvi_mpi_join(m);
        culvi_mpi_leave(m);
    }
    if (fine) {
        m->joined = true;
        culvi_mpi_list(m);
        *out = m;
        return CULV_OK;
    }
    verdict v;
    culvi_mpi_last_error(&v);
    culv_mpi_destroy(&m);
    return culvi_mpi_answer(&v);
}
