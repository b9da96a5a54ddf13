/* SPDX-License-Identifier: MIT */
/* How often the first address is free in both: many processes, each with its own places for
 * everything (ASLR), some of which have loaded many libraries, broken up the addresses, or reserved
 * much, as PyTorch's allocator does, before they ask for a space. */
#include "process.h"
#include "space.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 32, MOST_LIBRARIES = 200, ANSWER_BYTES = 16384 };

/* What a process does first -------------------------------------------------------------------- */

static unsigned nothing(space_bench *b, random_source *random)
{
    (void)b;
    (void)random;
    return 0;
}

/* Those whose loading does more than to take addresses. */
static int is_harmless(const struct dirent *entry)
{
    static const char *const not_these[] = {
        "san",       "nvidia",   "cuda",     "GL",       "vulkan",  "VkLayer",      "memusage",
        "pcprofile", "SegFault", "jemalloc", "tcmalloc", "culvert", "pthread_trace"};
    if (strncmp(entry->d_name, "lib", 3) != 0 || strstr(entry->d_name, ".so") == NULL) return 0;
    for (size_t i = 0; i < sizeof not_these / sizeof not_these[0]; i++)
        if (strstr(entry->d_name, not_these[i]) != NULL) return 0;
    return 1;
}

/* As many of the system's as there are, evenly chosen. They stay. */
static unsigned libraries(space_bench *b, random_source *random)
{
    static const char *const directories[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                                              "/lib/x86_64-linux-gnu"};
    unsigned loaded = 0;
    (void)b;
    (void)random;
    for (size_t d = 0; d < 3 && loaded == 0; d++) {
        struct dirent **list = NULL;
        const int found = scandir(directories[d], &list, is_harmless, alphasort);
        const int stride = found > MOST_LIBRARIES ? found / MOST_LIBRARIES : 1;
        for (int i = 0; i < found; i++) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", directories[d], list[i]->d_name);
            if (i % stride == 0 && dlopen(path, RTLD_LAZY | RTLD_LOCAL) != NULL) loaded++;
            free(list[i]);
        }
        free(list);
    }
    return loaded;
}

/* Memory and addresses of every size, of the process, of CUDA and of its ranges; every second one
 * is given back. */
static unsigned fragments(space_bench *b, random_source *random)
{
    const raw_cuda *cu = b->bench.rig.cu;
    const bool software = b->bench.rig.caps.is_software != 0;
    unsigned kept = 0;
    for (unsigned i = 0; i < 1000; i++) {
        const size_t size = (size_t)4096 << random_below(random, 16);
        void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) break;
        if (i % 2 == 1)
            (void)munmap(p, size);
        else
            kept++;
    }
    for (unsigned i = 0; i < 100; i++) {
        CUdeviceptr p = 0;
        RIG_CU(cu->MemAlloc(&p, (size_t)4096 << random_below(random, software ? 6 : 14)));
        if (i % 2 == 1)
            RIG_CU(cu->MemFree(p));
        else
            kept++;
    }
    for (unsigned i = 0; i < 64; i++) {
        const size_t size = (size_t)SPACE_MIB(2) << random_below(random, software ? 4 : 15);
        CUdeviceptr at = 0;
        RIG_CU(cu->MemAddressReserve(&at, size, 0, 0, 0));
        if (i % 2 == 1)
            RIG_CU(cu->MemAddressFree(at, size));
        else
            kept++;
    }
    return kept;
}

/* A range with an eighth more than the GPU's memory for each of two streams, as expandable segments
 * have, blocks of 2 and 20 MiB, and as much of the process's memory as large models' files take. */
