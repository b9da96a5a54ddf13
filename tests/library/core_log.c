/* The log callback, its levels and CULVERT_LOG. SPDX-License-Identifier: MIT */
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const test_case log_cases[];

typedef struct heard {
    unsigned lines[5]; /* by level */
    char last[5][2048];
    bool closed;
} heard;

static void hear(void *user, culv_log_level level, const char *message)
{
    heard *h = user;
    REQUIRE(level >= CULV_LOG_ERROR && level <= CULV_LOG_DEBUG);
    REQUIRE(message != NULL && strchr(message, '\n') == NULL);
    REQUIRE(!h->closed);
    h->lines[level]++;
    snprintf(h->last[level], sizeof h->last[level], "%s", message);
}

/* Opens a device, makes one error, closes it. */
static void session(const culv_device_desc *desc)
{
    culv_device *device = NULL;
    culv_memory *memory = NULL;
    culv_memory_desc d = culv_memory_desc_init();
    LIB_OK(culv_device_open_by_ordinal(0, desc, &device));
    REQUIRE_EQ(culv_memory_import_borrow(device, &d, &memory), CULV_ERROR_INVALID);
    culv_device_close(&device);
}

static culv_device_desc logging(heard *h, culv_log_level level)
{
    culv_device_desc d = culv_device_desc_init();
    memset(h, 0, sizeof *h);
    d.log = (culv_log){hear, h, level};
    d.label = "first light";
    return d;
}

static void levels(void)
{
    heard h;
    (void)lib_driver();
    unsetenv("CULVERT_LOG");
    culv_device_desc d = logging(&h, CULV_LOG_ERROR);
    session(&d);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE_EQ_STR(h.last[CULV_LOG_ERROR], culv_last_error_message());
    REQUIRE(strncmp(h.last[CULV_LOG_ERROR], "[first light] ", 14) == 0);
    REQUIRE_EQ(h.lines[CULV_LOG_WARNING] + h.lines[CULV_LOG_INFO] + h.lines[CULV_LOG_DEBUG], 0);

    d = logging(&h, CULV_LOG_NONE); /* the default: warnings and errors */
    session(&d);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE_EQ(h.lines[CULV_LOG_INFO] + h.lines[CULV_LOG_DEBUG], 0);

    d = logging(&h, CULV_LOG_INFO);
    session(&d);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE(h.lines[CULV_LOG_INFO] >= 2); /* opened, closed */
    REQUIRE(strstr(h.last[CULV_LOG_INFO], "closed") != NULL);
    REQUIRE_EQ(h.lines[CULV_LOG_DEBUG], 0);

    d = logging(&h, CULV_LOG_DEBUG);
    session(&d);
    REQUIRE(h.lines[CULV_LOG_DEBUG] >= 5);
    REQUIRE(strncmp(strstr(h.last[CULV_LOG_DEBUG], "cu"), "cu", 2) == 0);
}

/* An open that fails has no device, but its descriptor's log hears it. */
static void failed_open_is_heard(void)
{
    heard h;
    culv_device *device = NULL;
    (void)lib_driver();
    culv_device_desc d = logging(&h, CULV_LOG_ERROR);
    LIB_ERROR(culv_device_open_by_ordinal(12345, &d, &device), CULV_ERROR_NO_DEVICE,
              CULV_REASON_DEVICE_UNKNOWN);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE_EQ_STR(h.last[CULV_LOG_ERROR], culv_last_error_message());
}

/* A label that is too long is cut, not overrun. */
static void long_labels_are_cut(void)
{
    heard h;
    char label[300];
    (void)lib_driver();
    memset(label, 'x', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    culv_device_desc d = logging(&h, CULV_LOG_ERROR);
    d.label = label;
    session(&d);
    label[63] = '\0';
    REQUIRE(strncmp(h.last[CULV_LOG_ERROR] + 1, label, 63) == 0);
    REQUIRE_EQ(h.last[CULV_LOG_ERROR][64], ']');
}

static size_t stderr_of_session(const culv_device_desc *desc, char *out, size_t size)
{
    int ends[2];
    int before = dup(STDERR_FILENO);
    REQUIRE(before >= 0 && pipe(ends) == 0);
    fflush(stderr);
    REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    session(desc);
    fflush(stderr);
    REQUIRE(dup2(before, STDERR_FILENO) == STDERR_FILENO);
    close(before);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n = 1; n > 0 && length < size - 1; length += (size_t)n) {
        n = read(ends[0], out + length, size - 1 - length);
        REQUIRE(n >= 0);
    }
    out[length] = '\0';
    close(ends[0]);
    return length;
}

static void environment(void)
{
    static char text[65536]; /* a pipe holds as much */
    heard h;
    (void)lib_driver();
    unsetenv("CULVERT_LOG");
    REQUIRE_EQ(stderr_of_session(NULL, text, sizeof text), 0); /* nothing is printed unless asked */
    setenv("CULVERT_LOG", "", 1);
    REQUIRE_EQ(stderr_of_session(NULL, text, sizeof text), 0);

    setenv("CULVERT_LOG", "error", 1);
    REQUIRE(stderr_of_session(NULL, text, sizeof text) > 0);
    REQUIRE(strstr(text, "culvert error: ") != NULL && strstr(text, "culvert info: ") == NULL);
    setenv("CULVERT_LOG", "info", 1);
    (void)stderr_of_session(NULL, text, sizeof text);
    REQUIRE(strstr(text, "culvert info: ") != NULL && strstr(text, "culvert debug: ") == NULL);
    setenv("CULVERT_LOG", "debug", 1);
    (void)stderr_of_session(NULL, text, sizeof text);
    REQUIRE(strstr(text, "culvert debug: ") != NULL);

    culv_device_desc d = logging(&h, CULV_LOG_ERROR); /* a callback comes first */
    REQUIRE_EQ(stderr_of_session(&d, text, sizeof text), 0);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
}

const test_case log_cases[] = {
    {.name = "log.levels", .run = levels},
    {.name = "log.failed_open_is_heard", .run = failed_open_is_heard},
    {.name = "log.long_labels_are_cut", .run = long_labels_are_cut},
    {.name = "log.environment", .run = environment},
    {.name = NULL},
};
