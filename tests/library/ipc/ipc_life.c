/* SPDX-License-Identifier: MIT */
/* Processes that come, are killed at each step that a client takes, and come again. The server has
 * no file, mapping or thread more for it, and serves the next one. */
#include "ipc_stage.h"

#include <sys/stat.h>
#include <unistd.h>

enum { STEPS = 16, MOST = 400, SLOTS = 3, WORDS = 1025, FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD };

/* What a client does, step by step; it is killed after the step that it says, or within what comes
 * behind it. */
static void live(ipc_child *parent, const char *name)
{
    vmm_stage s;
    culv_ring_frame f;
    char step = 'a';
#define STEP() ipc_say(parent, step++)
    ipc_hear(parent, 'g');
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    STEP();
    culv_ipc_client *client = ipc_client(s.w.device, name);
    STEP();
    culv_ipc_info info = culv_ipc_info_init();
    LIB_OK(culv_ipc_client_get_offer(client, 0, IPC_FAR, &info, NULL));
    STEP();
    NEW(culv_ipc_object, object, culv_ipc_client_receive, client, "cells", IPC_FAR);
    STEP();
    NEW(culv_vmm_allocation, memory, culv_ipc_import_vmm, object);
    STEP();
    culv_ipc_vector_desc v = culv_ipc_vector_desc_init();
    v.name = "particles";
    NEW(culv_vector, vector, culv_ipc_vector_open, client, &v, IPC_FAR);
    STEP();
    LIB_OK(culv_ipc_vector_update(vector, stream, IPC_FAR));
    STEP();
    culv_ipc_consumer_desc c = culv_ipc_consumer_desc_init();
    c.ring = "frames";
    NEW(culv_ring, side, culv_ipc_ring_join, client, &c, IPC_FAR);
    STEP();
    for (int i = 0; i < 2; i++) {
        LIB_OK(culv_ring_acquire_on(side, CULV_RING_CONSUMER, stream, IPC_FAR, &f));
        STEP();
        LIB_OK(culv_ring_release_on(side, CULV_RING_CONSUMER, stream, &f));
        STEP();
        lib_finish(&s.w, stream);
        STEP();
    }
    culv_ring_destroy(&side, NULL);
    STEP();
    culv_ipc_client_destroy(&client);
    STEP();
    REQUIRE_EQ(step, 'a' + STEPS);
    pause();
}

/* Frames go on while somebody reads them. */
static void turn(culv_ipc_server *server, culv_ring *ring, CUstream stream)
{
    culv_ring_frame f;
    LIB_OK(culv_ipc_server_poll(server, UINT64_C(1000000), NULL));
    if (culv_ipc_ring_consumers(ring, NULL, 0) == 0) return;
    if (culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, 0, &f) != CULV_OK)
        return; /* it is full */
    LIB_OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &f));
}

TEST(kills, .own = true, .time_limit = 900)
{
    static ipc_child child[MOST];
    const int count = atoi(test_option("kills", "16"));
    char name[CULV_IPC_NAME_SIZE];
    vmm_stage s;
    lib_level settled = {0};
    REQUIRE(count >= STEPS && count <= MOST);
    ipc_name(name, "kills");
    for (int i = 0; i < count; i++)
        ipc_fork(&child[i], live, name);
    vmm_stage_open(&s);
    CUstream stream = lib_case_stream(&s.w);
    culv_ipc_server *server = ipc_server(s.w.device, name);
    culv_vmm_allocation *memory = vmm_allocation(&s, 1, FD_BIT);
    ipc_offer_vmm(server, "cells", memory);
    culv_vector_desc v = culv_vector_desc_init();
    v.handle_types = FD_BIT;
    v.size = 3 * VMM_BLOCK;
    v.max_chunk = VMM_BLOCK;
    NEW(culv_vector, vector, culv_vector_create, s.w.device, &v);
    culv_ipc_info info = culv_ipc_info_named("particles");
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_vector(vector)));
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    r.name = "frames";
    r.num_slots = SLOTS;
    NEW(culv_ring, ring, culv_ipc_ring_create, server, &r);
    for (int i = 0; i < count; i++) {
        const int last = i % STEPS;
        const double until = test_now_us() + TEST_FAR_MS * 1000.0;
        ipc_say(&child[i], 'g');
        for (int step = 0; step <= last;) {
            if (ipc_heard(&child[i], (char)('a' + step)))
                step++;
            else
                turn(server, ring, stream);
            if (test_now_us() > until) FAIL("step %d of process %d did not come", step, i);
        }
        /* Some die at once, some a little way into what comes behind. */
        if (i / STEPS % 2 != 0) turn(server, ring, stream);
        ipc_kill(&child[i]);
        while (culv_ipc_server_clients(server) > 0 || culv_ipc_ring_consumers(ring, NULL, 0) > 0)
            LIB_OK(culv_ipc_server_poll(server, UINT64_C(1000000), NULL));
        ipc_serve(server);        /* one that was killed as it connected counts as no client */
        lib_finish(&s.w, stream); /* it hangs where a dead one's timeline was not moved on */
        lib_settle(&s.w);
        const lib_level now = lib_level_now();
        if (i == STEPS / 2 + 2) settled = now; /* the first consumers have been there */
        if (settled.fds == 0) continue;
        REQUIRE_EQ(now.fds, settled.fds);
        REQUIRE(now.threads <= settled.threads);
    }
    REQUIRE(lib_map_lines() < settled.maps + 16);
    culv_ring_destroy(&ring, NULL);
    culv_ipc_server_destroy(&server);
    culv_vector_destroy(&vector, NULL);
    culv_vmm_allocation_destroy(&memory);
    lib_settle(&s.w);
    vmm_stage_close(&s);
}

