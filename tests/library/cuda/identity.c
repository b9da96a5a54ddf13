/* SPDX-License-Identifier: MIT */
/* Drivers that are missing, too old or another's, and devices that are not each other's: with the
 * twin posing as NVIDIA's libcuda.so.1 (two invented devices), and with libraries that are no
 * driver. */
#define TEST_GROUP "identity."
#include "library.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A file of the build tree, without which the case makes no sense (a bundle may lack it). */
static void need(const char *relative)
{
    char path[TEST_PATH_MAX];
    if (access(test_path(path, relative), R_OK) != 0) SKIP("no %s", path);
}

/* With the libcuda.so.1 of that directory. */
static void with_driver(const char *directory, const char *soft)
{
    char relative[64];
    snprintf(relative, sizeof relative, "%s/libcuda.so.1", directory);
    need(relative);
    lib_with_libcuda_of(directory);
    lib_with_environment("CULVERT_SOFT", soft);
}

static void pose(void)
{
    with_driver("lib/pose", NULL);
}

static void with_twin(void)
{
    char path[TEST_PATH_MAX];
    need("lib/libculvert-soft.so.0");
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
}

/* The posing driver passes for NVIDIA's: Culvert has only its file's name to go by. */
TEST(posing_driver, .own = true)
{
    pose();
    NEW(culv_device, first, culv_device_open_by_ordinal, 0, NULL);
    NEW(culv_device, second, culv_device_open_by_ordinal, 1, NULL);
    culv_device_caps one = lib_caps(first), two = lib_caps(second);
    REQUIRE_EQ(one.is_software, 0);
    REQUIRE(strstr(one.name, "posing") != NULL);
    REQUIRE(memcmp(one.uuid.bytes, two.uuid.bytes, 16) != 0);
    REQUIRE(one.ordinal == 0 && two.ordinal == 1);
    REQUIRE(culv_device_context(first) != culv_device_context(second));
    culv_device_close(&first);
    culv_device_close(&second);
    LIB_REFUSES(first, culv_device_open_by_ordinal(2, NULL, &first), NO_DEVICE, DEVICE_UNKNOWN,
                one.name, two.name);
}

/* Memory and semaphores of another GPU: refused before the driver, which would take some of them,
 * is asked. */
TEST(exporter_is_another_device, .own = true)
{
    culv_memory *memory = NULL;
    culv_semaphore *semaphore = NULL;
    pose();
    NEW(OWN(culv_device), device, culv_device_open_by_ordinal, 0, NULL);
    NEW(OWN(culv_device), other, culv_device_open_by_ordinal, 1, NULL);
    FILE *file = tmpfile();
    REQUIRE(file != NULL && ftruncate(fileno(file), 65536) == 0);
    lib_fd fd = lib_fd_watch(fileno(file));
    culv_memory_desc m = culv_memory_desc_init();
    m.handle = culv_handle_opaque_fd(fd.fd);
    m.size = 4096;
    m.exporter = lib_caps(other).uuid;
    LIB_REFUSES(memory, culv_memory_import(device, &m, &memory), INVALID, DEVICE_MISMATCH,
                lib_caps(device).name); /* who it was tried on */
    lib_fd_require_untouched(&fd);
    LIB_REFUSES(memory, culv_memory_import(device, &m, &memory), INVALID, DEVICE_MISMATCH);
    culv_semaphore_desc s = culv_semaphore_desc_init();
    s.handle = m.handle;
    s.type = CULV_SEMAPHORE_TIMELINE;
    s.exporter = m.exporter;
    LIB_REFUSES(semaphore, culv_semaphore_import(device, &s, &semaphore), INVALID, DEVICE_MISMATCH);
    LIB_REFUSES(semaphore, culv_semaphore_import(device, &s, &semaphore), INVALID, DEVICE_MISMATCH);
    lib_fd_end(&fd, false);
    fclose(file);
}

