/* SPDX-License-Identifier: MIT */
/* What libraries on top of this one need: a device's context, its words, and objects of theirs. */
#define TEST_GROUP "addon."
#include "library.h"

#include "culvert/addon.h"
#include "culvert/checkpoint.h"

typedef struct lines {
    char text[8][512];
    culv_log_level level[8];
    unsigned count;
} lines;

static void note(void *user, culv_log_level level, const char *message)
{
    lines *l = user;
    if (l->count == 8) return;
    l->level[l->count] = level;
    snprintf(l->text[l->count++], sizeof l->text[0], "%s", message);
}

static culv_device *open_device(lines *l)
{
    culv_device_desc d = culv_device_desc_init();
    d.log = (culv_log){note, l, CULV_LOG_INFO};
    d.label = "ours";
    lib_driver();
    NEW(culv_device, device, culv_device_open_by_ordinal, 0, &d);
    l->count = 0;
    return device;
}

TEST(context)
{
    lines l = {.count = 0};
    OWN(culv_device) *device = open_device(&l);
    LIB_CUDA(device, PFN_cuCtxGetCurrent_v4000, cuCtxGetCurrent, 4000);
    LIB_CUDA(device, PFN_cuThreadExchangeStreamCaptureMode_v10010,
             cuThreadExchangeStreamCaptureMode, 10010);
    CUcontext before = NULL, now = NULL;
    uint64_t outer = 77, inner = 77;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CU_OK(cuCtxGetCurrent(&before));
    CU_OK(cuThreadExchangeStreamCaptureMode(&mode));
    LIB_OK(culv_device_enter(device, 0, &outer));
    LIB_OK(culv_device_enter(device, 1, &inner));
    CU_OK(cuCtxGetCurrent(&now));
    REQUIRE(now == culv_device_context(device));
    culv_device_leave(device, inner);
    CU_OK(cuCtxGetCurrent(&now));
    REQUIRE(now == culv_device_context(device));
    culv_device_leave(device, outer);
    CU_OK(cuCtxGetCurrent(&now));
    REQUIRE(now == before);
    CU_OK(cuThreadExchangeStreamCaptureMode(&mode)); /* as the caller had set it */
    REQUIRE_EQ(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    culv_device_leave(NULL, 0);
}

TEST(errors)
{
    lines l = {.count = 0};
    OWN(culv_device) *device = open_device(&l);
    culv_error e = culv_error_init();
    snprintf(e.message, sizeof e.message, "it has %d wheels", 5);
    LIB_INVALID(culv_device_fail(device, "cart", &e), VALUE);
    e.result = CULV_ERROR_UNSUPPORTED;
    e.reason = CULV_REASON_FORMAT;
    LIB_ERROR(culv_device_fail(device, "cart", &e), UNSUPPORTED, FORMAT,
              "[ours] 'cart': it has 5 wheels");
    REQUIRE(l.level[l.count - 1] == CULV_LOG_ERROR &&
            strcmp(l.text[l.count - 1], culv_last_error_message()) == 0);
    LIB_ERROR(culv_device_fail(NULL, NULL, &e), UNSUPPORTED, FORMAT, "it has 5 wheels");
    /* A driver's answer, whose class Culvert knows. */
    const struct {
        CUresult code;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {CUDA_ERROR_OUT_OF_MEMORY, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_DEVICE_MEMORY},
        {CUDA_ERROR_INVALID_VALUE, CULV_ERROR_DRIVER, CULV_REASON_LOCATION},
        {CUDA_ERROR_ILLEGAL_ADDRESS, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE},
    };
    e.result = CULV_OK;
    e.reason = CULV_REASON_LOCATION;
    e.native_api = CULV_NATIVE_CUDA;
    snprintf(e.native_call, sizeof e.native_call, "cuCartMake");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        e.native_code = rows[i].code;
        LIB_FAILS(culv_device_fail(device, NULL, &e), rows[i].result, rows[i].reason,
                  "it has 5 wheels", "cuCartMake");
        culv_error told = culv_error_init();
        culv_last_error(&told);
        REQUIRE(told.native_api == CULV_NATIVE_CUDA && told.native_code == (int64_t)rows[i].code);
    }
}

