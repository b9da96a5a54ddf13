/* SPDX-License-Identifier: MIT */
/* culvert-bench-peers: what a consumer that does not keep up costs the others of a ring between
 * processes: the producer's longest frame, and the frames of two honest consumers.
 *
 * Each row has processes of its own: a producer, a consumer of every frame, one of the newest, and
 * a third one that does what the row says after some frames. It ends by itself: a row that is not
 * over in time is killed, and the program says so. */
#include "process.h"

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>

#include <errno.h>
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

enum { SLOTS = 8, BYTES = 1 << 20, GOOD_FRAMES = 20, SKIPPED = 3, MOST_FRAMES = 100000 };
#define BLOCK    ((uint64_t)2 << 20)
#define PATIENCE UINT64_C(20000000000) /* ns */

typedef enum deed { KEEPS_UP, STOPS, STOPS_BUSY, SLOW_GPU, LIES, DIES, NEVER_READS, DEEDS } deed;
static const struct {
    const char *key, *words;
} deeds[DEEDS] = {
    {"keeps_up", "keeps up"},
    {"stops", "is stopped with a frame in its hands"},
    {"stops_busy", "is stopped, its GPU not done"},
    {"slow_gpu", "needs 100 ms of its GPU a frame"},
    {"lies", "lies in its page: all given back, none done"},
    {"dies", "is killed with a frame in its hands"},
    {"never_reads", "joins and never reads"},
};
enum { PRODUCER, EVERY, NEWEST, THIRD, ROLES };

/* Of all processes of a row. */
typedef struct shared {
    _Atomic int joined, over, skipped;
    _Atomic uint64_t last; /* frames that were produced, once it is over */
    /* By role. */
    _Atomic uint64_t frames[ROLES], lost[ROLES], wrong[ROLES];
    _Atomic int reason[ROLES]; /* why it ended */
    culv_ipc_consumer_info seen;
    int dropped;
    double call_us[MOST_FRAMES], frame_us[MOST_FRAMES];
} shared;

typedef struct options {
    uint64_t frames, pace_us, limit_us;
    const char *json;
    bool soft;
} options;

typedef struct side {
    int role;
    culv_device *device;
    const culv_cuda_api *cu;
    CUstream stream;
    CUdeviceptr slots[SLOTS], to;
    culv_vmm_range *range;
    culv_ipc_client *client;
    culv_ipc_consumer *consumer;
} side;

static options o = {.frames = 2000, .pace_us = 1000, .limit_us = 2000};
static shared *all;
static char server_name[48];

static void open_side(side *s, int role)
{
    memset(s, 0, sizeof *s);
    s->role = role;
    if (o.soft) OK(culv_soft_enable());
    if (culv_device_open_by_ordinal(0, NULL, &s->device) != CULV_OK) {
        fprintf(stderr, "culvert-bench-peers: no CUDA here: %s\n", culv_last_error_message());
        atomic_store(&all->skipped, 1);
        _exit(SKIPPED);
    }
    s->cu = CULV_CUDA(s->device);
    OK(s->cu->cuCtxSetCurrent(culv_device_context(s->device)));
    OK(s->cu->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
    OK(s->cu->cuMemAlloc(&s->to, BYTES));
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = SLOTS * BLOCK;
    OK(culv_vmm_range_create(s->device, &d, &s->range));
}

static void map_slot(side *s, uint32_t slot, culv_vmm_allocation *memory)
{
    OK(culv_vmm_map(s->range, slot * BLOCK, memory, NULL, 0));
    s->slots[slot] = culv_vmm_range_pointer(s->range) + slot * BLOCK;
    culv_vmm_allocation_destroy(&memory);
}

/* Consumers ------------------------------------------------------------------------------------ */

static void join(side *s, int role, culv_ring_policy policy)
{
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    open_side(s, role);
    c.name = server_name;
    d.ring = "frames";
    d.policy = policy;
    OK(culv_ipc_client_connect(s->device, &c, PATIENCE, &s->client));
    OK(culv_ipc_consumer_join(s->client, &d, PATIENCE, &s->consumer));
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_ipc_object *object;
        culv_vmm_allocation *memory;
        OK(culv_ipc_consumer_receive(s->consumer, i, 0, PATIENCE, &object));
        OK(culv_ipc_import_vmm(object, &memory));
        map_slot(s, i, memory);
        culv_ipc_object_destroy(&object);
    }
    atomic_fetch_add(&all->joined, 1);
}

