/* SPDX-License-Identifier: MIT */
/* File descriptors, processes and /proc of the library's suite. */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The same open file description; where kcmp is barred, at least the same file. */
static bool same_file(int a, int b)
{
    struct stat one, two;
    enum { KCMP_FILE_ = 0 };
    if (fstat(a, &one) != 0 || fstat(b, &two) != 0) return false;
    long order =
        syscall(SYS_kcmp, (long)getpid(), (long)getpid(), (long)KCMP_FILE_, (long)a, (long)b);
    if (order >= 0) return order == 0;
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

lib_fd lib_fd_watch(int fd)
{
    lib_fd watched = {
        .fd = fd, .twin = fcntl(fd, F_DUPFD_CLOEXEC, 0), .offset = lseek(fd, 0, SEEK_CUR)};
    REQUIRE(watched.twin >= 0);
    return watched;
}

void lib_fd_require_untouched(const lib_fd *watched)
{
    if (!same_file(watched->fd, watched->twin)) FAIL("fd %d was closed or replaced", watched->fd);
    REQUIRE_EQ(lseek(watched->fd, 0, SEEK_CUR), watched->offset);
}

void lib_fd_require_gone(const lib_fd *watched)
{
    if (same_file(watched->fd, watched->twin)) FAIL("fd %d is still open", watched->fd);
}

void lib_fd_done(lib_fd *watched, bool close_fd)
{
    REQUIRE(close(watched->twin) == 0);
    if (close_fd) REQUIRE(close(watched->fd) == 0);
    watched->fd = watched->twin = -1;
}

void lib_fd_end(lib_fd *watched, bool close_fd)
{
    lib_fd_require_untouched(watched);
    lib_fd_done(watched, close_fd);
}

void lib_with_environment(const char *name, const char *value)
{
    const char *now = getenv(name);
    if (value == NULL ? now == NULL : now != NULL && strcmp(now, value) == 0) return;
    test_wants_own_process(); /* the next case of this process would find it changed */
    REQUIRE((value != NULL ? setenv(name, value, 1) : unsetenv(name)) == 0);
    test_start_anew(NULL);
}

void lib_with_option(const char *option)
{
    if (!test_has_option(option)) test_start_anew(option);
}

void lib_with_libcuda_of(const char *directory)
{
    char path[TEST_PATH_MAX], joined[2 * TEST_PATH_MAX];
    test_path(path, directory);
    const char *before = getenv("LD_LIBRARY_PATH");
    if (before != NULL && strncmp(before, path, strlen(path)) == 0) return;
    snprintf(joined, sizeof joined, "%s%s%s", path, before != NULL ? ":" : "",
             before != NULL ? before : "");
    lib_with_environment("LD_LIBRARY_PATH", joined);
}

void *lib_open_played(const char *directory, const char *control, culv_device **device)
{
    char path[TEST_PATH_MAX];
    /* The first time through: the second one finds the played driver under this name. */
    if (getenv("CULVERT_TEST_TWIN") == NULL && !lib_driver()->software)
        SKIP("the played driver is the twin, which needs software Vulkan");
    REQUIRE(setenv("CULVERT_TEST_TWIN", test_path(path, "lib/libculvert-soft.so.0"), 1) == 0);
    if (access(path, R_OK) != 0) SKIP("this build has no twin");
    lib_with_libcuda_of(directory);
    REQUIRE(unsetenv("CULVERT_SOFT") == 0);
    culv_device_desc d = culv_device_desc_init();
    d.driver = CULV_DRIVER_NVIDIA;
    LIB_OK(culv_device_open_by_ordinal(0, &d, device));
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(driver != NULL);
    void *found = dlsym(driver, control);
    REQUIRE(found != NULL);
    return found;
}

void lib_cuda_function(const culv_device *device, const char *name, int version, void *function)
{
    void (*proc)(void) = culv_device_cuda_proc(device, name, version);
    REQUIRE(proc != NULL);
    memcpy(function, &proc, sizeof proc);
}

long lib_status_kib(const char *field)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    REQUIRE(file != NULL);
    while (value < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, strlen(field)) == 0)
            value = strtol(line + strlen(field), NULL, 10);
    fclose(file);
    REQUIRE(value >= 0);
    return value;
}

