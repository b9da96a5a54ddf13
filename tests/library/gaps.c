/* SPDX-License-Identifier: MIT */
/* Two threads in each other's gaps. See gaps.h. */
#include "gaps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* In the static library of a build with tests. */
extern void (*_Atomic culvi_lock_hook)(bool before);

static const char *const kind_names[] = {"unlocks", "CUDA calls", "Vulkan calls"};

typedef struct party {
    void (*run)(void);
    pthread_t thread;
    atomic_int id;    /* of its thread, for the system; 0: it has not begun */
    atomic_bool done; /* or is held in its gap */
    uint64_t n;       /* its gap, 0: none */
    uint64_t unlocks; /* until then */
    bool came;        /* to its gap */
} party;

static struct {
    const raw_cuda *cu;
    lib_layer layer;
    gaps_kind kind;
    party first, second;
} now;

static party *whose(void)
{
    const int id = (int)syscall(SYS_gettid);
    return id == atomic_load(&now.first.id)    ? &now.first
           : id == atomic_load(&now.second.id) ? &now.second
                                               : NULL;
}

/* Until it is done, or waits for what the other one holds. */
static void wait_for(party *p)
{
    while (!atomic_load(&p->done)) {
        const int id = atomic_load(&p->id);
        if (id != 0 && test_sleeps(id, 5)) return;
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

static void on_call(void *user, const char *call);

static void before_call(uint64_t n, party *p)
{
    if (now.kind == GAPS_CUDA_CALL) now.cu->SoftBefore(n, n > 0 ? on_call : NULL, p);
    if (now.kind == GAPS_VULKAN_CALL && now.layer.before != NULL)
        now.layer.before(n, n > 0 ? on_call : NULL, p);
}

static void arm(party *p)
{
    p->unlocks = now.kind == GAPS_UNLOCK ? p->n : 0;
    before_call(p->n, p);
}

static void *run_second(void *user)
{
    (void)user;
    atomic_store(&now.second.id, (int)syscall(SYS_gettid));
    arm(&now.second);
    now.second.run();
    atomic_store(&now.second.done, true);
    return NULL;
}

static void enter_gap(party *p)
{
    p->came = true;
    if (p == &now.second) {
        atomic_store(&p->done, true); /* the first one goes on */
        wait_for(&now.first);
        return;
    }
    REQUIRE_EQ(pthread_create(&now.second.thread, NULL, run_second, NULL), 0);
    wait_for(&now.second);
}

static void on_lock(bool before)
{
    if (before) return;
    party *p = whose();
    if (p != NULL && p->unlocks > 0 && --p->unlocks == 0) enter_gap(p);
}

static void on_call(void *user, const char *call)
{
    party *p = (party *)user;
    (void)call;
    if (whose() == p)
        enter_gap(p);
    else /* where the two run beside each other, its gap is its next call */
        before_call(1, p);
}

/* False: the first one has no such gap. */
static bool round_of(const gaps_path *path, uint64_t n, uint64_t m)
{
    path->begin();
    if (!lib_layer_find(&now.layer) && now.kind == GAPS_VULKAN_CALL) n = 0; /* no Vulkan is open */
    party *const both[] = {&now.first, &now.second};
    for (size_t i = 0; i < 2; i++) {
        both[i]->run = i == 0 ? path->call : path->other;
        both[i]->n = i == 0 ? n : m;
        both[i]->unlocks = 0;
        both[i]->came = false;
        atomic_store(&both[i]->done, false);
        atomic_store(&both[i]->id, i == 0 ? (int)syscall(SYS_gettid) : 0);
    }
    atomic_store(&culvi_lock_hook, on_lock);
    if (n > 0) arm(&now.first);
    now.first.run();
    atomic_store(&now.first.done, true);
    if (!now.first.came) {
        before_call(0, NULL);
        now.first.unlocks = 0;
        now.second.run();
    } else {
        REQUIRE_EQ(pthread_join(now.second.thread, NULL), 0);
        before_call(0, NULL);
    }
    atomic_store(&culvi_lock_hook, NULL);
    path->judge();
    return now.first.came;
}

void gaps_all(const gaps_path *path)
{
    now.cu = lib_driver();
    if (now.cu->SoftBefore == NULL) SKIP("only the twin lets a test act between its calls");
    for (now.kind = GAPS_UNLOCK; now.kind < GAPS_KINDS; now.kind++) {
        uint64_t gaps = 0, rounds = 0;
        while (round_of(path, gaps + 1, 0)) {
            gaps++;
            uint64_t m = 1;
            do {
                rounds++;
                (void)round_of(path, gaps, m++);
            } while (now.second.came);
        }
        printf("%s: %u gaps, %u rounds\n", kind_names[now.kind], (unsigned)gaps, (unsigned)rounds);
        if (gaps < path->least[now.kind])
            FAIL("%u gaps at %s, not %u: the path tests nothing", (unsigned)gaps,
                 kind_names[now.kind], path->least[now.kind]);
    }
}
