/* SPDX-License-Identifier: MIT */
/* Several semaphores by one driver call: all of a batch or nothing. */
#include "library.h"
#include "raw_binary.h"

#include "core/semaphore.h"
#include "culvert/graph.h"

enum { MAX = CULV_SEMAPHORE_BATCH_MAX, BINARIES = 2 };

/* More timelines than a batch may have, two binary semaphores where the driver has a partner for
 * them, and a stream. */
typedef struct fleet {
    lib_world w;
    CUstream stream;
    VkSemaphore timelines[MAX + 1];
    culv_semaphore *semaphores[MAX + 1];
    raw_binary others[BINARIES];
    culv_semaphore *binaries[BINARIES];
} fleet;

static fleet f;

static void fleet_open(bool binaries)
{
    lib_open(&f.w);
    f.stream = lib_stream(&f.w);
    for (int i = 0; i <= MAX; i++) {
        f.timelines[i] = raw_vk_timeline(&f.w.vk, 0, true);
        f.semaphores[i] = lib_import_timeline(&f.w, f.timelines[i]);
    }
    for (int i = 0; binaries && i < BINARIES; i++) {
        raw_binary_create(&f.w.vk, f.w.cu, &f.others[i]);
        culv_semaphore_desc d = culv_semaphore_desc_init();
        d.type = CULV_SEMAPHORE_BINARY;
        d.handle = culv_handle_opaque_fd(raw_binary_fd(&f.w.vk, &f.others[i]));
        LIB_TAKE(culv_semaphore_import(f.w.device, &d, &f.binaries[i]), &d.handle);
    }
}

static void fleet_close(void)
{
    lib_finish(&f.w, f.stream);
    for (int i = 0; i < BINARIES; i++) {
        if (f.binaries[i] == NULL) continue;
        culv_semaphore_destroy(&f.binaries[i], NULL);
        raw_binary_destroy(&f.w.vk, &f.others[i]);
    }
    for (int i = 0; i <= MAX; i++)
        culv_semaphore_destroy(&f.semaphores[i], NULL);
    lib_settle(&f.w);
    for (int i = 0; i <= MAX; i++)
        raw_vk_timeline_destroy(&f.w.vk, f.timelines[i]);
    lib_stream_destroy(&f.w, f.stream);
    lib_close(&f.w);
}

/* The stream's work is done, and each timeline is at `value` for CUDA, Culvert and Vulkan alike. */
static void require_values(uint64_t value)
{
    lib_finish(&f.w, f.stream);
    for (int i = 0; i <= MAX; i++) {
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[i]), value);
        REQUIRE_EQ(raw_vk_timeline_value(&f.w.vk, f.timelines[i]), value);
    }
}

static void all_timelines(culv_semaphore_point points[MAX + 1], uint64_t value)
{
    for (int i = 0; i <= MAX; i++)
        points[i] = (culv_semaphore_point){f.semaphores[i], value};
}

/* Sizes ---------------------------------------------------------------------------------------- */

TEST(sizes)
{
    culv_semaphore_point points[MAX + 1];
    fleet_open(false);
    LIB_OK(culv_semaphore_signal_batch(NULL, 0, f.stream));
    LIB_OK(culv_semaphore_wait_batch(NULL, 0, f.stream));
    all_timelines(points, 1);
    LIB_OK(culv_semaphore_signal_batch(points, 0, f.stream));
    require_values(0);
    static const uint32_t too_many[] = {MAX + 1, MAX + 2, UINT32_MAX};
    for (int i = 0; i < 3; i++) { /* refused before what is beyond the array is read */
        LIB_INVALID(culv_semaphore_signal_batch(points, too_many[i], f.stream), VALUE);
        LIB_INVALID(culv_semaphore_wait_batch(points, too_many[i], f.stream), VALUE);
    }
    require_values(0);
    /* The largest one, and one of a single semaphore. */
    for (uint64_t value = 1; value <= 3; value++) {
        all_timelines(points, value);
        LIB_OK(culv_semaphore_signal_batch(points, MAX, f.stream));
        LIB_OK(culv_semaphore_signal_batch(points + MAX, 1, f.stream));
        LIB_OK(culv_semaphore_wait_batch(points, MAX, f.stream));
        require_values(value);
    }
    /* Each its own value. */
    for (int i = 0; i < MAX; i++)
        points[i].value = 100 + (uint64_t)i;
    LIB_OK(culv_semaphore_signal_batch(points, MAX, f.stream));
    lib_finish(&f.w, f.stream);
    for (int i = 0; i < MAX; i++)
        REQUIRE_EQ(raw_vk_timeline_value(&f.w.vk, f.timelines[i]), 100 + i);
    fleet_close();
}

