/* SPDX-License-Identifier: MIT */
/* What CUDA shares by itself: memory of cuMemAlloc, events and pools, read and written by another
 * process, and what must not go there. Raw-API peers: a process without Culvert on either side. */
#define TEST_GROUP "cuda."
#include "ipc_stage.h"

#include <culvert/cuda_api.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = (int)CULV_IPC_CUDA_BLOCK, WORDS = 3 * BLOCK / 4 - 7, ROUNDS = 5 };

static CUdeviceptr allocate(const lib_world *w, size_t size)
{
    CUdeviceptr at = 0;
    LIB_CU_OK(w, w->cu->MemAlloc(&at, size));
    return at;
}

static void release(const lib_world *w, CUdeviceptr at)
{
    LIB_CU_OK(w, w->cu->MemFree(at));
}

IPC_ROLE(use_memory)
{
    OWN(culv_buffer) *memory = NULL;
    culv_vmm_allocation *other = NULL;
    culv_ipc_object *object = ipc_receive(e->client, "cells");
    const culv_ipc_info info = ipc_info_of(object);
    REQUIRE(info.kind == CULV_IPC_CUDA_MEMORY && info.allocation_size == 3 * (uint64_t)BLOCK);
    REQUIRE(info.element_size == 4 && info.element_count == WORDS);
    culv_handle handle;
    LIB_ERROR(culv_ipc_object_get_handle(object, &handle), INVALID, HANDLE_TYPE);
    LIB_ERROR(culv_ipc_import_vmm(object, &other), INVALID, VALUE, "memory of cuMemAlloc");
    LIB_OK(culv_ipc_import_buffer(object, &memory));
    NEW(culv_buffer, again, culv_ipc_import_buffer, object);
    REQUIRE_EQ(culv_buffer_size(memory), info.allocation_size);
    REQUIRE_EQ(culv_buffer_pointer(memory), culv_buffer_pointer(again));
    LIB_OK(culv_buffer_unmap(&again, NULL));
    LIB_ERROR(culv_device_suspend(e->s.w.device, NULL), INVALID, NOT_EXPORTABLE,
              "import it again after culv_device_resume()");
    culv_ipc_object_destroy(&object);
    ipc_require(&e->s.w, e->stream, culv_buffer_pointer(memory), WORDS, 1);
    LIB_OK(culv_buffer_unmap(&memory, NULL));
}

/* R30: what is not a whole block is refused, with the reason and the way out. */
static void refuse(const vmm_stage *s, culv_ipc_server *server)
{
    const culv_ipc_info info = culv_ipc_info_named("refused");
    const CUdeviceptr odd = allocate(&s->w, BLOCK + 4096);
    const CUdeviceptr whole = allocate(&s->w, 2 * (size_t)BLOCK);
    LIB_ERROR(culv_ipc_offer(server, &info, culv_ipc_from_cuda_memory(odd)), INVALID,
              NOT_EXPORTABLE, "whole blocks of 2097152 bytes", "culv_vmm_allocation_create()");
    LIB_ERROR(culv_ipc_offer(server, &info, culv_ipc_from_cuda_memory(whole + BLOCK)), INVALID,
              NOT_EXPORTABLE, "lies 2097152 bytes into an allocation of 4194304 bytes");
    culv_vmm_allocation *memory = vmm_allocation(s, 1, 1 << CULV_HANDLE_OPAQUE_FD);
    culv_vmm_range *range = vmm_mapped(s, memory);
    LIB_ERROR(
        culv_ipc_offer(server, &info, culv_ipc_from_cuda_memory(culv_vmm_range_pointer(range))),
        INVALID, NOT_EXPORTABLE, "culv_ipc_from_vmm()");
    vmm_unmapped(&range, &memory);
    void *host = NULL;
    CUcontext before = lib_enter(&s->w);
    CU_OK(s->w.cu->MemHostAlloc(&host, 4096, 0));
    lib_leave(&s->w, before);
    LIB_ERROR(
        culv_ipc_offer(server, &info, culv_ipc_from_cuda_memory((CUdeviceptr)(uintptr_t)host)),
        INVALID, NOT_EXPORTABLE, "culv_vmm_allocation_create()");
    culv_vmm_adopted *adopted = NULL;
    LIB_REFUSES(adopted, culv_vmm_adopt(s->w.device, (CUdeviceptr)(uintptr_t)host, 64, &adopted),
                INVALID, NOT_EXPORTABLE, " bytes of page-locked host memory, which");
    before = lib_enter(&s->w);
    CU_OK(s->w.cu->MemFreeHost(host));
    lib_leave(&s->w, before);
    release(&s->w, whole);
    release(&s->w, odd);
}

