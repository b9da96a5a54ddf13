/* SPDX-License-Identifier: MIT */
/* A fuzz target without a fuzzer: the inputs that are kept, and some that are made from them, as
 * test cases of every build. --input=FILE runs that alone (one input, or a list like those in
 * corpus/), --trace tells each call. */
#include "fuzz.h"
#include "harness.h"

enum { LONGEST = 4096, MOST_INPUTS = 4096 };

static struct {
    uint8_t *data;
    size_t size;
} inputs[MOST_INPUTS];
static unsigned input_count;

static void keep(const uint8_t *data, size_t size)
{
    if (input_count == MOST_INPUTS) FAIL("there are more than %d inputs", MOST_INPUTS);
    /* Of its own size, so that a step over its end is seen. */
    uint8_t *copy = malloc(size != 0 ? size : 1);
    REQUIRE(copy != NULL);
    memcpy(copy, data, size);
    inputs[input_count].data = copy;
    inputs[input_count++].size = size;
}

/* Base64 up to the end or a comment, in place. */
static size_t decode(const char *text, uint8_t *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = 0;
    uint32_t bits = 0, count = 0;
    for (const char *digit; *text != '\0' && (digit = strchr(digits, *text)) != NULL; text++) {
        bits = bits << 6 | (uint32_t)(digit - digits);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out[size++] = (uint8_t)(bits >> count);
    }
    if (strchr("=# \n", *text) == NULL) FAIL("\"%s\" is not base64", text);
    return size;
}

/* A list such as corpus/ has, or one input as it is. */
static void read_inputs(const char *path)
{
    char line[2 * LONGEST];
    uint8_t data[2 * LONGEST];
    size_t length = strlen(path);
    FILE *file = fopen(path, "rb");
    if (file == NULL) FAIL("%s cannot be opened", path);
    if (length < 4 || strcmp(path + length - 4, ".txt") != 0)
        keep(data, fread(data, 1, LONGEST, file));
    else
        while (fgets(line, sizeof line, file) != NULL) {
            size_t size = decode(line, data);
            if (size > LONGEST) FAIL("an input has %zu bytes", size);
            if (size > 0) keep(data, size);
        }
    fclose(file);
}

static void open_target(void)
{
    char path[TEST_PATH_MAX];
    if (test_driver() == TEST_DRIVER_NVIDIA) unsetenv("CULVERT_SOFT");
    fuzz_trace = test_option("trace", NULL) != NULL;
    (void)LLVMFuzzerInitialize(NULL, NULL);
    const char *given = test_option("input", "");
    read_inputs(given[0] != '\0' ? given
                                 : test_path(path, "share/culvert/fuzz/" FUZZ_TARGET ".txt"));
    if (input_count == 0) FAIL("there are no inputs");
}

static void tell_note(const char *name, unsigned count, const char *first)
{
    MEASURED(name, "%u times, the first: %s", count, first);
}

static void close_target(void)
{
    fuzz_each_note(tell_note);
    while (input_count > 0)
        free(inputs[--input_count].data);
}

TEST(corpus)
{
    open_target();
    for (unsigned i = 0; i < input_count; i++)
        (void)LLVMFuzzerTestOneInput(inputs[i].data, inputs[i].size);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    close_target();
}

/* xorshift64: the same inputs each time. */
static uint32_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

TEST(mutated)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    uint8_t buffer[LONGEST];
    open_target();
    unsigned turns = (unsigned)atoi(test_option("turns", "2000"));
    for (unsigned turn = 0; turn < turns; turn++) {
        unsigned from = next(&state) % input_count;
        size_t size = inputs[from].size;
        memcpy(buffer, inputs[from].data, size);
        for (uint32_t changes = 1 + next(&state) % 4; changes > 0 && size > 0; changes--)
            buffer[next(&state) % size] = (uint8_t)next(&state);
        for (uint32_t more = next(&state) % 32; more > 0 && size < sizeof buffer; more--)
            buffer[size++] = (uint8_t)next(&state);
        uint8_t *input = malloc(size != 0 ? size : 1);
        REQUIRE(input != NULL);
        memcpy(input, buffer, size);
        (void)LLVMFuzzerTestOneInput(input, size);
        free(input);
    }
    close_target();
}