/* The stream goes on when the last of them is there, each at its own value. Vulkan's timelines,
 * which may be waited for first. */
TEST(waits_for_all)
{
    enum { COUNT = 5 };
    culv_semaphore_point points[COUNT];
    fleet_open(false);
    for (int i = 0; i < COUNT; i++) {
        points[i] = (culv_semaphore_point){f.semaphores[i], (uint64_t)i + 2};
        raw_vk_timeline_signal(&f.w.vk, f.timelines[i], (uint64_t)i + 1); /* not enough */
    }
    LIB_OK(culv_semaphore_wait_batch(points, COUNT, f.stream));
    for (int i = 0; i < COUNT; i++) {
        lib_sleep_ms(10);
        REQUIRE_EQ(lib_query(&f.w, f.stream), CUDA_ERROR_NOT_READY);
        raw_vk_timeline_signal(&f.w.vk, f.timelines[i], (uint64_t)i + 2);
    }
    lib_finish(&f.w, f.stream);
    fleet_close();
}

/* Timelines and binary semaphores in one call, there and back. */
TEST(mixed_types)
{
    fleet_open(true);
    for (uint64_t turn = 1; turn <= 20; turn++) {
        const culv_semaphore_point points[] = {{f.semaphores[0], turn},
                                               {f.binaries[0], 0},
                                               {f.semaphores[1], 7 * turn},
                                               {f.binaries[1], 0}};
        LIB_OK(culv_semaphore_signal_batch(points, 4, f.stream));
        for (int i = 0; i < BINARIES; i++) {
            REQUIRE(raw_binary_wait(&f.w.vk, f.w.cu, &f.others[i], TEST_FAR_MS));
            LIB_OK(culv_semaphore_mark_waited(f.binaries[i]));
        }
        REQUIRE(raw_vk_timeline_wait(&f.w.vk, f.timelines[1], 7 * turn, TEST_FAR_MS));
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[0]), turn);
        REQUIRE_EQ(culv_semaphore_last_value(f.binaries[0]), 0);
        for (int i = 0; i < BINARIES; i++) {
            raw_binary_signal(&f.w.vk, f.w.cu, &f.others[i]);
            LIB_OK(culv_semaphore_mark_signaled(f.binaries[i]));
        }
        LIB_OK(culv_semaphore_wait_batch(points, 4, f.stream));
        lib_finish(&f.w, f.stream);
    }
    fleet_close();
}

/* All or nothing ------------------------------------------------------------------------------- */

/* Binary semaphore i is as it was: signaled by nobody, or by the other API. */
static void require_binary(int i, bool signaled)
{
    if (signaled)
        LIB_INVALID(culv_semaphore_mark_signaled(f.binaries[i]), DOUBLE_SIGNAL);
    else
        LIB_INVALID(culv_semaphore_wait(f.binaries[i], f.stream, 0), WAIT_BEFORE_SIGNAL);
}

TEST(one_is_wrong, .title = "nothing.one_is_wrong")
{
    fleet_open(true);
    CUstream s = f.stream;
    LIB_OK(culv_semaphore_signal(f.semaphores[2], s, 9));
    /* The wrong one is third of four each time. */
    const struct {
        culv_semaphore_point wrong;
        culv_reason reason;
    } rows[] = {
        {{f.semaphores[2], 9}, CULV_REASON_TIMELINE_BACKWARDS},
        {{f.semaphores[2], 1}, CULV_REASON_TIMELINE_BACKWARDS},
        {{f.semaphores[3], 0}, CULV_REASON_TIMELINE_BACKWARDS},
        {{f.binaries[1], 1}, CULV_REASON_VALUE},
        {{f.semaphores[0], 6}, CULV_REASON_VALUE},
        {{f.binaries[0], 0}, CULV_REASON_VALUE},
        {{NULL, 1}, CULV_REASON_NULL_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const culv_semaphore_point points[] = {
            {f.semaphores[0], 5}, {f.binaries[0], 0}, rows[i].wrong, {f.semaphores[1], 5}};
        LIB_FAILS(culv_semaphore_signal_batch(points, 4, s), CULV_ERROR_INVALID, rows[i].reason);
        require_binary(0, false);
        require_binary(1, false);
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[0]), 0);
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[1]), 0);
        REQUIRE_EQ(culv_semaphore_last_value(f.semaphores[2]), 9);
    }
    LIB_INVALID(culv_semaphore_signal_batch(NULL, 1, s), NULL_ARGUMENT);
    LIB_INVALID(culv_semaphore_wait_batch(NULL, 1, s), NULL_ARGUMENT);

    /* Waits: the first is signaled, the third is not. */
    raw_binary_signal(&f.w.vk, f.w.cu, &f.others[0]);
    LIB_OK(culv_semaphore_mark_signaled(f.binaries[0]));
    const culv_semaphore_point waits[] = {
        {f.binaries[0], 0}, {f.semaphores[2], 9}, {f.binaries[1], 0}, {f.semaphores[1], 0}};
    LIB_INVALID(culv_semaphore_wait_batch(waits, 4, s), WAIT_BEFORE_SIGNAL);
    require_binary(0, true);
    require_binary(1, false);
    const culv_semaphore_point twice[] = {
        {f.semaphores[0], 0}, {f.binaries[0], 0}, {f.semaphores[0], 0}};
    LIB_INVALID(culv_semaphore_wait_batch(twice, 3, s), VALUE);
    require_binary(0, true);
    LIB_OK(culv_semaphore_wait(f.binaries[0], s, 0));
    lib_finish(&f.w, s);
    for (int i = 0; i <= MAX; i++) /* what the driver has done */
        REQUIRE_EQ(raw_vk_timeline_value(&f.w.vk, f.timelines[i]), i == 2 ? 9 : 0);
    fleet_close();
}

