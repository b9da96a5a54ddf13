/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#define ANSWERS_TO "CULVERT_TEST_ANSWERS_TO" /* a descriptor */
enum { MAX_LINE = 2048 };

/* A key of one of the files. */
typedef struct row {
    const char *of, *key, *value; /* of: the case */
    bool given;                   /* the running case has answered it */
} row;

typedef struct rows {
    row *all;
    size_t count;
} rows;

static struct {
    pthread_mutex_t lock;
    bool loaded, compares, known, twin;
    bool requires; /* the running case has an answer of which nothing is recorded */
    rows recorded, differs;
    char **given; /* keys that the running case has answered */
    size_t num_given;
    unsigned wrong;
} answers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Reading -------------------------------------------------------------------------------------- */

static void *grown(void *list, size_t count, size_t size)
{
    /* Powers of two. */
    if ((count & (count - 1)) != 0) return list;
    void *more = realloc(list, (count == 0 ? 1 : 2 * count) * size);
    REQUIRE(more != NULL);
    return more;
}

/* A row for each of the line's columns behind the first `lead`. */
static void add_rows(rows *to, char *line, size_t lead, const char *path)
{
    char *columns[3] = {NULL}, *next;
    size_t count = 0;
    for (char *at = line; at != NULL; at = next, count++) {
        next = strstr(at, " | ");
        if (next != NULL) {
            *next = '\0';
            next += 3;
        }
        if (count < lead) {
            columns[count] = at;
            continue;
        }
        to->all = grown(to->all, to->count, sizeof *to->all);
        to->all[to->count++] = (row){.of = columns[0], .key = at, .value = columns[1]};
    }
    if (count <= lead) FAIL("%s: a line of '%s' has too few columns", path, columns[0]);
}

static void read_rows(rows *to, const char *directory, const char *name, size_t lead)
{
    char path[TEST_PATH_MAX], relative[TEST_PATH_MAX / 2], *line = NULL;
    size_t size = 0;
    snprintf(relative, sizeof relative, "%s/%s", directory, name);
    test_path(path, relative);
    FILE *file = fopen(path, "r");
    if (file == NULL) FAIL("%s: %s", path, strerror(errno));
    while (getline(&line, &size, file) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#') continue;
        add_rows(to, line, lead, path);
        line = NULL; /* the rows point into it */
        size = 0;
    }
    free(line);
    fclose(file);
}

static void load(void)
{
    const char *directory = test_option("answers", NULL);
    if (answers.loaded) return;
    answers.loaded = true;
    answers.compares = directory != NULL && test_option("record", NULL) == NULL;
    if (!answers.compares) return;
    read_rows(&answers.recorded, directory, "nvidia-580.txt", 2);
    read_rows(&answers.differs, directory, "twin-differs.txt", 3);
}

/* Comparing ------------------------------------------------------------------------------------ */

/* A '*' at the end of a pattern stands for anything. */
static bool fits(const char *pattern, const char *text)
{
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '*') return strncmp(pattern, text, length - 1) == 0;
    return strcmp(pattern, text) == 0;
}

static row *find(rows *in, const char *key)
{
    for (size_t i = 0; i < in->count; i++)
        if (strcmp(in->all[i].of, test_case_name()) == 0 && fits(in->all[i].key, key))
            return &in->all[i];
    return NULL;
}

