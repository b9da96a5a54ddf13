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

static const char *const kind_names[] = {"locks", "CUDA calls", "Vulkan calls"};

typedef struct party {
    pthread_t thread;
    atomic_int id;    /* of its thread, for the system; 0: it has not begun */
    atomic_bool done; /* or is held in its gap */
    uint64_t n;       /* its gap, 0: none */
    uint64_t places;  /* at locks, until then */
    unsigned held;    /* locks */
    bool came;        /* to its gap */
} party;

static struct {
    const raw_cuda *cu;
    const gaps_path *path;
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
    p->places = now.kind == GAPS_LOCK ? p->n : 0;
    before_call(p->n, p);
}

static void *run_second(void *user)
{
    atomic_store(&now.second.id, (int)syscall(SYS_gettid));
    arm(&now.second);
    now.path->act(GAPS_SECOND);
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
    if (now.path->between != NULL && now.second.n == 0 && atomic_load(&now.second.done))
        now.path->between();
}

static void on_lock(bool before)
{
    party *p = whose();
    if (p == NULL) return;
    const bool place = !before || p->held == 0;
    p->held += before ? 1 : p->held > 0 ? (unsigned)-1 : 0;
    if (place && p->places > 0 && --p->places == 0) enter_gap(p);
}

static void on_call(void *user, const char *call)
{
    party *p = (party *)user;
    if (whose() == p)
        enter_gap(p);
    else /* where the two run beside each other, its gap is its next call */
        before_call(1, p);
}

/* False: the first one has no such gap. */
static bool round_of(uint64_t n, uint64_t m)
{
    now.path->begin();
    if (!lib_layer_find(&now.layer) && now.kind == GAPS_VULKAN_CALL) n = 0; /* no Vulkan is open */
    now.first = (party){.n = n, .id = (int)syscall(SYS_gettid)};
    now.second = (party){.n = m};
    atomic_store(&culvi_lock_hook, on_lock);
    if (n > 0) arm(&now.first);
    now.path->act(GAPS_FIRST);
    atomic_store(&now.first.done, true);
    if (!now.first.came) {
        before_call(0, NULL);
        now.first.places = 0;
        now.path->act(GAPS_SECOND);
    } else {
        REQUIRE_EQ(pthread_join(now.second.thread, NULL), 0);
        before_call(0, NULL);
    }
    atomic_store(&culvi_lock_hook, NULL);
    now.path->judge();
    return now.first.came;
}

void gaps_all(const gaps_path *path)
{
    now.cu = lib_driver();
    now.path = path;
    if (path->open != NULL) path->open();
    const bool brief = path->brief || now.cu->SoftBefore == NULL || test_thread_sanitized();
    for (now.kind = GAPS_LOCK; now.kind < (brief ? GAPS_CUDA_CALL : GAPS_KINDS); now.kind++) {
        unsigned gaps = 0, rounds = 1;
        for (; round_of(gaps + 1, 0) && rounds != path->most; rounds++) {
            gaps++;
            for (uint64_t m = 1; !brief && (m == 1 || now.second.came); m++, rounds++)
                (void)round_of(gaps, m);
        }
        printf("%s: %u gaps, %u rounds\n", kind_names[now.kind], gaps, rounds);
        if (brief && gaps == 0 && !path->brief) SKIP("no gaps at locks");
        if (gaps < path->least[now.kind] || (brief && gaps == 0))
            FAIL("%u gaps at %s, not %u: the path tests nothing", gaps, kind_names[now.kind],
                 path->least[now.kind]);
    }
    if (path->close != NULL) path->close();
}
