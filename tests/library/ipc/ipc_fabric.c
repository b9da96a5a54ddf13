/* SPDX-License-Identifier: MIT */
/* VMM memory between processes by its fabric handle: bytes, and no file descriptor. */
#include "ipc_stage.h"

#include <culvert/fabric.h>

enum { WORDS = 500003 };

static void open_played(vmm_stage *s)
{
    ipc_play_fabric();
    vmm_stage_open(s);
}

static void view(ipc_child *parent, const char *name)
{
    vmm_stage s;
    (void)parent;
    open_played(&s);
    culv_ipc_client *client = ipc_client(s.w.device, name);
    culv_ipc_object *object = ipc_receive(client, "woven");
    const culv_ipc_info info = ipc_info_of(object);
    culv_buffer *buffer = NULL;
    culv_handle handle;
    CUstream stream = lib_stream(&s.w);
    REQUIRE_EQ(info.kind, CULV_IPC_VMM_FABRIC);
    REQUIRE_EQ(info.handle_type, CULV_HANDLE_NONE);
    REQUIRE_EQ(info.allocation_size, VMM_BLOCK);
    REQUIRE_EQ(info.element_count, WORDS);
    LIB_OK(culv_ipc_object_get_handle(object, &handle));
    REQUIRE_EQ(handle.type, CULV_HANDLE_FABRIC);
    LIB_ERROR(culv_ipc_import_buffer(object, &buffer), INVALID, VALUE);
    NEW(culv_vmm_allocation, memory, culv_ipc_import_vmm, object);
    culv_vmm_range *range = vmm_range(&s, 1);
    LIB_OK(culv_vmm_map(range, 0, memory, NULL, 0));
    ipc_require(&s.w, stream, vmm_address(range, 0), WORDS, 3);
    ipc_write(&s.w, stream, vmm_address(range, 0), WORDS, 4);
    lib_finish(&s.w, stream);
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&memory);
    culv_ipc_object_destroy(&object);
    culv_ipc_client_destroy(&client);
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s);
}

TEST(woven, .title = "fabric", .own = true)
{
    char name[CULV_IPC_NAME_SIZE];
    vmm_stage s;
    ipc_child child;
    ipc_name(name, "fabric");
    ipc_fork(&child, view, name);
    open_played(&s);
    culv_ipc_server *server = ipc_server(s.w.device, name);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *plain = vmm_allocation(&s, 1, 0);
    culv_ipc_info info = culv_ipc_info_named("woven");
    CUstream stream = lib_stream(&s.w);
    d.size = WORDS * 4;
    d.fabric = CULV_FABRIC_REQUIRED;
    NEW(culv_vmm_allocation, memory, culv_vmm_allocation_create, s.w.device, &d);
    culv_vmm_range *range = vmm_range(&s, 1);
    LIB_OK(culv_vmm_map(range, 0, memory, NULL, 0));
    ipc_write(&s.w, stream, vmm_address(range, 0), WORDS, 3);
    lib_finish(&s.w, stream);
    info.element_size = 4;
    info.element_count = WORDS;
    LIB_ERROR(culv_ipc_offer(server, &info, culv_ipc_from_vmm_fabric(plain)), INVALID,
              NOT_EXPORTABLE);
    const size_t fds = test_open_fds();
    LIB_OK(culv_ipc_offer(server, &info, culv_ipc_from_vmm_fabric(memory)));
    REQUIRE_EQ(test_open_fds(), fds);
    LIB_ERROR(culv_ipc_offer(server, &info, culv_ipc_from_vmm_fabric(memory)), BUSY, IPC_NAME);
    ipc_join_serving(&child, server);
    ipc_require(&s.w, stream, vmm_address(range, 0), WORDS, 4);
    lib_finish(&s.w, stream);
    culv_ipc_server_destroy(&server);
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&memory);
    culv_vmm_allocation_destroy(&plain);
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s);
    ipc_forget(&child);
}
