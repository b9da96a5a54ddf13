/* SPDX-License-Identifier: MIT */
/* See process.h. */
#include "process.h"

#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void process_start(process *out, char *const argv[])
{
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    out->pid = fork();
    REQUIRE(out->pid >= 0);
    if (out->pid == 0) {
        if (dup2(ends[1], STDOUT_FILENO) >= 0) execv(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    out->from = ends[0];
}

void process_answer(process *p, char *answer, size_t room)
{
    size_t used = 0;
    char rest[512];
    for (;;) {
        const size_t left = room - 1 - used;
        const ssize_t got =
            read(p->from, left > 0 ? answer + used : rest, left > 0 ? left : sizeof rest);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (left > 0) used += (size_t)got;
    }
    answer[used] = '\0';
    close(p->from);
}
