/* SPDX-License-Identifier: MIT */
/* hello_ipc: a solver in one process makes 100 frames in CUDA, a viewer in another one reads them
 * where they are, and checks each word. Nothing is copied between the processes.
 *   cc hello_ipc.c $(pkg-config --cflags --libs culvert) && ./a.out
 * In two terminals: `./a.out viewer [NAME]`, `./a.out solver [NAME]`. CULVERT_SOFT=1: no GPU. */
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
#define OK(call) check((int)(call), #call) /* 0 is success of Culvert and of CUDA */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

static culv_device *open_device(CUstream *stream)
{
    culv_device *device;
    OK(culv_device_open_by_ordinal(0, NULL, &device));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
    return device;
}

static void map(culv_device *device, culv_vmm_allocation *memory, culv_vmm_range **range)
{
    culv_vmm_range_desc desc = culv_vmm_range_desc_init();
    desc.size = BYTES;
    OK(culv_vmm_range_create(device, &desc, range));
    OK(culv_vmm_map(*range, 0, memory, NULL, 0));
    culv_vmm_allocation_destroy(&memory); /* the mapping keeps it */
}

static void end(culv_device *device, CUstream stream, culv_vmm_range *ranges[SLOTS])
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        OK(culv_vmm_unmap(ranges[i], 0, culv_vmm_range_size(ranges[i])));
        OK(culv_vmm_range_destroy(&ranges[i]));
    }
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_device_close(&device);
}

static int solve(void)
{
    CUstream stream;
    culv_device *device = open_device(&stream);
    culv_ipc_server_desc server_desc = culv_ipc_server_desc_init();
    culv_ipc_ring_desc ring_desc = culv_ipc_ring_desc_init();
    culv_vmm_allocation_desc memory_desc = culv_vmm_allocation_desc_init();
    culv_ipc_server *server;
    culv_ipc_ring *ring;
    culv_vmm_range *ranges[SLOTS];
    server_desc.name = server_name;
    ring_desc.name = "frames";
    ring_desc.num_slots = SLOTS;
    memory_desc.size = BYTES;
    memory_desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    OK(culv_ipc_server_create(device, &server_desc, &server));
    OK(culv_ipc_ring_create(server, &ring_desc, &ring));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const culv_ipc_info info = culv_ipc_info_init();
        culv_vmm_allocation *memory;
        OK(culv_vmm_allocation_create(device, &memory_desc, &memory));
        OK(culv_ipc_ring_offer_vmm(ring, slot, 0, memory, &info));
        map(device, memory, &ranges[slot]);
    }
    while (culv_ipc_ring_consumers(ring) == 0) /* other programs would solve on */
        OK(culv_ipc_server_poll(server, timeout, NULL));
    culv_ring *const core = culv_ipc_ring_core(ring);
    for (unsigned i = 0; i < FRAMES && culv_ipc_ring_consumers(ring) > 0; i++) {
        culv_ring_frame frame;
        OK(culv_ring_acquire_on(core, CULV_RING_PRODUCER, stream, timeout, &frame));
        OK(CULV_CUDA(device)->cuMemsetD32Async(culv_vmm_range_pointer(ranges[frame.slot]), 7 + i,
                                               WORDS, stream));
        OK(culv_ring_release_on(core, CULV_RING_PRODUCER, stream, &frame));
    }
    while (culv_ipc_ring_consumers(ring) > 0)
        OK(culv_ipc_server_poll(server, timeout, NULL));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    culv_ipc_ring_destroy(&ring);
    culv_ipc_server_destroy(&server);
    end(device, stream, ranges);
    return 0;
}

static int view(void)
{
    CUstream stream;
    culv_device *device = open_device(&stream);
    culv_ipc_client_desc client_desc = culv_ipc_client_desc_init();
    culv_ipc_consumer_desc desc = culv_ipc_consumer_desc_init();
    culv_ipc_client *client;
    culv_ipc_consumer *consumer;
    culv_vmm_range *ranges[SLOTS];
    uint32_t *words, wrong = 0; /* pinned: a copy to other memory waits in the call */
    client_desc.name = server_name;
    desc.ring = "frames";
    OK(CULV_CUDA(device)->cuMemHostAlloc((void **)&words, BYTES, 0));
    OK(culv_ipc_client_connect(device, &client_desc, timeout, &client));
    OK(culv_ipc_consumer_join(client, &desc, timeout, &consumer));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        culv_ipc_object *object;
        culv_vmm_allocation *memory;
        OK(culv_ipc_consumer_receive(consumer, slot, 0, timeout, &object));
        OK(culv_ipc_import_vmm(object, &memory));
        map(device, memory, &ranges[slot]);
        culv_ipc_object_destroy(&object);
    }
    culv_ring *const core = culv_ipc_consumer_core(consumer);
    for (unsigned i = 0; i < FRAMES; i++) {
        culv_ring_frame frame;
        OK(culv_ring_acquire_on(core, CULV_RING_CONSUMER, stream, timeout, &frame));
        OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(words, culv_vmm_range_pointer(ranges[frame.slot]),
                                                BYTES, stream));
        OK(culv_ring_release_on(core, CULV_RING_CONSUMER, stream, &frame));
        OK(culv_ring_drain(core, timeout, 0));      /* if the solver died, the stream goes on */
        OK(!culv_ipc_consumer_connected(consumer)); /* else the frame is not right */
        for (int word = 0; word < WORDS; word++)
            wrong += words[word] != 7 + i;
    }
    printf("hello_ipc: %u of %d words in %d frames are wrong\n", wrong, FRAMES * WORDS, FRAMES);
    culv_ipc_consumer_destroy(&consumer);
    culv_ipc_client_destroy(&client);
    OK(CULV_CUDA(device)->cuMemFreeHost(words));
    end(device, stream, ranges);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    if (argc == 1) snprintf(server_name, sizeof server_name, "hello_ipc-%d", (int)getpid());
    if (argc > 2) snprintf(server_name, sizeof server_name, "%s", argv[2]);
    if (argc > 1 && strcmp(argv[1], "solver") == 0) return solve();
    int status = 1, viewer = argc > 1 ? 0 : fork(); /* before CUDA is opened */
    alarm(300); /* seconds: if the other process fails, this one ends as well */
    if (viewer == 0) return view();
    return solve() != 0 || waitpid(viewer, &status, 0) != viewer || status != 0;
}
