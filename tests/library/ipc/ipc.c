/* SPDX-License-Identifier: MIT */
/* Memory and timelines between two processes, with the data read back in both. */
#include "ipc_stage.h"

#include <sys/stat.h>
#include <unistd.h>

enum { FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD };
/* Odd sizes: a word, a page and a word, most of a block, and blocks with a tail. */
static const size_t sizes[] = {1, 1025, 500003, 1234567};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static uint64_t blocks_of(size_t words)
{
    return (words * 4 + VMM_BLOCK - 1) / VMM_BLOCK;
}

/* VMM memory and a timeline: the viewer waits for the solver's work on the GPU, reads all of it,
 * writes it anew, and the solver waits for that. */
static void view_fields(ipc_child *parent, const char *name)
{
    vmm_stage s;
    (void)parent;
    vmm_stage_open(&s);
    culv_ipc_client *client = ipc_client(s.w.device, name);
    culv_ipc_object *object = ipc_receive(client, "steps");
    CUstream stream = lib_stream(&s.w);
    NEW(culv_semaphore, steps, culv_ipc_import_semaphore, object);
    culv_ipc_object_destroy(&object);
    for (size_t i = 0; i < SIZES; i++) {
        char field[] = {'f', (char)('0' + i), 0};
        object = ipc_receive(client, field);
        const culv_ipc_info info = ipc_info_of(object);
        REQUIRE_EQ(info.kind, CULV_IPC_VMM);
        REQUIRE_EQ(info.element_size, 4);
        REQUIRE_EQ(info.element_count, sizes[i]);
        REQUIRE_EQ(info.allocation_size, blocks_of(sizes[i]) * VMM_BLOCK);
        REQUIRE_EQ_STR(info.text, "cells");
        NEW(culv_vmm_allocation, memory, culv_ipc_import_vmm, object);
        culv_vmm_range *range = vmm_range(&s, blocks_of(sizes[i]));
        LIB_OK(culv_vmm_map(range, 0, memory, NULL, 0));
        LIB_OK(culv_semaphore_wait(steps, stream, 2 * i + 1));
        ipc_require(&s.w, stream, vmm_address(range, 0), sizes[i], (uint32_t)i);
        ipc_write(&s.w, stream, vmm_address(range, 0), sizes[i], (uint32_t)i + 100);
        LIB_OK(culv_semaphore_signal(steps, stream, 2 * i + 2));
        lib_finish(&s.w, stream);
        LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
        LIB_OK(culv_vmm_range_destroy(&range));
        culv_vmm_allocation_destroy(&memory);
        culv_ipc_object_destroy(&object);
    }
    culv_semaphore_destroy(&steps, NULL);
    culv_ipc_client_destroy(&client);
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s);
}

TEST(fields, .own = true, .smoke = true)
{
    ipc_child viewer;
    lib_world w;
    char name[CULV_IPC_NAME_SIZE];
    culv_vmm_allocation *memory[SIZES];
    culv_vmm_range *range[SIZES];
    culv_handle handle;
    ipc_fork(&viewer, view_fields, ipc_name(name, "fields"));
    lib_open(&w);
    vmm_stage s = {.w = w};
    CUstream stream = lib_stream(&w);
    culv_ipc_server *server = ipc_server(w.device, name);
    NEW(culv_shared_semaphore, made, culv_vk_semaphore_create, w.attachment, NULL);
    LIB_OK(culv_vk_semaphore_export_dup(w.attachment, culv_vk_semaphore_handle(made),
                                        CULV_HANDLE_OPAQUE_FD, &handle));
    culv_ipc_info info = culv_ipc_info_named("steps");
    info.kind = CULV_IPC_SEMAPHORE;
    info.semaphore_type = CULV_SEMAPHORE_TIMELINE;
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)));
    culv_handle_close(&handle);
    for (size_t i = 0; i < SIZES; i++) {
        memory[i] = vmm_allocation(&s, blocks_of(sizes[i]), FD_BIT);
        range[i] = vmm_range(&s, blocks_of(sizes[i]));
        LIB_OK(culv_vmm_map(range[i], 0, memory[i], NULL, 0));
        info = culv_ipc_info_named((const char[]){'f', (char)('0' + i), 0});
        info.element_format = CULV_FORMAT_R32_UINT;
        info.element_size = 4;
        info.element_count = sizes[i];
        strcpy(info.text, "cells");
        LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_vmm(memory[i])));
        ipc_write(&w, stream, vmm_address(range[i], 0), sizes[i], (uint32_t)i);
    }
    culv_semaphore *steps = culv_shared_semaphore_cuda(made);
    for (size_t i = 0; i < SIZES; i++) {
        LIB_OK(culv_semaphore_signal(steps, stream, 2 * i + 1));
        culv_semaphore_mark_value(steps, 2 * i + 2);
        /* Or the next signal would come before the viewer's. */
        LIB_OK(culv_semaphore_wait(steps, stream, 2 * i + 2));
    }
    ipc_join_serving(&viewer, server);
    for (size_t i = 0; i < SIZES; i++)
        ipc_require(&w, stream, vmm_address(range[i], 0), sizes[i], (uint32_t)i + 100);
    culv_ipc_server_destroy(&server);
    for (size_t i = 0; i < SIZES; i++) {
        LIB_OK(culv_vmm_unmap(range[i], 0, culv_vmm_range_size(range[i]), NULL));
        LIB_OK(culv_vmm_range_destroy(&range[i]));
        culv_vmm_allocation_destroy(&memory[i]);
    }
    culv_shared_semaphore_destroy(&made, NULL);
    lib_stream_destroy(&w, stream);
    lib_close(&w);
}