/* Whether it got one. It ends as the ring does. */
static bool acquire(side *s, culv_ring_frame *f)
{
    const culv_result result = culv_ring_acquire_on(
        culv_ipc_consumer_core(s->consumer), CULV_RING_CONSUMER, s->stream, UINT64_C(50000000), f);
    if (result == CULV_ERROR_TIMEOUT) return false;
    if (result != CULV_OK) {
        culv_error e = culv_error_init();
        culv_last_error(&e);
        if (e.reason != CULV_REASON_RING_STOPPED && e.reason != CULV_REASON_IPC_DROPPED)
            require_ok((int)result, "culv_ring_acquire_on");
        atomic_store(&all->reason[s->role], (int)e.reason);
        _exit(0);
    }
    return true;
}

/* Reads a frame and looks at its last byte. */
static uint64_t read_frame(side *s, const culv_ring_frame *frame)
{
    culv_ring_frame f = *frame;
    unsigned char last = 0;
    OK(s->cu->cuMemcpyDtoDAsync(s->to, s->slots[f.slot], BYTES, s->stream));
    OK(culv_ring_release_on(culv_ipc_consumer_core(s->consumer), CULV_RING_CONSUMER, s->stream,
                            &f));
    OK(s->cu->cuStreamSynchronize(s->stream));
    OK(s->cu->cuMemcpyDtoH(&last, s->to + BYTES - 1, 1));
    atomic_fetch_add(&all->wrong[s->role], last != (unsigned char)f.number);
    if (!f.repeated) atomic_fetch_add(&all->frames[s->role], 1);
    return f.number;
}

/* Of every frame, or of the newest: to the last one in both cases. */
static void consume(int role)
{
    side s;
    uint64_t next = UINT64_MAX;
    join(&s, role, role == EVERY ? CULV_RING_FIFO : CULV_RING_MAILBOX);
    for (;;) {
        culv_ring_frame f;
        if (atomic_load(&all->over) && next >= atomic_load(&all->last)) break;
        if (!acquire(&s, &f)) continue;
        if (role == EVERY && next != UINT64_MAX && f.number != next)
            atomic_fetch_add(&all->lost[role], f.number - next);
        if (role == NEWEST && next != UINT64_MAX && f.number + 1 < next)
            atomic_fetch_add(&all->lost[role], 1); /* it went back */
        next = read_frame(&s, &f) + 1;
    }
    _exit(0);
}

static void CUDA_CB slow(void *context)
{
    (void)context;
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static void CUDA_CB forever(void *context)
{
    (void)context;
    for (;;)
        pause();
}

/* This process's page of the ring: it is mapped by that name, and docs/ipc-protocol.md says what is
 * where. */
static unsigned char *own_page(void)
{
    char line[512];
    unsigned char *page = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");
    OK(maps == NULL);
    while (fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "memfd:culvert consumer") != NULL)
            page = (unsigned char *)(uintptr_t)strtoull(line, NULL, 16); /* NOLINT */
    fclose(maps);
    OK(page == NULL);
    return page;
}

static void lie(culv_ring_policy policy)
{
    enum { NEXT = 256, HOLD = 264, LAST = 280 };
    unsigned char *page = own_page();
    for (uint64_t value = 1000; !atomic_load(&all->over); value++) {
        for (int slot = 0; slot < SLOTS; slot++)
            atomic_store((_Atomic uint64_t *)(void *)(page + LAST + 8 * slot), value);
        if (policy == CULV_RING_FIFO)
            atomic_store((_Atomic uint64_t *)(void *)(page + NEXT), UINT64_MAX);
        else
            atomic_store((_Atomic uint64_t *)(void *)(page + HOLD), 0);
        nap_us(50);
    }
}

