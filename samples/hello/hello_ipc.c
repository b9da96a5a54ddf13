/* SPDX-License-Identifier: MIT */
/* hello_ipc: a solver in one process makes 100 frames in CUDA, a viewer in another one reads them
 * where they are, and checks each word. Nothing is copied between the processes.
 *
 *   cc hello_ipc.c $(pkg-config --cflags --libs culvert) && ./a.out
 *
 * `./a.out viewer` and `./a.out solver` run in two terminals. CULVERT_SOFT=1: without a GPU. */
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
    fprintf(stderr, "%s: %d\n%s\n", call, result, culv_last_error_message());
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

static CUdeviceptr map(culv_device *device, culv_vmm_allocation *memory, culv_vmm_range **range)
{
    culv_vmm_range_desc desc = culv_vmm_range_desc_init();
    desc.size = BYTES;
    OK(culv_vmm_range_create(device, &desc, range));
    OK(culv_vmm_map(*range, 0, memory, NULL, 0));
    culv_vmm_allocation_destroy(&memory); /* the mapping keeps it */
    return culv_vmm_range_pointer(*range);
}

static void unmap(culv_vmm_range *ranges[SLOTS])
{
    for (uint32_t i = 0; i < SLOTS; i++)
        OK(culv_vmm_unmap(ranges[i], 0, culv_vmm_range_size(ranges[i])));
    for (uint32_t i = 0; i < SLOTS; i++)
        OK(culv_vmm_range_destroy(&ranges[i]));
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
    CUdeviceptr slots[SLOTS];
    server_desc.name = server_name;
    ring_desc.name = "frames";
    ring_desc.slots = SLOTS;
    memory_desc.size = BYTES;
    memory_desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    OK(culv_ipc_server_create(device, &server_desc, &server));
    OK(culv_ipc_ring_create(server, &ring_desc, &ring));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const culv_ipc_info info = culv_ipc_info_init();
        culv_vmm_allocation *memory;
        OK(culv_vmm_allocation_create(device, &memory_desc, &memory));
        OK(culv_ipc_ring_offer_vmm(ring, slot, 0, memory, &info));
        slots[slot] = map(device, memory, &ranges[slot]);
    }
    while (culv_ipc_ring_consumers(ring) == 0) /* other programs would solve on */
        OK(culv_ipc_server_poll(server, timeout, NULL));
    for (unsigned i = 0; i < FRAMES && culv_ipc_ring_consumers(ring) > 0; i++) {
        culv_ipc_frame frame;
        OK(culv_ipc_ring_acquire_on(ring, stream, timeout, &frame));
        OK(CULV_CUDA(device)->cuMemsetD32Async(slots[frame.slot], 7 + i, WORDS, stream));
        OK(culv_ipc_ring_release_on(ring, stream, &frame));
    }
    while (culv_ipc_ring_consumers(ring) > 0)
        OK(culv_ipc_server_poll(server, timeout, NULL));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    culv_ipc_ring_destroy(&ring);
    culv_ipc_server_destroy(&server);
    unmap(ranges);
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_device_close(&device);
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
    CUdeviceptr slots[SLOTS];
    static uint32_t words[WORDS];
    int wrong = 0;
    client_desc.name = server_name;
    desc.ring = "frames";
    OK(culv_ipc_client_connect(device, &client_desc, timeout, &client));
    OK(culv_ipc_consumer_join(client, &desc, timeout, &consumer));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        culv_ipc_object *object;
        culv_vmm_allocation *memory;
        OK(culv_ipc_consumer_receive(consumer, slot, 0, timeout, &object));
        OK(culv_ipc_import_vmm(object, &memory));
        slots[slot] = map(device, memory, &ranges[slot]);
        culv_ipc_object_destroy(&object);
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        culv_ipc_frame frame;
        OK(culv_ipc_consumer_acquire_on(consumer, stream, timeout, &frame));
        OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(words, slots[frame.slot], BYTES, stream));
        OK(culv_ipc_consumer_release_on(consumer, stream, &frame));
        OK(CULV_CUDA(device)->cuStreamSynchronize(stream)); /* the CPU reads; the solver goes on */
        for (int word = 0; word < WORDS; word++)
            wrong += words[word] != 7 + i;
    }
    printf("hello_ipc: %d of %d words in %d frames are wrong\n", wrong, FRAMES * WORDS, FRAMES);
    culv_ipc_consumer_destroy(&consumer);
    culv_ipc_client_destroy(&client);
    unmap(ranges);
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_device_close(&device);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "solver") == 0) return solve();
    if (argc == 1) snprintf(server_name, sizeof server_name, "hello_ipc-%d", (int)getpid());
    int status = 1, viewer = argc > 1 ? 0 : fork(); /* before CUDA is opened */
    alarm(300); /* seconds: if the other process fails, this one ends as well */
    if (viewer == 0) return view();
    return solve() != 0 || waitpid(viewer, &status, 0) != viewer || status != 0;
}
