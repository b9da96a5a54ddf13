/* SPDX-License-Identifier: MIT */
/* Memory, images and fences in another process: data both ways, and whose handles are left. */
#include "ipc_scene.h"

enum {
    HEAP = 4,
    RESOURCE = 5,
    OPAQUE_MEMORY = 2, /* CUexternalMemoryHandleType */
    FENCE = CULV_SOFT_SHARE_SEMAPHORE + 4,
    OPAQUE_TIMELINE = CULV_SOFT_SHARE_SEMAPHORE + 10,
    WORDS = 12347,
    WIDTH = 253,
    HEIGHT = 127,
    TEXELS = WIDTH * HEIGHT,
    ROOM = 262144
};

static const struct {
    const char *word;    /* the object's name */
    const wchar_t *name; /* the section's */
    culv_handle_type type;
    uint32_t share;
    culv_ipc_kind kind;
} rows[] = {
    {"vertices", L"Local\\culvert ipc heap", CULV_HANDLE_D3D12_HEAP, HEAP, CULV_IPC_BUFFER},
    {"picture", L"Local\\culvert ipc resource", CULV_HANDLE_D3D12_RESOURCE, RESOURCE,
     CULV_IPC_IMAGE},
    {"steps", L"Local\\culvert ipc fence", CULV_HANDLE_D3D12_FENCE, FENCE, CULV_IPC_SEMAPHORE},
    {"cells", L"Local\\culvert ipc opaque", CULV_HANDLE_OPAQUE_WIN32, OPAQUE_MEMORY,
     CULV_IPC_BUFFER},
    {"frames", L"Local\\culvert ipc timeline", CULV_HANDLE_OPAQUE_WIN32, OPAQUE_TIMELINE,
     CULV_IPC_SEMAPHORE},
};
enum { SHARES = sizeof rows / sizeof rows[0], CELLS = 3 };

/* What the server says of its things. */
static culv_ipc_info describe(size_t i)
{
    culv_ipc_info info = culv_ipc_info_named(rows[i].word);
    info.kind = rows[i].kind;
    if (info.kind == CULV_IPC_SEMAPHORE) {
        info.semaphore_type = CULV_SEMAPHORE_TIMELINE;
        return info;
    }
    info.allocation_size = ROOM;
    info.dedicated = info.kind == CULV_IPC_IMAGE;
    if (info.dedicated) {
        info.format = CULV_FORMAT_R8G8B8A8_UNORM;
        info.width = WIDTH;
        info.height = HEIGHT;
    } else {
        info.offset = 256;
        info.size = WORDS * 4;
        strcpy(info.text, "words");
    }
    return info;
}

static void copy_image(const ipc_scene *s, culv_image *image, uint32_t seed, bool write)
{
    static uint32_t texels[TEXELS];
    CUarray array = NULL;
    OK(culv_image_get_array(image, 0, 0, &array));
    for (size_t i = 0; i < TEXELS; i++)
        texels[i] = write ? ipc_word(i, seed) : 0;
    scene_cuda_copy(s, array, texels, WIDTH * 4, HEIGHT, 1, write);
    for (size_t i = 0; !write && i < TEXELS; i++)
        REQUIRE(texels[i] == ipc_word(i, seed));
}

/* What a process has of the things. */
typedef struct things {
    culv_buffer *buffer[2];
    culv_image *image;
    culv_semaphore *semaphore[2];
} things;

static void release(things *t)
{
    for (int i = 0; i < 2; i++) {
        culv_buffer_unmap(&t->buffer[i], NULL);
        culv_semaphore_destroy(&t->semaphore[i], NULL);
    }
    culv_image_unmap(&t->image, NULL);
}