IPC_CASE(memory, use_memory)
{
    const CUdeviceptr at = allocate(&e->s.w, 3 * (size_t)BLOCK);
    ipc_write(&e->s.w, e->stream, at, WORDS, 1);
    refuse(&e->s, e->server);
    culv_ipc_info info = culv_ipc_info_named("cells");
    info.element_size = 4;
    info.element_count = WORDS;
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_cuda_memory(at)));
    ipc_end_join(e);
    culv_ipc_server_destroy(&e->server);
    release(&e->s.w, at);
}

/* What CUDA does not tell apart ---------------------------------------------------------------- */

static CUevent new_event(const lib_world *w)
{
    CUevent event = NULL;
    LIB_CU_OK(w, w->cu->EventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    return event;
}

typedef struct cause {
    const char *name, *says;
    int namespaces;
    int gpu; /* the owner's; of the twin's, this process sees 0 and 1 */
    bool freed, killed, barred;
    bool alike; /* the owner's number in its namespace is this process's here */
} cause;

static const cause causes[] = {
    {.name = "freed", .says = "has given it up", .freed = true},
    {.name = "ended", .says = "its owner has ended", .killed = true},
    {.name = "unseen", .says = "CUDA_VISIBLE_DEVICES", .gpu = 2},
    {.name = "apart", .says = "another GPU than the client's device", .gpu = 1, .barred = true},
    {.name = "contained", .says = "another PID namespace", .namespaces = CLONE_NEWPID},
    {.name = "alike", .says = "(CUDA error 205)", .namespaces = CLONE_NEWPID, .alike = true},
};
enum { CONTAINED = 2 }; /* the last ones */
enum { CAUSES = sizeof causes / sizeof causes[0] };

static culv_ipc_server *share(const lib_world *w, const char *name, CUdeviceptr *at, CUevent *event)
{
    culv_ipc_server *server = ipc_server(w->device, name);
    culv_ipc_info info = culv_ipc_info_named("cells");
    *at = allocate(w, BLOCK);
    *event = new_event(w);
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_cuda_memory(*at)));
    info = culv_ipc_info_named("given");
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_event(*event)));
    return server;
}

static void share_for(ipc_child *parent, const char *name)
{
    vmm_stage s;
    CUdeviceptr at;
    CUevent event;
    const cause *c = causes;
    while (strstr(name, c->name) == NULL)
        c++;
    const int client = (int)getppid();
    ipc_hear(parent, 's');
    if (c->namespaces != 0) ipc_contain(c->namespaces, 0);
    if (c->alike) {
        FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
        if (last == NULL || fprintf(last, "%d", client - 1) < 0 || fclose(last) != 0)
            _exit(TEST_SKIPPED);
        ipc_contain(0, 0);
        REQUIRE_EQ((int)getpid(), client);
    }
    if (c->gpu > 0) REQUIRE_EQ(setenv("CULVERT_SOFT_DEVICES", "3", 1), 0);
    vmm_stage_open(&s);
    if (c->gpu > 0) LIB_OK(culv_device_open_by_ordinal(c->gpu, NULL, &s.w.device));
    s.w.context = culv_device_context(s.w.device);
    culv_ipc_server *server = share(&s.w, name, &at, &event);
    ipc_hear_serving(parent, 'f', server);
    if (c->freed) release(&s.w, at);
    ipc_say(parent, 'f');
    ipc_hear_serving(parent, 'e', server);
    _exit(0); /* with all that it has */
}