TEST(attach_to_another_device, .own = true)
{
    lib_world w = {0};
    culv_vk_device *vk = NULL;
    pose();
    raw_vk_open(&w.vk, &(raw_vk_options){.without_semaphore_fd = true, .without_memory_fd = true});
    NEW(culv_device, device, culv_device_open_by_ordinal, 1, NULL);
    culv_vk_device_desc d = lib_vk_desc(&w);
    LIB_REFUSES(vk, culv_vk_attach(device, &d, &vk), INVALID, DEVICE_MISMATCH,
                w.vk.properties.deviceName, lib_caps(device).name, "culv_device_open_for_vk()");
    culv_device_close(&device);
    /* No posing device is a Vulkan device. */
    LIB_REFUSES(device, lib_open_for_vk(&w, vkGetInstanceProcAddr, NULL, &device), NO_DEVICE,
                DEVICE_UNKNOWN, "posing device 0", "posing device 1");
    raw_vk_close(&w.vk);
}

/* NVIDIA's driver and the twin in one process: a UUID decides, never a fall-back. */
TEST(two_drivers, .own = true)
{
    with_driver("lib/pose", "1");
    with_twin();
    OWN(culv_device) *nvidia = NULL, *soft = NULL;
    culv_device_desc d = culv_device_desc_init();
    LIB_OK(culv_device_open_by_ordinal(0, NULL, &nvidia)); /* ordinals are NVIDIA's */
    REQUIRE(!lib_caps(nvidia).is_software);
    d.driver = CULV_DRIVER_SOFT;
    if (culv_device_open_by_ordinal(0, &d, &soft) != CULV_OK) SKIP("%s", culv_last_error_message());
    REQUIRE(lib_caps(soft).is_software);
    culv_uuid uuid = lib_caps(soft).uuid, posing = lib_caps(nvidia).uuid;
    culv_device_close(&soft);
    LIB_OK(culv_device_open_by_uuid(&uuid, NULL, &soft));
    REQUIRE(lib_caps(soft).is_software);
    culv_device_close(&soft);
    d.driver = CULV_DRIVER_NVIDIA;
    LIB_REFUSES(soft, culv_device_open_by_uuid(&uuid, &d, &soft), NO_DEVICE, DEVICE_UNKNOWN);
    d.driver = CULV_DRIVER_SOFT;
    LIB_REFUSES(soft, culv_device_open_by_uuid(&posing, &d, &soft), NO_DEVICE, DEVICE_UNKNOWN);
    LIB_REFUSES(soft, culv_device_open_by_ordinal(2, NULL, &soft), NO_DEVICE,
                DEVICE_UNKNOWN); /* not the twin's in NVIDIA's place */
}

TEST(context_of_another_device, .own = true)
{
    pose();
    OWN(culv_device) *device = NULL;
    NEW(OWN(culv_device), other, culv_device_open_by_ordinal, 1, NULL);
    culv_device_desc d = culv_device_desc_init();
    d.context = culv_device_context(other);
    LIB_REFUSES(device, culv_device_open_by_ordinal(0, &d, &device), INVALID, CONTEXT_DEVICE,
                "culv_device_desc.context");
    LIB_OK(culv_device_open_by_ordinal(1, &d, &device));
    REQUIRE(culv_device_context(device) == d.context);
}

/* Messages have a device's whole name: two GPUs of one kind may differ in its last letters. */
LIB_VULKAN_CASE(long_names, .own = true)
{
    char name[256] = "";
    if (w->cu->SoftPlayName == NULL) {
        raw_vk_close(&w->vk);
        SKIP("only the twin takes another name");
    }
    memset(name, 'n', 255);
    memcpy(name + 250, "(end)", 5);
    w->cu->SoftPlayName(name);
    lib_open_culvert(w);
    REQUIRE_EQ_STR(lib_caps(w->device).name, name);

    FILE *file = tmpfile();
    REQUIRE(file != NULL && ftruncate(fileno(file), 65536) == 0);
    culv_memory *memory = NULL;
    culv_memory_desc m = culv_memory_desc_init();
    m.handle = culv_handle_opaque_fd(fileno(file));
    m.size = 4096;
    m.exporter = lib_caps(w->device).uuid;
    m.exporter.bytes[5] ^= 0x10;
    LIB_REFUSES(memory, culv_memory_import(w->device, &m, &memory), INVALID, DEVICE_MISMATCH, name);
    m.exporter = (culv_uuid){{0}};
    LIB_REFUSES(memory, culv_memory_import(w->device, &m, &memory), DRIVER, HANDLE_REFUSED, name);
    fclose(file);

    culv_vk_device *other = NULL;
    culv_vk_device_desc d = lib_vk_desc(w);
    lib_lying = (lib_lies){.uuid_xor = 0x40};
    d.get_instance_proc_addr = lib_lying_loader;
    LIB_REFUSES(other, culv_vk_attach(w->device, &d, &other), INVALID, DEVICE_MISMATCH, name);
    culv_device *none = NULL;
    LIB_REFUSES(none, culv_device_open_by_ordinal(99, NULL, &none), NO_DEVICE, DEVICE_UNKNOWN,
                name);
}