size_t lib_map_lines(void)
{
    size_t lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    REQUIRE(file != NULL);
    for (int c = fgetc(file); c != EOF; c = fgetc(file))
        lines += c == '\n';
    fclose(file);
    return lines;
}

/* Not by listing /proc/self/task: that misses some while others end. */
size_t lib_threads(void)
{
    test_wants_own_process();
    return (size_t)lib_status_kib("Threads:"); /* a plain number */
}

void lib_wait_threads(size_t before)
{
    for (int i = 0; i < 10000 && lib_threads() > before; i++)
        lib_sleep_ms(1);
}

lib_level lib_level_now(void)
{
    test_wants_own_process();
    return (lib_level){test_open_fds(), lib_map_lines(), lib_threads(), lib_status_kib("VmRSS:")};
}

void lib_sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* File descriptors that nobody exported. */

enum { BAD_HANDLES = 9, NOT_OPEN = 2 }; /* the first ones are not open */

static void open_all(bad_handle out[BAD_HANDLES], size_t size)
{
    int ends[2], sockets[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    close(ends[1]);
    close(sockets[1]);
    int garbage = memfd_create("garbage", MFD_CLOEXEC), zero = memfd_create("zero", MFD_CLOEXEC);
    REQUIRE(garbage >= 0 && zero >= 0 && ftruncate(zero, (off_t)size) == 0);
    char page[4096];
    memset(page, 0xa7, sizeof page);
    for (size_t done = 0; done < size; done += sizeof page)
        REQUIRE_EQ(write(garbage, page, sizeof page), sizeof page);
    int closed = dup(garbage);
    REQUIRE(closed >= 0 && close(closed) == 0);
    const bad_handle all[BAD_HANDLES] = {
        {"fd -1", -1, CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD},
        {"a closed fd", 1000000, CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD},
        {"a pipe", ends[0], CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND},
        {"a socket", sockets[0], CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND},
        {"a directory", open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), CULV_ERROR_INVALID,
         CULV_REASON_HANDLE_KIND},
        {"/dev/null", open("/dev/null", O_RDWR | O_CLOEXEC), CULV_ERROR_DRIVER,
         CULV_REASON_HANDLE_REFUSED},
        {"a memfd of garbage", garbage, CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED},
        {"a memfd of zeros", zero, CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED},
        {"an eventfd", eventfd(0, EFD_CLOEXEC), CULV_ERROR_DRIVER, CULV_REASON_HANDLE_REFUSED},
    };
    memcpy(out, all, sizeof all);
    for (int i = NOT_OPEN; i < BAD_HANDLES; i++)
        REQUIRE(out[i].fd >= 0);
}

void bad_handles_try(const lib_world *w, size_t size,
                     void (*refuse)(const lib_world *w, const bad_handle *handle))
{
    bad_handle handles[BAD_HANDLES];
    open_all(handles, size);
    culv_device_caps caps = lib_caps(w->device);
    size_t fds = test_open_fds();
    for (int i = 0; i < BAD_HANDLES; i++) {
        lib_fd fd = {0};
        printf("%s\n", handles[i].name);
        if (i >= NOT_OPEN) fd = lib_fd_watch(handles[i].fd);
        refuse(w, &handles[i]);
        if (handles[i].result == CULV_ERROR_DRIVER) LIB_SAYS(caps.name); /* whose driver it was */
        if (i < NOT_OPEN) continue;
        lib_fd_end(&fd, false);
    }
    REQUIRE_EQ(test_open_fds(), fds);
    for (int i = NOT_OPEN; i < BAD_HANDLES; i++)
        REQUIRE(close(handles[i].fd) == 0);
}