/* A server that is killed at each step of a client: every call answers, and none hangs. */
static void serve_till_killed(ipc_child *parent, const char *name)
{
    vmm_stage s;
    ipc_hear(parent, 'g');
    vmm_stage_open(&s);
    culv_ipc_server *server = ipc_server(s.w.device, name);
    ipc_offer_vmm(server, "cells", vmm_allocation(&s, 1, FD_BIT));
    for (;;)
        LIB_OK(culv_ipc_server_poll(server, CULV_IPC_FOREVER, NULL));
}

TEST(server_dies, .own = true)
{
    enum { SERVERS = 3 };
    ipc_child child[SERVERS];
    char name[CULV_IPC_NAME_SIZE];
    vmm_stage s;
    ipc_name(name, "server");
    for (int i = 0; i < SERVERS; i++)
        ipc_fork(&child[i], serve_till_killed, name);
    vmm_stage_open(&s);
    CUstream stream = lib_case_stream(&s.w);
    for (int i = 0; i < SERVERS; i++) {
        culv_vmm_allocation *memory = NULL;
        ipc_say(&child[i], 'g'); /* the same name as the one that was killed */
        OWN(culv_ipc_client) *client = ipc_client(s.w.device, name);
        REQUIRE_EQ(culv_ipc_client_server_pid(client), child[i].pid);
        REQUIRE(culv_ipc_client_connected(client));
        NEW(culv_ipc_object, object, culv_ipc_client_receive, client, "cells", IPC_FAR);
        if (i == 1) ipc_kill(&child[i]);
        LIB_OK(culv_ipc_import_vmm(object, &memory)); /* what was received stays */
        if (i != 1) ipc_kill(&child[i]);
        culv_vmm_range *range = vmm_mapped(&s, memory);
        ipc_write(&s.w, stream, vmm_address(range, 0), WORDS, 5);
        ipc_require(&s.w, stream, vmm_address(range, 0), WORDS, 5);
        culv_ipc_object *more = POISON(culv_ipc_object);
        LIB_ERROR(culv_ipc_client_receive(client, "cells", IPC_FAR, &more), ASYNC, IPC_GONE);
        REQUIRE(more == POISON(culv_ipc_object));
        REQUIRE(!culv_ipc_client_connected(client));
        vmm_unmapped(&range, &memory);
        culv_ipc_object_destroy(&object);
    }
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    culv_ipc_client *none = POISON(culv_ipc_client);
    d.name = name;
    LIB_ERROR(culv_ipc_client_connect(s.w.device, &d, 1000000, &none), TIMEOUT, IPC_NAME);
    vmm_stage_close(&s);
}