/* No driver ------------------------------------------------------------------------------------ */

TEST(no_nvidia_driver, .title = "no_driver.nvidias_is_missing", .own = true)
{
    with_driver("lib/broken", NULL); /* a file of text: found, and no library */
    culv_device *device = NULL;
    culv_uuid uuid = {{1}};
    LIB_REFUSES(device, culv_device_open_by_ordinal(0, NULL, &device), UNSUPPORTED, DRIVER_MISSING,
                "libcuda.so.1", "CULVERT_SOFT=1"); /* what would help */
    LIB_REFUSES(device, culv_device_open_by_uuid(&uuid, NULL, &device), UNSUPPORTED, DRIVER_MISSING,
                "CULVERT_SOFT=1");
}

TEST(driver_is_too_old, .title = "no_driver.too_old", .own = true)
{
    with_driver("lib/old", NULL);
    culv_device *device = NULL;
    LIB_REFUSES(device, culv_device_open_by_ordinal(0, NULL, &device), UNSUPPORTED, DRIVER_TOO_OLD,
                "525");
}

/* The twin needs a software Vulkan device for its partner. */
TEST(twin_without_vulkan, .title = "no_driver.twin_without_vulkan", .own = true)
{
    with_twin();
    lib_with_environment("VK_DRIVER_FILES", "/nonexistent");
    lib_with_environment("VK_ICD_FILENAMES", "/nonexistent");
    culv_device *device = NULL;
    culv_device_desc d = culv_device_desc_init();
    d.driver = CULV_DRIVER_SOFT;
    LIB_REFUSES(device, culv_device_open_by_ordinal(0, &d, &device), UNSUPPORTED, DRIVER_INIT,
                "lavapipe");
    REQUIRE(strstr(culv_last_error_message(), "could not be loaded") ==
            NULL); /* it was, from the last place */
}

/* Loading -------------------------------------------------------------------------------------- */

/* What is expected of the program below, started as another process. */
static const char expected[] = "CULVERT_TEST_EXPECTED", raw_twin[] = "CULVERT_TEST_RAW_TWIN";

/* Rights that the user lacks: the environment is not believed, by the twin neither. */
static void as_privileged(void)
{
    if (getauxval(AT_SECURE) == 0) SKIP("files here give no rights (nosuid, or no_new_privs)");
    FILE *log = tmpfile();
    REQUIRE(log != NULL && dup2(fileno(log), STDERR_FILENO) == STDERR_FILENO);
    culv_device *device = NULL;
    culv_device_desc d = culv_device_desc_init();
    REQUIRE_EQ(culv_soft_enabled(), 0);
    LIB_ERROR(culv_soft_enable(), UNSUPPORTED, SOFT_MISSING, "CULVERT_SOFT_PATH is not read");
    d.driver = CULV_DRIVER_SOFT;
    LIB_REFUSES(device, culv_device_open_by_ordinal(0, &d, &device), UNSUPPORTED, SOFT_MISSING);
    fflush(stderr);
    REQUIRE_EQ(lseek(fileno(log), 0, SEEK_END), 0); /* CULVERT_LOG */

    void *twin = dlopen(getenv(raw_twin), RTLD_NOW | RTLD_LOCAL);
    if (twin == NULL)
        SKIP("the library is right; the twin cannot be read by that user: %s", dlerror());
    CUresult (*init)(unsigned flags) = NULL;
    CUresult (*get_count)(int *count) = NULL;
    void *symbol = dlsym(twin, "cuInit");
    memcpy(&init, &symbol, sizeof init);
    symbol = dlsym(twin, "cuDeviceGetCount");
    memcpy(&get_count, &symbol, sizeof get_count);
    CUresult r = init(0);
    REQUIRE(r != CUDA_ERROR_UNKNOWN); /* CULVERT_SOFT_FAIL_AT */
    int count = 0;
    if (r != CUDA_SUCCESS) SKIP("the library is right; the twin found no device");
    REQUIRE_EQ(get_count(&count), CUDA_SUCCESS);
    REQUIRE(count != 3); /* CULVERT_SOFT_DEVICES */
    if (test_sanitized())
        _exit(0); /* LeakSanitizer cannot trace a privileged process, and fails at its end */
}