static void refuse_import(culv_ipc_object *cells, culv_ipc_object *given, const cause *c)
{
    culv_buffer *memory = NULL;
    CUevent event = NULL;
    const culv_result result = c->gpu == 2 ? CULV_ERROR_INVALID : CULV_ERROR_DRIVER;
    const culv_reason reason =
        c->gpu == 2 ? CULV_REASON_DEVICE_MISMATCH : CULV_REASON_HANDLE_REFUSED;
    if (c->barred) lib_driver()->SoftBarPeers(1);
    LIB_REFUSES_AS(memory, culv_ipc_import_buffer(cells, &memory), result, reason, c->says);
    if (!c->freed && !c->barred && lib_driver()->software) { /* else the event is good */
        LIB_FAILS(culv_ipc_import_event(given, &event), result, reason);
        REQUIRE(event == NULL);
        LIB_SAYS(c->says);
    }
    if (c->barred) { /* a peer's memory is good, too */
        lib_driver()->SoftBarPeers(0);
        LIB_OK(culv_ipc_import_buffer(cells, &memory));
        LIB_OK(culv_buffer_unmap(&memory, NULL));
    }
    culv_ipc_object_destroy(&cells);
    culv_ipc_object_destroy(&given);
}

static atomic_bool answered;

static void *answer(void *server)
{
    while (!atomic_load(&answered))
        LIB_OK(culv_ipc_server_poll(server, UINT64_C(1000000), NULL));
    return NULL;
}

/* Each cause, behind that of a server in the client's own process. */
static void refuse_for(const cause *first, size_t count)
{
    const cause own = {.says = "this process's own"};
    ipc_child children[CAUSES];
    char names[CAUSES + 1][CULV_IPC_NAME_SIZE];
    vmm_stage s;
    pthread_t thread;
    CUdeviceptr at = 0;
    CUevent event = NULL;
    for (size_t i = 0; i < count; i++)
        ipc_fork(&children[i], share_for, ipc_name(names[i], first[i].name));
    raw_cuda_two_devices();
    vmm_stage_open(&s);
    culv_ipc_server *server = share(&s.w, ipc_name(names[count], "own"), &at, &event);
    REQUIRE_EQ(pthread_create(&thread, NULL, answer, server), 0);
    for (size_t i = count + 1; i-- > 0;) {
        const cause *c = i == count ? &own : &first[i];
        if (c->gpu > 0 && !s.w.cu->software) {
            ipc_kill(&children[i]);
            continue;
        }
        if (c != &own) ipc_say(&children[i], 's');
        OWN(culv_ipc_client) *client = ipc_client(s.w.device, names[i]);
        culv_ipc_object *cells = ipc_receive(client, "cells");
        culv_ipc_object *given = ipc_receive(client, "given");
        if (c != &own) ipc_say(&children[i], 'f');
        if (c != &own) ipc_hear(&children[i], 'f');
        if (c->killed) ipc_kill(&children[i]);
        refuse_import(cells, given, c);
        if (c != &own && !c->killed) {
            ipc_say(&children[i], 'e');
            ipc_join(&children[i]);
        }
    }
    atomic_store(&answered, true);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    culv_ipc_server_destroy(&server);
    release(&s.w, at);
    CU_OK(s.w.cu->EventDestroy(event));
    vmm_stage_close(&s); /* it counts files */
    for (size_t i = 0; i < count; i++)
        ipc_forget(&children[i]);
}

TEST_AS(refusals, refuse_for(causes, CAUSES - CONTAINED), .own = true)

TEST(refused_in_a_container, .title = "cuda.refusals.pid_namespace", .own = true)
{
    ipc_need_namespaces(CLONE_NEWPID);
    if (access("/dev/nvidiactl", F_OK) == 0 && strcmp(test_option("driver", "auto"), "soft") != 0)
        SKIP("cuInit() is OPERATING_SYSTEM in a PID namespace that is no whole container");
    refuse_for(&causes[CAUSES - CONTAINED], CONTAINED);
}

