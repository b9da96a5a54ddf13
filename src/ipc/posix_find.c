/* SPDX-License-Identifier: MIT */
/* Which servers there are. */
#include "base/desc.h"
#include "ipc/ipc_client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LISTENS = 0x10000 }; /* __SO_ACCEPTCON of linux/net.h */

typedef struct names {
    char (*list)[CULV_IPC_NAME_SIZE];
    size_t room, count;
} names;

/* In order; with too little room the first ones stay. */
static void add(names *n, const char *name)
{
    char one[CULV_IPC_NAME_SIZE] = "";
    const size_t length = strlen(name);
    if (length >= sizeof one) return;
    memcpy(one, name, length);
    if (!culvi_ipc_name_good(one)) return;
    size_t at = n->count < n->room ? n->count : n->room;
    n->count++;
    while (at > 0 && strcmp(n->list[at - 1], one) > 0) {
        if (at < n->room) memcpy(n->list[at], n->list[at - 1], sizeof one);
        at--;
    }
    if (at < n->room) memcpy(n->list[at], one, sizeof one);
}

/* /proc/net/unix: Num RefCount Protocol Flags Type St Inode Path; the path of an abstract socket
 * begins with '@'. */
static void read_line(names *n, const char *line)
{
    static const char prefix[] = "@culvert/";
    unsigned flags = 0;
    int path = 0;
    if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s %n", &flags, &path) < 1 || path == 0) return;
    if ((flags & LISTENS) && strncmp(line + path, prefix, sizeof prefix - 1) == 0)
        add(n, line + path + sizeof prefix - 1);
}

/* Files and directories are read by the system's calls: libc's would allocate. */
static int read_abstract(names *n)
{
    char line[512];
    size_t length = 0;
    const int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    for (char bytes[2048];;) {
        const ssize_t got = read(fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            const int error = got < 0 ? errno : 0;
            close(fd);
            return error;
        }
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] != '\n') {
                if (length < sizeof line - 1) line[length++] = bytes[i];
                continue;
            }
            line[length] = 0;
            length = 0;
            read_line(n, line);
        }
    }
}

static void add_socket(names *n, int directory, const char *name)
{
    struct stat st;
    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode))
        add(n, name);
}

/* getdents64(2): an entry has its own length at byte 16, and its name at byte 19. */
static int read_directory(names *n, const char *directory)
{
    enum { LENGTH = 16, NAME = 19 };
    char bytes[4096];
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno;
    for (;;) {
        const long got = syscall(SYS_getdents64, fd, bytes, sizeof bytes);
        if (got <= 0) {
            const int error = got < 0 ? errno : 0;
            close(fd);
            return error;
        }
        for (long at = 0; at + NAME < got;) {
            uint16_t length;
            memcpy(&length, bytes + at + LENGTH, sizeof length);
            if (length <= NAME || length > got - at) break;
            add_socket(n, fd, bytes + at + NAME);
            at += length;
        }
    }
}

culv_result culv_ipc_find_servers(const char *directory, char (*names_out)[CULV_IPC_NAME_SIZE],
                                  size_t room, size_t *count)
{
    names n = {names_out, room, 0};
    CULVI_REQUIRE(NULL, count);
    if (room > 0) CULVI_REQUIRE(NULL, names_out);
    const int error = directory == NULL ? read_abstract(&n) : read_directory(&n, directory);
    if (error != 0)
        return culvi_fail_native(NULL, NULL, CULV_ERROR_DRIVER, CULV_REASON_OS, CULV_NATIVE_OS,
                                 error, "open", "%s could not be read",
                                 directory == NULL ? "/proc/net/unix" : directory);
    *count = n.count;
    return CULV_OK;
}