TEST(as_told, .title = "loading.as_told", .own = true)
{
    const char *what = getenv(expected);
    if (what == NULL) SKIP("only as a child");
    if (strcmp(what, "privileged") == 0) {
        as_privileged();
    } else if (strcmp(what, "missing") == 0) {
        LIB_ERROR(culv_soft_enable(), UNSUPPORTED, SOFT_MISSING, "libculvert-soft.so.0");
    } else {
        REQUIRE(chdir("/") == 0); /* where the library was found has been settled */
        LIB_OK(culv_soft_enable());
    }
}

typedef struct start {
    const char *program; /* without a slash: searched for in `path` */
    const char *argv0, *directory, *expected;
    const char *path, *library_path; /* variables */
} start;

/* Runs this suite's as_told() in a process of its own; its exit status. */
static int run(const start *s)
{
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        char name[] = "loading.as_told", argv0[TEST_PATH_MAX];
        snprintf(argv0, sizeof argv0, "%s", s->argv0);
        char *const words[] = {argv0, name, NULL};
        if (chdir(s->directory) != 0 || setenv(expected, s->expected, 1) != 0) _exit(126);
        if (s->path != NULL) setenv("PATH", s->path, 1);
        if (s->library_path != NULL) setenv("LD_LIBRARY_PATH", s->library_path, 1);
        execvp(s->program, words);
        _exit(127);
    }
    int status = 0;
    REQUIRE_EQ(waitpid(child, &status, 0), child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#ifdef CULV_STATIC /* the shared library has the twin beside it */
TEST(twin_is_missing, .title = "no_driver.twin_is_missing", .own = true)
{
    lib_with_environment("LD_LIBRARY_PATH", NULL);
    lib_with_environment("CUDA_VISIBLE_DEVICES", "0");
    REQUIRE(setenv("CULVERT_SOFT_PATH", "/nonexistent", 1) == 0);
    culv_device *device = NULL;
    culv_device_desc d = culv_device_desc_init();
    d.driver = CULV_DRIVER_SOFT;
    LIB_REFUSES(device, culv_device_open_by_ordinal(0, &d, &device), UNSUPPORTED, SOFT_MISSING,
                "libculvert-soft.so.0", "CULVERT_SOFT_PATH", "'/nonexistent'");
    REQUIRE(strstr(culv_last_error_message(), "CUDA_VISIBLE_DEVICES") ==
            NULL); /* which hides no twin */
    /* Where any driver would do, its cause is told first, and not behind NVIDIA's. */
    REQUIRE(setenv("CULVERT_SOFT", "1", 1) == 0);
    const culv_device_desc any = culv_device_desc_init();
    if (culv_device_open_by_ordinal(99, &any, &device) == CULV_ERROR_UNSUPPORTED) {
        const culv_error e = lib_last_error();
        REQUIRE_EQ(e.reason, CULV_REASON_SOFT_MISSING);
    }
    REQUIRE(device == NULL);
    if (strncmp(culv_last_error_message(), "software twin: ", 15) != 0)
        FAIL("the twin's cause is not the first: %s", culv_last_error_message());
    LIB_SAYS("libculvert-soft.so.0");
    LIB_SAYS("ordinal 99");
    unsetenv("CULVERT_SOFT");
    LIB_ERROR(culv_soft_enable(), UNSUPPORTED, SOFT_MISSING, "set CULVERT_SOFT_PATH");
    REQUIRE_EQ(culv_soft_enabled(), 0);
}

/* The same as seen from a software Vulkan device: its cause is that the twin is missing, and no
 * other one. */
TEST(twin_is_missing_for_vulkan, .title = "no_driver.twin_is_missing_for_vulkan", .own = true)
{
    with_driver("lib/broken", "1");
    REQUIRE(setenv("CULVERT_SOFT_PATH", "/nonexistent", 1) == 0);
    lib_world w = {0};
    static culv_vk_candidate list[LIB_CANDIDATES];
    raw_vk_open_instance(&w.vk, &(raw_vk_options){.software = false});
    const uint32_t count = lib_rank(vkGetInstanceProcAddr, w.vk.instance, NULL, list);
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        const char *end = strstr(list[i].reason_text, ". It is a software Vulkan device");
        if (list[i].type != VK_PHYSICAL_DEVICE_TYPE_CPU) continue;
        found = true;
        printf("%s\n", list[i].reason_text);
        REQUIRE(end != NULL && strstr(end, "for the reason above") != NULL);
        REQUIRE(strstr(list[i].reason_text, "VK_DRIVER_FILES") == NULL);
        REQUIRE(strstr(list[i].reason_text, "/nonexistent") != NULL);
    }
    raw_vk_close(&w.vk);
    if (!found) SKIP("no software Vulkan device");
}