/* In turns, by two events: the streams of both processes wait for each other, and the host only
 * says that a record was submitted. */
static void fill(const lib_world *w, CUstream stream, CUdeviceptr at, uint32_t value)
{
    CU_OK(w->cu->MemsetD32Async(at, value, WORDS, stream));
}

static void check(const lib_world *w, CUstream stream, CUdeviceptr at, uint32_t value)
{
    uint32_t *words = malloc(4 * (size_t)WORDS);
    REQUIRE(words != NULL);
    CU_OK(w->cu->MemcpyDtoHAsync(words, at, 4 * (size_t)WORDS, stream));
    CU_OK(w->cu->StreamSynchronize(stream));
    for (size_t i = 0; i < WORDS; i++)
        if (words[i] != value) FAIL("word %zu is %u, not %u", i, words[i], value);
    free(words);
}

IPC_ROLE(use_events)
{
    CUevent given = NULL, back = NULL;
    culv_ipc_object *object = ipc_receive(e->client, "cells");
    NEW(OWN(culv_buffer), memory, culv_ipc_import_buffer, object);
    culv_ipc_object_destroy(&object);
    object = ipc_receive(e->client, "given");
    REQUIRE_EQ(ipc_info_of(object).kind, CULV_IPC_EVENT);
    LIB_OK(culv_ipc_import_event(object, &given));
    culv_ipc_object_destroy(&object);
    object = ipc_receive(e->client, "back");
    LIB_OK(culv_ipc_import_event(object, &back));
    culv_ipc_object_destroy(&object);
    CUcontext before = lib_enter(&e->s.w);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        ipc_hear(&e->other, 'g');
        CU_OK(e->s.w.cu->StreamWaitEvent(e->stream, given, 0));
        check(&e->s.w, e->stream, culv_buffer_pointer(memory), 100 + i);
        fill(&e->s.w, e->stream, culv_buffer_pointer(memory), 200 + i);
        CU_OK(e->s.w.cu->EventRecord(back, e->stream));
        ipc_say(&e->other, 'b');
    }
    CU_OK(e->s.w.cu->StreamSynchronize(e->stream));
    ipc_hear(&e->other, 'e');
    CU_OK(e->s.w.cu->EventDestroy(given));
    CU_OK(e->s.w.cu->EventDestroy(back));
    lib_leave(&e->s.w, before);
}

IPC_CASE(events, use_events)
{
    CUevent plain = NULL;
    const CUdeviceptr at = allocate(&e->s.w, 3 * (size_t)BLOCK);
    const CUevent given = new_event(&e->s.w), back = new_event(&e->s.w);
    culv_ipc_info info = culv_ipc_info_named("cells");
    CUcontext before = lib_enter(&e->s.w);
    CU_OK(e->s.w.cu->EventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    LIB_ERROR(culv_ipc_offer(e->server, &info, culv_ipc_from_event(plain)), INVALID, NOT_EXPORTABLE,
              "CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING");
    CU_OK(e->s.w.cu->EventDestroy(plain));
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_cuda_memory(at)));
    info = culv_ipc_info_named("given");
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_event(given)));
    info = culv_ipc_info_named("back");
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_event(back)));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        fill(&e->s.w, e->stream, at, 100 + i);
        CU_OK(e->s.w.cu->EventRecord(given, e->stream));
        ipc_say(&e->other, 'g');
        ipc_hear_serving(&e->other, 'b', e->server);
        CU_OK(e->s.w.cu->StreamWaitEvent(e->stream, back, 0));
        check(&e->s.w, e->stream, at, 200 + i);
    }
    CU_OK(e->s.w.cu->EventQuery(back));
    CU_OK(e->s.w.cu->EventSynchronize(given));
    ipc_say(&e->other, 'e');
    ipc_end_join(e);
    culv_ipc_server_destroy(&e->server);
    CU_OK(e->s.w.cu->EventDestroy(given));
    CU_OK(e->s.w.cu->EventDestroy(back));
    lib_leave(&e->s.w, before);
    release(&e->s.w, at);
}

