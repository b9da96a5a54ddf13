/* SPDX-License-Identifier: MIT */
/* Torture of what goes to other processes: a server and a client of one process. A thread answers
 * while the client asks, and at no other time, so that each run makes the same calls. */
#include "torture.h"

#include "ipc_stage.h"

#include <pthread.h>
#include <stdatomic.h>

static culv_ipc_server *server;
static atomic_bool serving, quit;
static atomic_uint turns; /* of the thread, while it does not serve */

static void *serve(void *arg)
{
    while (!atomic_load(&quit)) {
        if (atomic_load(&serving)) {
            (void)culv_ipc_server_poll(server, UINT64_C(1000000), NULL);
        } else {
            atomic_fetch_add(&turns, 1);
            lib_sleep_ms(1);
        }
    }
    return NULL;
}

static void serve_on(void)
{
    atomic_store(&serving, true);
}

static void serve_off(void)
{
    atomic_store(&serving, false);
    const unsigned now = atomic_load(&turns);
    while (atomic_load(&turns) - now < 2)
        lib_sleep_ms(1);
}

/* A client and a consumer that make no call which fails: they are served as if nothing were. */
static culv_ipc_client *honest;
static culv_ring *watcher;

static void alive(void)
{
    culv_ipc_object *object = NULL;
    if (honest == NULL) return;
    const bool served = atomic_load(&serving);
    serve_on();
    if (culv_ipc_client_receive(honest, "cells", IPC_FAR, &object) != CULV_OK &&
        !torture_device_lost())
        torture_complain("an honest client is not served: %s", culv_last_error_message());
    culv_ipc_object_destroy(&object);
    if (!served) serve_off();
}

static void watch(CUstream stream, uint64_t number)
{
    culv_ring_frame f;
    culv_result result = culv_ring_acquire_on(watcher, CULV_RING_CONSUMER, stream, IPC_FAR, &f);
    if (result == CULV_OK) {
        REQUIRE_EQ(f.number, number);
        result = culv_ring_release_on(watcher, CULV_RING_CONSUMER, stream, &f);
    }
    if (result != CULV_OK && !torture_device_lost())
        torture_complain("an honest consumer has no frame %u: %s", (unsigned)number,
                         culv_last_error_message());
}

static void frames(culv_ring *ring, culv_ring *consumer, CUstream stream)
{
    culv_ring_frame f, poison;
    memset(&poison, 0x5a, sizeof poison);
    for (int i = 0; i < 3; i++) {
        f = poison;
        TRY_AGAIN(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, IPC_FAR, &f),
                  memcmp(&f, &poison, sizeof f) == 0);
        TRY_AGAIN(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &f), true);
        watch(stream, (uint64_t)i);
        f = poison;
        TRY_AGAIN(culv_ring_acquire_on(consumer, CULV_RING_CONSUMER, stream, IPC_FAR, &f),
                  memcmp(&f, &poison, sizeof f) == 0);
        REQUIRE_EQ(f.number, i);
        TRY_AGAIN(culv_ring_release_on(consumer, CULV_RING_CONSUMER, stream, &f), true);
    }
    lib_finish(&torture.w, stream);
}

static void ask(culv_ring *ring, culv_vector *vector, const char *name, CUstream stream)
{
    lib_world *w = &torture.w;
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    culv_ipc_vector_desc v = culv_ipc_vector_desc_init();
    culv_ipc_consumer_desc c = culv_ipc_consumer_desc_init();
    d.name = name;
    serve_on();
    TRY_NEW(culv_ipc_client, client, culv_ipc_client_connect, w->device, &d, IPC_FAR);
    TRY_NEW(culv_ipc_object, object, culv_ipc_client_receive, client, "cells", IPC_FAR);
    TRY_NEW(culv_vmm_allocation, memory, culv_ipc_import_vmm, object);
    v.name = "particles";
    TRY_NEW(culv_vector, seen, culv_ipc_vector_open, client, &v, IPC_FAR);
    serve_off();
    LIB_OK(culv_vector_grow(vector, 3 * VMM_BLOCK));
    serve_on();
    TRY_AGAIN(culv_ipc_vector_update(seen, stream, IPC_FAR), culv_vector_size(seen) == VMM_BLOCK);
    REQUIRE_EQ(culv_vector_size(seen), 3 * VMM_BLOCK);
    c.ring = "frames";
    TRY_NEW(culv_ring, consumer, culv_ipc_ring_join, client, &c, IPC_FAR);
    serve_off();
    /* A join that failed after the server's answer has left a consumer, who has left by now. */
    ipc_serve(server);
    REQUIRE_EQ(culv_ipc_ring_consumers(ring, NULL, 0), 2); /* and the watcher */
    frames(ring, consumer, stream);
    DO(culv_ring_destroy(&consumer, NULL));
    DO(ipc_serve(server));
    DO(culv_vector_destroy(&seen, NULL));
    DO(culv_vmm_allocation_destroy(&memory));
    DO(culv_ipc_object_destroy(&object));
    DO(culv_ipc_client_destroy(&client));
    DO(ipc_serve(server));
}

static void run(void)
{
    lib_world *w = &torture.w;
    pthread_t thread;
    char name[CULV_IPC_NAME_SIZE];
    CUstream stream = torture_open();
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    a.size = VMM_BLOCK;
    a.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    NEW(culv_vmm_allocation, memory, culv_vmm_allocation_create, w->device, &a);
    culv_vector_desc v = culv_vector_desc_init();
    v.handle_types = a.handle_types;
    v.max_chunk = v.size = VMM_BLOCK;
    NEW(culv_vector, vector, culv_vector_create, w->device, &v);
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    d.name = ipc_name(name, "torture");
    server = POISON(culv_ipc_server);
    TRY_AGAIN(culv_ipc_server_create(w->device, &d, &server), server == POISON(culv_ipc_server));
    culv_ipc_info info = culv_ipc_info_named("cells");
    TRY_AGAIN(culv_ipc_offer(server, &info, culv_ipc_from_vmm(memory)), true);
    info = culv_ipc_info_named("particles");
    TRY_AGAIN(culv_ipc_offer(server, &info, culv_ipc_from_vector(vector)), true);
    culv_ipc_ring_desc r = culv_ipc_ring_desc_init();
    r.name = "frames";
    r.num_slots = 2;
    TRY_NEW(culv_ring, ring, culv_ipc_ring_create, server, &r);
    info = culv_ipc_info_init();
    TRY_AGAIN(culv_ipc_ring_offer(ring, 0, 0, &info, culv_ipc_from_vmm(memory)), true);
    atomic_store(&quit, false);
    REQUIRE_EQ(pthread_create(&thread, NULL, serve, NULL), 0);
    culv_ipc_consumer_desc c = culv_ipc_consumer_desc_init();
    c.ring = "frames";
    serve_on();
    honest = ipc_client(w->device, name);
    LIB_OK(culv_ipc_ring_join(honest, &c, IPC_FAR, &watcher));
    serve_off();
    ask(ring, vector, name, stream);
    culv_ring_destroy(&watcher, NULL);
    culv_ipc_client_destroy(&honest);
    ipc_serve(server);
    atomic_store(&quit, true);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    DO(culv_ring_destroy(&ring, NULL));
    DO(culv_ipc_server_destroy(&server));
    culv_vector_destroy(&vector, NULL);
    culv_vmm_allocation_destroy(&memory);
    torture_close(stream);
}

static void begin(void)
{
    lib_with_option("--validation=off"); /* no Vulkan is used */
}

TORTURE(ipc, .begin = begin, .run = run, .alive = alive, .least = {20, 0, 8})
