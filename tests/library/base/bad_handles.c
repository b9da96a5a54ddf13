/* SPDX-License-Identifier: MIT */
/* File descriptors that nobody exported. */
#include "bad_handles.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

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
        lib_fd_require_untouched(&fd);
        lib_fd_done(&fd, false);
    }
    REQUIRE_EQ(test_open_fds(), fds);
    for (int i = NOT_OPEN; i < BAD_HANDLES; i++)
        REQUIRE(close(handles[i].fd) == 0);
}