static void misbehave(deed what, culv_ring_policy policy)
{
    side s;
    culv_ring_frame f;
    join(&s, THIRD, policy);
    for (uint64_t read = 0; what != NEVER_READS && read < GOOD_FRAMES;)
        if (acquire(&s, &f)) {
            (void)read_frame(&s, &f);
            read++;
        }
    while (what == KEEPS_UP || what == SLOW_GPU) {
        if (atomic_load(&all->over)) _exit(0);
        if (!acquire(&s, &f)) continue;
        if (what == SLOW_GPU) OK(s.cu->cuLaunchHostFunc(s.stream, slow, NULL));
        (void)read_frame(&s, &f);
    }
    if (what == LIES) lie(policy);
    while (what == STOPS_BUSY || what == STOPS || what == DIES) {
        if (!acquire(&s, &f)) continue;
        if (what == STOPS_BUSY) {
            OK(s.cu->cuLaunchHostFunc(s.stream, forever, NULL));
            OK(culv_ring_release_on(culv_ipc_consumer_core(s.consumer), CULV_RING_CONSUMER,
                                    s.stream, &f));
        }
        raise(what == DIES ? SIGKILL : SIGSTOP);
    }
    while (!atomic_load(&all->over)) /* NEVER_READS */
        nap_us(1000);
    _exit(0);
}

/* The producer --------------------------------------------------------------------------------- */

static void note_third(culv_ipc_ring *ring)
{
    culv_ipc_consumer_info info[3];
    size_t count = 0;
    OK(culv_ipc_ring_get_consumers(ring, info, 3, &count));
    uint64_t most = 0;
    for (size_t i = 0; i < count && i < 3; i++) {
        if (info[i].quiet < most) continue;
        most = info[i].quiet;
        all->seen = info[i];
    }
    all->dropped = count < 3;
}

static void produce(culv_ring_policy policy)
{
    side s;
    culv_ipc_server *server = NULL;
    culv_ipc_ring *ring = NULL;
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    culv_ipc_ring_desc rd = culv_ipc_ring_desc_init();
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    const culv_ipc_info none = culv_ipc_info_init();
    open_side(&s, PRODUCER);
    d.name = server_name;
    rd.name = "frames";
    rd.num_slots = SLOTS;
    rd.late_limit = policy == CULV_RING_FIFO ? o.limit_us * 1000 : 0;
    ad.size = BYTES;
    ad.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    OK(culv_ipc_server_create(s.device, &d, &server));
    OK(culv_ipc_ring_create(server, &rd, &ring));
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_vmm_allocation *memory;
        OK(culv_vmm_allocation_create(s.device, &ad, &memory));
        OK(culv_ipc_ring_offer_vmm(ring, i, 0, memory, &none));
        map_slot(&s, i, memory);
    }
    while (atomic_load(&all->joined) < 3)
        OK(culv_ipc_server_poll(server, 1000000, NULL));
    for (uint64_t i = 0; i < o.frames; i++) {
        culv_ring_frame f;
        const double began = now_us();
        OK(culv_ring_acquire_on(culv_ipc_ring_core(ring), CULV_RING_PRODUCER, s.stream, PATIENCE,
                                &f));
        OK(s.cu->cuMemsetD8Async(s.slots[f.slot], (unsigned char)f.number, BYTES, s.stream));
        OK(culv_ring_release_on(culv_ipc_ring_core(ring), CULV_RING_PRODUCER, s.stream, &f));
        all->call_us[i] = now_us() - began;
        OK(s.cu->cuStreamSynchronize(s.stream));
        all->frame_us[i] = now_us() - began;
        if (i == o.frames / 2) note_third(ring);
        nap_us((double)o.pace_us - (now_us() - began));
    }
    atomic_store(&all->frames[PRODUCER], o.frames);
    atomic_store(&all->last, o.frames);
    atomic_store(&all->over, 1);
    /* The honest ones read to the end. */
    const double until = now_us() + 1e-3 * (double)PATIENCE;
    while (culv_ipc_ring_consumers(ring) > 0 && now_us() < until && !all->skipped) {
        OK(culv_ipc_server_poll(server, 1000000, NULL));
        if (atomic_load(&all->over) == 2) break;
    }
    _exit(0);
}

/* Rows ----------------------------------------------------------------------------------------- */