ROLE(use)
{
    ipc_scene s;
    things t;
    culv_ipc_object *o = NULL;
    culv_ipc_info info = culv_ipc_info_init();
    uint32_t count = 0;
    memset(&t, 0, sizeof t);
    ipc_open(&s);
    culv_ipc_client *client = ipc_client(&s, name);
    REQUIRE(culv_ipc_client_server_pid(client) != (int32_t)GetCurrentProcessId());
    OK(culv_ipc_client_get_offer(client, 1, SCENE_FAR, &info, &count));
    REQUIRE(count == SHARES && strcmp(info.name, "picture") == 0);
    REFUSES(culv_ipc_client_receive(client, "nothing", SCENE_FAR, &o), INVALID, IPC_NAME);
    for (size_t i = 0; i < SHARES; i++) {
        const culv_ipc_info told = describe(i);
        culv_handle handle;
        o = ipc_receive(client, told.name);
        OK(culv_ipc_object_get_info(o, &info));
        REQUIRE(info.kind == told.kind && info.allocation_size == told.allocation_size);
        REQUIRE(strcmp(info.text, told.text) == 0); /* the rest: library-ipc.fields */
        OK(culv_ipc_object_get_handle(o, &handle));
        REQUIRE(handle.type == info.handle_type);
        DWORD flags = HANDLE_FLAG_INHERIT;
        REQUIRE(GetHandleInformation(handle.value.win32, &flags));
        REQUIRE((flags & HANDLE_FLAG_INHERIT) == 0);
        if (told.kind == CULV_IPC_BUFFER) OK(culv_ipc_import_buffer(o, &t.buffer[i / CELLS]));
        if (told.kind == CULV_IPC_IMAGE) OK(culv_ipc_import_image(o, &t.image));
        if (told.kind == CULV_IPC_SEMAPHORE)
            OK(culv_ipc_import_semaphore(o, &t.semaphore[i / CELLS]));
        culv_ipc_object_destroy(&o);
        REQUIRE(!GetHandleInformation(handle.value.win32, &flags));
    }
    for (int i = 0; i < 2; i++) {
        culv_semaphore_mark_value(t.semaphore[i], 1);
        OK(culv_semaphore_wait(t.semaphore[i], s.stream, 1));
        ipc_require(&s, culv_buffer_pointer(t.buffer[i]), WORDS, 1 + (uint32_t)i);
        if (i == 0) copy_image(&s, t.image, 5, false);
        ipc_write(&s, culv_buffer_pointer(t.buffer[i]), WORDS, 11 + (uint32_t)i);
        if (i == 0) copy_image(&s, t.image, 6, true);
        OK(culv_semaphore_signal(t.semaphore[i], s.stream, 2));
    }
    CU_OK(s.cu->cuStreamSynchronize(s.stream));
    release(&t);
    culv_ipc_client_destroy(&client);
    ipc_close(&s);
}

static void import_own(const ipc_scene *s, things *t, const culv_handle *handle, size_t i)
{
    const culv_ipc_info info = describe(i);
    culv_semaphore_desc sd = culv_semaphore_desc_init();
    culv_memory_desc md = culv_memory_desc_init();
    culv_memory *memory = NULL;
    if (info.kind == CULV_IPC_SEMAPHORE) {
        sd.handle = *handle;
        sd.type = CULV_SEMAPHORE_TIMELINE;
        OK(culv_semaphore_import(s->device, &sd, &t->semaphore[i / CELLS]));
        return;
    }
    md.handle = *handle;
    md.size = ROOM;
    md.dedicated = info.dedicated;
    OK(culv_memory_import(s->device, &md, &memory));
    if (info.kind == CULV_IPC_BUFFER) {
        culv_buffer_desc d = culv_buffer_desc_init();
        d.offset = info.offset;
        d.size = info.size;
        OK(culv_buffer_map(memory, &d, &t->buffer[i / CELLS]));
    } else {
        culv_image_desc d = culv_image_desc_init();
        d.format = info.format;
        d.width = WIDTH;
        d.height = HEIGHT;
        OK(culv_image_map(memory, &d, &t->image));
    }
    culv_memory_destroy(&memory);
}

