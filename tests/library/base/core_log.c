/* SPDX-License-Identifier: MIT */
/* The log callback, its levels and CULVERT_LOG. */
#define TEST_GROUP "log."
#include "library.h"

#include <unistd.h>

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
    culv_memory *memory = NULL;
    culv_memory_desc d = culv_memory_desc_init();
    NEW(OWN(culv_device), device, culv_device_open_by_ordinal, 0, desc);
    REQUIRE_EQ(culv_memory_import(device, &d, &memory), CULV_ERROR_INVALID);
}

static culv_device_desc logging(heard *h, culv_log_level level)
{
    culv_device_desc d = culv_device_desc_init();
    memset(h, 0, sizeof *h);
    d.log = (culv_log){hear, h, level};
    d.label = "first light";
    return d;
}

TEST(levels, .own = true)
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
TEST(failed_open_is_heard)
{
    heard h;
    culv_device *device = NULL;
    (void)lib_driver();
    culv_device_desc d = logging(&h, CULV_LOG_ERROR);
    LIB_ERROR(culv_device_open_by_ordinal(12345, &d, &device), NO_DEVICE, DEVICE_UNKNOWN);
    REQUIRE_EQ(h.lines[CULV_LOG_ERROR], 1);
    REQUIRE_EQ_STR(h.last[CULV_LOG_ERROR], culv_last_error_message());
}

/* What a label has in it makes no second line, in the log or in the error, whether the object was
 * made or not. Letters beyond ASCII stay. */
TEST(labels_forge_no_lines)
{
    heard h;
    culv_memory *memory = NULL;
    (void)lib_driver();
    culv_device_desc d = logging(&h, CULV_LOG_DEBUG);
    d.label = "gpu\nculvert error: forged\r\t\033[2J\177";
    NEW(culv_device, device, culv_device_open_by_ordinal, 0, &d);
    culv_memory_desc m = culv_memory_desc_init();
    m.label = "gr\303\266\303\237e\n[gpu] second";
    REQUIRE_EQ(culv_memory_import(device, &m, &memory), CULV_ERROR_INVALID);
    REQUIRE(strstr(h.last[CULV_LOG_ERROR], "[gpu?culvert error: forged???[2J?] '") ==
            h.last[CULV_LOG_ERROR]);
    REQUIRE(strstr(h.last[CULV_LOG_ERROR], "'gr\303\266\303\237e?[gpu] second': ") != NULL);
    REQUIRE_EQ_STR(h.last[CULV_LOG_ERROR], culv_last_error_message());
    culv_device_close(&device);
    REQUIRE(strstr(h.last[CULV_LOG_INFO], "[gpu?culvert error") == h.last[CULV_LOG_INFO]);
}

/* Nor is a letter cut: of those of UTF-8 the last one that fits whole stays. What is no UTF-8 is
 * cut anywhere, and no terminal gets it. */
TEST(letters_are_not_cut)
{
    static const struct {
        const char *letter;
        size_t before, kept; /* bytes of ASCII, then how many of the label stay */
    } rows[] = {
        {"\303\266", 61, 63},         {"\303\266", 62, 62},
        {"\342\202\254", 60, 63},     {"\342\202\254", 61, 61},
        {"\342\202\254", 62, 62},     {"\360\237\230\200", 59, 63},
        {"\360\237\230\200", 60, 60}, {"\360\237\230\200", 61, 61},
        {"\360\237\230\200", 62, 62}, {"\200\200\200\200\200\200\200\200", 58, 63},
    };
    (void)lib_driver();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        heard h;
        char label[100];
        culv_device_desc d = logging(&h, CULV_LOG_ERROR);
        memset(label, 'x', sizeof label);
        snprintf(label + rows[i].before, sizeof label - rows[i].before, "%szzzz", rows[i].letter);
        d.label = label;
        session(&d);
        label[rows[i].kept] = '\0';
        if ((unsigned char)label[rows[i].before] == 0200)
            memset(label + rows[i].before, '?', rows[i].kept - rows[i].before);
        REQUIRE(strncmp(h.last[CULV_LOG_ERROR] + 1, label, rows[i].kept) == 0);
        REQUIRE(strncmp(h.last[CULV_LOG_ERROR] + 1 + rows[i].kept, "] ", 2) == 0);
    }
}

/* A label that is too long is cut, not overrun. */
TEST(long_labels_are_cut)
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

TEST(environment, .own = true)
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