TEST(objects)
{
    lines l = {.count = 0};
    culv_device *device = open_device(&l), *handle = device;
    culv_addon_object *object = NULL;
    culv_addon_object_desc d = culv_addon_object_desc_init();
    LIB_REFUSES(object, culv_addon_object_create(device, &d, &object), INVALID, NULL_ARGUMENT);
    d.kind = "cart";
    d.label = "red one";
    l.count = 0;
    NEW(culv_addon_object, plain, culv_addon_object_create, device, &d);
    d.size = 5;
    d.not_suspended = "has a wheel in another process";
    LIB_OK(culv_addon_object_create(device, &d, &object));
    REQUIRE(l.count == 2 && l.level[1] == CULV_LOG_INFO);
    REQUIRE_EQ_STR(l.text[0], "[ours] made cart 'red one'");
    REQUIRE_EQ_STR(l.text[1], "[ours] made cart 'red one', 5 bytes");
    LIB_INVALID(culv_device_suspend(device, NULL), MAPPED, "'red one'",
                "the cart has a wheel in another process");
    culv_device_close(&handle); /* lives on */
    l.count = 0;
    culv_addon_object_destroy(&object, NULL);
    REQUIRE(object == NULL && l.count == 1);
    REQUIRE_EQ_STR(l.text[0], "[ours] destroyed cart 'red one', 5 bytes");
    culv_result suspended = culv_device_suspend(device, NULL);
    if (suspended == CULV_OK) { /* only what is given back is called then */
        uint64_t scope = 77;
        LIB_INVALID(culv_device_enter(device, 0, &scope), NOT_READY);
        REQUIRE_EQ(scope, 77);
        LIB_OK(culv_device_enter(device, 1, &scope));
        culv_device_leave(device, scope);
        LIB_OK(culv_device_resume(device, NULL));
    }
    l.count = 0;
    culv_addon_object_destroy(&plain, NULL); /* and the device with it */
    culv_addon_object_destroy(&plain, NULL);
    REQUIRE(l.count >= 2 && strstr(l.text[l.count - 1], "closed device ") != NULL);
}

typedef struct cart {
    bool refuses;
    unsigned parked, freed;
} cart;

static int32_t give_back(void *user, const char **call)
{
    *call = "cuCartPark";
    ((cart *)user)->parked++;
    return ((cart *)user)->refuses ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static void forget(void *user)
{
    ((cart *)user)->freed++;
}

/* What has something at the driver is released behind its last use, and again where that was
 * refused. */
TEST(released, .own = true)
{
    lib_world w = {.cu = lib_driver()};
    lines l = {.count = 0};
    cart c = {.refuses = true};
    CUgraph graph = NULL;
    w.device = open_device(&l);
    w.context = culv_device_context(w.device);
    culv_addon_object_desc d = culv_addon_object_desc_init();
    d.kind = "cart";
    d.release = give_back;
    d.free = forget;
    d.user = &c;
    CUstream stream = lib_stream(&w);
    CUcontext before = lib_enter(&w);
    NEW(culv_addon_object, object, culv_addon_object_create, w.device, &d);
    culv_addon_object_destroy(&object, &stream);
    REQUIRE(object == NULL && c.parked == 0 && c.freed == 0);
    lib_finish(&w, stream);
    culv_device_collect(w.device);
    REQUIRE(c.parked == 1 && c.freed == 0);
    c.refuses = false;
    culv_device_collect(w.device);
    REQUIRE(c.parked == 2 && c.freed == 1);
    /* At once without a last use. */
    LIB_OK(culv_addon_object_create(w.device, &d, &object));
    culv_addon_object_destroy(&object, NULL);
    REQUIRE(c.parked == 3 && c.freed == 2);
    /* Streams. */
    LIB_OK(culv_device_check_stream(w.device, NULL, stream, "carts do not fly"));
    LIB_OK(culv_device_check_stream(w.device, NULL, NULL, "carts do not fly"));
    CU_OK(w.cu->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    LIB_OK(culv_device_check_stream(w.device, NULL, stream, NULL));
    LIB_FAILS(culv_device_check_stream(w.device, "red one", stream, "carts do not fly"),
              CULV_ERROR_INVALID, CULV_REASON_CAPTURE, "'red one'", "carts do not fly");
    CU_OK(w.cu->StreamEndCapture(stream, &graph));
    CU_OK(w.cu->GraphDestroy(graph));
    lib_leave(&w, before);
    lib_stream_destroy(&w, stream);
    culv_device_close(&w.device);
}

/* A lost context is not entered, and what gives something back says nothing of it. */
TEST(lost, .own = true)
{
    lines l = {.count = 0};
    OWN(culv_device) *device = open_device(&l);
    LIB_CUDA(device, PFN_cuDevicePrimaryCtxReset_v11000, cuDevicePrimaryCtxReset, 11000);
    uint64_t scope = 77;
    CU_OK(cuDevicePrimaryCtxReset(0));
    l.count = 0;
    lib_forget_error();
    REQUIRE(culv_device_enter(device, 1, &scope) != CULV_OK && l.count == 0);
    LIB_ERROR(culv_device_enter(device, 0, &scope), ASYNC, DEVICE_LOST);
    REQUIRE_EQ(scope, 77);
}