static unsigned allocator(space_bench *b, random_source *random)
{
    const raw_cuda *cu = b->bench.rig.cu;
    const bool software = b->bench.rig.caps.is_software != 0;
    size_t free_bytes = 0, total = 0;
    unsigned kept = 0;
    RIG_CU(cu->MemGetInfo(&free_bytes, &total));
    const size_t range =
        software ? (size_t)SPACE_MIB(64) : (total + total / 8) / SPACE_MIB(2) * SPACE_MIB(2);
    for (unsigned i = 0; i < 2; i++, kept++) {
        CUdeviceptr at = 0;
        RIG_CU(cu->MemAddressReserve(&at, range, 0, 0, 0));
    }
    for (unsigned i = 0; i < (software ? 4u : 60u); i++, kept++) {
        CUdeviceptr p = 0;
        RIG_CU(cu->MemAlloc(&p, SPACE_MIB(random_below(random, 2) == 0 ? 2 : 20)));
    }
    for (unsigned i = 0; i < 8; i++, kept++)
        (void)mmap(NULL, (size_t)SPACE_MIB(software ? 64 : 8192), PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return kept;
}

static const struct kind {
    const char *name, *variant;
    unsigned (*prepare)(space_bench *b, random_source *random);
    unsigned share; /* of the processes and of the time, in tenths */
} kinds[] = {{"plain", "a fresh process", nothing, 10},
             {"libraries", "with many libraries", libraries, 1},
             {"fragments", "with addresses in pieces", fragments, 1},
             {"allocator", "with an allocator's ranges", allocator, 1}};
enum { KINDS = sizeof kinds / sizeof kinds[0], SHARES = 13 };

static const struct kind *kind_named(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

bool starts_has_kind(const char *name)
{
    return kind_named(name) != NULL;
}

int starts_child(space_bench *b, const char *name)
{
    const struct kind *kind = kind_named(name);
    if (kind == NULL) return EXITS_USAGE;
    /* Another one for each process: the stack's place is. */
    random_source random = {(uint64_t)(uintptr_t)&kind ^ (uint64_t)getpid() << 32};
    const unsigned kept = kind->prepare(b, &random);
    culv_vk_space_desc d = culv_vk_space_desc_init();
    culv_vk_space_info info = culv_vk_space_info_init();
    culv_vk_space *space = NULL;
    d.size = b->bench.rig.caps.is_software ? SPACE_MIB(64) : SPACE_MIB(4096);
    d.queue = b->queue;
    if (culv_vk_space_create(b->bench.rig.attached, &d, &space) != CULV_OK) {
        printf("SPACE: none %s\n", culv_last_error_message());
    } else {
        CULV_OK_OR_EXIT(culv_vk_space_get_info(space, &info));
        printf("SPACE: %u %u %u %" PRIx64 " %u\n", info.attempts, info.refused_by_cuda,
               info.refused_by_vulkan, (uint64_t)info.address, kept);
    }
    /* All that it had goes with the process. */
    fflush(stdout);
    _exit(0);
}

/* Many of them --------------------------------------------------------------------------------- */

typedef struct tally {
    unsigned started, first, none, lost, most, by_cuda, by_vulkan, kept;
    double seconds;
    uint64_t addresses[64];
    size_t num_addresses;
} tally;

static void start(const space_bench *b, const struct kind *kind, process *out)
{
    char driver[64], device[32], which[32], path[TEST_PATH_MAX];
    snprintf(driver, sizeof driver, "--driver=%s", b->driver);
    snprintf(device, sizeof device, "--device=%d", b->device);
    snprintf(which, sizeof which, "--start=%s", kind->name);
    test_path(path, "bin/" SPACE_PROGRAM);
    char *const arguments[] = {path, driver, device, which, NULL};
    process_start(out, arguments);
}

static void take(tally *t, process *p, int status)
{
    char answer[ANSWER_BYTES];
    unsigned attempts, by_cuda, by_vulkan, kept;
    uint64_t address;
    process_answer(p, answer, sizeof answer);
    p->pid = 0;
    t->started++;
    /* Some libraries speak when they are loaded. */
    const char *said = strstr(answer, "SPACE:");
    if (said != NULL && strncmp(said, "SPACE: none ", 12) == 0) {
        t->none++;
        fprintf(stderr, SPACE_PROGRAM ": %s", said + 12);
        return;
    }
    if (status != 0 || said == NULL ||
        sscanf(said, "SPACE: %u %u %u %" SCNx64 " %u", &attempts, &by_cuda, &by_vulkan, &address,
               &kept) != 5) {
        t->lost++;
        return;
    }
    t->first += attempts == 1;
    t->most = attempts > t->most ? attempts : t->most;
    t->by_cuda += by_cuda;
    t->by_vulkan += by_vulkan;
    t->kept = kept > t->kept ? kept : t->kept;
    for (size_t i = 0; i < t->num_addresses; i++)
        if (t->addresses[i] == address) return;
    if (t->num_addresses < 64) t->addresses[t->num_addresses++] = address;
}

static void run_kind(space_bench *b, const struct kind *kind, unsigned wanted, double until)
{
    process running[MOST_AT_ONCE];
    tally t = {0};
    unsigned begun = 0, alive = 0;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned at_once = cores < 1                    ? 1
                             : cores > (long)MOST_AT_ONCE ? MOST_AT_ONCE
                                                          : (unsigned)cores;
    const double from = bench_now();
    memset(running, 0, sizeof running);
    for (;;) {
        for (unsigned i = 0; i < at_once && begun < wanted && (begun == 0 || bench_now() < until);
             i++) {
            if (running[i].pid != 0) continue;
            start(b, kind, &running[i]);
            begun++;
            alive++;
        }
        if (alive == 0) break;
        exits_watch(120, "a process that makes a space");
        int status = 0;
        const pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0 && errno == EINTR) continue;
        REQUIRE(ended > 0);
        for (unsigned i = 0; i < at_once; i++) {
            if (running[i].pid != ended) continue;
            take(&t, &running[i], status);
            alive--;
        }
    }
    t.seconds = (bench_now() - from) * 1e-9;
    space_add_fact(b, kind->variant, "processes", (double)t.started, "", 0.0);
    space_add_fact(b, kind->variant, "seconds for all", t.seconds, "s", 0.0);
    space_add_fact(b, kind->variant, "the first address was free", (double)t.first, "", 0.0);
    space_add_fact(b, kind->variant, "attempts at most", (double)t.most, "", 0.0);
    space_add_fact(b, kind->variant, "refused by CUDA", (double)t.by_cuda, "", 0.0);
    space_add_fact(b, kind->variant, "refused by Vulkan", (double)t.by_vulkan, "", 0.0);
    space_add_fact(b, kind->variant, "no address was free", (double)t.none, "", 0.0);
    space_add_fact(b, kind->variant, "different addresses", (double)t.num_addresses, "", 0.0);
    space_add_fact(b, kind->variant, "did not come so far", (double)t.lost, "", 0.0);
    if (kind->prepare != nothing)
        space_add_fact(b, kind->variant, "libraries, pieces or ranges", (double)t.kept, "", 0.0);
    for (size_t i = 0; b->bench.text != NULL && i < t.num_addresses; i++)
        fprintf(b->bench.text, "    at %#" PRIx64 "\n", t.addresses[i]);
}

void section_starts(space_bench *b)
{
    if (b->kind != NULL) {
        run_kind(b, kind_named(b->kind), b->starts, bench_now() + b->seconds * 1e9);
        return;
    }
    for (size_t i = 0; i < KINDS; i++) {
        const unsigned wanted = b->starts * kinds[i].share / 10;
        /* Its own time, however long the kind before took to end. */
        const double share = (double)kinds[i].share / SHARES;
        run_kind(b, &kinds[i], wanted > 0 ? wanted : 1, bench_now() + share * b->seconds * 1e9);
    }
}