/* A buffer of a graphics API's, whose memory is said to be of that GPU; 0: the server's. */
static void offer_buffer(culv_ipc_server *server, const char *name, culv_vmm_allocation *memory,
                         const culv_uuid *gpu)
{
    culv_handle handle;
    culv_vmm_allocation_info what = culv_vmm_allocation_info_init();
    culv_ipc_info info = culv_ipc_info_named(name);
    LIB_OK(culv_vmm_allocation_get_info(memory, &what));
    info.kind = CULV_IPC_BUFFER;
    info.allocation_size = what.size;
    if (gpu != NULL) info.device = *gpu;
    LIB_OK(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle));
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)));
    culv_handle_close(&handle);
}

/* It is told which GPU has it, and what to do. */
static void buffer_is_elsewhere(culv_ipc_client *client, const char *name, const char *says)
{
    culv_buffer *buffer = NULL;
    OWN(culv_ipc_object) *object = ipc_receive(client, name);
    LIB_REFUSES(buffer, culv_ipc_import_buffer(object, &buffer), INVALID, DEVICE_MISMATCH, says);
}

static const culv_uuid nobodys = {{1, 2, 3}};

/* A viewer on a second GPU, which reads and writes the first one's memory as a peer. */
static void view_from_second(ipc_child *parent, const char *name)
{
    vmm_stage s;
    ipc_hear(parent, 'g');
    vmm_stage_open_second(&s);
    culv_ipc_client *client = ipc_client(s.w.device, name);
    CUstream stream = lib_stream(&s.w);
    for (size_t i = 0; i < SIZES; i++) {
        OWN(culv_ipc_object) *object = ipc_receive(client, (const char[]){'f', (char)('0' + i), 0});
        const culv_device_caps here = lib_caps(s.w.device);
        const culv_ipc_info info = ipc_info_of(object);
        REQUIRE(memcmp(&info.device, &here.uuid, sizeof here.uuid) != 0);
        NEW(OWN(culv_vmm_allocation), memory, culv_ipc_import_vmm, object);
        OWN(culv_vmm_range) *range = vmm_range(&s, blocks_of(sizes[i]));
        LIB_OK(culv_vmm_map(range, 0, memory, NULL, 0));
        ipc_require(&s.w, stream, vmm_address(range, 0), sizes[i], (uint32_t)i);
        ipc_write(&s.w, stream, vmm_address(range, 0), sizes[i], (uint32_t)i + 100);
        lib_finish(&s.w, stream);
        LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    }
    buffer_is_elsewhere(client, "of-the-server", ", CUDA device 0 here; this device is '");
    buffer_is_elsewhere(client, "of-the-server", "culv_device_open_by_uuid()");
    buffer_is_elsewhere(client, "of-nobody", "CUDA_VISIBLE_DEVICES");
    culv_ipc_object *object = ipc_receive(client, "of-the-viewer");
    const culv_ipc_info info = ipc_info_of(object);
    const culv_device_caps here = lib_caps(s.w.device);
    REQUIRE_EQ_BYTES(&info.device, &here.uuid, sizeof here.uuid);
    culv_ipc_object_destroy(&object);
    ipc_say(parent, 'd');
    culv_ipc_client_destroy(&client);
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s);
}

TEST(two_gpus, .own = true)
{
    ipc_child viewer;
    vmm_stage s;
    char name[CULV_IPC_NAME_SIZE];
    culv_vmm_allocation *memory[SIZES];
    culv_vmm_range *range[SIZES];
    raw_cuda_two_devices();
    ipc_fork(&viewer, view_from_second, ipc_name(name, "two"));
    vmm_stage_open(&s);
    if (s.w.cu->device_count < 2) {
        ipc_kill(&viewer);
        vmm_stage_close(&s);
        SKIP("one CUDA device only");
    }
    CUstream stream = lib_stream(&s.w);
    culv_ipc_server *server = ipc_server(s.w.device, name);
    for (size_t i = 0; i < SIZES; i++) {
        memory[i] = vmm_allocation(&s, blocks_of(sizes[i]), FD_BIT);
        range[i] = vmm_range(&s, blocks_of(sizes[i]));
        LIB_OK(culv_vmm_map(range[i], 0, memory[i], NULL, 0));
        ipc_write(&s.w, stream, vmm_address(range[i], 0), sizes[i], (uint32_t)i);
        lib_finish(&s.w, stream);
        ipc_offer_vmm(server, (const char[]){'f', (char)('0' + i), 0}, memory[i]);
    }
    CUuuid native;
    culv_uuid second;
    CU_OK(s.w.cu->DeviceGetUuid(&native, 1));
    memcpy(second.bytes, native.bytes, sizeof second.bytes);
    offer_buffer(server, "of-the-server", memory[0], NULL);
    offer_buffer(server, "of-the-viewer", memory[0], &second);
    offer_buffer(server, "of-nobody", memory[0], &nobodys);
    ipc_say(&viewer, 'g');
    ipc_hear_serving(&viewer, 'd', server);
    ipc_join_serving(&viewer, server);
    culv_ipc_server_destroy(&server);
    for (size_t i = 0; i < SIZES; i++) {
        ipc_require(&s.w, stream, vmm_address(range[i], 0), sizes[i], (uint32_t)i + 100);
        LIB_OK(culv_vmm_unmap(range[i], 0, culv_vmm_range_size(range[i]), NULL));
        LIB_OK(culv_vmm_range_destroy(&range[i]));
        culv_vmm_allocation_destroy(&memory[i]);
    }
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s);
}
