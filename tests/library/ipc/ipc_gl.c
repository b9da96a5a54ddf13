/* SPDX-License-Identifier: MIT */
/* Rings between processes whose consumer or producer is OpenGL: the slots are memory objects, and
 * CUDA of the same process waits and signals for it. */
#include "gl_stage.h"
#include "ipc_stage.h"

#include <string.h>

enum { SLOTS = 3, FRAMES = 20, WORDS = 12347, BYTES = 4 * WORDS };

typedef struct viewer {
    gl_stage s;
    culv_ipc_client *client;
    culv_ipc_consumer *side;
    culv_gl_memory *memory[SLOTS];
    GLuint slots[SLOTS];
} viewer;

static void viewer_open(viewer *v, const char *name)
{
    memset(v, 0, sizeof *v);
    gl_stage_open(&v->s, 0);
    v->client = ipc_client(v->s.device, name);
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    d.ring = "frames";
    LIB_OK(culv_ipc_consumer_join(v->client, &d, IPC_FAR, &v->side));
    GL_OK(&v->s.gl, v->s.gl.CreateBuffers(SLOTS, v->slots));
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_ipc_object *object = NULL;
        culv_gl_memory_desc m = culv_gl_memory_desc_init();
        LIB_OK(culv_ipc_consumer_receive(v->side, i, 0, IPC_FAR, &object));
        LIB_OK(culv_ipc_object_get_handle(object, &m.handle));
        m.size = ipc_info_of(object).allocation_size;
        m.exporter = ipc_info_of(object).device;
        m.label = "slot";
        LIB_OK(culv_gl_memory_import(v->s.attachment, &m, &v->memory[i]));
        LIB_OK(culv_gl_memory_bind_buffer(v->memory[i], v->slots[i], 0, BYTES));
        culv_ipc_object_destroy(&object);
    }
}

static void viewer_close(viewer *v)
{
    culv_ipc_consumer_destroy(&v->side);
    culv_ipc_client_destroy(&v->client);
    v->s.gl.DeleteBuffers(SLOTS, v->slots);
    for (uint32_t i = 0; i < SLOTS; i++)
        LIB_OK(culv_gl_memory_destroy(&v->memory[i]));
    gl_stage_close(&v->s);
}

static void view(ipc_child *parent, const char *name)
{
    static uint32_t words[WORDS];
    viewer v;
    viewer_open(&v, name);
    ipc_say(parent, 'j');
    for (uint64_t i = 0; i < FRAMES; i++) {
        culv_ipc_frame f;
        LIB_OK(culv_ipc_consumer_acquire_on(v.side, v.s.stream, IPC_FAR, &f));
        REQUIRE_EQ(f.number, i);
        gl_stage_finish(&v.s); /* where OpenGL has no semaphores the host waits */
        memset(words, 0, sizeof words);
        raw_gl_read_buffer(&v.s.gl, v.slots[f.slot], words, BYTES);
        REQUIRE_WORDS(words, WORDS, (uint32_t)i);
        v.s.gl.Finish();
        LIB_OK(culv_ipc_consumer_release_on(v.side, v.s.stream, &f));
    }
    gl_stage_finish(&v.s);
    ipc_say(parent, 'd');
    viewer_close(&v);
}

static void to_gl(void)
{
    static uint32_t words[FRAMES][WORDS];
    ipc_child child;
    char name[CULV_IPC_NAME_SIZE];
    vmm_stage s;
    ipc_slots slots;
    ipc_fork(&child, view, ipc_name(name, "gl"));
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    ipc_slots_open(&slots, &s, name, SLOTS, WORDS);
    ipc_hear_serving(&child, 'j', slots.server);
    for (uint32_t n = 0; n < FRAMES; n++)
        ipc_slots_produce(&slots, &s.w, stream, words[0], FRAMES);
    ipc_hear_serving(&child, 'd', slots.server);
    ipc_join_serving(&child, slots.server);
    lib_finish(&s.w, stream);
    ipc_slots_close(&slots, &s.w);
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s);
}

/* OpenGL as the producer: its buffers lie in the VMM memory of the slots. CUDA of its process waits
 * and signals for it. */
