/* SPDX-License-Identifier: MIT */
/* ipc.exe: cases of other processes, which the same program plays. */
#include "ipc_scene.h"

/* CUDA ----------------------------------------------------------------------------------------- */

static culv_device *kept;

static void end_kept(void)
{
    culv_device_close(&kept);
}

void ipc_open(ipc_scene *s)
{
    static const test_fixture fixture = {.end = end_kept};
    memset(s, 0, sizeof *s);
    if (kept == NULL) OK(culv_device_open_by_ordinal(0, NULL, &kept));
    test_keep(&fixture);
    s->device = kept;
    s->cu = CULV_CUDA(s->device);
    s->stream = scene_stream(s->device);
}

void ipc_close(ipc_scene *s)
{
    culv_device_collect(s->device);
    scene_close_stream(s->device, s->stream);
    s->device = NULL;
}

uint32_t ipc_word(size_t i, uint32_t seed)
{
    return (uint32_t)i * 2654435761u ^ seed * 40503u;
}

static uint32_t *words_of(size_t words, uint32_t seed)
{
    uint32_t *data = malloc(words * sizeof *data);
    REQUIRE(data != NULL);
    for (size_t i = 0; i < words; i++)
        data[i] = ipc_word(i, seed);
    return data;
}

void ipc_write(const ipc_scene *s, CUdeviceptr at, size_t words, uint32_t seed)
{
    uint32_t *data = words_of(words, seed);
    scene_cuda_write(s, at, data, words * sizeof *data);
    free(data);
}

void ipc_require(const ipc_scene *s, CUdeviceptr at, size_t words, uint32_t seed)
{
    uint32_t *data = words_of(words, seed);
    scene_cuda_has(s, at, data, words * sizeof *data);
    free(data);
}

/* Servers and clients -------------------------------------------------------------------------- */

const char *ipc_name(char out[CULV_IPC_NAME_SIZE], const char *word)
{
    snprintf(out, CULV_IPC_NAME_SIZE, "test-%lu-%.30s", GetCurrentProcessId(), word);
    return out;
}

culv_ipc_server *ipc_server(const ipc_scene *s, const char *name)
{
    culv_ipc_server *server = NULL;
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    d.name = name;
    OK(culv_ipc_server_create(s->device, &d, &server));
    return server;
}

culv_ipc_client *ipc_client(const ipc_scene *s, const char *name)
{
    culv_ipc_client *client = NULL;
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    d.name = name;
    OK(culv_ipc_client_connect(s != NULL ? s->device : NULL, &d, SCENE_FAR, &client));
    return client;
}

culv_ipc_object *ipc_receive(culv_ipc_client *client, const char *name)
{
    culv_ipc_object *object = NULL;
    OK(culv_ipc_client_receive(client, name, SCENE_FAR, &object));
    return object;
}

culv_buffer *ipc_map(const ipc_scene *s, const culv_handle *handle, uint64_t size)
{
    return scene_map(scene_import(s->device, *handle, size, false), 0, 0);
}

culv_ring *ipc_ring(const ipc_scene *s, culv_ipc_server *server, const culv_ipc_ring_desc *desc,
                    const wchar_t *section, culv_buffer *slots[SCENE_SLOTS])
{
    culv_ring *ring = NULL;
    culv_ipc_ring_desc d = desc != NULL ? *desc : culv_ipc_ring_desc_init();
    d.name = "frames";
    d.num_slots = SCENE_SLOTS;
    OK(culv_ipc_ring_create(server, &d, &ring));
    for (uint32_t i = 0; i < SCENE_SLOTS; i++) {
        culv_ipc_info info = culv_ipc_info_init();
        info.kind = CULV_IPC_BUFFER;
        info.allocation_size = ROOM;
        culv_handle handle = culv_handle_opaque_win32(
            scene_share(i == 0 ? section : NULL, OPAQUE_MEMORY, false, ROOM));
        OK(culv_ipc_ring_offer(ring, i, 0, &info, culv_ipc_from_handle(&handle)));
        slots[i] = ipc_map(s, &handle, ROOM);
        culv_handle_close(&handle);
    }
    return ring;
}

