/* SPDX-License-Identifier: MIT */
/* culvert-mpi: how the ranks and the renderer agree.
 *
 *   rank -> renderer   hello, and its ranges
 *   renderer -> rank   welcome: the slots, and where the server of their memory is
 *   rank -> renderer   ready: its way
 *   renderer -> rank   go, or the first error of any rank */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi_inside.h"

/* For a server of the same machine, which answers while it waits for this rank. */
#define CONNECT_NS UINT64_C(20000000000)

static bool heard(const verdict *v)
{
    return v->result == CULV_OK || culvi_mpi_answer(v) == CULV_OK;
}

static bool refuse(culv_result result, culv_reason reason, int rank, const char *text)
{
    (void)culvi_mpi_fail(result, reason, "rank %d: %s", rank, text);
    return false;
}

/* A rank --------------------------------------------------------------------------------------- */

static bool wait_for_renderer(culv_mpi *m, MPI_Request *request, waiting *w)
{
    bool done;
    for (;;) {
        if (!culvi_mpi_test(m, request, &done)) return false;
        if (done) return true;
        if (culvi_mpi_wait_more(m, w)) continue;
        (void)culvi_mpi_fail(
            CULV_ERROR_TIMEOUT, CULV_REASON_IPC_GONE,
            "rank %d: the renderer (rank %d) does not answer. All ranks call culv_mpi_create() with the same renderer",
            m->rank, m->renderer);
        return false;
    }
}

/* Maps an allocation that was received. */
static bool map_slot(culv_mpi *m, slot *s)
{
    culv_vmm_range_desc desc = culv_vmm_range_desc_init();
    const culv_vmm_access access = {.device = m->device, .flags = CULV_VMM_ACCESS_READ_WRITE};
    desc.size = m->slot_size;
    desc.label = m->label;
    if (culv_vmm_range_create(m->device, &desc, &s->range) != CULV_OK ||
        culv_vmm_map(s->range, 0, s->allocation, &access, 1) != CULV_OK)
        return false;
    s->pointer = culv_vmm_range_pointer(s->range);
    return true;
}

static bool import_slot(culv_mpi *m, culv_ipc_client *client, uint32_t i)
{
    char name[CULV_IPC_NAME_SIZE];
    slot *s = &m->slots[i];
    culv_ipc_object *object = NULL;
    snprintf(name, sizeof name, "slot.%u", i);
    bool fine = culv_ipc_client_receive(client, name, CONNECT_NS, &object) == CULV_OK &&
                culv_ipc_import_vmm(object, &s->allocation) == CULV_OK && map_slot(m, s);
    culv_ipc_object_destroy(&object);
    return fine;
}

void culvi_mpi_free_slot(slot *s)
{
    if (s->range && s->pointer) culv_vmm_unmap(s->range, 0, culv_vmm_range_size(s->range), NULL);
    (void)culv_vmm_range_destroy(&s->range);
    (void)culv_vmm_allocation_destroy(&s->allocation);
    s->pointer = 0;
}

static bool open_slots(culv_mpi *m)
{
    culv_ipc_client_desc desc = culv_ipc_client_desc_init();
    culv_ipc_client *client = NULL;
    desc.name = m->welcome.server;
    desc.label = m->label;
    bool fine = culv_ipc_client_connect(m->device, &desc, CONNECT_NS, &client) == CULV_OK;
    for (uint32_t i = 0; fine && i < m->num_slots; i++)
        fine = import_slot(m, client, i);
    culv_ipc_client_destroy(&client);
    for (uint32_t i = 0; !fine && i < m->num_slots; i++)
        culvi_mpi_free_slot(&m->slots[i]);
    return fine;
}

/* By fabric handles: bytes that name memory for all machines of an NVLink domain. `why` begins
 * with the reason why there are no file descriptors. */
static bool try_fabric(culv_mpi *m, char *why, size_t size)
{
    const size_t used = strlen(why);
    if (m->welcome.no_fabric != CULV_OK) {
        snprintf(why + used, size - used, ", whose memory has no fabric handles (IMEX)");
        return false;
    }
    bool fine = true;
    for (uint32_t i = 0; fine && i < m->num_slots; i++) {
        culv_vmm_import_desc desc = culv_vmm_import_desc_init();
        desc.handle = culv_handle_fabric(m->welcome.fabric[i].value.fabric);
        desc.size = m->slot_size;
        /* Another machine's GPU has a UUID that nobody knows here. */
        if (culvi_mpi_same_machine(&m->place, &m->welcome.place)) desc.exporter = m->welcome.device;
        desc.label = m->label;
        fine = culv_vmm_import(m->device, &desc, &m->slots[i].allocation) == CULV_OK &&
               map_slot(m, &m->slots[i]);
    }
    snprintf(why + used, size - used,
             fine ? "; its memory is mapped here by fabric handles"
                  : ", and its fabric handles are refused: %.90s",
             culv_last_error_message());
    for (uint32_t i = 0; !fine && i < m->num_slots; i++)
        culvi_mpi_free_slot(&m->slots[i]);
    return fine;
}

