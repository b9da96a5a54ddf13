/* SPDX-License-Identifier: MIT */
/* Which processes of a tree live, and what that means for a wait: for them, and for the launcher
 * when they have ended. */
#include "tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool check_tree_look(int32_t pid, uint64_t *start, bool *ends, char program[20])
{
    char path[48], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) (void)close(fd);
    if (length <= 0) return false;
    text[length] = '\0';
    const char *name = strchr(text, '('), *rest = strrchr(text, ')');
    char state = '?';
    unsigned long flags = 0;
    unsigned long long begun = 0;
    if (name == NULL || rest == NULL ||
        sscanf(rest,
               ") %c %*d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &state, &flags, &begun) != 3)
        return false;
    *start = begun;
    /* PF_EXITING: its sockets may be closed, and the others may know that it has gone. */
    *ends = state == 'Z' || state == 'X' || (flags & 0x4) != 0;
    if (program == NULL) return true;
    (void)snprintf(program, 20, "%.*s", (int)(rest - name - 1), name + 1);
    /* A thread may have another name, and so may what is run by another path. */
    (void)snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    const ssize_t end = readlink(path, text, sizeof text - 1);
    text[end > 0 ? end : 0] = '\0';
    const char *slash = strrchr(text, '/');
    if (slash != NULL) (void)snprintf(program, 20, "%.19s", slash + 1);
    return true;
}

bool check_tree_lives(const tree_process *p)
{
    uint64_t start;
    bool ends;
    return p->used != 0 && p->ended == 0 && check_tree_look(p->pid, &start, &ends, NULL) &&
           start == p->start && !ends;
}

bool check_tree_in_flight(const struct check_region *r, uint32_t payload)
{
    for (unsigned i = 0; i < TREE_MESSAGES; i++)
        for (uint32_t j = 0; r->messages[i].used != 0 && j < r->messages[i].count; j++)
            if (r->messages[i].payloads[j] == payload) return true;
    return false;
}

bool check_tree_endless(const struct check_region *r, uint32_t payload, uint32_t generation,
                        uint64_t value)
{
    if (payload == 0 || payload > TREE_PAYLOADS) return false;
    const tree_payload *s = &r->payloads[payload - 1];
    if (s->used == 0 || s->generation != generation || s->foreign != 0 ||
        (s->participants & r->left) != 0 || s->reached >= value || check_tree_in_flight(r, payload))
        return false;
    for (unsigned i = 0; i < TREE_PROCESSES; i++)
        if ((s->participants >> i & 1) != 0 && check_tree_lives(&r->processes[i])) return false;
    return true;
}