culv_ring *ipc_join_ring(culv_ipc_client *client, const culv_ipc_timelines *timelines,
                         culv_ipc_timelines *made, culv_buffer *slots[SCENE_SLOTS])
{
    culv_ring *side = NULL;
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    d.ring = "frames";
    d.timelines = timelines;
    d.made = made;
    OK(culv_ipc_ring_join(client, &d, SCENE_FAR, &side));
    for (uint32_t i = 0; i < SCENE_SLOTS; i++) {
        culv_ipc_object *o = NULL;
        OK(culv_ipc_ring_receive(side, i, 0, SCENE_FAR, &o));
        slots[i] = NULL;
        OK(culv_ipc_import_buffer(o, &slots[i]));
        culv_ipc_object_destroy(&o);
    }
    return side;
}

void ipc_leave_ring(culv_buffer *slots[SCENE_SLOTS])
{
    for (uint32_t i = 0; i < SCENE_SLOTS; i++)
        culv_buffer_unmap(&slots[i], NULL);
}

/* Processes ------------------------------------------------------------------------------------ */

HANDLE ipc_start(const char *role, const char *name)
{
    char program[MAX_PATH], line[MAX_PATH + 160];
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION made;
    REQUIRE(GetModuleFileNameA(NULL, program, sizeof program) > 0);
    snprintf(line, sizeof line, "\"%s\" role.%s --server=%s", program, role, name);
    start.dwFlags = STARTF_USESTDHANDLES;
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    REQUIRE(CreateProcessA(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &made));
    CloseHandle(made.hThread);
    return made.hProcess;
}

static bool ended(HANDLE what, culv_ipc_server *server)
{
    if (WaitForSingleObject(what, server != NULL ? 0 : 2) == WAIT_OBJECT_0) return true;
    if (server != NULL) OK(culv_ipc_server_poll(server, 2000000, NULL));
    return false;
}

static void await(HANDLE what, culv_ipc_server *server)
{
    const ULONGLONG begin = GetTickCount64();
    while (!ended(what, server))
        REQUIRE(GetTickCount64() - begin < SCENE_FAR_MS);
}

void ipc_join(HANDLE child, culv_ipc_server *server)
{
    DWORD code = 1;
    await(child, server);
    REQUIRE(GetExitCodeProcess(child, &code) && code == 0 && CloseHandle(child));
}

void ipc_kill(HANDLE child)
{
    REQUIRE(TerminateProcess(child, 1));
    REQUIRE(WaitForSingleObject(child, SCENE_FAR_MS) == WAIT_OBJECT_0 && CloseHandle(child));
}

void ipc_alone(culv_ipc_server *server)
{
    while (culv_ipc_server_clients(server) > 0)
        OK(culv_ipc_server_poll(server, SCENE_FAR, NULL));
}

static DWORD WINAPI answer(void *user)
{
    ipc_answerer *a = user;
    while (!a->stop)
        OK(culv_ipc_server_poll(a->server, 2000000, NULL));
    return 0;
}

void ipc_answer(ipc_answerer *a)
{
    a->thread = scene_thread(answer, a);
}

void ipc_stop_answering(ipc_answerer *a)
{
    InterlockedExchange(&a->stop, 1);
    scene_join(a->thread);
}

/* Kept until the process ends: the other side may come later. */
static HANDLE event_of(const char *name, char word)
{
    char text[CULV_IPC_NAME_SIZE + 16];
    snprintf(text, sizeof text, "Local\\%s.%c", name, word);
    const HANDLE event = CreateEventA(NULL, FALSE, FALSE, text);
    REQUIRE(event != NULL);
    return event;
}

void ipc_say(const char *name, char word)
{
    REQUIRE(SetEvent(event_of(name, word)));
}

void ipc_hear(const char *name, char word, culv_ipc_server *server)
{
    const HANDLE event = event_of(name, word);
    await(event, server);
    CloseHandle(event);
}