/* A directory that every user reaches, with this program in a/ and the twin in b/. */
typedef struct place {
    char root[64], a[80], b[80], program[96], twin[TEST_PATH_MAX];
} place;

static void link_twin(const place *p, const char *directory)
{
    char path[128];
    snprintf(path, sizeof path, "%s/libculvert-soft.so.0", directory);
    REQUIRE(symlink(p->twin, path) == 0);
}

static void make_place(place *p)
{
    static char bytes[65536];
    test_path(p->twin, "lib/libculvert-soft.so.0");
    if (access(p->twin, R_OK) != 0) SKIP("no %s", p->twin);
    strcpy(p->root, "/tmp/culvert-XXXXXX");
    REQUIRE(mkdtemp(p->root) != NULL);
    snprintf(p->a, sizeof p->a, "%s/a", p->root);
    snprintf(p->b, sizeof p->b, "%s/b", p->root);
    snprintf(p->program, sizeof p->program, "%s/culvert-test", p->a);
    REQUIRE(chmod(p->root, 0755) == 0 && mkdir(p->a, 0755) == 0 && mkdir(p->b, 0755) == 0);
    FILE *from = fopen("/proc/self/exe", "rb"), *to = fopen(p->program, "wb");
    REQUIRE(from != NULL && to != NULL);
    for (size_t n = fread(bytes, 1, sizeof bytes, from); n > 0;
         n = fread(bytes, 1, sizeof bytes, from))
        REQUIRE_EQ(fwrite(bytes, 1, n, to), n);
    REQUIRE(fclose(from) == 0 && fclose(to) == 0 && chmod(p->program, 0755) == 0);
    unsetenv("CULVERT_SOFT_PATH");
    unsetenv("CULVERT_SOFT");
}

static void remove_place(const place *p)
{
    const char *const directories[] = {p->a, p->b};
    char path[128];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/libculvert-soft.so.0", directories[i]);
        (void)unlink(path);
        snprintf(path, sizeof path, "%s/culvert-test", directories[i]);
        (void)unlink(path);
        REQUIRE(rmdir(directories[i]) == 0);
    }
    REQUIRE(rmdir(p->root) == 0);
}

/* The twin is beside the program, wherever it was started, and whatever it was told its name is. */
TEST(program_in_path, .title = "loading.program_in_path", .own = true)
{
    place p;
    char lie[128];
    make_place(&p);
    snprintf(lie, sizeof lie, "%s/culvert-test", p.b);
    link_twin(&p, p.b);
    const start rows[] = {
        /* in its directory, and by its name; a bundle's library_path names the twin's place */
        {"culvert-test", "culvert-test", p.b, "missing", p.a, ""},
        {p.program, lie, "/", "missing", NULL, ""},
        {"culvert-test", "culvert-test", "/", "found", p.a, NULL},
        {p.program, "/nonexistent/culvert-test", "/", "found", NULL, NULL}};
    int status[4];
    for (int i = 0; i < 4; i++) {
        if (i == 2) link_twin(&p, p.a);
        status[i] = run(&rows[i]);
    }
    remove_place(&p);
    for (int i = 0; i < 4; i++)
        if (status[i] != 0) FAIL("row %d ends with %d", i, status[i]);
}

/* Another user's or group's rights, by the file's mode. */
static bool give_rights(const char *program)
{
    gid_t groups[64];
    if (geteuid() == 0) return chown(program, 65534, (gid_t)-1) == 0 && chmod(program, 04755) == 0;
    int count = getgroups(64, groups);
    for (int i = 0; i < count; i++)
        if (groups[i] != getegid())
            return chown(program, (uid_t)-1, groups[i]) == 0 && chmod(program, 02755) == 0;
    return false;
}