static void TEST_PRINTF(2, 3) complain(const char *key, const char *format, ...)
{
    char text[MAX_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("OTHER ANSWER %s | %s: %s\n", test_case_name(), key, text);
    answers.wrong++;
}

static void compare(const char *key, const char *value)
{
    row *was = find(&answers.recorded, key);
    row *differs = answers.twin ? find(&answers.differs, key) : NULL;
    if (was != NULL) was->given = true;
    if (differs != NULL) {
        const char *says = differs->value;
        differs->given = true;
        if (strcmp(says, "*") == 0) return;
        if (strcmp(says, value) != 0)
            complain(key, "'%s'; twin-differs.txt says '%s'", value, says);
        else if (was != NULL && strcmp(was->value, value) == 0)
            complain(key, "'%s', as on the GPU: its line in twin-differs.txt can go", value);
        return;
    }
    if (was == NULL)
        complain(key, "'%s' was never recorded", value);
    else if (strcmp(was->value, value) != 0 && strcmp(was->value, "?") != 0)
        complain(key, "'%s'; the recorded answer is '%s'", value, was->value);
}

/* Of another case, whose process started this one: the descriptor, else -1. */
static int of_another(void)
{
    const char *fd = getenv(ANSWERS_TO);
    return fd != NULL ? (int)strtol(fd, NULL, 10) : -1;
}

static bool answered(const char *key)
{
    for (size_t i = 0; i < answers.num_given; i++)
        if (strcmp(answers.given[i], key) == 0) return true;
    return false;
}

void test_answer(const char *key, const char *format, ...)
{
    char value[MAX_LINE / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    REQUIRE(strstr(key, " | ") == NULL && strchr(key, '\n') == NULL &&
            strstr(value, " | ") == NULL);
    if (strchr(value, '\n') != NULL) FAIL("the answer to '%s' has several lines: %s", key, value);
    if (of_another() >= 0) {
        if (dprintf(of_another(), "%s | %s\n", key, value) < 0) FAIL("%s", strerror(errno));
        return;
    }
    /* One call, so that threads do not mix lines. */
    printf("ANSWER %s | %s | %s\n", test_case_name(), key, value);
    pthread_mutex_lock(&answers.lock);
    load();
    if (answered(key)) FAIL("two answers to '%s'", key);
    answers.given = grown(answers.given, answers.num_given, sizeof *answers.given);
    answers.given[answers.num_given] = strdup(key);
    REQUIRE(answers.given[answers.num_given++] != NULL);
    if (answers.compares) {
        if (!answers.known) FAIL("'%s' was answered before a driver was opened", key);
        compare(key, value);
    }
    pthread_mutex_unlock(&answers.lock);
}

void test_answer_is(const char *key, bool right, const char *format, ...)
{
    char value[MAX_LINE / 2];
    va_list args;
    answers.requires = true;
    if (right) return;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    FAIL("%s: %s", key, value);
}

void test_answers_of(bool twin)
{
    answers.known = true;
    answers.twin = twin;
}

static void forget(rows *all)
{
    for (size_t i = 0; i < all->count; i++)
        all->all[i].given = false;
}

void test_answers_begin(void)
{
    for (size_t i = 0; i < answers.num_given; i++)
        free(answers.given[i]);
    free(answers.given);
    answers.given = NULL;
    answers.num_given = 0;
    answers.wrong = 0;
    answers.requires = false;
    forget(&answers.recorded);
    forget(&answers.differs);
}

void test_answers_end(void)
{
    if (of_another() >= 0) return;
    if (test_option("answers", NULL) != NULL) load();
    for (size_t i = 0; answers.compares && i < answers.recorded.count; i++) {
        const row *was = &answers.recorded.all[i];
        if (was->given || strcmp(was->of, test_case_name()) != 0) continue;
        row *differs = answers.twin ? find(&answers.differs, was->key) : NULL;
        if (differs != NULL) differs->given = true;
        if (strcmp(was->value, "?") == 0) continue;
        if (differs == NULL || strcmp(differs->value, "-") != 0)
            complain(was->key, "no answer; the recorded one is '%s'", was->value);
    }
    for (size_t i = 0; answers.compares && answers.twin && i < answers.differs.count; i++) {
        const row *differs = &answers.differs.all[i];
        if (!differs->given && strcmp(differs->of, test_case_name()) == 0)
            complain(differs->key, "twin-differs.txt has a line that fits no answer");
    }
    if (answers.compares && answers.num_given == 0 && !answers.requires)
        complain("any", "it has no named answer");
    if (answers.wrong != 0) FAIL("%u answers are not as recorded", answers.wrong);
}

int test_answers_open(void)
{
    int fd = memfd_create("answers", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    return fd;
}

void test_answers_to(int fd)
{
    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    if (fcntl(fd, F_SETFD, 0) != 0 || setenv(ANSWERS_TO, number, 1) != 0) _exit(127);
}

void test_answers_take(int fd)
{
    char line[MAX_LINE];
    FILE *file = fdopen(fd, "r");
    REQUIRE(file != NULL);
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *value = strstr(line, " | ");
        line[strcspn(line, "\n")] = '\0';
        REQUIRE(value != NULL);
        *value = '\0';
        if (!answered(line)) test_answer(line, "%s", value + 3);
    }
    fclose(file);
}