/* The same in batches of timelines alone, which are checked by a way of their own: at each place,
 * the last one's included. */
TEST(timelines_that_are_wrong, .title = "nothing.timelines_that_are_wrong")
{
    static const uint32_t sizes[] = {2, 3, MAX};
    static const struct {
        bool again; /* the semaphore of the point before, or of the one behind it */
        uint64_t value;
        culv_reason reason;
    } rows[] = {{false, 9, CULV_REASON_TIMELINE_BACKWARDS},
                {false, 8, CULV_REASON_TIMELINE_BACKWARDS},
                {false, 0, CULV_REASON_TIMELINE_BACKWARDS},
                {true, 10, CULV_REASON_VALUE},
                {true, 11, CULV_REASON_VALUE}};
    culv_semaphore_point points[MAX + 1];
    fleet_open(false);
    all_timelines(points, 9);
    LIB_OK(culv_semaphore_signal_batch(points, MAX, f.stream));
    LIB_OK(culv_semaphore_signal(f.semaphores[MAX], f.stream, 9));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            for (uint32_t at = 0; at < sizes[k]; at++) {
                all_timelines(points, 10);
                points[at].value = rows[r].value;
                if (rows[r].again) points[at].semaphore = f.semaphores[at > 0 ? at - 1 : 1];
                LIB_FAILS(culv_semaphore_signal_batch(points, sizes[k], f.stream),
                          CULV_ERROR_INVALID, rows[r].reason);
                if (rows[r].again)
                    LIB_FAILS(culv_semaphore_wait_batch(points, sizes[k], f.stream),
                              CULV_ERROR_INVALID, rows[r].reason);
            }
    require_values(9);
    all_timelines(points, 9); /* waits may repeat a value */
    LIB_OK(culv_semaphore_wait_batch(points, MAX, f.stream));
    fleet_close();
}

/* Each driver call of a batch fails in turn (on the twin); a stream that is refused
 * (everywhere). */