typedef struct row {
    deed what;
    culv_ring_policy policy;
    bool done; /* else it was cut off */
    bool dropped;
    int reason;
    culv_ipc_consumer_info seen;
    double call_median, call_longest, frame_median, frame_longest;
    uint64_t frames[ROLES], lost[ROLES], wrong[ROLES];
} row;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static pid_t start(int role, const row *r)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (role == PRODUCER) produce(r->policy);
    if (role == EVERY || role == NEWEST) consume(role);
    misbehave(r->what, r->policy);
    _exit(0);
}

/* Waits for a process of the row, which is killed if it is not over in time. */
static bool ended(pid_t pid, double until)
{
    int status = 0;
    pid_t got;
    while ((got = waitpid(pid, &status, WNOHANG)) == 0 && now_us() < until)
        nap_us(2000);
    if (got == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return false;
}

static void run_row(row *r, int number)
{
    pid_t pids[ROLES];
    memset((void *)all, 0, sizeof *all);
    snprintf(server_name, sizeof server_name, "bench-peers-%ld-%d", (long)getpid(), number);
    for (int role = 0; role < ROLES; role++)
        pids[role] = start(role, r);
    const double most = 30e6 + 20 * (double)(o.frames * o.pace_us), until = now_us() + most;
    const bool first = ended(pids[EVERY], until), second = ended(pids[NEWEST], until);
    atomic_store(&all->over, 2);
    r->done = ended(pids[PRODUCER], until + 5e6) && first && second;
    kill(pids[THIRD], SIGKILL);
    (void)ended(pids[THIRD], now_us() + 5e6);
    r->seen = all->seen;
    r->dropped = all->dropped;
    r->reason = atomic_load(&all->reason[THIRD]);
    for (int role = 0; role < ROLES; role++) {
        r->frames[role] = atomic_load(&all->frames[role]);
        r->lost[role] = atomic_load(&all->lost[role]);
        /* An honest one that was dropped has lost what came then. */
        if (role != THIRD) r->lost[role] += atomic_load(&all->reason[role]) != 0;
        r->wrong[role] = atomic_load(&all->wrong[role]);
    }
    if (r->frames[PRODUCER] == 0) return;
    qsort(all->call_us, o.frames, sizeof(double), compare);
    qsort(all->frame_us, o.frames, sizeof(double), compare);
    r->call_median = all->call_us[o.frames / 2];
    r->call_longest = all->call_us[o.frames - 1];
    r->frame_median = all->frame_us[o.frames / 2];
    r->frame_longest = all->frame_us[o.frames - 1];
}

static const char *lag_of(const row *r)
{
    static const char *const names[] = {"none", "host", "gpu", "producer"};
    return r->dropped ? "dropped" : names[r->seen.lag & 3];
}

static void print_row(const row *r)
{
    printf("%-8s %-44s %9.1f %9.2f %9.1f %9.2f  %6llu/%-6llu %6llu  %s%s\n",
           r->policy == CULV_RING_FIFO ? "FIFO" : "MAILBOX", deeds[r->what].words, r->call_median,
           1e-3 * r->call_longest, r->frame_median, 1e-3 * r->frame_longest,
           (unsigned long long)r->frames[EVERY], (unsigned long long)r->frames[PRODUCER],
           (unsigned long long)r->frames[NEWEST], lag_of(r), r->done ? "" : " (CUT OFF)");
    fflush(stdout);
}

static void print_json(const row *rows, int count)
{
    if (o.json == NULL) return;
    FILE *json = fopen(o.json, "w");
    OK(json == NULL);
    fprintf(json,
            "{\"schema\": 1, \"benchmark\": \"peers\", \"version\": \"%s\", \"software\": %s, "
            "\"frames\": %llu, \"pace_us\": %llu, \"limit_us\": %llu, \"slots\": %d, \"rows\": [",
            culv_version_string(), o.soft ? "true" : "false", (unsigned long long)o.frames,
            (unsigned long long)o.pace_us, (unsigned long long)o.limit_us, (int)SLOTS);
    for (int i = 0; i < count; i++) {
        const row *r = &rows[i];
        fprintf(
            json,
            "%s\n{\"third\": \"%s\", \"policy\": \"%s\", \"done\": %s, \"call_median_us\": %.3f, "
            "\"call_longest_us\": %.3f, \"frame_median_us\": %.3f, \"frame_longest_us\": %.3f, "
            "\"produced\": %llu, \"every\": %llu, \"every_lost\": %llu, \"newest\": %llu, "
            "\"newest_lost\": %llu, \"wrong\": %llu, \"dropped\": %s, \"lag\": \"%s\", "
            "\"behind\": %llu, \"told\": \"%s\"}",
            i > 0 ? "," : "", deeds[r->what].key, r->policy == CULV_RING_FIFO ? "FIFO" : "MAILBOX",
            r->done ? "true" : "false", r->call_median, r->call_longest, r->frame_median,
            r->frame_longest, (unsigned long long)r->frames[PRODUCER],
            (unsigned long long)r->frames[EVERY], (unsigned long long)r->lost[EVERY],
            (unsigned long long)r->frames[NEWEST], (unsigned long long)r->lost[NEWEST],
            (unsigned long long)(r->wrong[EVERY] + r->wrong[NEWEST]), r->dropped ? "true" : "false",
            lag_of(r), (unsigned long long)r->seen.behind,
            r->reason != 0 ? culv_reason_name((culv_reason)r->reason) : "");
    }
    fprintf(json, "\n]}\n");
    OK(fclose(json));
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
    row rows[2 * DEEDS];
    int count = 0;
    bool good = true;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--json=", 7) == 0) {
            o.json = argv[i] + 7;
        } else if (strcmp(argv[i], "--soft") == 0) {
            o.soft = true;
        } else if (strcmp(argv[i], "--quick") == 0) { /* for a machine that is busy */
            o.frames = 150;
            o.limit_us = 200000;
        } else if (!number(argv[i], "--frames=", MOST_FRAMES, &o.frames) &&
                   !number(argv[i], "--pace-us=", 900000, &o.pace_us) &&
                   !number(argv[i], "--limit-us=", 10000000, &o.limit_us)) {
            fprintf(stderr, "usage: culvert-bench-peers [--frames=N] [--pace-us=N] [--limit-us=N] "
                            "[--quick] [--soft] [--json=FILE]\n");
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return 1;
    printf(
        "%llu frames of 1 MiB, one each %llu us, a ring of %d slots, and three consumers: one of "
        "every frame, one of the newest, and a third one.\n"
        "FIFO promises every frame, and the producer waits for it: a third one that does not keep "
        "up is dropped when a slot was missing for %llu us because of it\n"
        "(culv_ipc_ring_desc.late_limit). MAILBOX promises the newest frame, and the producer "
        "never waits for it: it keeps one slot, and no bound is set.\n"
        "Longest: of acquire and release, and of the frame with the producer's GPU.\n\n",
        (unsigned long long)o.frames, (unsigned long long)o.pace_us, (int)SLOTS,
        (unsigned long long)o.limit_us);
    printf("%-8s %-44s %9s %9s %9s %9s  %13s %6s  %s\n", "third", "what it does", "calls us",
           "longest", "frame us", "longest", "every", "newest", "third is late on");
    for (int policy = 0; policy < 2; policy++)
        for (int what = 0; what < DEEDS; what++) {
            row *r = &rows[count];
            memset(r, 0, sizeof *r);
            r->what = (deed)what;
            r->policy = policy == 0 ? CULV_RING_FIFO : CULV_RING_MAILBOX;
            run_row(r, count++);
            if (atomic_load(&all->skipped)) {
                printf("Nothing was measured: no CUDA device can be used here.\n");
                return SKIPPED;
            }
            print_row(r);
            good = good && r->done && r->lost[EVERY] == 0 && r->lost[NEWEST] == 0 &&
                   r->wrong[EVERY] == 0 && r->wrong[NEWEST] == 0;
        }
    printf("\n%s\n", good
                         ? "No honest consumer lost a frame that its policy promises, and none was "
                           "wrong."
                         : "An honest consumer lost a frame, or a row was cut off.");
    print_json(rows, count);
    return good ? 0 : 1;
}