/* Straight into the renderer's memory? If not, `why` says why not. */
static bool try_direct(culv_mpi *m, char *why, size_t size)
{
    const place *here = &m->place, *there = &m->welcome.place;
    if (!culvi_mpi_same_machine(here, there)) {
        snprintf(why, size, "the renderer is on another machine (%s)", there->host);
        return try_fabric(m, why, size);
    }
    if (strcmp(here->network, there->network) != 0) {
        snprintf(why, size, "the renderer is in another network namespace (container)");
        return try_fabric(m, why, size);
    }
    if (!open_slots(m)) {
        snprintf(why, size, "%s", culv_last_error_message());
        return false;
    }
    culv_device_caps caps = culv_device_caps_init();
    const bool same = culv_device_get_caps(m->device, &caps) == CULV_OK &&
                      memcmp(&caps.uuid, &m->welcome.device, sizeof caps.uuid) == 0;
    snprintf(why, size, "the renderer's memory is mapped here, on %s",
             same ? "the same GPU" : "another GPU of this machine");
    return true;
}

static bool may_pass_device_pointers(const culv_mpi *m, char *why, size_t size)
{
    if (m->hello.device_pointers && m->welcome.device_pointers) {
        snprintf(why, size, "MPI takes device pointers (MPIX_Query_cuda_support())");
        return true;
    }
    snprintf(why, size, "MPI does not take device pointers (MPIX_Query_cuda_support()) at rank %d",
             m->hello.device_pointers ? m->renderer : m->rank);
    /* The twin's device memory is the CPU's: it may be forced there. */
    return m->hello.way == CULV_MPI_WAY_DEVICE && m->hello.software && m->welcome.software;
}

static bool make_staging(culv_mpi *m)
{
    for (int i = 0; i < STAGINGS; i++) {
        if (!CU(m, cuMemAlloc, &m->staging[i], (size_t)m->part.packed_size)) return false;
    }
    if (m->way == CULV_MPI_WAY_DEVICE) return culvi_mpi_type(m, &m->part, true, &m->type);
    return culvi_mpi_pipe_create(m, &m->pipe, m->hello.chunk_size, m->part.packed_size);
}

static bool choose_way(culv_mpi *m)
{
    const culv_mpi_way wanted = (culv_mpi_way)m->hello.way;
    char direct[200] = "another way was asked for", device[160] = "";
    if (m->part.bytes == 0) {
        m->way = CULV_MPI_WAY_NONE;
        snprintf(m->why, sizeof m->why, "the rank has no part");
        return true;
    }
    if ((wanted == CULV_MPI_WAY_AUTO || wanted == CULV_MPI_WAY_DIRECT) &&
        try_direct(m, direct, sizeof direct)) {
        m->way = CULV_MPI_WAY_DIRECT;
        snprintf(m->why, sizeof m->why, "%s", direct);
        return true;
    }
    if (wanted == CULV_MPI_WAY_DIRECT)
        return refuse(CULV_ERROR_UNSUPPORTED, CULV_REASON_VALUE, m->rank, direct);
    const bool pointers = may_pass_device_pointers(m, device, sizeof device);
    if (wanted == CULV_MPI_WAY_DEVICE && !pointers)
        return refuse(CULV_ERROR_UNSUPPORTED, CULV_REASON_VALUE, m->rank, device);
    m->way = pointers && wanted != CULV_MPI_WAY_HOST ? CULV_MPI_WAY_DEVICE : CULV_MPI_WAY_HOST;
    if (wanted == CULV_MPI_WAY_AUTO)
        snprintf(m->why, sizeof m->why, "%.160s; %.90s", direct, device);
    else
        snprintf(m->why, sizeof m->why, "it was asked for");
    return make_staging(m);
}