IPC_CASE(both_ways)
{
    things t;
    ipc_child child;
    char name[CULV_IPC_NAME_SIZE];
    memset(&t, 0, sizeof t);
    culv_ipc_server *server = ipc_server(s, ipc_name(name, "both"));
    for (size_t i = 0; i < SHARES; i++) {
        const culv_ipc_info info = describe(i);
        culv_handle handle =
            culv_handle_win32(rows[i].type, ipc_share(rows[i].name, rows[i].share, info.dedicated,
                                                      info.allocation_size));
        import_own(s, &t, &handle, i);
        OK(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)));
        REFUSES(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)), BUSY, IPC_NAME);
        culv_handle_close(&handle);
    }
    ipc_start(&child, "use", name);
    for (uint32_t i = 0; i < 2; i++) {
        ipc_write(s, culv_buffer_pointer(t.buffer[i]), WORDS, 1 + i);
        if (i == 0) copy_image(s, t.image, 5, true);
        OK(culv_semaphore_signal(t.semaphore[i], s->stream, 1));
    }
    for (uint32_t i = 0; i < 2; i++) {
        culv_semaphore_mark_value(t.semaphore[i], 2);
        OK(culv_semaphore_wait(t.semaphore[i], s->stream, 2));
    }
    ipc_join(&child, server);
    for (uint32_t i = 0; i < 2; i++)
        ipc_require(s, culv_buffer_pointer(t.buffer[i]), WORDS, 11 + i);
    copy_image(s, t.image, 6, false);
    culv_ipc_server_destroy(&server);
    release(&t);
    for (size_t i = 0; i < SHARES; i++)
        REQUIRE(!scene_name_lives(rows[i].name));
}

/* What is no handle that another process could get. */
IPC_CASE(offers)
{
    char name[CULV_IPC_NAME_SIZE];
    culv_ipc_server *server = ipc_server(s, ipc_name(name, "offers")), *other = NULL;
    culv_ipc_info info = describe(CELLS);
    culv_handle handle = culv_handle_opaque_win32_kmt((void *)(uintptr_t)0x40000006u);
    REFUSES(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)), INVALID, HANDLE_TYPE);
    handle = culv_handle_opaque_win32_named(L"Local\\some name");
    REFUSES(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)), INVALID, HANDLE_TYPE);
    handle = culv_handle_opaque_fd(1);
    REFUSES(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)), UNSUPPORTED, HANDLE_TYPE);
    handle = culv_handle_opaque_win32((void *)(uintptr_t)0x7770);
    REFUSES(culv_ipc_offer(server, &info, culv_ipc_from_handle(&handle)), INVALID, HANDLE_BAD);
    /* Names of servers. */
    culv_ipc_server_desc d = culv_ipc_server_desc_init();
    d.name = name;
    REFUSES(culv_ipc_server_create(s->device, &d, &other), BUSY, IPC_NAME);
    d.name = "a\\b";
    REFUSES(culv_ipc_server_create(s->device, &d, &other), INVALID, VALUE);
    d.name = "elsewhere";
    d.directory = "C:\\";
    REFUSES(culv_ipc_server_create(s->device, &d, &other), UNSUPPORTED, NOT_BUILT);
    d.directory = NULL;
    d.users = (const uint32_t[]){0};
    d.num_users = 1;
    REFUSES(culv_ipc_server_create(s->device, &d, &other), UNSUPPORTED, NOT_BUILT);
    culv_ipc_client *client = NULL;
    culv_ipc_client_desc c = culv_ipc_client_desc_init();
    c.name = "nobody";
    REFUSES(culv_ipc_client_connect(NULL, &c, 0, &client), TIMEOUT, IPC_NAME);
    REQUIRE(culv_ipc_server_fd(server) == -1);
    culv_ipc_server_destroy(&server);
}

