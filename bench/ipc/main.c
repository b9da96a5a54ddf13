/* SPDX-License-Identifier: MIT */
/* culvert-bench-ipc: what it costs to attach a vector of another process, chunk by chunk, and to
 * hand frames over to one, next to the driver's calls by hand.
 *
 * One process does both sides by hand, then two do, then two do by Culvert. What the second costs
 * above the first is the GPU's turns between processes, which is nobody's to change.
 *
 * With --hostile it measures what attackers cost an honest client instead: hostile.c. */
#include "hostile.h"
#include "process.h"

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* By hand a frame has one of SLOTS. A ring has as many as it is told, since it gives out only those
 * with which the consumer's GPU is done. */
enum { SLOTS = 3, MOST_SLOTS = 16, MOST_REPEATS = 99, PAGE = 4096 };
#define BLOCK    ((uint64_t)2 << 20)
#define PATIENCE UINT64_C(60000000000) /* ns */

typedef enum phase { BEGIN, ATTACH, BY_HAND, BY_CULVERT, END } phase;

/* Of both processes. */
typedef struct shared {
    _Atomic uint64_t ready, done; /* of the turns by hand: streams write and wait for them */
    char apart[PAGE - 16];
    _Atomic int phase, finished; /* numbers of turns: phase * 1000 and the repeat */
    double us[END + 1][MOST_REPEATS];
} shared;

typedef struct options {
    uint64_t chunks, frames, bytes, repeats, slots;
    const char *json;
    bool soft, hostile, quick;
} options;

typedef struct side {
    culv_device *device;
    const culv_cuda_api *cu;
    CUstream stream;
    CUdeviceptr turns; /* the shared page */
    CUdeviceptr slots[MOST_SLOTS];
    culv_vmm_range *range;
} side;

static options o = {.chunks = 1000, .frames = 500, .bytes = 8 << 20, .repeats = 9, .slots = SLOTS};
static shared *both;
static char server_name[48];

static int turn_of(phase p, uint64_t repeat)
{
    return (int)p * 1000 + (int)repeat;
}

/* The other process's side is due, or has been done; the server answers meanwhile. */
static void await(const _Atomic int *word, int value, culv_ipc_server *server)
{
    const double until = now_us() + 1e-3 * (double)PATIENCE;
    while (atomic_load(word) < value) {
        if (server != NULL)
            OK(culv_ipc_server_poll(server, 100000, NULL));
        else
            nap_us(20);
        if (now_us() > until) {
            fprintf(stderr, "culvert-bench-ipc: the other process does not answer\n");
            exit(1);
        }
    }
}