TEST(privileged_program, .title = "loading.privileged_program", .own = true)
{
    place p;
    make_place(&p);
    if (!give_rights(p.program)) {
        remove_place(&p);
        SKIP("a user who is not root and in one group gives no file rights");
    }
    link_twin(&p, p.a); /* as a hard link elsewhere would have it */
    with_twin();
    REQUIRE(setenv("CULVERT_SOFT", "1", 1) == 0);
    REQUIRE(setenv("CULVERT_LOG", "debug", 1) == 0);
    REQUIRE(setenv("CULVERT_SOFT_FAIL_AT", "cuda:1", 1) == 0);
    REQUIRE(setenv("CULVERT_SOFT_DEVICES", "3", 1) == 0);
    REQUIRE(setenv(raw_twin, p.twin, 1) == 0);
    int status = run(&(start){
        .program = p.program, .argv0 = p.program, .directory = "/", .expected = "privileged"});
    remove_place(&p);
    if (status == TEST_SKIPPED) SKIP("see the line above");
    REQUIRE_EQ(status, 0);
}
#else
/* A library that was found by a relative path, in a process that has gone elsewhere since. */
TEST(relative_library, .title = "loading.relative_library", .own = true)
{
    char root[TEST_PATH_MAX], program[TEST_PATH_MAX];
    need("lib/libculvert.so.0");
    need("lib/libculvert-soft.so.0");
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    REQUIRE(length > 0);
    program[length] = '\0';
    unsetenv("CULVERT_SOFT_PATH");
    REQUIRE_EQ(run(&(start){.program = program,
                            .argv0 = program,
                            .directory = test_path(root, "."),
                            .expected = "found",
                            .library_path = "lib"}),
               0);
}
#endif

/* A software Vulkan device where the twin is not allowed: the message says how to allow it. */
TEST(twin_is_not_allowed, .title = "no_driver.twin_is_not_allowed", .own = true)
{
    with_driver("lib/broken", NULL);
    lib_world w = {0};
    culv_device *device = NULL;
    static culv_vk_candidate list[LIB_CANDIDATES];
    raw_vk_open_instance(&w.vk, &(raw_vk_options){.software = false});
    const uint32_t count = lib_rank(vkGetInstanceProcAddr, w.vk.instance, NULL, list);
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        REQUIRE(!list[i].reachable);
        if (list[i].type != VK_PHYSICAL_DEVICE_TYPE_CPU) continue;
        found = true;
        REQUIRE(strstr(list[i].reason_text, "CULVERT_SOFT=1") != NULL);
        w.vk.physical = list[i].physical_device;
        LIB_REFUSES(device, lib_open_for_vk(&w, vkGetInstanceProcAddr, NULL, &device), UNSUPPORTED,
                    DRIVER_MISSING, "CULVERT_SOFT=1", "culv_soft_enable()");
    }
    REQUIRE_EQ(culv_vk_instance_layers(vkGetInstanceProcAddr, 0, NULL), 0);
    raw_vk_close(&w.vk);
    if (!found) SKIP("no software Vulkan device");
}

/* What people write to switch the twin off does so, and everything else allows it. */
TEST(words_for_off, .title = "loading.words_for_off", .own = true)
{
    static const char *const off[] = {"", "0", "off", "OFF", "no", "No", "false", "False"};
    static const char *const on[] = {"1", "on", "yes", "true", "2", "offer", "00", "n"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        REQUIRE(setenv("CULVERT_SOFT", off[i], 1) == 0);
        if (culv_soft_enabled()) FAIL("CULVERT_SOFT=%s allows the twin", off[i]);
    }
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        REQUIRE(setenv("CULVERT_SOFT", on[i], 1) == 0);
        if (!culv_soft_enabled()) FAIL("CULVERT_SOFT=%s does not allow the twin", on[i]);
    }
}

#undef TEST_GROUP
#define TEST_GROUP "luid."
/* Devices by LUID and node mask, as a Direct3D program knows them: drivers tell LUIDs on Windows
 * only, so here the twin plays them. */