TEST(failures_are_taken_back, .title = "nothing.failures_are_taken_back")
{
    fleet_open(true);
    const raw_cuda *cu = f.w.cu;
    CUcontext context = NULL, popped = NULL;
    CUstream foreign = NULL;
    REQUIRE(cu->CtxCreate != NULL);
    CU_OK(cu->CtxCreate(&context, 0, 0));
    CU_OK(cu->StreamCreate(&foreign, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->CtxPopCurrent(&popped));
    raw_binary_signal(&f.w.vk, cu, &f.others[1]);
    LIB_OK(culv_semaphore_mark_signaled(f.binaries[1]));
    const culv_semaphore_point signals[] = {
        {f.semaphores[0], 3}, {f.binaries[0], 0}, {f.semaphores[1], 3}};
    const culv_semaphore_point waits[] = {
        {f.semaphores[0], 0}, {f.binaries[1], 0}, {f.semaphores[1], 0}};
    LIB_INVALID(culv_semaphore_signal_batch(signals, 3, foreign), STREAM_DEVICE);
    LIB_INVALID(culv_semaphore_wait_batch(waits, 3, foreign), STREAM_DEVICE);
    require_binary(0, false);
    require_binary(1, true);
    static const struct {
        CUresult code;
        culv_result result;
    } rows[] = {{CUDA_ERROR_UNKNOWN, CULV_ERROR_DRIVER},
                {CUDA_ERROR_OUT_OF_MEMORY, CULV_ERROR_OUT_OF_MEMORY},
                {CUDA_ERROR_ILLEGAL_ADDRESS, CULV_ERROR_ASYNC}};
    for (int way = 0; cu->SoftFailAt != NULL && way < 2; way++) {
        for (int i = 0; i < 3; i++) {
            const char *call = NULL;
            for (uint64_t n = 1; call == NULL || strstr(call, "ExternalSemaphoresAsync") == NULL;
                 n++) {
                lib_forget_error();
                cu->SoftFailAt(n, (int)rows[i].code);
                culv_result r = way == 0 ? culv_semaphore_signal_batch(signals, 3, f.stream)
                                         : culv_semaphore_wait_batch(waits, 3, f.stream);
                call = cu->SoftFailedCall();
                cu->SoftFailAt(0, 0);
                printf("%s\n", culv_last_error_message());
                REQUIRE_EQ(r, rows[i].result);
                REQUIRE(call != NULL);
                require_binary(0, false);
                require_binary(1, true);
                require_values(0);
            }
        }
    }
    LIB_OK(culv_semaphore_signal_batch(signals, 3, f.stream));
    LIB_OK(culv_semaphore_wait_batch(waits, 3, f.stream));
    REQUIRE(raw_binary_wait(&f.w.vk, cu, &f.others[0], TEST_FAR_MS));
    CU_OK(cu->CtxPushCurrent(context));
    CU_OK(cu->StreamDestroy(foreign));
    CU_OK(cu->CtxDestroy(context));
    fleet_close();
}

/* Of two devices, and of two culv_device of one GPU. */
TEST(of_two_devices, .title = "nothing.of_two_devices")
{
    raw_cuda_two_devices();
    fleet_open(false);
    culv_device *second = NULL;
    culv_semaphore *stranger = NULL;
    int32_t last = f.w.cu->device_count > 1 ? 1 : 0;
    culv_device_desc dd = culv_device_desc_init();
    dd.driver = f.w.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    for (int32_t ordinal = 0; ordinal <= last; ordinal++) {
        LIB_OK(culv_device_open_by_ordinal(ordinal, &dd, &second));
        culv_semaphore_desc d = culv_semaphore_desc_init();
        d.type = CULV_SEMAPHORE_TIMELINE;
        d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&f.w.vk, f.timelines[MAX]));
        LIB_TAKE(culv_semaphore_import(second, &d, &stranger), &d.handle);
        const culv_semaphore_point points[] = {
            {f.semaphores[0], 1}, {stranger, 1}, {f.semaphores[1], 1}};
        LIB_INVALID(culv_semaphore_signal_batch(points, 3, f.stream), DEVICE_MISMATCH);
        LIB_INVALID(culv_semaphore_wait_batch(points, 3, f.stream), DEVICE_MISMATCH);
        REQUIRE_EQ(culv_semaphore_last_value(stranger), 0);
        require_values(0);
        culv_semaphore_destroy(&stranger, NULL);
        culv_device_close(&second);
    }
    fleet_close();
}

/* Driver calls --------------------------------------------------------------------------------- */

static uint64_t calls(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    f.w.cu->SoftCounts(&c);
    return c.calls;
}

/* What a hand-written program calls and nothing besides, whatever context is current: a stream that
 * is known brings its own along. */
TEST(one_driver_call)
{
    culv_semaphore_point points[MAX + 1];
    fleet_open(false);
    if (f.w.cu->SoftCounts == NULL) SKIP("only the twin counts its calls");
    /* The stream is known from now on */
    LIB_OK(culv_semaphore_signal(f.semaphores[MAX], f.stream, 1));
    for (int inside = 0; inside < 2; inside++) {
        CUcontext before = NULL;
        if (inside) before = lib_enter(&f.w);
        static const uint32_t counts[] = {1, 2, MAX};
        for (int i = 0; i < 3; i++) {
            all_timelines(points, (uint64_t)(10 * inside + i + 2));
            uint64_t start = calls();
            LIB_OK(culv_semaphore_signal_batch(points, counts[i], f.stream));
            REQUIRE_EQ(calls() - start, 1);
            start = calls();
            LIB_OK(culv_semaphore_wait_batch(points, counts[i], f.stream));
            REQUIRE_EQ(calls() - start, 1);
        }
        if (inside) lib_leave(&f.w, before);
    }
    fleet_close();
}