/* Sockets in a directory: whose it must be, what a killed server leaves, and who is admitted. */
VMM_CASE(directories, .own = true)
{
    char directory[] = "/tmp/culvert-XXXXXX";
    culv_ipc_server *server = POISON(culv_ipc_server), *second = POISON(culv_ipc_server);
    culv_ipc_client *client = POISON(culv_ipc_client);
    const uint32_t nobody = 65534;
    REQUIRE(mkdtemp(directory) != NULL);
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    c.name = d.name = "view";
    c.directory = d.directory = directory;
    LIB_OK(culv_ipc_server_create(s->w.device, &d, &server));
    LIB_ERROR(culv_ipc_server_create(s->w.device, &d, &second), BUSY, IPC_NAME);
    REQUIRE(second == POISON(culv_ipc_server));
    /* A server of a user that the client does not trust. */
    c.users = &nobody;
    c.num_users = 1;
    LIB_ERROR(culv_ipc_client_connect(NULL, &c, IPC_FAR, &client), UNSUPPORTED, IPC_REFUSED);
    culv_ipc_server_destroy(&server);
    REQUIRE(access(directory, F_OK) == 0);
    REQUIRE_EQ(rmdir(directory), 0); /* the socket is gone */
    REQUIRE(mkdtemp(strcpy(directory, "/tmp/culvert-XXXXXX")) != NULL);
    /* A socket that nobody listens at any more is made anew. */
    LIB_OK(culv_ipc_server_create(s->w.device, &d, &server));
    char path[128], kept[128];
    snprintf(path, sizeof path, "%s/view", directory);
    snprintf(kept, sizeof kept, "%s/kept", directory);
    REQUIRE_EQ(rename(path, kept), 0);
    culv_ipc_server_destroy(&server);
    REQUIRE_EQ(rename(kept, path), 0);
    LIB_OK(culv_ipc_server_create(s->w.device, &d, &server));
    culv_ipc_server_destroy(&server);
    /* A client that the server does not admit. */
    d.users = &nobody;
    d.num_users = 1;
    LIB_OK(culv_ipc_server_create(s->w.device, &d, &server));
    c.users = NULL;
    c.num_users = 0;
    LIB_ERROR(culv_ipc_client_connect(NULL, &c, 1000000, &client), TIMEOUT,
              IPC_GONE); /* nobody polls */
    ipc_serve(server);
    REQUIRE_EQ(culv_ipc_server_clients(server), 0);
    culv_ipc_server_destroy(&server);
    d.users = NULL;
    d.num_users = 0;
    REQUIRE_EQ(chmod(directory, 0755), 0);
    server = POISON(culv_ipc_server);
    LIB_ERROR(culv_ipc_server_create(s->w.device, &d, &server), INVALID, IPC_REFUSED, "0700");
    d.directory = "/proc/version";
    LIB_ERROR(culv_ipc_server_create(s->w.device, &d, &server), INVALID, VALUE);
    d.directory = directory;
    d.name = "a/b";
    LIB_ERROR(culv_ipc_server_create(s->w.device, &d, &server), INVALID, VALUE);
    REQUIRE(server == POISON(culv_ipc_server));
    REQUIRE_EQ(rmdir(directory), 0);
}

/* Each refused description names its field, what it is and what it may be. */
VMM_CASE(descriptions)
{
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    char name[CULV_IPC_NAME_SIZE];
    snprintf(name, sizeof name, "descriptions-%d", (int)getpid());
    d.name = name;
    NEW(OWN(culv_ipc_server), server, culv_ipc_server_create, s->w.device, &d);
    OWN(culv_vmm_allocation) *memory = vmm_allocation(s, 1, 1 << CULV_HANDLE_OPAQUE_FD);
    culv_handle handle;
    LIB_OK(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle));
    static const struct {
        culv_ipc_kind kind;
        uint64_t allocation_size, offset, size, element_count;
        const char *says;
    } rows[] = {
        {CULV_IPC_BUFFER, 0, 0, 0, 0, "allocation_size is 0, and must be at least 1"},
        {CULV_IPC_BUFFER, 4097, 4097, 0, 0, "offset is 4097, and may be at most 4096"},
        {CULV_IPC_BUFFER, 4097, 4098, 0, 0, "offset is 4098, and may be at most 4096"},
        {CULV_IPC_BUFFER, 4097, 1, 4097, 0, "size is 4097, and may be at most 4096"},
        {CULV_IPC_BUFFER, 4097, 1, 0, 1366, "element_count is 1366, and may be at most 1365"},
        {CULV_IPC_BUFFER, 4097, 1, 2, 1, "element_count is 1, and may be at most 0"},
        {CULV_IPC_IMAGE, 4097, 0, 0, 0, "format is 0, and must be at least 1"},
        {CULV_IPC_SEMAPHORE, 0, 0, 0, 0, "semaphore_type is 0, and must be at least 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        culv_ipc_info info = culv_ipc_info_named("thing");
        info.kind = rows[i].kind;
        info.allocation_size = rows[i].allocation_size;
        info.offset = rows[i].offset;
        info.size = rows[i].size;
        info.element_size = 3;
        info.element_count = rows[i].element_count;
        LIB_ERROR(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)), INVALID, VALUE,
                  rows[i].says);
    }
    culv_ipc_info last = culv_ipc_info_named("thing"); /* one byte, and one that is there twice */
    last.kind = CULV_IPC_BUFFER;
    last.allocation_size = 4097;
    last.offset = 4096;
    LIB_OK(culv_ipc_offer(server, &last, culv_ipc_from_handle(&handle)));
    LIB_ERROR(culv_ipc_offer(server, &last, culv_ipc_from_handle(&handle)), BUSY, IPC_NAME,
              "culv_ipc_withdraw() that");
    culv_handle_close(&handle);
    /* What a ring offers cannot be withdrawn, and the message does not ask for it. */
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    r.name = "field";
    r.num_slots = 1;
    NEW(OWN(culv_ring), ring, culv_ipc_ring_create, server, &r);
    const culv_ipc_info part = culv_ipc_info_init();
    LIB_OK(culv_ipc_ring_offer(ring, 0, 0, &part, culv_ipc_from_vmm(memory)));
    LIB_ERROR(culv_ipc_ring_offer(ring, 0, 0, &part, culv_ipc_from_vmm(memory)), BUSY, IPC_NAME,
              "culv_ring_destroy() withdraws it");
}