static const culv_luid one = {{0xf4, 0x03, 0, 0, 0, 0, 0, 0x80}},
                       two = {{0xf4, 0x03, 0, 0, 0, 0, 0, 0x81}}, zero;

/* The twin with so many devices. */
static const raw_cuda *twin(const char *devices)
{
    lib_with_environment("CULVERT_SOFT_DEVICES", devices);
    const raw_cuda *cu = lib_driver();
    if (cu->SoftPlayLuid == NULL)
        SKIP("NVIDIA's driver tells LUIDs on Windows only, and plays none");
    return cu;
}

static culv_device *open_ordinal(int32_t ordinal)
{
    NEW(culv_device, device, culv_device_open_by_ordinal, ordinal, NULL);
    return device;
}

/* The name of a device, by its ordinal. */
static const char *name_of(const raw_cuda *cu, int ordinal)
{
    static char name[256];
    CU_OK(cu->DeviceGetName(name, (int)sizeof name, ordinal));
    return name;
}

/* By the adapter, and by the node of linked GPUs: one LUID, and a CUDA device for each node. */
TEST(found)
{
    static const struct {
        const culv_luid *luid;
        uint32_t mask;
    } rows[][3] = {{{NULL, 0}, {&one, 1}, {&two, 1}}, {{&two, 1}, {&one, 1}, {&one, 2}}};
    const raw_cuda *cu = twin("3");
    culv_device *device = NULL;
    for (size_t i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++)
            if (rows[i][k].luid != NULL)
                cu->SoftPlayLuid(k, rows[i][k].luid->bytes, rows[i][k].mask);
        for (int k = 0; k < 3; k++) {
            const culv_luid *luid = rows[i][k].luid;
            if (luid == NULL)
                device = open_ordinal(k);
            else
                LIB_OK(culv_device_open_by_luid(luid, rows[i][k].mask, NULL, &device));
            culv_device_caps caps = lib_caps(device);
            REQUIRE_EQ(caps.ordinal, k);
            REQUIRE_EQ(caps.luid_valid, luid != NULL);
            REQUIRE_EQ(caps.node_mask, rows[i][k].mask);
            REQUIRE_EQ_BYTES(caps.luid.bytes, luid != NULL ? luid->bytes : zero.bytes, 8);
            culv_device_close(&device);
        }
    }
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 4, NULL, &device), NO_DEVICE, DEVICE_GROUP,
                "LUID f403000000000080 node mask 0x4");
    for (int i = 0; i < 3; i++)
        LIB_SAYS(name_of(cu, i));
    LIB_SAYS("LUID f403000000000080 node mask 0x1");
    LIB_SAYS("LUID f403000000000080 node mask 0x2");
    LIB_SAYS("LUID f403000000000081 node mask 0x1");
    LIB_SAYS("the bit of the node");
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 3, NULL, &device), INVALID, DEVICE_GROUP,
                "node_mask is 0x3");
    /* A device that spans nodes is not the one of a node. */
    cu->SoftPlayLuid(1, one.bytes, 3);
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 1, NULL, &device), NO_DEVICE, DEVICE_GROUP);
    raw_cuda_require_empty(cu);
}

TEST(unknown)
{
    const raw_cuda *cu = twin("2");
    culv_device *device = NULL;
    for (int played = 0; played < 2; played++) {
        LIB_REFUSES(device, culv_device_open_by_luid(&two, 1, NULL, &device), NO_DEVICE,
                    DEVICE_UNKNOWN, "no CUDA device is LUID f403000000000081 node mask 0x1",
                    name_of(cu, 0), name_of(cu, 1),
                    played ? "The driver reports no LUID for 1 of them"
                           : "The driver reports no LUID for 2 of them");
        if (played) LIB_SAYS("LUID f403000000000080 node mask 0x1");
        cu->SoftPlayLuid(0, one.bytes, 1);
    }
    raw_cuda_require_empty(cu);
}