/* A ring from CUDA to CUDA --------------------------------------------------------------------- */

enum { FRAMES = 40, SLOT_WORDS = 4111 };

ROLE(watch)
{
    ipc_scene s;
    culv_buffer *slots[SCENE_SLOTS];
    culv_ring_frame f;
    ipc_open(&s);
    culv_ipc_client *client = ipc_client(&s, name);
    culv_ring *side = ipc_join_ring(client, NULL, NULL, slots);
    ipc_say(name, 'j');
    for (uint32_t i = 0; i < FRAMES; i++) {
        OK(culv_ring_acquire_on(side, CULV_RING_CONSUMER, s.stream, SCENE_FAR, &f));
        REQUIRE(f.number == i);
        ipc_require(&s, culv_buffer_pointer(slots[f.slot]), SLOT_WORDS, i);
        OK(culv_ring_release_on(side, CULV_RING_CONSUMER, s.stream, &f));
    }
    ipc_say(name, 'r');
    REFUSES(culv_ring_acquire_on(side, CULV_RING_CONSUMER, s.stream, SCENE_FAR, &f), ASYNC,
            RING_STOPPED); /* the server is gone */
    REQUIRE(!culv_ipc_ring_connected(side));
    CU_OK(s.cu->cuStreamSynchronize(s.stream));
    culv_ring_destroy(&side, NULL);
    culv_ipc_client_destroy(&client);
    ipc_leave_ring(slots);
    ipc_close(&s);
}

/* It holds a frame, and its stream never gives it back. */
ROLE(hold)
{
    ipc_scene s;
    culv_buffer *slots[SCENE_SLOTS];
    culv_ring_frame f;
    ipc_open(&s);
    culv_ipc_client *client = ipc_client(&s, name);
    culv_ring *side = ipc_join_ring(client, NULL, NULL, slots);
    ipc_say(name, 'j');
    OK(culv_ring_acquire_on(side, CULV_RING_CONSUMER, s.stream, SCENE_FAR, &f));
    ipc_say(name, 'h');
    Sleep(INFINITE);
}

static void run_ring(bool dies)
{
    ipc_scene s;
    ipc_child child;
    culv_buffer *slots[SCENE_SLOTS];
    culv_ring_frame f;
    char name[CULV_IPC_NAME_SIZE];
    ipc_open(&s);
    culv_ipc_server *server = ipc_server(&s, ipc_name(name, dies ? "ring-dies" : "ring"));
    culv_ring *ring = ipc_ring(&s, server, NULL, rows[CELLS].name, slots);
    ipc_start(&child, dies ? "hold" : "watch", name);
    ipc_hear(name, 'j', server);
    for (uint32_t i = 0; i < FRAMES; i++) {
        OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s.stream, SCENE_FAR, &f));
        ipc_write(&s, culv_buffer_pointer(slots[f.slot]), SLOT_WORDS, i);
        OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, s.stream, &f));
        if (!dies || i > 0) continue;
        ipc_hear(name, 'h', server);
        ipc_kill(&child);
        while (culv_ipc_ring_consumers(ring, NULL, 0) > 0)
            OK(culv_ipc_server_poll(server, SCENE_FAR, NULL));
    }
    if (!dies) ipc_hear(name, 'r', server);
    CU_OK(s.cu->cuStreamSynchronize(s.stream)); /* it hangs unless a dead one was moved on */
    culv_ipc_server_destroy(&server);
    if (!dies) ipc_join(&child, NULL);
    REFUSES(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s.stream, 0, &f), ASYNC, RING_STOPPED);
    culv_ring_destroy(&ring, NULL);
    ipc_leave_ring(slots);
    REQUIRE(!scene_name_lives(rows[CELLS].name));
    ipc_close(&s);
}

TEST(ring)
{
    run_ring(false);
}

TEST(ring_dies)
{
    run_ring(true);
}