enum { FEW = 77777 };

IPC_ROLE(use_pool)
{
    OWN(culv_mem_pool) *pool = NULL;
    CUdeviceptr at = 0;
    culv_ipc_object *object = ipc_receive(e->client, "pool");
    const bool fabric = ipc_info_of(object).kind == CULV_IPC_POOL_FABRIC;
    if (fabric) {
        const size_t fds = test_open_fds();
        LIB_OK(culv_ipc_import_pool(object, &pool));
        REQUIRE_EQ(test_open_fds(), fds + 1); /* the twin's own */
    } else {
        REQUIRE_EQ(ipc_info_of(object).kind, CULV_IPC_POOL);
        LIB_OK(culv_ipc_import_pool(object, &pool));
    }
    LIB_ERROR(culv_ipc_import_pool_memory(object, pool, &at), INVALID, VALUE);
    culv_ipc_object_destroy(&object);
    object = ipc_receive(e->client, "cells");
    REQUIRE_EQ(ipc_info_of(object).size, 4 * FEW);
    LIB_OK(culv_ipc_import_pool_memory(object, pool, &at));
    culv_ipc_object_destroy(&object);
    ipc_require(&e->s.w, e->stream, at, FEW, 1);
    ipc_write(&e->s.w, e->stream, at, FEW, 2);
    lib_pool_free(&e->s.w, at, e->stream);
    lib_finish(&e->s.w, e->stream);
    ipc_say(&e->other, 'w');
}

/* A pool of CUDA's own calls, exported. */
static CUmemoryPool make_pool(const lib_world *w, bool fabric, culv_handle *out)
{
    const CUmemAllocationHandleType type =
        fabric ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .handleTypes = type,
                                  .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    const culv_cuda_api *cuda = CULV_CUDA(w->device);
    CUmemoryPool pool = NULL;
    memset(out, 0, sizeof *out);
    out->type = fabric ? CULV_HANDLE_FABRIC : CULV_HANDLE_OPAQUE_FD;
    LIB_CU_OK(w, cuda->cuMemPoolCreate(&pool, &props));
    LIB_CU_OK(w, cuda->cuMemPoolExportToShareableHandle(&out->value, pool, type, 0));
    return pool;
}

/* By a file descriptor, or by a fabric handle. */
static void share_pool(ipc_end *e, bool fabric)
{
    culv_handle handle;
    culv_mem_pool_pointer exported;
    culv_vmm_adopted *adopted = NULL;
    CUdeviceptr at = 0;
    const CUmemoryPool pool = make_pool(&e->s.w, fabric, &handle);
    at = lib_pool_alloc(&e->s.w, pool, 4 * FEW, e->stream);
    ipc_write(&e->s.w, e->stream, at, FEW, 1);
    LIB_REFUSES(adopted, culv_vmm_adopt(e->s.w.device, at, FEW, &adopted), INVALID, NOT_EXPORTABLE,
                " bytes of a pool (cudaMallocAsync), which");
    culv_ipc_info info = culv_ipc_info_named("cells");
    info.size = 4 * FEW;
    LIB_ERROR(culv_ipc_offer(e->server, &info, culv_ipc_from_cuda_memory(at)), INVALID,
              NOT_EXPORTABLE,
              "culv_ipc_from_pool_memory(), if its pool was made with handle types ",
              "the default pool of cudaMallocAsync was not");
    culv_ipc_info of_pool = culv_ipc_info_named("pool");
    const culv_handle wrong = culv_handle_dma_buf_fd(0);
    const size_t fds = test_open_fds();
    LIB_ERROR(culv_ipc_offer(e->server, &of_pool, culv_ipc_from_pool(&wrong)), INVALID,
              HANDLE_TYPE);
    LIB_OK(culv_ipc_offer(e->server, &of_pool, culv_ipc_from_pool(&handle)));
    REQUIRE_EQ(test_open_fds(), fabric ? fds : fds + 1);
    if (!fabric) culv_handle_close(&handle); /* the offer has its own */
    LIB_CU_OK(
        &e->s.w,
        CULV_CUDA(e->s.w.device)->cuMemPoolExportPointer((CUmemPoolPtrExportData *)&exported, at));
    LIB_OK(culv_ipc_offer(e->server, &info, culv_ipc_from_pool_memory(at, &exported)));
    ipc_hear_serving(&e->other, 'w', e->server);
    ipc_require(&e->s.w, e->stream, at, FEW, 2);
    ipc_end_join(e);
    culv_ipc_server_destroy(&e->server);
    lib_pool_free(&e->s.w, at, e->stream);
    lib_finish(&e->s.w, e->stream);
    LIB_CU_OK(&e->s.w, CULV_CUDA(e->s.w.device)->cuMemPoolDestroy(pool));
}

