/* SPDX-License-Identifier: MIT */
/* Which servers there are: the abstract sockets of /proc/net/unix, or those of a directory. */
#include "ipc/ipc_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LISTENS = 0x10000 }; /* __SO_ACCEPTCON of linux/net.h */

/* /proc/net/unix: Num RefCount Protocol Flags Type St Inode Path; the path of an abstract socket
 * begins with '@'. */
static void read_line(culvi_ipc_names *n, const char *line)
{
    static const char prefix[] = "@culvert/";
    unsigned flags = 0;
    int path = 0;
    if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s %n", &flags, &path) < 1 || path == 0) return;
    if ((flags & LISTENS) && strncmp(line + path, prefix, sizeof prefix - 1) == 0)
        culvi_ipc_names_add(n, line + path + sizeof prefix - 1);
}

/* Files and directories are read by the system's calls: libc's would allocate. */
static int read_abstract(culvi_ipc_names *n)
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

static void add_socket(culvi_ipc_names *n, int directory, const char *name)
{
    struct stat st;
    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode))
        culvi_ipc_names_add(n, name);
}

/* getdents64(2): an entry has its own length at byte 16, and its name at byte 19. */
static int read_directory(culvi_ipc_names *n, const char *directory)
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

culv_result culvi_ipc_names_read(const char *directory, culvi_ipc_names *out)
{
    const int error = directory == NULL ? read_abstract(out) : read_directory(out, directory);
    if (error == 0) return CULV_OK;
    return culvi_fail_native(NULL, NULL, CULV_ERROR_DRIVER, CULV_REASON_OS, CULV_NATIVE_OS, error,
                             "open", "%s could not be read",
                             directory == NULL ? "/proc/net/unix" : directory);
}