/* What drivers leave in devices without a LUID is none. */
TEST(invalid, .own = true) /* leaves a LUID played */
{
    const raw_cuda *cu = lib_driver();
    culv_device *device = NULL;
    LIB_REFUSES(device, culv_device_open_by_luid(&zero, 1, NULL, &device), INVALID, VALUE,
                "luid is 0");
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 0, NULL, &device), INVALID, VALUE,
                "node_mask is 0");
    /* On NVIDIA's driver for Linux too: no device has one. */
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 1, NULL, &device), NO_DEVICE, DEVICE_UNKNOWN,
                name_of(cu, 0), "The driver reports no LUID");
    if (cu->SoftPlayLuid == NULL) return;
    cu->SoftPlayLuid(0, zero.bytes, 1);
    device = open_ordinal(0);
    REQUIRE_EQ(lib_caps(device).luid_valid, 0);
    culv_device_close(&device);
    cu->SoftPlayLuid(0, one.bytes, 0);
    device = open_ordinal(0);
    culv_device_caps caps = lib_caps(device);
    REQUIRE(caps.luid_valid == 0 && caps.node_mask == 0);
    REQUIRE_EQ_BYTES(caps.luid.bytes, zero.bytes, 8);
    culv_device_close(&device);
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 1, NULL, &device), NO_DEVICE,
                DEVICE_UNKNOWN);
    raw_cuda_require_empty(cu);
}

/* Vulkan's side: what it tells is passed on and named, and another node of the same adapter is no
 * match. */
TEST(vulkan)
{
    lib_world w;
    lib_open(&w);
    static culv_vk_candidate list[LIB_CANDIDATES];
    (void)lib_rank(vkGetInstanceProcAddr, w.vk.instance, NULL, list);
    REQUIRE(list[0].reachable);
    REQUIRE_EQ(list[0].luid_valid, w.vk.id.deviceLUIDValid);
    REQUIRE(list[0].luid_valid || list[0].node_mask == 0);
    const int32_t ordinal = list[0].cuda_ordinal;
    if (w.cu->SoftPlayLuid == NULL) {
        lib_close(&w);
        return;
    }
    static const struct {
        unsigned cuda; /* 0: CUDA tells none */
        uint32_t vulkan;
        bool match;
    } rows[] = {{0, 1, true},  {1, 1, true},  {2, 2, true},
                {2, 1, false}, {1, 2, false}, {3, 3, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_device *vk = NULL;
        w.cu->SoftPlayLuid(ordinal, rows[i].cuda != 0 ? one.bytes : NULL, rows[i].cuda);
        lib_lying = (lib_lies){.luid = one.bytes, .node_mask = rows[i].vulkan};
        (void)lib_rank(lib_lying_loader, w.vk.instance, NULL, list);
        REQUIRE(list[0].luid_valid == 1 && list[0].node_mask == rows[i].vulkan);
        REQUIRE_EQ_BYTES(list[0].luid.bytes, one.bytes, 8);
        REQUIRE_EQ(list[0].reachable, rows[i].match);
        NEW(OWN(culv_device), device, culv_device_open_by_ordinal, ordinal, NULL);
        culv_vk_device_desc d = lib_vk_desc(&w);
        d.get_instance_proc_addr = lib_lying_loader;
        if (rows[i].match) {
            LIB_OK(culv_vk_attach(device, &d, &vk));
            culv_vk_detach(&vk);
        } else {
            REQUIRE_EQ(list[0].reason, CULV_REASON_DEVICE_GROUP);
            printf("%s\n", list[0].reason_text);
            REQUIRE(strstr(list[0].reason_text, "LUID f403000000000080 node mask") != NULL);
            LIB_REFUSES(vk, culv_vk_attach(device, &d, &vk), INVALID, DEVICE_GROUP, "node mask");
        }
    }
    /* Adapters that differ are UUIDs' matter: a driver in TCC mode leaves what it likes there. */
    w.cu->SoftPlayLuid(ordinal, two.bytes, 1);
    lib_lying = (lib_lies){.luid = one.bytes, .node_mask = 1};
    NEW(culv_device, device, lib_open_for_vk, &w, lib_lying_loader, NULL);
    culv_device_close(&device);
    lib_lying = (lib_lies){.luid = one.bytes, .node_mask = 1, .uuid_xor = 0x40}; /* nobody's */
    LIB_REFUSES(device, lib_open_for_vk(&w, lib_lying_loader, NULL, &device), NO_DEVICE,
                DEVICE_UNKNOWN, "LUID f403000000000080 node mask 0x1",
                "LUID f403000000000081 node mask 0x1");
    w.cu->SoftPlayLuid(ordinal, NULL, 0);
    lib_close(&w);
}