static void open_side(side *s)
{
    memset(s, 0, sizeof *s);
    if (o.soft) OK(culv_soft_enable());
    OK(culv_device_open_by_ordinal(0, NULL, &s->device));
    s->cu = CULV_CUDA(s->device);
    OK(s->cu->cuCtxSetCurrent(culv_device_context(s->device)));
    OK(s->cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
    OK(s->cu->cuMemHostRegister(both, PAGE, CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(s->cu->cuMemHostGetDevicePointer(&s->turns, both, 0));
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = o.slots * (o.bytes + BLOCK);
    OK(culv_vmm_range_create(s->device, &d, &s->range));
}

static void map_slot(side *s, uint32_t slot, culv_vmm_allocation *memory, uint64_t *at)
{
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    OK(culv_vmm_allocation_get_info(memory, &info));
    OK(culv_vmm_map(s->range, *at, memory, NULL, 0));
    s->slots[slot] = culv_vmm_range_pointer(s->range) + *at;
    *at += info.size;
    culv_vmm_allocation_destroy(&memory);
}

/* By hand -------------------------------------------------------------------------------------- */

/* The work is the same in all ways: one side writes a slot, the other one copies it away. */
static void write_slot(const side *s, uint64_t frame)
{
    OK(s->cu->cuMemsetD8Async(s->slots[frame % SLOTS], (unsigned char)frame, o.bytes, s->stream));
}

static void produce_by_hand(const side *s, CUdeviceptr ready, CUdeviceptr done, uint64_t i)
{
    if (i >= SLOTS)
        OK(s->cu->cuStreamWaitValue64(s->stream, done, i - SLOTS + 1, CU_STREAM_WAIT_VALUE_GEQ));
    write_slot(s, i);
    OK(s->cu->cuStreamWriteValue64(s->stream, ready, i + 1, 0));
}

static void consume_by_hand(const side *s, CUstream stream, CUdeviceptr to, CUdeviceptr ready,
                            CUdeviceptr done, uint64_t i)
{
    OK(s->cu->cuStreamWaitValue64(stream, ready, i + 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(s->cu->cuMemcpyDtoDAsync(to, s->slots[i % SLOTS], o.bytes, stream));
    OK(s->cu->cuStreamWriteValue64(stream, done, i + 1, 0));
}

static void one_process(side *s)
{
    CUstream other;
    CUdeviceptr to;
    OK(s->cu->cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(s->cu->cuMemAlloc(&to, o.bytes));
    for (uint64_t r = 0; r < o.repeats; r++) {
        atomic_store(&both->ready, 0);
        atomic_store(&both->done, 0);
        const double began = now_us();
        for (uint64_t i = 0; i < o.frames; i++) {
            produce_by_hand(s, s->turns, s->turns + 8, i);
            consume_by_hand(s, other, to, s->turns, s->turns + 8, i);
        }
        OK(s->cu->cuStreamSynchronize(other));
        OK(s->cu->cuStreamSynchronize(s->stream));
        both->us[BEGIN][r] = (now_us() - began) / (double)o.frames;
    }
    OK(s->cu->cuMemFree(to));
    OK(s->cu->cuStreamDestroy(other));
}

/* Memory that leaves and comes back in one process, chunk by chunk. */
static void attach_by_hand(const side *s)
{
    CUmemGenericAllocationHandle *from = calloc(o.chunks, sizeof *from), came;
    CUdeviceptr at;
    CUmemAllocationProp prop;
    CUmemAccessDesc access;
    memset(&prop, 0, sizeof prop);
    memset(&access, 0, sizeof access);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(from == NULL);
    for (uint64_t i = 0; i < o.chunks; i++)
        OK(s->cu->cuMemCreate(&from[i], BLOCK, &prop, 0));
    OK(s->cu->cuMemAddressReserve(&at, o.chunks * BLOCK, 0, 0, 0));
    for (uint64_t r = 0; r < o.repeats; r++) {
        const double began = now_us();
        for (uint64_t i = 0; i < o.chunks; i++) {
            int fd = -1;
            OK(s->cu->cuMemExportToShareableHandle(&fd, from[i],
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
            OK(s->cu->cuMemImportFromShareableHandle(&came, (void *)(intptr_t)fd,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
            close(fd);
            OK(s->cu->cuMemMap(at + i * BLOCK, BLOCK, 0, came, 0));
            OK(s->cu->cuMemSetAccess(at + i * BLOCK, BLOCK, &access, 1));
            OK(s->cu->cuMemRelease(came));
        }
        both->us[END][r] = (now_us() - began) / (double)o.chunks;
        OK(s->cu->cuMemUnmap(at, o.chunks * BLOCK));
    }
    OK(s->cu->cuMemAddressFree(at, o.chunks * BLOCK));
    for (uint64_t i = 0; i < o.chunks; i++)
        OK(s->cu->cuMemRelease(from[i]));
    free(from);
}

/* The viewer's process ------------------------------------------------------------------------- */

static void view(void)
{
    side s;
    CUdeviceptr to;
    uint64_t at = 0;
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    culv_ipc_client *client;
    culv_ipc_consumer *consumer;
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    open_side(&s);
    OK(s.cu->cuMemAlloc(&to, o.bytes));
    await(&both->phase, turn_of(ATTACH, 0), NULL);
    c.name = server_name;
    OK(culv_ipc_client_connect(s.device, &c, PATIENCE, &client));
    for (uint64_t r = 0; r < o.repeats; r++) {
        culv_ipc_vector *vector = NULL;
        culv_ipc_vector_desc v = culv_ipc_vector_desc_init();
        v.name = "chunks";
        v.reserve = (o.chunks + 1) * BLOCK;
        const double began = now_us();
        OK(culv_ipc_vector_open(client, &v, PATIENCE, &vector));
        both->us[ATTACH][r] = (now_us() - began) / (double)o.chunks;
        culv_ipc_vector_destroy(&vector);
    }
    d.ring = "frames";
    OK(culv_ipc_consumer_join(client, &d, PATIENCE, &consumer));
    for (uint32_t i = 0; i < o.slots; i++) {
        culv_ipc_object *object;
        culv_vmm_allocation *memory;
        OK(culv_ipc_consumer_receive(consumer, i, 0, PATIENCE, &object));
        OK(culv_ipc_import_vmm(object, &memory));
        map_slot(&s, i, memory, &at);
        culv_ipc_object_destroy(&object);
    }
    atomic_store(&both->finished, turn_of(ATTACH, 0));
    for (uint64_t r = 0; r < o.repeats; r++) {
        await(&both->phase, turn_of(BY_HAND, r), NULL);
        const double began = now_us();
        for (uint64_t i = 0; i < o.frames; i++)
            consume_by_hand(&s, s.stream, to, s.turns, s.turns + 8, i);
        OK(s.cu->cuStreamSynchronize(s.stream));
        both->us[BY_HAND][r] = (now_us() - began) / (double)o.frames;
        atomic_store(&both->finished, turn_of(BY_HAND, r));
    }
    for (uint64_t r = 0; r < o.repeats; r++) {
        await(&both->phase, turn_of(BY_CULVERT, r), NULL);
        const double began = now_us();
        for (uint64_t i = 0; i < o.frames; i++) {
            culv_ring_frame f;
            OK(culv_ring_acquire_on(culv_ipc_consumer_core(consumer), CULV_RING_CONSUMER, s.stream,
                                    PATIENCE, &f));
            OK(s.cu->cuMemcpyDtoDAsync(to, s.slots[f.slot], o.bytes, s.stream));
            OK(culv_ring_release_on(culv_ipc_consumer_core(consumer), CULV_RING_CONSUMER, s.stream,
                                    &f));
        }
        OK(s.cu->cuStreamSynchronize(s.stream));
        both->us[BY_CULVERT][r] = (now_us() - began) / (double)o.frames;
        unsigned char last = 0;
        OK(s.cu->cuMemcpyDtoH(&last, to + o.bytes - 1, 1));
        OK(last != (unsigned char)(o.frames - 1)); /* the last frame is here */
        atomic_store(&both->finished, turn_of(BY_CULVERT, r));
    }
    culv_ipc_consumer_destroy(&consumer);
    culv_ipc_client_destroy(&client);
    atomic_store(&both->finished, turn_of(END, 0));
    _exit(0); /* what is left goes with the process */
}

/* The solver's process ------------------------------------------------------------------------- */

static void solve(void)
{
    side s;
    uint64_t at = 0;
    culv_vector *vector = NULL;
    culv_ipc_server *server = NULL;
    culv_ipc_ring *ring = NULL;
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    culv_ipc_ring_desc rd = culv_ipc_ring_desc_init();
    culv_vector_desc vd = culv_vector_desc_init();
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    open_side(&s);
    d.name = server_name;
    rd.name = "frames";
    rd.num_slots = (uint32_t)o.slots;
    vd.max_chunk = BLOCK;
    vd.reserve = vd.size = o.chunks * BLOCK;
    ad.size = o.bytes;
    ad.handle_types = vd.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    attach_by_hand(&s);
    OK(culv_ipc_server_create(s.device, &d, &server));
    OK(culv_vector_create(s.device, &vd, &vector));
    const culv_ipc_info info = culv_ipc_info_named("chunks"), none = culv_ipc_info_init();
    OK(culv_ipc_offer_vector(server, vector, &info));
    OK(culv_ipc_ring_create(server, &rd, &ring));
    for (uint32_t i = 0; i < o.slots; i++) {
        culv_vmm_allocation *memory;
        OK(culv_vmm_allocation_create(s.device, &ad, &memory));
        OK(culv_ipc_ring_offer_vmm(ring, i, 0, memory, &none));
        map_slot(&s, i, memory, &at);
    }
    one_process(&s);
    atomic_store(&both->phase, turn_of(ATTACH, 0));
    await(&both->finished, turn_of(ATTACH, 0), server);
    for (uint64_t r = 0; r < o.repeats; r++) {
        atomic_store(&both->ready, 0);
        atomic_store(&both->done, 0);
        atomic_store(&both->phase, turn_of(BY_HAND, r));
        for (uint64_t i = 0; i < o.frames; i++)
            produce_by_hand(&s, s.turns, s.turns + 8, i);
        OK(s.cu->cuStreamSynchronize(s.stream));
        await(&both->finished, turn_of(BY_HAND, r), NULL);
    }
    for (uint64_t r = 0; r < o.repeats; r++) {
        atomic_store(&both->phase, turn_of(BY_CULVERT, r));
        for (uint64_t i = 0; i < o.frames; i++) {
            culv_ring_frame f;
            OK(culv_ring_acquire_on(culv_ipc_ring_core(ring), CULV_RING_PRODUCER, s.stream,
                                    PATIENCE, &f));
            OK(s.cu->cuMemsetD8Async(s.slots[f.slot], (unsigned char)i, o.bytes, s.stream));
            OK(culv_ring_release_on(culv_ipc_ring_core(ring), CULV_RING_PRODUCER, s.stream, &f));
        }
        OK(s.cu->cuStreamSynchronize(s.stream));
        await(&both->finished, turn_of(BY_CULVERT, r), server);
    }
    await(&both->finished, turn_of(END, 0), server);
}

/* Results -------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(phase p)
{
    qsort(both->us[p], o.repeats, sizeof(double), compare);
    return both->us[p][o.repeats / 2];
}

static void print_results(void)
{
    static const struct {
        phase phase;
        const char *key, *words;
    } rows[] = {
        {END, "attach_by_hand", "a chunk, exported, imported and mapped by hand, one process"},
        {ATTACH, "attach", "a chunk of a vector of another process (culv_ipc_vector_open)"},
        {BEGIN, "hand_over_one_process", "a frame by hand, two streams of one process"},
        {BY_HAND, "hand_over_by_hand", "a frame by hand, two processes"},
        {BY_CULVERT, "hand_over", "a frame by culv_ipc_ring, two processes"}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    FILE *json = o.json != NULL ? fopen(o.json, "w") : NULL;
    if (o.json != NULL && json == NULL) OK(1);
    if (json != NULL)
        fprintf(
            json,
            "{\"schema\": 1, \"benchmark\": \"ipc\", \"version\": \"%s\", \"chunks\": %llu, "
            "\"frames\": %llu, \"bytes\": %llu, \"repeats\": %llu, \"slots\": %llu, \"median_us\": {",
            culv_version_string(), (unsigned long long)o.chunks, (unsigned long long)o.frames,
            (unsigned long long)o.bytes, (unsigned long long)o.repeats,
            (unsigned long long)o.slots);
    printf(
        "%llu chunks of 2 MiB; %llu frames of %llu bytes; a ring of %llu slots; medians of %llu\n",
        (unsigned long long)o.chunks, (unsigned long long)o.frames, (unsigned long long)o.bytes,
        (unsigned long long)o.slots, (unsigned long long)o.repeats);
    for (size_t i = 0; i < ROWS; i++) {
        const double us = median(rows[i].phase);
        printf("%10.2f us  %s\n", us, rows[i].words);
        if (json != NULL) fprintf(json, "%s\"%s\": %.3f", i > 0 ? ", " : "", rows[i].key, us);
    }
    if (json != NULL) {
        fprintf(json, "}}\n");
        OK(fclose(json));
    }
}

static bool number(const char *argument, const char *name, uint64_t most, uint64_t *out)
{
    char *end;
    const size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0) return false;
    *out = strtoull(argument + length, &end, 10);
    return *end == 0 && end != argument + length && *out >= 1 && *out <= most;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--json=", 7) == 0) {
            o.json = argv[i] + 7;
        } else if (strcmp(argv[i], "--soft") == 0) {
            o.soft = true;
        } else if (strcmp(argv[i], "--hostile") == 0) {
            o.hostile = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            o.quick = true;
            o.chunks = 20;
            o.frames = 20;
            o.bytes = 65536;
            o.repeats = 3;
        } else if (!number(argv[i], "--chunks=", 100000, &o.chunks) &&
                   !number(argv[i], "--frames=", 100000, &o.frames) &&
                   !number(argv[i], "--bytes=", 1 << 30, &o.bytes) &&
                   !number(argv[i], "--repeats=", MOST_REPEATS, &o.repeats) &&
                   !(number(argv[i], "--slots=", MOST_SLOTS, &o.slots) && o.slots >= SLOTS)) {
            fprintf(stderr,
                    "usage: culvert-bench-ipc [--chunks=N] [--frames=N] [--bytes=N] [--repeats=N] "
                    "[--slots=3...16] [--hostile] [--quick] [--soft] [--json=FILE]\n");
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    if (o.hostile) return hostile(o.quick ? 100 : 2000, o.soft, o.json);
    both = mmap(NULL, sizeof *both, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED) return 1;
    snprintf(server_name, sizeof server_name, "bench-ipc-%ld", (long)getpid());
    const pid_t viewer = fork(); /* before CUDA is opened */
    if (viewer == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        view();
    }
    solve();
    int status = 1;
    if (waitpid(viewer, &status, 0) != viewer || status != 0) return 1;
    print_results();
    return 0;
}