static void read_in_cuda(ipc_child *parent, const char *name)
{
    vmm_stage s;
    culv_ipc_consumer *side = NULL;
    culv_ipc_consumer_desc d = culv_ipc_consumer_desc_init();
    vmm_stage_open(&s);
    CUstream stream = lib_stream(&s.w);
    culv_ipc_client *client = ipc_client(s.w.device, name);
    d.ring = "frames";
    LIB_OK(culv_ipc_consumer_join(client, &d, IPC_FAR, &side));
    culv_vmm_range *range = vmm_range(&s, SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_ipc_object *object = NULL;
        culv_vmm_allocation *memory = NULL;
        LIB_OK(culv_ipc_consumer_receive(side, i, 0, IPC_FAR, &object));
        LIB_OK(culv_ipc_import_vmm(object, &memory));
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, memory, NULL, 0));
        culv_vmm_allocation_destroy(&memory);
        culv_ipc_object_destroy(&object);
    }
    ipc_say(parent, 'j');
    for (uint32_t i = 0; i < FRAMES; i++) {
        culv_ipc_frame f;
        LIB_OK(culv_ipc_consumer_acquire_on(side, stream, IPC_FAR, &f));
        REQUIRE_EQ(f.number, i);
        ipc_require(&s.w, stream, culv_vmm_range_pointer(range) + f.slot * VMM_BLOCK, WORDS, i);
        LIB_OK(culv_ipc_consumer_release_on(side, stream, &f));
    }
    lib_finish(&s.w, stream);
    ipc_say(parent, 'd');
    culv_ipc_consumer_destroy(&side);
    culv_ipc_client_destroy(&client);
    lib_settle(&s.w);
    LIB_OK(culv_vmm_unmap(range, 0, culv_vmm_range_size(range)));
    LIB_OK(culv_vmm_range_destroy(&range));
    lib_stream_destroy(&s.w, stream);
    vmm_stage_close(&s);
}

static void from_gl(void)
{
    static uint32_t words[WORDS];
    ipc_child child;
    char name[CULV_IPC_NAME_SIZE];
    gl_stage s;
    ipc_slots slots;
    culv_gl_memory *memory[SLOTS];
    GLuint buffers[SLOTS];
    ipc_fork(&child, read_in_cuda, ipc_name(name, "from-gl"));
    gl_stage_open(&s, 0);
    vmm_stage v = {.w = {.cu = s.cu, .device = s.device, .context = s.context}};
    ipc_slots_open(&slots, &v, name, SLOTS, WORDS);
    GL_OK(&s.gl, s.gl.CreateBuffers(SLOTS, buffers));
    for (uint32_t i = 0; i < SLOTS; i++) {
        LIB_OK(culv_gl_memory_from_vmm(s.attachment, slots.memory[i], "slot", &memory[i]));
        LIB_OK(culv_gl_memory_bind_buffer(memory[i], buffers[i], 0, BYTES));
    }
    ipc_hear_serving(&child, 'j', slots.server);
    for (uint32_t n = 0; n < FRAMES; n++) {
        culv_ipc_frame f;
        LIB_OK(culv_ipc_ring_acquire_on(slots.ring, s.stream, IPC_FAR, &f));
        gl_stage_finish(&s); /* the reader is done */
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = lib_word(i, n);
        raw_gl_write_buffer(&s.gl, buffers[f.slot], words, BYTES);
        s.gl.Finish();
        LIB_OK(culv_ipc_ring_release_on(slots.ring, s.stream, &f));
    }
    ipc_hear_serving(&child, 'd', slots.server);
    ipc_join_serving(&child, slots.server);
    gl_stage_finish(&s);
    s.gl.DeleteBuffers(SLOTS, buffers);
    for (uint32_t i = 0; i < SLOTS; i++)
        LIB_OK(culv_gl_memory_destroy(&memory[i]));
    ipc_slots_close(&slots, &v.w);
    gl_stage_close(&s);
}

static const test_case cases[] = {
    {.name = "ring.to_gl", .run = to_gl, .own = true, .smoke = true},
    {.name = "ring.from_gl", .run = from_gl, .own = true},
    {.name = NULL},
};
TEST_SUITE(cases);
