/* SPDX-License-Identifier: MIT */
/* hello_ipc: a solver in one process makes 100 frames in CUDA, a viewer in another one reads them
 * where they are, and checks each word. Nothing is copied between the processes.
 *
 *   cc hello_ipc.c $(pkg-config --cflags --libs culvert) && ./a.out
 *
 * In two terminals: `./a.out viewer [NAME]`, `./a.out solver [NAME]`. The viewer prints "hello_ipc:
 * 0 of 1000700 words in 100 frames are wrong". With CULVERT_SOFT=1 it runs without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 100, SLOTS = 3, WORDS = 10007, BYTES = 4 * WORDS };
static const uint64_t timeout = 30000000000; /* nanoseconds */
static char server_name[32] = "hello_ipc";

/* 0 is success of Culvert and of CUDA. */
#define OK(call) check((int)(call), #call)

static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

/* What both processes have --------------------------------------------------------------------- */

static culv_device *device;
static CUstream stream;
static culv_vmm_range *ranges[SLOTS]; /* a slot's memory, mapped into this process */

static void open_device(void)
{
    OK(culv_device_open_by_ordinal(0, NULL, &device));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void map_slot(uint32_t slot, culv_vmm_allocation *memory)
{
    culv_vmm_range_desc desc = culv_vmm_range_desc_init();
    desc.size = BYTES;
    OK(culv_vmm_range_create(device, &desc, &ranges[slot]));
    OK(culv_vmm_map(ranges[slot], 0, memory, NULL, 0));
    culv_vmm_allocation_destroy(&memory); /* the mapping keeps it */
}

static void close_device(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        OK(culv_vmm_unmap(ranges[slot], 0, culv_vmm_range_size(ranges[slot]), NULL));
        OK(culv_vmm_range_destroy(&ranges[slot]));
    }
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_device_close(&device);
}

/* The solver ----------------------------------------------------------------------------------- */

static culv_ipc_server *server;
static culv_ring *ring;

static void offer_ring(void)
{
    culv_ipc_server_desc server_desc = culv_ipc_server_desc_init();
    server_desc.name = server_name;
    OK(culv_ipc_server_create(device, &server_desc, &server));

    culv_ipc_ring_desc ring_desc = culv_ipc_ring_desc_init();
    ring_desc.name = "frames";
    ring_desc.num_slots = SLOTS;
    OK(culv_ipc_ring_create(server, &ring_desc, &ring));

    culv_vmm_allocation_desc memory_desc = culv_vmm_allocation_desc_init();
    memory_desc.size = BYTES;
    memory_desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const culv_ipc_info info = culv_ipc_info_init();
        culv_vmm_allocation *memory;
        OK(culv_vmm_allocation_create(device, &memory_desc, &memory));
        OK(culv_ipc_ring_offer(ring, slot, 0, &info, culv_ipc_from_vmm(memory)));
        map_slot(slot, memory);
    }
}

static void solve_frame(uint32_t number)
{
    culv_ring_frame frame;
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &frame));
    const CUdeviceptr words = culv_vmm_range_pointer(ranges[frame.slot]);
    OK(CULV_CUDA(device)->cuMemsetD32Async(words, 7 + number, WORDS, stream));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame));
}

static int solve(void)
{
    open_device();
    offer_ring();
    while (culv_ipc_ring_consumers(ring, NULL, 0) == 0) /* other programs would solve on */
        OK(culv_ipc_server_poll(server, timeout, NULL));
    for (uint32_t i = 0; i < FRAMES && culv_ipc_ring_consumers(ring, NULL, 0) > 0; i++)
        solve_frame(i);
    while (culv_ipc_ring_consumers(ring, NULL, 0) > 0)
        OK(culv_ipc_server_poll(server, timeout, NULL));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    culv_ring_destroy(&ring, NULL);
    culv_ipc_server_destroy(&server);
    close_device();
    return 0;
}

/* The viewer ----------------------------------------------------------------------------------- */

static culv_ipc_client *client;
static culv_ring *consumer;

static void join_ring(void)
{
    culv_ipc_client_desc client_desc = culv_ipc_client_desc_init();
    client_desc.name = server_name;
    OK(culv_ipc_client_connect(device, &client_desc, timeout, &client));

    culv_ipc_consumer_desc desc = culv_ipc_consumer_desc_init();
    desc.ring = "frames";
    OK(culv_ipc_ring_join(client, &desc, timeout, &consumer));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        culv_ipc_object *object;
        culv_vmm_allocation *memory;
        OK(culv_ipc_ring_receive(consumer, slot, 0, timeout, &object));
        OK(culv_ipc_import_vmm(object, &memory));
        map_slot(slot, memory);
        culv_ipc_object_destroy(&object);
    }
}

/* How many words are wrong. `host` is pinned: a copy to other memory would wait in the call. */
static uint32_t view_frame(uint32_t number, uint32_t *host)
{
    culv_ring_frame frame;
    uint32_t wrong = 0;
    OK(culv_ring_acquire_on(consumer, CULV_RING_CONSUMER, stream, timeout, &frame));
    const CUdeviceptr words = culv_vmm_range_pointer(ranges[frame.slot]);
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(host, words, BYTES, stream));
    OK(culv_ring_release_on(consumer, CULV_RING_CONSUMER, stream, &frame));
    OK(culv_ring_drain(consumer, timeout, 0)); /* if the solver died, the stream goes on */
    OK(!culv_ipc_ring_connected(consumer));    /* and the frame is not right */
    for (int word = 0; word < WORDS; word++)
        wrong += host[word] != 7 + number;
    return wrong;
}

static int view(void)
{
    uint32_t *host, wrong = 0;
    open_device();
    join_ring();
    OK(CULV_CUDA(device)->cuMemHostAlloc((void **)&host, BYTES, 0));
    for (uint32_t i = 0; i < FRAMES; i++)
        wrong += view_frame(i, host);
    printf("hello_ipc: %u of %d words in %d frames are wrong\n", wrong, FRAMES * WORDS, FRAMES);
    OK(CULV_CUDA(device)->cuMemFreeHost(host));
    culv_ring_destroy(&consumer, NULL);
    culv_ipc_client_destroy(&client);
    close_device();
    return wrong != 0;
}

/* Both sides: the viewer is a child, made before CUDA is opened. */
static int run_both(void)
{
    int status = 1;
    snprintf(server_name, sizeof server_name, "hello_ipc-%d", (int)getpid());
    const pid_t viewer = fork();
    alarm(300); /* seconds: if the other process fails, this one ends as well */
    if (viewer == 0) return view();
    return solve() != 0 || waitpid(viewer, &status, 0) != viewer || status != 0;
}

int main(int argc, char **argv)
{
    if (argc == 1) return run_both();
    if (argc > 2) snprintf(server_name, sizeof server_name, "%s", argv[2]);
    return strcmp(argv[1], "solver") == 0 ? solve() : view();
}