static bool join_rank(culv_mpi *m, waiting *w)
{
    MPI_Request sent[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request *in = &m->grant_request;
    const size_t bytes = m->part.num_ranges * sizeof *m->part.ranges;
    if (!culvi_mpi_send(m, &m->hello, sizeof m->hello, m->renderer, TAG_HELLO, &sent[0]) ||
        (bytes && !culvi_mpi_send(m, m->part.ranges, bytes, m->renderer, TAG_RANGES, &sent[1])) ||
        !culvi_mpi_receive(m, &m->welcome, sizeof m->welcome, m->renderer, TAG_WELCOME, in) ||
        !wait_for_renderer(m, in, w))
        return false;
    if (!heard(&m->welcome.verdict)) return false;
    m->num_slots = m->welcome.num_slots;
    m->slot_size = m->welcome.slot_size;
    if (!choose_way(m)) culvi_mpi_last_error(&m->ready.verdict);
    m->ready.way = (uint32_t)m->way;
    memcpy(m->ready.why, m->why, sizeof m->why);
    if (!culvi_mpi_send(m, &m->ready, sizeof m->ready, m->renderer, TAG_READY, &sent[2]) ||
        !culvi_mpi_receive(m, &m->go, sizeof m->go, m->renderer, TAG_GO, in) ||
        !wait_for_renderer(m, in, w))
        return false;
    for (int i = 0; i < 3; i++) { /* the renderer has all three */
        if (!culvi_mpi_ok(m, MPI_Wait(&sent[i], MPI_STATUS_IGNORE), "MPI_Wait")) return false;
    }
    if (!heard(&m->go)) return false;
    m->renderer_watched = culvi_mpi_watchable(&m->place, &m->welcome.place);
    return true;
}

/* The renderer --------------------------------------------------------------------------------- */

/* Waits for a message of each rank, and answers clients of the server in between. */
static bool wait_for_ranks(culv_mpi *m, culv_ipc_server *server, const char *what, waiting *w)
{
    for (;;) {
        char names[128] = "";
        size_t used = 0;
        int all = 0;
        if (!culvi_mpi_ok(m, MPI_Testall(m->size, m->incoming, &all, MPI_STATUSES_IGNORE),
                          "MPI_Testall"))
            return false;
        if (all) return true;
        if (server && culv_ipc_server_poll(server, 0, NULL) != CULV_OK) return false;
        if (culvi_mpi_wait_more(m, w)) continue;
        for (int i = 0; i < m->size; i++) {
            bool done;
            if (!culvi_mpi_test(m, m->peers[i].in, &done)) return false;
            if (!done && used < sizeof names - 16)
                used += (size_t)snprintf(names + used, sizeof names - used, " %d", i);
        }
        if (!used) return true; /* they came meanwhile */
        (void)culvi_mpi_fail(CULV_ERROR_TIMEOUT, CULV_REASON_IPC_GONE,
                             "%s: nothing has come from these ranks:%s", what, names);
        return false;
    }
}

/* Ranges of all ranks, by their places. */
typedef struct claim {
    uint64_t offset, size;
    int rank;
} claim;

static int by_offset(const void *a, const void *b)
{
    const claim *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool check_claims(culv_mpi *m, claim *claims, size_t count)
{
    const uint64_t end = m->desc.frame_size;
    qsort(claims, count, sizeof *claims, by_offset);
    for (size_t i = 0; i < count; i++) {
        const claim *c = &claims[i], *next = i + 1 < count ? c + 1 : NULL;
        if (c->offset > end || c->size > end - c->offset) {
            (void)culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_RANGE,
                                 "rank %d has %llu bytes from %llu on, and a frame has %llu",
                                 c->rank, (unsigned long long)c->size,
                                 (unsigned long long)c->offset, (unsigned long long)end);
            return false;
        }
        if (next && next->offset < c->offset + c->size) {
            (void)culvi_mpi_fail(CULV_ERROR_INVALID, CULV_REASON_RANGE,
                                 "ranks %d and %d have the same bytes, from %llu on", c->rank,
                                 next->rank, (unsigned long long)next->offset);
            return false;
        }
    }
    if (count) return true;
    return refuse(CULV_ERROR_INVALID, CULV_REASON_VALUE, m->rank,
                  "no rank has a part (culv_mpi_desc::ranges)");
}

static bool check_parts(culv_mpi *m)
{
    size_t count = 0, n = 0;
    for (int i = 0; i < m->size; i++) {
        const hello *h = &m->peers[i].hello;
        if (h->protocol != PROTOCOL)
            return refuse(CULV_ERROR_INVALID, CULV_REASON_IPC_PROTOCOL, i,
                          "it has another version of culvert-mpi");
        if (!heard(&h->verdict)) return false;
        count += m->peers[i].part.num_ranges;
    }
    claim *claims = malloc((count ? count : 1) * sizeof *claims);
    if (!claims)
        return refuse(CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY, m->rank, "no memory");
    for (int i = 0; i < m->size; i++) {
        const layout *l = &m->peers[i].part;
        for (size_t j = 0; j < l->num_ranges; j++) {
            if (l->ranges[j].size > 0)
                claims[n++] = (claim){l->ranges[j].offset, l->ranges[j].size, i};
        }
    }
    const bool fine = check_claims(m, claims, n);
    free(claims);
    return fine;
}

static bool gather_parts(culv_mpi *m, waiting *w)
{
    bool fine = true;
    for (int i = 0; fine && i < m->size; i++) {
        peer *p = &m->peers[i];
        p->hello = m->hello;
        fine = p->self || culvi_mpi_receive(m, &p->hello, sizeof p->hello, i, TAG_HELLO, p->in);
    }
    fine = fine && wait_for_ranks(m, NULL, "culv_mpi_create()", w);
    for (int i = 0; fine && i < m->size; i++) {
        peer *p = &m->peers[i];
        const uint64_t count = p->hello.num_ranges;
        if (p->self || count == 0) continue;
        if (count < INT32_MAX / sizeof *p->incoming)
            p->incoming = calloc((size_t)count, sizeof *p->incoming);
        if (!p->incoming)
            return refuse(CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY, i,
                          "no memory for its ranges");
        fine = culvi_mpi_receive(m, p->incoming, (size_t)count * sizeof *p->incoming, i, TAG_RANGES,
                                 p->in);
    }
    fine = fine && wait_for_ranks(m, NULL, "culv_mpi_create(), ranges", w);
    for (int i = 0; fine && i < m->size; i++) {
        peer *p = &m->peers[i];
        if (!culvi_mpi_layout(&p->part, p->self ? m->part.ranges : p->incoming,
                              (size_t)p->hello.num_ranges))
            return refuse(CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY, i,
                          "no memory for its ranges");
    }
    return fine;
}

/* Fabric handles are for ranks that no file descriptor reaches. */
static bool wants_fabric(const culv_mpi *m)
{
    for (int i = 0; i < m->size; i++) {
        const place *p = &m->peers[i].hello.place;
        if (m->peers[i].part.bytes &&
            (!culvi_mpi_same_machine(&m->place, p) || strcmp(m->place.network, p->network) != 0))
            return true;
    }
    return false;
}

static bool make_slot(culv_mpi *m, uint32_t i)
{
    slot *s = &m->slots[i];
    culv_vmm_allocation_desc desc = culv_vmm_allocation_desc_init();
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vmm_range_desc range = culv_vmm_range_desc_init();
    desc.size = m->desc.frame_size;
    desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    desc.fabric = m->welcome.no_fabric == CULV_OK ? CULV_FABRIC_TRY : CULV_FABRIC_NO;
    desc.label = m->label;
    if (culv_vmm_allocation_create(m->device, &desc, &s->allocation) != CULV_OK ||
        culv_vmm_allocation_get_info(s->allocation, &info) != CULV_OK)
        return false;
    if (!(info.handle_types & 1u << CULV_HANDLE_FABRIC))
        m->welcome.no_fabric = CULV_ERROR_UNSUPPORTED;
    else if (culv_vmm_export_dup(s->allocation, CULV_HANDLE_FABRIC, &m->welcome.fabric[i]) !=
             CULV_OK)
        return false;
    range.size = m->slot_size = info.size;
    if (culv_vmm_range_create(m->device, &range, &s->range) != CULV_OK ||
        culv_vmm_map(s->range, 0, s->allocation, NULL, 0) != CULV_OK)
        return false;
    s->pointer = culv_vmm_range_pointer(s->range);
    return CU(m, cuEventCreate, &s->event, CU_EVENT_DISABLE_TIMING);
}

static bool make_server(culv_mpi *m, culv_ipc_server **server)
{
    static atomic_uint made;
    culv_ipc_server_desc desc = culv_ipc_server_desc_init();
    snprintf(m->welcome.server, sizeof m->welcome.server, "culvert-mpi.%ld.%u", (long)getpid(),
             atomic_fetch_add(&made, 1u));
    desc.name = m->welcome.server;
    desc.max_clients = CULV_IPC_MAX_CLIENTS;
    desc.label = m->label;
    if (culv_ipc_server_create(m->device, &desc, server) != CULV_OK) return false;
    for (uint32_t i = 0; i < m->num_slots; i++) {
        char name[CULV_IPC_NAME_SIZE];
        snprintf(name, sizeof name, "slot.%u", i);
        const culv_ipc_info info = culv_ipc_info_named(name);
        if (culv_ipc_offer(*server, &info, culv_ipc_from_vmm(m->slots[i].allocation)) != CULV_OK)
            return false;
    }
    return true;
}

static bool prepare_peer(culv_mpi *m, peer *p)
{
    const hello *h = &p->hello;
    p->way = p->self ? m->way : (culv_mpi_way)p->ready.way;
    memcpy(p->why, p->self ? m->why : p->ready.why, sizeof p->why);
    p->why[sizeof p->why - 1] = 0;
    m->num_parts += p->way != CULV_MPI_WAY_NONE;
    m->has_data |= p->way == CULV_MPI_WAY_DEVICE || p->way == CULV_MPI_WAY_HOST;
    /* Opened first: if it is the process afterwards, it was the process before. */
    if (!p->self && strcmp(m->place.processes, h->place.processes) == 0 &&
        culvi_mpi_same_machine(&m->place, &h->place))
        m->watch[p->rank].fd = culvi_mpi_open_process(&h->place);
    p->watched = !p->self && culvi_mpi_watchable(&m->place, &h->place);
    if (p->way == CULV_MPI_WAY_DEVICE) return culvi_mpi_type(m, &p->part, false, &p->type);
    if (p->way == CULV_MPI_WAY_HOST)
        return culvi_mpi_pipe_create(m, &p->pipe, h->chunk_size, p->part.packed_size);
    return true;
}

/* Sends the same to all, and what went wrong so far. */
static bool tell_all(culv_mpi *m, int tag, bool fine)
{
    verdict v = {.result = CULV_OK};
    if (!fine) culvi_mpi_last_error(&v);
    bool sent = true;
    for (int i = 0; i < m->size; i++) {
        peer *p = &m->peers[i];
        if (p->self) continue;
        p->welcome = m->welcome;
        p->welcome.verdict = p->go = v;
        sent =
            (tag == TAG_WELCOME ? culvi_mpi_send(m, &p->welcome, sizeof p->welcome, i, tag, &p->out)
                                : culvi_mpi_send(m, &p->go, sizeof p->go, i, tag, &p->out)) &&
            sent;
    }
    if (!fine) (void)culvi_mpi_answer(&v);
    return sent && fine;
}

static bool gather_ways(culv_mpi *m, culv_ipc_server *server, waiting *w)
{
    for (int i = 0; i < m->size; i++) {
        peer *p = &m->peers[i];
        if (!p->self && !culvi_mpi_receive(m, &p->ready, sizeof p->ready, i, TAG_READY, p->in))
            return false;
    }
    if (!wait_for_ranks(m, server, "culv_mpi_create(), ways", w)) return false;
    for (int i = 0; i < m->size; i++) {
        if (!heard(&m->peers[i].ready.verdict) || !prepare_peer(m, &m->peers[i])) return false;
    }
    return true;
}

static bool join_renderer(culv_mpi *m, waiting *w)
{
    culv_ipc_server *server = NULL;
    culv_device_caps caps = culv_device_caps_init();
    m->way = m->part.bytes ? CULV_MPI_WAY_DIRECT : CULV_MPI_WAY_NONE;
    snprintf(m->why, sizeof m->why,
             m->part.bytes ? "the rank is the renderer" : "the rank has no part");
    bool fine =
        gather_parts(m, w) && check_parts(m) && culv_device_get_caps(m->device, &caps) == CULV_OK;
    m->welcome.no_fabric = fine && wants_fabric(m) ? CULV_OK : CULV_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; fine && i < m->num_slots; i++)
        fine = make_slot(m, i);
    fine = fine && make_server(m, &server);
    m->welcome.num_slots = m->num_slots;
    m->welcome.slot_size = m->slot_size;
    m->welcome.place = m->place;
    m->welcome.device = caps.uuid;
    m->welcome.device_pointers = m->hello.device_pointers;
    m->welcome.software = m->hello.software;
    fine = tell_all(m, TAG_WELCOME, fine);
    if (fine) fine = tell_all(m, TAG_GO, gather_ways(m, server, w));
    for (int i = 0; fine && i < m->size; i++)
        fine = m->peers[i].self || culvi_mpi_listen(m, &m->peers[i]);
    culv_ipc_server_destroy(&server); /* the ranks keep what they received */
    return fine;
}

bool culvi_mpi_join(culv_mpi *m)
{
    waiting w = culvi_mpi_wait_begin(m->desc.timeout);
    return m->peers ? join_renderer(m, &w) : join_rank(m, &w);
}