IPC_CASE(pools, use_pool)
{
    share_pool(e, false);
}

IPC_CASE_(fabric_pools, false, use_pool, .title = "fabric.pools", .own = true)
{
    share_pool(e, true);
}

/* Servers are found by name, and a client without a device lists what they offer. */
VMM_CASE(found, .title = "found", .own = true)
{
    enum { MOST = 256 };
    static char names[MOST][CULV_IPC_NAME_SIZE];
    char one[CULV_IPC_NAME_SIZE], two[CULV_IPC_NAME_SIZE];
    size_t count = 0, before = 0;
    LIB_OK(culv_ipc_find_servers(NULL, NULL, 0, &before));
    culv_ipc_server *b = ipc_server(s->w.device, ipc_name(two, "found-b"));
    culv_ipc_server *a = ipc_server(s->w.device, ipc_name(one, "found-a"));
    LIB_OK(culv_ipc_find_servers(NULL, names, MOST, &count));
    int at[2] = {-1, -1};
    for (int i = 0; i < (int)count && i < MOST; i++) {
        if (strcmp(names[i], one) == 0) at[0] = i;
        if (strcmp(names[i], two) == 0) at[1] = i;
        if (i > 0) REQUIRE(strcmp(names[i - 1], names[i]) <= 0);
    }
    REQUIRE(at[0] >= 0 && at[1] > at[0]);
    culv_ipc_server_destroy(&a);
    culv_ipc_server_destroy(&b);
    LIB_OK(culv_ipc_find_servers(NULL, names, MOST, &count));
    for (size_t i = 0; i < count && i < MOST; i++)
        REQUIRE(strcmp(names[i], one) != 0 && strcmp(names[i], two) != 0);
    /* In a directory, with little room. */
    char directory[] = "/tmp/culvert-XXXXXX";
    REQUIRE(mkdtemp(directory) != NULL);
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    d.directory = directory;
    d.name = "zebra";
    LIB_OK(culv_ipc_server_create(s->w.device, &d, &b));
    d.name = "ant";
    LIB_OK(culv_ipc_server_create(s->w.device, &d, &a));
    LIB_OK(culv_ipc_find_servers(directory, names, 1, &count));
    REQUIRE_EQ(count, 2);
    REQUIRE_EQ_STR(names[0], "ant");
    culv_ipc_server_destroy(&a);
    culv_ipc_server_destroy(&b);
    LIB_OK(culv_ipc_find_servers(directory, names, MOST, &count));
    REQUIRE_EQ(count, 0);
    REQUIRE_EQ(rmdir(directory), 0);
    LIB_ERROR(culv_ipc_find_servers(directory, names, MOST, &count), DRIVER, OS);
}

/* Raw-API peers -------------------------------------------------------------------------------- */