/* Each way to signal, with what each of them must look at. There is no Direct3D here: its counter
 * and its words are played. */

enum { TOUCHED = 3 }; /* of the fleet's timelines */
typedef enum way { ONE, BATCH_OF_ONE, BATCH, NODE, NODE_UPDATE, WAYS } way;

static culv_result signal_by(way how, uint64_t value)
{
    const raw_cuda *cu = f.w.cu;
    const culv_semaphore_point points[] = {{f.semaphores[0], value},
                                           {f.semaphores[1], 100 * value}};
    /* The node's own, before its update */
    const culv_semaphore_point others[] = {
        {f.semaphores[2], culv_semaphore_last_value(f.semaphores[2]) + 1}};
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUgraphExec exec = NULL;
    culv_result result;
    switch (how) {
    case ONE: return culv_semaphore_signal(points[0].semaphore, f.stream, value);
    case BATCH_OF_ONE: return culv_semaphore_signal_batch(points, 1, f.stream);
    case BATCH:
        return culv_semaphore_signal_batch(points, value < UINT64_MAX / 100 ? 2 : 1, f.stream);
    default: break;
    }
    CUcontext before = lib_enter(&f.w);
    CU_OK(cu->GraphCreate(&graph, 0));
    result = culv_graph_add_node(graph, NULL, 0, CULV_GRAPH_SIGNAL, how == NODE ? points : others,
                                 1, &node);
    if (how == NODE_UPDATE) {
        CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
        LIB_OK(result);
        CU_OK(cu->GraphInstantiateWithParams(&exec, graph, &params));
        result = culv_graph_exec_set_node(exec, node, CULV_GRAPH_SIGNAL, points, 1);
        CU_OK(cu->GraphExecDestroy(exec));
    }
    CU_OK(cu->GraphDestroy(graph));
    lib_leave(&f.w, before);
    return result;
}

static bool play_counter(void *context, uint64_t *out)
{
    *out = *(uint64_t *)context;
    return *out != 0; /* 0: it does not answer */
}

TEST(each_way_to_signal)
{
    static const struct {
        uint64_t reported, counter, value;
        bool d3d;
        culv_reason reason;
    } rows[] = {
        {5, 0, 5, false, CULV_REASON_TIMELINE_BACKWARDS},
        {0, 7, 7, false, CULV_REASON_TIMELINE_BACKWARDS},
        {3, 7, 6, true, CULV_REASON_TIMELINE_BACKWARDS},
        {0, UINT64_MAX, 9, true, CULV_REASON_TIMELINE_BACKWARDS}, /* the device was removed */
        {0, 0, UINT64_MAX, true, CULV_REASON_VALUE},
        {0, 7, 8, true, CULV_REASON_NONE},
        {5, 0, 6, false, CULV_REASON_NONE},
    };
    fleet_open(false);
    for (unsigned i = 0; i < WAYS * sizeof rows / sizeof rows[0]; i++) {
        const unsigned row = i / WAYS;
        uint64_t counter = rows[row].counter;
        /* New ones for each row; a new device for each takes a GPU with company minutes. */
        for (int j = 0; i > 0 && j < TOUCHED; j++) {
            culv_semaphore_destroy(&f.semaphores[j], NULL);
            lib_settle(&f.w);
            raw_vk_timeline_destroy(&f.w.vk, f.timelines[j]);
            f.timelines[j] = raw_vk_timeline(&f.w.vk, 0, true);
            f.semaphores[j] = lib_import_timeline(&f.w, f.timelines[j]);
        }
        culv_semaphore *s = f.semaphores[0];
        const culvi_words *own = s->words;
        culvi_words words = *own;
        if (rows[row].d3d) words.api = CULV_NATIVE_D3D;
        s->words = &words;
        if (rows[row].d3d || counter != 0) s->present.read = play_counter;
        s->present.context = &counter;
        culv_semaphore_mark_value(s, rows[row].reported);
        printf("row %u, way %u\n", row, i % WAYS);
        if (rows[row].reason == CULV_REASON_NONE)
            LIB_OK(signal_by((way)(i % WAYS), rows[row].value));
        else
            LIB_FAILS(signal_by((way)(i % WAYS), rows[row].value), CULV_ERROR_INVALID,
                      rows[row].reason);
        s->present.read = NULL;
        s->words = own;
        lib_finish(&f.w, f.stream);
    }
    fleet_close();
}