static int take_fd(int socket)
{
    char byte = 0, space[CMSG_SPACE(sizeof(int))];
    int fd = -1;
    struct iovec v = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    REQUIRE(recvmsg(socket, &m, MSG_CMSG_CLOEXEC) == 1);
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    REQUIRE(c != NULL && c->cmsg_type == SCM_RIGHTS);
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static int between[2]; /* sockets of the parent and the child */

/* A program of CUDA's calls alone: its memory goes out, and Culvert's comes in. */
static void be_raw(ipc_child *parent, const char *name)
{
    enum { SIZE = VMM_BLOCK, HAS = SIZE / 4 };
    vmm_stage s;
    vmm_stage_open(&s); /* for its table of the driver's functions, a context and a stream */
    CUstream stream = lib_case_stream(&s.w);
    const raw_cuda *cu = s.w.cu;
    CUcontext before = lib_enter(&s.w);
    CUmemAllocationProp prop;
    CUmemAccessDesc access;
    CUmemGenericAllocationHandle own = 0, theirs = 0;
    CUdeviceptr at = 0;
    int fd = -1;
    memset(&prop, 0, sizeof prop);
    memset(&access, 0, sizeof access);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU_OK(cu->MemCreate(&own, SIZE, &prop, 0));
    CU_OK(cu->MemAddressReserve(&at, 2 * (size_t)SIZE, 0, 0, 0));
    CU_OK(cu->MemMap(at, SIZE, 0, own, 0));
    CU_OK(cu->MemSetAccess(at, SIZE, &access, 1));
    ipc_write(&s.w, stream, at, HAS, 1);
    CU_OK(cu->MemExportToShareableHandle(&fd, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    REQUIRE(raw_send(between[1], "f", 1, &fd, 1));
    close(fd);
    fd = take_fd(between[1]);
    CU_OK(cu->MemImportFromShareableHandle(&theirs, (void *)(uintptr_t)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CU_OK(cu->MemMap(at + SIZE, SIZE, 0, theirs, 0));
    CU_OK(cu->MemSetAccess(at + SIZE, SIZE, &access, 1));
    ipc_require(&s.w, stream, at + SIZE, HAS, 2);
    ipc_write(&s.w, stream, at + SIZE, HAS, 4);
    ipc_hear(parent, 'w');
    ipc_require(&s.w, stream, at, HAS, 3);
    CU_OK(cu->MemUnmap(at, 2 * (size_t)SIZE));
    CU_OK(cu->MemRelease(own));
    CU_OK(cu->MemRelease(theirs));
    CU_OK(cu->MemAddressFree(at, 2 * (size_t)SIZE));
    lib_leave(&s.w, before);
    ipc_say(parent, 'd');
    vmm_stage_close(&s);
}

/* What came from such a program is offered on, to clients of Culvert's, too. */
TEST(raw_peers, .title = "raw_peers", .own = true)
{
    enum { HAS = VMM_BLOCK / 4 };
    ipc_child child;
    vmm_stage s;
    culv_vmm_allocation *theirs = NULL;
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, between) == 0);
    ipc_fork(&child, be_raw, "");
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    d.handle = culv_handle_opaque_fd(take_fd(between[0]));
    d.size = VMM_BLOCK;
    LIB_TAKE(culv_vmm_import(s.w.device, &d, &theirs), &d.handle);
    culv_vmm_allocation *own = vmm_allocation(&s, 1, 1 << CULV_HANDLE_OPAQUE_FD);
    culv_vmm_range *range = vmm_range(&s, 2);
    LIB_OK(culv_vmm_map(range, 0, theirs, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, own, NULL, 0));
    ipc_require(&s.w, stream, vmm_address(range, 0), HAS, 1);
    ipc_write(&s.w, stream, vmm_address(range, 0), HAS, 3);
    ipc_write(&s.w, stream, vmm_address(range, 1), HAS, 2);
    culv_handle handle;
    LIB_OK(culv_vmm_export_dup(own, CULV_HANDLE_OPAQUE_FD, &handle));
    REQUIRE(raw_send(between[0], "f", 1, &handle.value.fd, 1));
    culv_handle_close(&handle);
    ipc_say(&child, 'w');
    ipc_hear(&child, 'd');
    ipc_require(&s.w, stream, vmm_address(range, 1), HAS, 4);
    ipc_join(&child);
    vmm_unmapped(&range, &own);
    culv_vmm_allocation_destroy(&theirs);
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s); /* it counts files */
    close(between[0]);
    close(between[1]);
}
