/* SPDX-License-Identifier: MIT */
/* culvert-check's model by events alone, without a driver. A case is a row: what happens, in small
 * words, and what is found ("2 unsure": nothing, and two accesses could not be judged).
 *
 *   V, W: queues; C, D: streams    V wait t 1 write m 0 64 signal t 2 mark f after g join calls
 *                                  read, write, use: of memory, from a byte to another; share:
 *                                  a write of what no family owns; release, acquire: barriers
 *                                  run: shaders or kernels
 *   picture m, stored m            an image in m's first 64 bytes; shaders may store to it, too
 *                                  V paint m 0 64, V look m 0 64 (in layout 5); change m 0 5: a
 *                                  transition, part m 0 5: of some levels, regain m 1 5: with an
 *                                  acquire; C array m 0 1, C fetch m 0 1: CUDA's write, and read
 *   H: the host                    H saw V, H saw f, H saw t 3, H signal t 3, H guess
 *   m, n, a: memory of 4096 bytes, n dedicated, a CUDA's; t, u: timelines
 *   b: a binary semaphore; p: one that is not shared
 *   export m 5, ask 5, taken 5, refused 5, close 5, dup 5 6, send 5, forget 5
 *   gone 5, another 5              what the number is now, as the system says
 *   reopened m 7                   descriptor 7 is m's file, opened once more, and is asked for
 *   import m memory 4096 [dedicated] [other] [win32]; map m 0 64
 *   opaque t; destroy t V (or C); end
 *
 * Two processes of a tree: what begins with 2 is the second one's. "give m" gives it what the first
 * one made, "message m" puts that into a message to nobody, and "gone" ends the first process. */
#include "harness.h"
#include "model.h"
#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct row {
    const char *name;
    const char *events;
    const char *found;
} row;

#define DISCARDS "picture m; C array m 0 1 signal t 1; V wait t 1 change m 0 5 look m 0 64"

static const row rows[] = {
    /* (a) */
    {"imported", "export m 5; ask 5; taken 5; end", ""},
    {"closed", "export m 5; close 5; end", ""},
    {"leaked", "export m 5; end", "fd-leaked"},
    {"leaked, closed unseen", "export m 5; gone 5; end", ""},
    {"closed after import", "export m 5; ask 5; taken 5; close 5; end", "fd-closed-after-import"},
    {"closed after import, number is nobody's", "export m 5; ask 5; taken 5; gone 5; close 5",
     "fd-closed-after-import"},
    {"number is another file by now", "export m 5; ask 5; taken 5; another 5; close 5; end", ""},
    {"closed twice after import is one", "export m 5; ask 5; taken 5; close 5; close 5",
     "fd-closed-after-import"},
    {"imported twice", "export m 5; ask 5; taken 5; ask 5", "fd-imported-twice"},
    {"refused, then imported", "export m 5; ask 5; refused 5; ask 5; taken 5; end", ""},
    {"refused, then closed", "export m 5; ask 5; refused 5; close 5; end", ""},
    {"number is born again", "export m 5; ask 5; taken 5; export n 5; ask 5; taken 5; end", ""},
    {"copy is imported", "export m 5; dup 5 6; ask 6; taken 6; close 5; end", ""},
    {"copy leaks", "export m 5; dup 5 6; ask 5; taken 5; end", "fd-leaked"},
    {"copied after import", "export m 5; ask 5; taken 5; dup 5 6", "fd-used-after-import"},
    {"sent after import", "export m 5; ask 5; taken 5; send 5", "fd-used-after-import"},
    {"sent, then closed", "export m 5; send 5; close 5; end", ""},
    {"sent and kept", "export m 5; send 5; end", "fd-leaked"},
    {"number is forgotten", "export m 5; ask 5; taken 5; forget 5; close 5", ""},
    {"file is opened once more", "export m 5; reopened m 7; taken 7; close 5; end", ""},
    {"file is opened once more and leaks", "export m 5; reopened m 7; close 5; end", "fd-leaked"},
    /* (b) and (c) */
    {"fits", "import m memory 4096", ""},
    {"size", "import m memory 4000", "size"},
    {"untrue dedication, as in simpleVulkan of 2022", "import m memory 4096 dedicated", ""},
    {"dedicated", "import n memory 4096 dedicated", ""},
    {"not dedicated", "import n memory 4096", "dedicated"},
    {"CUDA's own memory", "import a memory 4096 dedicated; import a memory 4096", ""},
    {"other GPU", "import m memory 4096 other", "other-gpu"},
    {"other GPU and size", "import m memory 1 other", "other-gpu, size"},
    {"other type", "export m 5; import m memory 4096 win32; close 5", "handle-type"},
    {"memory as a timeline", "import m timeline 0", "handle-type"},
    {"timeline as a binary one", "import t binary 0", "handle-type"},
    {"binary as a timeline", "import b timeline 0", "handle-type"},
    {"timeline", "import t timeline 0", ""},
    {"another process's", "opaque m; import m memory 17", ""},
    {"mapped whole", "map m 0 4096", ""},
    {"mapped to the end", "map m 4000 96", ""},
    {"mapped beyond", "map m 4000 97", "range"},
    {"mapped from beyond", "map m 4097 1", "range"},
    {"offset and size overflow", "map m 18446744073709551615 2", "range"},
    /* (d) */
    {"rises", "V signal t 1; C wait t 1 signal t 2; H signal t 3; end", ""},
    {"does not rise", "V signal t 1; C signal t 1", "no-rise"},
    {"falls", "V signal t 5; C signal t 4", "no-rise"},
    {"host does not rise", "V signal t 1; H signal t 1", "no-rise"},
    {"rises in the order of waits", "V wait u 1 signal t 2; C signal t 1; C signal u 1; end", ""},
    {"private one may be anything", "V signal p 0; V signal p 0", ""},
    {"binary by turns", "V signal b 0; C wait b 0; V signal b 0; C wait b 0; end", ""},
    {"binary twice", "V signal b 0; V signal b 0", "signaled-twice"},
    {"binary never", "C wait b 0; end", "endless-wait"},
    {"wait comes before the signal", "C wait t 1; V signal t 1; end", ""},
    {"wait has no signal", "C wait t 2; V signal t 1; end", "endless-wait"},
    {"cycle", "V wait t 1 signal u 1; C wait u 1 signal t 1; end",
     "endless-wait held, endless-wait held"},
    {"cause first", "C wait t 2; V wait t 1 signal t 2; end", "endless-wait, endless-wait held"},
    {"another process signals", "opaque t; C wait t 9; end", ""},
    {"the host saw it done", "C wait t 1; H saw C; end", ""},
    /* (e) */
    {"write, write", "V write m 0 64; C write m 0 64", "write-after-write"},
    {"write, read", "V write m 0 64; C read m 63 70", "read-after-write"},
    {"read, write", "V read m 0 64; C write m 0 64", "write-after-read"},
    {"read, read", "V read m 0 64; C read m 0 64", ""},
    {"side by side", "V write m 0 64; C write m 64 128", ""},
    {"other memory", "V write m 0 64; C write n 0 64", ""},
    {"one API is its own affair", "V write m 0 64; W write m 0 64; C read n 0 4; D write n 0 4",
     ""},
    {"use, use", "V use m 0 64; C use m 0 1", ""},
    {"use, write", "V use m 0 64; C write m 0 1", "write-after-read"},
    {"write, use", "V write m 0 64; C use m 0 1", "read-after-write"},
    {"acquire of what a kernel uses", "C use m 0 1; V acquire m 0 64", "early-acquire"},
    {"acquire behind it", "C use m 0 1 signal t 1; V wait t 1 acquire m 0 64 use m 0 64", ""},
    {"acquire of other bytes", "C use m 64 65; V acquire m 0 64", ""},
    {"a kernel behind the acquire", "V acquire m 0 64; C use m 0 1", ""},
    {"release of what a kernel uses", "C use m 0 1; V release m 0 64", ""},
    {"acquire, and a write, which is told", "C use m 0 1; V acquire m 0 64 write m 0 64",
     "write-after-read"},
    {"acquire of what is copied: told where it is used", "C write m 0 64; V acquire m 0 64", ""},
    {"uses", "C use m 0 1; V use m 0 64; V read m 0 64", "2 unsure"},
    {"uses of other bytes", "V read m 0 64; C read m 0 64; C use m 0 1; C use m 64 65", "1 unsure"},
    {"uses in order", "C use m 0 1 signal t 1; V wait t 1 use m 0 64", "0 unsure"},
    {"a semaphore", "V write m 0 64 signal t 1; C wait t 1; C read m 0 64", ""},
    {"a later value is enough", "V write m 0 64 signal t 1; V signal t 2; C wait t 2 read m 0 64",
     ""},
    {"an earlier value is not", "V signal t 1; V write m 0 64 signal t 2; C wait t 1 read m 0 64",
     "read-after-write"},
    {"the value between two", "V write m 0 64 signal t 4; C wait t 2 read m 0 64", ""},
    {"the value that it began with", "V write m 0 64 signal t 1; C wait t 0 read m 0 64",
     "read-after-write"},
    {"signal before the write", "V signal t 1; V write m 0 64; C wait t 1 read m 0 64",
     "read-after-write"},
    {"signal takes earlier batches along", "V write m 0 64; V signal t 1; C wait t 1 read m 0 64",
     ""},
    {"the other queue's signal", "V write m 0 64; W signal t 1; C wait t 1 read m 0 64",
     "read-after-write"},
    {"queues by a private semaphore",
     "V write m 0 64 signal p 0; W wait p 0 signal t 1; C wait t 1 read m 0 64", ""},
    {"other stream waits", "V write m 0 64 signal t 1; D wait t 1; C read m 0 64",
     "read-after-write"},
    {"event", "V write m 0 64 signal t 1; D wait t 1 mark f; C after f read m 0 64", ""},
    {"what is done, and was before an event that is seen only there",
     "V write m 0 64 signal t 1; D wait t 1; D wait u 9 write m 0 64 mark f; C after f mark g; "
     "H saw g; V write m 0 64; H signal u 9",
     ""},
    {"a work calls the host", "C write m 0 64 calls; V write m 0 64", ""},
    {"a work calls the host too early", "C calls; C write m 0 64; V write m 0 64",
     "write-after-write"},
    {"event that was too early",
     "V write m 0 64 signal t 1; D mark f; D wait t 1; C after f read m 0 64", "read-after-write"},
    {"the host waits for a fence", "V write m 0 64 mark f; H saw f; C read m 0 64", ""},
    {"the host waits for the queue", "V write m 0 64; H saw V; C read m 0 64", ""},
    {"the host waits for a value", "V write m 0 64 signal t 1; H saw t 1; C read m 0 64", ""},
    {"the host waits for less", "V signal t 1; V write m 0 64 signal t 2; H saw t 1; C read m 0 64",
     "read-after-write"},
    {"the host waits too late", "V write m 0 64; C read m 0 64; H saw V", "read-after-write"},
    {"the host signals", "V write m 0 64; H saw V; H signal t 1; C wait t 1 read m 0 64", ""},
    {"reverse wait", "V write m 0 64 signal t 1; C wait t 1 read m 0 64; V write m 0 64",
     "write-after-read"},
    {"reverse wait is there",
     "V write m 0 64 signal t 1; C wait t 1 read m 0 64 signal u 1; V wait u 1 write m 0 64", ""},
    {"a way of three", "V write m 0 64 signal t 1; W wait t 1 signal u 1; C wait u 1 write m 0 64",
     ""},
    {"binary", "V write m 0 64 signal b 0; C wait b 0 read m 0 64", ""},
    {"submitted before its signal", "C wait t 1 read m 0 64; V write m 0 64 signal t 1; end", ""},
    {"unseen order", "V write m 0 64; C join read m 0 64", ""},
    {"another process's semaphore", "opaque t; V write m 0 64; C wait t 1 read m 0 64", ""},
    {"an older write behind a newer one",
     "V write m 0 64 signal t 1; C wait t 1 write m 0 64; V read m 0 64", "read-after-write"},
    {"a part of it is written since",
     "V write m 0 64; V write m 0 32 signal t 1; C wait t 1 read m 0 64", ""},
    {"both sides of a write count", "V read m 0 64; W read m 0 64; H saw V; C write m 0 64",
     "write-after-read"},
    /* (g) */
    {"semaphore is done", "C signal t 1; H saw C; destroy t C", ""},
    {"semaphore is in use", "C signal t 1; destroy t C", "semaphore-in-use"},
    {"another API's use", "C signal t 1; destroy t V", ""},
    {"waited for by a value", "C signal t 1; H saw t 1; destroy t C", ""},
    {"known by a later work", "C signal t 1; C mark f; H saw f; destroy t C", ""},
    {"memory is in use", "C write m 0 4; destroy m C", "memory-in-use"},
    {"the host may know", "C write m 0 4; H guess; destroy m C", ""},
    /* (f), layouts */
    {"discards", DISCARDS, "layout-discards"},
    {"keeps", "picture m; C array m 0 1 signal t 1; V wait t 1 change m 1 5 look m 0 64", ""},
    {"discards, in an earlier work",
     "picture m; C array m 0 1 signal t 1; V wait t 1 change m 0 5; V look m 0 64",
     "layout-discards"},
    {"discards before",
     "picture m; V change m 0 1 signal t 1; C wait t 1 array m 0 1 signal t 2; "
     "V wait t 2 change m 1 5 look m 0 64",
     ""},
    {"discards and writes",
     "picture m; C array m 0 1 signal t 1; "
     "V wait t 1 change m 0 1 paint m 0 64 change m 1 5 look m 0 64",
     ""},
    {"discards, and CUDA writes",
     "picture m; C array m 0 1 signal t 1; "
     "V wait t 1 change m 0 1 signal t 2; C wait t 2 array m 0 1 signal t 3; "
     "V wait t 3 change m 1 5 look m 0 64",
     ""},
    {"discards, and a kernel may write",
     "picture m; C array m 0 1 signal t 1; "
     "V wait t 1 change m 0 1 signal t 2; C wait t 2 run signal t 3; "
     "V wait t 3 change m 1 5 look m 0 64",
     ""},
    {"discards, and a kernel ran before",
     "picture m; C array m 0 1 run signal t 1; "
     "V wait t 1 change m 0 5 look m 0 64",
     "layout-discards"},
    {"discards, and a kernel is not ordered",
     "picture m; D run signal u 1; "
     "C array m 0 1 signal t 1; V wait t 1 change m 0 5; V wait u 1 look m 0 64",
     ""},
    {"discards, not ordered",
     "picture m; C array m 0 1; V change m 0 5; H saw C; H saw V; "
     "V look m 0 64",
     ""},
    {"discards a part", "picture m; C array m 0 1 signal t 1; V wait t 1 part m 0 5 look m 0 64",
     ""},
    {"reads in another layout: another one's descriptor",
     "picture m; C array m 0 1 signal t 1; V wait t 1 change m 0 1 look m 0 64", ""},
    {"discards what shaders may write, and they run",
     "stored m; C array m 0 1 signal t 1; V wait t 1 change m 0 5; V run look m 0 64", ""},
    {"discards what shaders may write",
     "stored m; C array m 0 1 signal t 1; V wait t 1 change m 0 5; V look m 0 64",
     "layout-discards"},
    {"Vulkan discards its own", "picture m; V paint m 0 64; V change m 0 5 look m 0 64", ""},
    {"Vulkan discards its own, and CUDA reads",
     "picture m; V paint m 0 64 change m 0 1 signal t 1; C wait t 1 fetch m 0 1",
     "layout-discards"},
    {"another resource writes",
     "picture m; C array m 0 1 signal t 1; "
     "V wait t 1 change m 0 5 write m 0 64 look m 0 64",
     ""},
    {"it was ordered after all", "opaque u; " DISCARDS "; V wait u 1", "layout-discards"},
    {"it was ordered after who knows what", "opaque u; C wait u 1; " DISCARDS, ""},
    {"a file of another process", "opaque m; " DISCARDS, ""},
};

/* What is judged where that is asked for. */
static const row strict_rows[] = {
    {"untrue dedication", "import m memory 4096 dedicated", "not-dedicated"},
    {"release", "V write m 0 64 release m 0 64 signal t 1; C wait t 1 read m 0 64", ""},
    {"no release", "V write m 0 64 signal t 1; C wait t 1 read m 0 64", "no-release"},
    {"release before the write", "V release m 0 64 write m 0 64 signal t 1; C wait t 1 use m 0 1",
     "no-release"},
    {"release of another part", "V write m 0 64 release m 64 128 signal t 1; C wait t 1 use m 0 1",
     "no-release"},
    {"told once", "V write m 0 64 signal t 1; C wait t 1 use m 0 1; C use m 0 1", "no-release"},
    {"not of one family", "V share m 0 64 signal t 1; C wait t 1 read m 0 64", ""},
    {"acquire", "C write m 0 64 signal t 1; V wait t 1 acquire m 0 64 read m 0 64", ""},
    {"no acquire", "C write m 0 64 signal t 1; V wait t 1 read m 0 64", "no-acquire"},
    {"written over", "C write m 0 64 signal t 1; V wait t 1 write m 0 64 release m 0 64", ""},
    {"discards, and a kernel may write",
     "picture m; C array m 0 1 signal t 1; "
     "V wait t 1 acquire m 0 64 change m 0 1 signal t 2; C wait t 2 run signal t 3; "
     "V wait t 3 change m 1 5 look m 0 64",
     "layout-not-general, layout-discards"},
    {"in another layout",
     "picture m; V change m 0 5 signal t 1; C wait t 1 array m 0 1; C array m 0 1",
     "layout-not-general"},
    {"in some layout", "picture m; V part m 0 5 signal t 1; C wait t 1 array m 0 1", ""},
    {"general", "picture m; V change m 0 1 signal t 1; C wait t 1 array m 0 1", ""},
    {"regains", "picture m; V change m 0 1; V regain m 1 5", ""},
    {"regains from another layout", "picture m; V change m 0 1; V regain m 7 5", "layout-mismatch"},
    {"regains and discards", "picture m; V change m 0 1; V regain m 0 5", ""},
    {"a kernel may have written", "C use m 0 1 signal t 1; V wait t 1 read m 0 64", ""},
};

static const row tree_rows[] = {
    {"in order", "give m; give t; V write m 0 64 signal t 1; 2 C wait t 1 read m 0 64", ""},
    {"not in order", "give m; give t; V write m 0 64 signal t 1; 2 C read m 0 64",
     "read-after-write"},
    {"before it is given", "V write m 0 64 signal t 1; give m; give t; 2 C wait t 1 read m 0 64",
     ""},
    {"before it is given, not in order", "V write m 0 64; give m; 2 C read m 0 64",
     "read-after-write"},
    {"waits before the signal",
     "give m; give t; 2 C wait t 1 read m 0 64; V write m 0 64 signal t 1; 2 H guess", ""},
    {"other bytes", "give m; V write m 0 64; 2 C read m 64 128", ""},
    {"the same API", "give m; C write m 0 64; 2 C read m 0 64", ""},
    {"and back",
     "give m; give t; V write m 0 64 signal t 1; 2 C wait t 1 read m 0 64 signal t 2; "
     "V wait t 2 write m 0 64",
     ""},
    {"not back",
     "give m; give t; V write m 0 64 signal t 1; 2 C wait t 1 read m 0 64 signal t 2; "
     "V write m 0 64",
     "write-after-read"},
    {"a chain over both",
     "give m; give t; give u; V write m 0 64 signal t 1; 2 C wait t 1 signal u 1; "
     "W wait u 1 signal t 2; 2 D wait t 2 read m 0 64",
     ""},
    {"the first host knows", "give m; V write m 0 64; H saw V; 2 C read m 0 64", ""},
    {"the second host knows",
     "give m; give t; V write m 0 64 signal t 1; 2 H saw t 1; 2 C read m 0 64", ""},
    {"something unseen", "give m; V write m 0 64; 2 C join read m 0 64", ""},
    {"on its way to somebody", "give m; message m; V write m 0 64; 2 C read m 0 64", ""},
    {"opaque", "give m; opaque m; V write m 0 64; 2 C read m 0 64", ""},
    {"the first has ended", "give m; V write m 0 64; gone; 2 C read m 0 64", ""},
    {"rises in both", "give t; V signal t 1; 2 C wait t 1 signal t 2", ""},
    {"falls", "give t; V signal t 5; 2 C wait t 5 signal t 2", "no-rise"},
    {"falls, perhaps", "give t; V signal t 5; 2 C signal t 2", ""},
    {"falls, as the other host knows", "give t; V signal t 5; H saw V; 2 C signal t 2", ""},
    {"begins with no less", "give t; 2 C signal t 0", "no-rise"},
    {"ended by the other", "give t; 2 C wait t 1; V signal t 1; gone; 2 end", ""},
    {"ended by nobody", "give t; 2 C wait t 2; V signal t 1; gone; 2 end", "endless-wait"},
    {"ended by somebody, perhaps", "give t; message t; 2 C wait t 2; gone; 2 end",
     "endless-wait later"},
    {"who lives may end it", "give t; 2 C wait t 2; 2 end", "endless-wait later"},
    {"size", "give m; 2 import m memory 4000", "size"},
    {"other GPU", "give m; 2 import m memory 4096 other", "other-gpu"},
    {"size of what is opaque", "give m; opaque m; 2 import m memory 4000", "size"},
};

/* ---- the small words ---- */

typedef struct scene {
    check_model *model;
    char found[400];
    check_payload *payloads[128];
    check_mark *marks[128];
    int agents[128];
} scene;

static check_identity files[16];
static check_same now[16];

static check_same look(int fd, const check_identity *then)
{
    (void)then;
    return now[fd];
}

static void found(void *user, const check_finding *f)
{
    scene *s = user;
    REQUIRE(f->sentence[0] != '\0' && f->here.call != NULL);
    (void)snprintf(s->found + strlen(s->found), sizeof s->found - strlen(s->found), "%s%s",
                   s->found[0] != '\0' ? ", " : "", check_rules[f->what].id);
    if (strstr(f->sentence, "since this waits itself: ") != NULL) strcat(s->found, " held");
    if (f->unless != 0)
        (void)snprintf(s->found + strlen(s->found), sizeof s->found - strlen(s->found), " later");
}

static check_payload *payload(scene *s, const char *name)
{
    REQUIRE(name[1] == '\0' && strchr("amntubp", name[0]) != NULL);
    check_payload **p = &s->payloads[(unsigned char)name[0]];
    static const uint8_t uuid[CHECK_UUID] = {1, 2, 3};
    const bool memory = strchr("amn", name[0]) != NULL;
    const check_payload_info info = {.kind = memory                             ? CHECK_MEMORY
                                             : name[0] == 't' || name[0] == 'u' ? CHECK_TIMELINE
                                                                                : CHECK_BINARY,
                                     .size = 4096,
                                     .uuid = uuid,
                                     .shared = name[0] != 'p',
                                     .dedicated = name[0] == 'n',
                                     .any_dedication = name[0] == 'a'};
    const check_site site = {.call = "made"};
    if (*p == NULL) *p = check_payload_make(s->model, &info, name, &site);
    REQUIRE(*p != NULL);
    return *p;
}

static int agent(scene *s, const char *name)
{
    int *a = &s->agents[(unsigned char)name[0]];
    const check_api api = name[0] == 'V' || name[0] == 'W' ? CHECK_VULKAN : CHECK_CUDA;
    if (*a == 0) *a = check_agent_make(s->model, api, name);
    REQUIRE(*a > 0);
    return *a;
}

static check_mark *mark(scene *s, const char *name)
{
    check_mark **m = &s->marks[(unsigned char)name[0]];
    if (*m == NULL) *m = check_mark_make();
    REQUIRE(*m != NULL);
    return *m;
}

static uint64_t number(const char *text)
{
    char *end;
    const uint64_t n = text != NULL ? strtoull(text, &end, 10) : 0;
    REQUIRE(text != NULL && *end == '\0');
    return n;
}

static int kind_of(const char *word)
{
    static const struct {
        const char *word;
        check_access_kind kind;
    } kinds[] = {{"read", CHECK_READ},         {"write", CHECK_WRITE},   {"share", CHECK_WRITE},
                 {"use", CHECK_READ_OR_WRITE}, {"paint", CHECK_WRITE},   {"look", CHECK_READ},
                 {"array", CHECK_WRITE},       {"fetch", CHECK_READ},    {"change", CHECK_LAYOUT},
                 {"part", CHECK_LAYOUT},       {"regain", CHECK_LAYOUT}, {"release", CHECK_RELEASE},
                 {"acquire", CHECK_ACQUIRE}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].word, word) == 0) return (int)kinds[i].kind;
    return -1;
}

static void work(scene *s, char **words)
{
    check_access accesses[8];
    check_turn waits[4], signals[4];
    check_work w = {.accesses = accesses, .waits = waits, .signals = signals};
    const check_site site = {.call = "work"};
    const int who = agent(s, *words++);
    while (*words != NULL) {
        const char *word = *words++;
        if (strcmp(word, "join") == 0) {
            w.joins_all = true;
        } else if (strcmp(word, "calls") == 0) {
            w.host_may_know = true;
        } else if (strcmp(word, "run") == 0) {
            w.runs_code = true;
        } else if (strcmp(word, "mark") == 0) {
            w.mark = mark(s, *words++);
        } else if (strcmp(word, "after") == 0) {
            w.after = mark(s, *words++);
        } else if (strcmp(word, "wait") == 0 || strcmp(word, "signal") == 0) {
            const check_turn turn = {payload(s, words[0]), number(words[1])};
            if (word[0] == 'w')
                waits[w.num_waits++] = turn;
            else
                signals[w.num_signals++] = turn;
            words += 2;
        } else {
            const int kind = kind_of(word);
            REQUIRE(kind >= 0);
            check_access a = {.payload = payload(s, words[0]),
                              .begin = number(words[1]),
                              .end = number(words[2]),
                              .kind = (check_access_kind)kind,
                              .how = word,
                              .exclusive = strcmp(word, "share") != 0,
                              .array = word[0] == 'f' || strcmp(word, "array") == 0};
            if (word[0] == 'l' || strcmp(word, "paint") == 0) a.image = 1;
            if (word[0] == 'l') a.layout = 5;
            if (kind == CHECK_LAYOUT) {
                a.image = 1;
                a.from = (uint32_t)a.begin;
                a.layout = (uint32_t)a.end;
                a.whole = word[0] != 'p';
                a.acquires = strcmp(word, "regain") == 0;
            }
            accesses[w.num_accesses++] = a;
            words += 3;
        }
    }
    check_submit(s->model, who, &w, &site);
}

static void host(scene *s, char **words)
{
    const check_site site = {.call = "host"};
    if (strcmp(words[1], "guess") == 0)
        check_host_may_know(s->model, CHECK_CUDA);
    else if (strcmp(words[1], "signal") == 0)
        check_host_signals(s->model, payload(s, words[2]), number(words[3]), &site);
    else if (words[3] != NULL)
        check_host_saw_value(s->model, payload(s, words[2]), number(words[3]));
    else if (strchr("VWCD", words[2][0]) != NULL)
        check_host_saw_agent(s->model, agent(s, words[2]));
    else
        check_host_saw_mark(s->model, mark(s, words[2]));
}

static void import(scene *s, char **words)
{
    static const uint8_t uuids[2][CHECK_UUID] = {{1, 2, 3}, {1, 2, 4}};
    const check_site site = {.call = "import"};
    check_import i = {.payload = payload(s, words[1]),
                      .memory = strcmp(words[2], "memory") == 0,
                      .timeline = strcmp(words[2], "timeline") == 0,
                      .size = number(words[3]),
                      .type = 1,
                      .uuid = uuids[0]};
    for (words += 4; *words != NULL; words++) {
        if (strcmp(*words, "dedicated") == 0) i.dedicated = true;
        if (strcmp(*words, "other") == 0) i.uuid = uuids[1];
        if (strcmp(*words, "win32") == 0) i.type = 2;
    }
    check_imported(s->model, &i, &site);
}

static void event(scene *s, char **words)
{
    const check_site site = {.call = words[0]};
    const char *verb = words[0];
    const int fd = words[1] != NULL && words[1][0] >= '0' && words[1][0] <= '9'
                       ? (int)(number(words[1]) % 16)
                       : 0;
    if (verb[1] == '\0' && verb[0] == 'H') {
        host(s, words);
    } else if (verb[1] == '\0') {
        work(s, words);
    } else if (strcmp(verb, "export") == 0) {
        const int to = (int)number(words[2]) % 16;
        files[to] = (check_identity){.device = 1, .inode = (unsigned char)words[1][0], .own = true};
        now[to] = CHECK_SAME;
        check_payload_typed(payload(s, words[1]), 1);
        check_fd_born(s->model, to, payload(s, words[1]), &files[to], &site);
    } else if (strcmp(verb, "picture") == 0 || strcmp(verb, "stored") == 0) {
        check_picture_made(s->model, payload(s, words[1]), 1, 0, 64, verb[0] == 's');
    } else if (strcmp(verb, "reopened") == 0) {
        const int to = (int)number(words[2]) % 16;
        const check_identity is = {.device = 1, .inode = (unsigned char)words[1][0], .own = true};
        now[to] = CHECK_SAME;
        REQUIRE(check_fd_asked(s->model, to, &is, &site) == payload(s, words[1]));
    } else if (strcmp(verb, "ask") == 0) {
        (void)check_fd_asked(s->model, fd, NULL, &site);
    } else if (strcmp(verb, "taken") == 0) {
        check_fd_taken(s->model, fd, true, &site);
    } else if (strcmp(verb, "refused") == 0) {
        check_fd_taken(s->model, fd, false, &site);
    } else if (strcmp(verb, "close") == 0) {
        check_fd_closing(s->model, fd, &site);
    } else if (strcmp(verb, "dup") == 0) {
        now[number(words[2]) % 16] = CHECK_SAME;
        check_fd_duplicated(s->model, fd, (int)number(words[2]), &site);
    } else if (strcmp(verb, "send") == 0) {
        check_fd_sent(s->model, fd, &site);
    } else if (strcmp(verb, "forget") == 0) {
        check_fd_forget(s->model, fd);
    } else if (strcmp(verb, "gone") == 0) {
        now[fd] = CHECK_GONE;
    } else if (strcmp(verb, "another") == 0) {
        now[fd] = CHECK_ANOTHER;
    } else if (strcmp(verb, "import") == 0) {
        import(s, words);
    } else if (strcmp(verb, "map") == 0) {
        check_mapped(s->model, payload(s, words[1]), 4096, number(words[2]), number(words[3]),
                     &site);
    } else if (strcmp(verb, "opaque") == 0) {
        check_payload_opaque(payload(s, words[1]));
    } else if (strcmp(verb, "destroy") == 0) {
        check_destroying(s->model, payload(s, words[1]),
                         words[2][0] == 'V' ? CHECK_VULKAN : CHECK_CUDA, &site);
    } else {
        REQUIRE(strcmp(verb, "end") == 0);
        check_end(s->model, &site);
    }
}

static void play(const row *r, bool strict)
{
    scene s = {.model = NULL};
    char text[400], *rest = text;
    (void)snprintf(text, sizeof text, "%s", r->events);
    s.model = check_model_make(found, &s, true);
    REQUIRE(s.model != NULL);
    check_model_look(s.model, look);
    if (strict) check_model_strict(s.model);
    for (char *statement; (statement = strtok_r(rest, ";", &rest)) != NULL;) {
        char *words[32] = {NULL}, *more = statement;
        for (size_t n = 0; n < 31 && (words[n] = strtok_r(more, " ", &more)) != NULL; n++)
            continue;
        event(&s, words);
    }
    if (s.found[0] == '\0' && strstr(r->found, " unsure") != NULL)
        (void)snprintf(s.found, sizeof s.found, "%llu unsure", check_model_counts(s.model).unsure);
    if (strcmp(s.found, r->found) != 0)
        test_fail(__FILE__, __LINE__, "%s: '%s' finds '%s', not '%s'", r->name, r->events, s.found,
                  r->found);
    for (size_t i = 0; i < 128; i++)
        check_mark_drop(s.marks[i]);
    check_model_free(s.model);
}

TEST(table, .smoke = true)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        play(&rows[i], false);
    for (size_t i = 0; i < sizeof strict_rows / sizeof *strict_rows; i++)
        play(&strict_rows[i], true);
}

/* ---- two processes of a tree ---- */

static check_region *region;
static bool first_lives;

static bool enter(void)
{
    return true;
}

static void ring(void) {}

static bool lives(const check_region *r, unsigned process)
{
    (void)r;
    return process != 0 || first_lives;
}

static void write_site(tree_site *out, const check_site *site)
{
    memset(out, 0, sizeof *out);
    (void)snprintf(out->call, sizeof out->call, "%s", site->call != NULL ? site->call : "");
}

static check_site read_site(const tree_site *site)
{
    return (check_site){.call = site->call[0] != '\0' ? "a call of another process" : NULL};
}

static void join(scene *s, unsigned process)
{
    const check_tree tree = {.region = region,
                             .process = process,
                             .enter = enter,
                             .ring = ring,
                             .alive = lives,
                             .write_site = write_site,
                             .read_site = read_site};
    region->processes[process].used = 1;
    s->model = check_model_make(found, s, true);
    REQUIRE(s->model != NULL);
    check_model_look(s->model, look);
    check_model_join(s->model, &tree);
}

static void give(scene *from, scene *to, const char *name)
{
    check_payload *p = payload(from, name);
    check_payload_publish(from->model, p);
    check_payload **taken = &to->payloads[(unsigned char)name[0]];
    *taken = check_payload_adopt(to->model, check_payload_number(p));
    REQUIRE(*taken != NULL);
}

static void play_tree(const row *r)
{
    scene s[2] = {{.model = NULL}, {.model = NULL}};
    char text[400], *rest = text;
    (void)snprintf(text, sizeof text, "%s", r->events);
    memset(region, 0, sizeof *region);
    first_lives = true;
    join(&s[0], 0);
    join(&s[1], 1);
    for (char *statement; (statement = strtok_r(rest, ";", &rest)) != NULL;) {
        char *words[32] = {NULL}, *more = statement;
        for (size_t n = 0; n < 31 && (words[n] = strtok_r(more, " ", &more)) != NULL; n++)
            continue;
        if (strcmp(words[0], "give") == 0) {
            give(&s[0], &s[1], words[1]);
        } else if (strcmp(words[0], "message") == 0) {
            const uint32_t carried = check_payload_number(payload(&s[0], words[1]));
            const unsigned note = check_tree_note(s[0].model, 77, &carried, 1, "d", 1);
            REQUIRE(note != 0);
            check_tree_noted(s[0].model, note, true);
        } else if (strcmp(words[0], "gone") == 0 && words[1] == NULL) {
            first_lives = false;
        } else {
            const bool second = strcmp(words[0], "2") == 0;
            event(&s[second], words + second);
        }
    }
    char all[820];
    (void)snprintf(all, sizeof all, "%s%s", s[0].found, s[1].found);
    if (strcmp(all, r->found) != 0)
        test_fail(__FILE__, __LINE__, "%s: '%s' finds '%s', not '%s'", r->name, r->events, all,
                  r->found);
    check_model_free(s[0].model);
    check_model_free(s[1].model);
}

static void make_region(void)
{
    pthread_mutexattr_t attributes;
    void *map =
        mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(map != MAP_FAILED);
    region = map;
    REQUIRE(pthread_mutexattr_init(&attributes) == 0 &&
            pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
            pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
            pthread_mutex_init(&region->lock, &attributes) == 0);
}

TEST(tree)
{
    make_region();
    for (size_t i = 0; i < sizeof tree_rows / sizeof *tree_rows; i++)
        play_tree(&tree_rows[i]);
    (void)munmap(region, sizeof *region);
}

/* Messages of a socket come in their order, or nothing is known of them. */
TEST(messages)
{
    scene s[2] = {{.model = NULL}, {.model = NULL}};
    uint32_t came[TREE_FDS];
    make_region();
    join(&s[0], 0);
    join(&s[1], 1);
    const uint32_t m = (check_payload_publish(s[0].model, payload(&s[0], "m")),
                        check_payload_number(payload(&s[0], "m")));
    const uint32_t n = (check_payload_publish(s[0].model, payload(&s[0], "n")),
                        check_payload_number(payload(&s[0], "n")));
    check_tree_noted(s[0].model, check_tree_note(s[0].model, 5, &m, 1, "d", 1), true);
    check_tree_noted(s[0].model, check_tree_note(s[0].model, 5, &n, 1, "e", 1), true);
    check_tree_noted(s[0].model, check_tree_note(s[0].model, 5, &m, 1, "x", 1), false);
    /* Looked at twice, and taken. */
    unsigned found_one = check_tree_match(s[1].model, 5, 1, "d", 1, false, came);
    REQUIRE(found_one != 0 && came[0] == m);
    check_tree_matched(s[1].model, found_one, true);
    found_one = check_tree_match(s[1].model, 5, 1, "d", 1, false, came);
    REQUIRE(found_one != 0 && came[0] == m);
    check_tree_matched(s[1].model, found_one, true);
    /* It was taken unseen: the next one has other bytes. */
    found_one = check_tree_match(s[1].model, 5, 1, "e", 1, false, came);
    REQUIRE(found_one != 0 && came[0] == n);
    check_tree_matched(s[1].model, found_one, false);
    REQUIRE(check_tree_match(s[1].model, 5, 1, "d", 1, false, came) == 0);
    /* Two at the same time: which comes first? */
    const unsigned first = check_tree_note(s[0].model, 6, &m, 1, "d", 1);
    const unsigned second = check_tree_note(s[0].model, 6, &n, 1, "d", 1);
    check_tree_noted(s[0].model, first, true);
    check_tree_noted(s[0].model, second, true);
    REQUIRE(check_tree_match(s[1].model, 6, 1, "d", 1, false, came) == 0);
    /* Other descriptors than those that were noted: nothing of that socket is believed again. */
    check_tree_noted(s[0].model, check_tree_note(s[0].model, 7, &m, 1, "d", 1), true);
    REQUIRE(check_tree_match(s[1].model, 7, 2, "d", 1, false, came) == 0);
    REQUIRE(check_tree_note(s[0].model, 7, &m, 1, "d", 1) == 0);
    /* Nobody reads: there is room for others all the same. */
    for (uint64_t i = 0; i < 2 * TREE_MESSAGES; i++)
        check_tree_noted(s[0].model, check_tree_note(s[0].model, 100 + i, &m, 1, "d", 1), true);
    REQUIRE(region->payloads[m - 1].foreign != 0);
    check_model_free(s[0].model);
    check_model_free(s[1].model);
    (void)munmap(region, sizeof *region);
}

static void lock_region(void)
{
    const int result = pthread_mutex_lock(&region->lock);
    REQUIRE(result == 0 || result == EOWNERDEAD);
    if (result == EOWNERDEAD) REQUIRE(pthread_mutex_consistent(&region->lock) == 0);
}

/* What a process does that is killed: all that changes the region, as fast as it can. */
_Noreturn static void share_until_killed(uint32_t t, uint32_t m)
{
    scene s = {.model = NULL};
    lock_region();
    check_tree_clear(region, 1);
    join(&s, 1);
    s.payloads['u'] = check_payload_adopt(s.model, t);
    s.payloads['m'] = check_payload_adopt(s.model, m);
    pthread_mutex_unlock(&region->lock);
    for (uint64_t value = 1;; value++) {
        char words[3][80];
        const uint64_t after = s.payloads['u'] != NULL ? region->payloads[t - 1].reached : value;
        (void)snprintf(words[0], sizeof words[0], "C write m %u 4096 signal u %llu",
                       (unsigned)value % 64, (unsigned long long)after + 1);
        (void)snprintf(words[1], sizeof words[1], "V wait u %llu write m 0 64",
                       (unsigned long long)after + 1);
        (void)snprintf(words[2], sizeof words[2], "H saw C");
        for (int i = 0; i < 3; i++) {
            char *split[32] = {NULL}, *more = words[i];
            for (size_t n = 0; n < 31 && (split[n] = strtok_r(more, " ", &more)) != NULL; n++)
                continue;
            lock_region();
            event(&s, split);
            pthread_mutex_unlock(&region->lock);
        }
        lock_region();
        check_payload *n = check_payload_adopt(s.model, m);
        (void)check_tree_note(s.model, value % 3, &m, 1, "d", 1);
        check_payload_drop(s.model, n);
        pthread_mutex_unlock(&region->lock);
    }
}

/* A hundred processes are killed wherever they are; what the others have stays right. */
TEST(killed)
{
    make_region();
    first_lives = true;
    scene s[2] = {{.model = NULL}, {.model = NULL}};
    join(&s[0], 0);
    check_payload *u = payload(&s[0], "u"), *n = payload(&s[0], "n");
    check_payload_publish(s[0].model, u);
    check_payload_publish(s[0].model, n);
    const _Atomic uint64_t *reached = &region->payloads[check_payload_number(u) - 1].reached;
    uint64_t before = 0;
    for (unsigned i = 0; i < 100; i++) {
        const uint64_t then = *reached;
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) share_until_killed(check_payload_number(u), check_payload_number(n));
        for (unsigned waited = 0; *reached == then && waited < TEST_FAR_MS * 20; waited++)
            (void)usleep(50); /* until it is at work */
        (void)usleep(i * 137 % 3000);
        (void)kill(child, SIGKILL);
        REQUIRE(waitpid(child, NULL, 0) == child);
    }
    lock_region();
    check_tree_clear(region, 1);
    before = region->payloads[check_payload_number(u) - 1].reached;
    REQUIRE(before >= 100); /* each did something */
    /* A new process, and a mistake. */
    join(&s[1], 1);
    give(&s[0], &s[1], "m");
    give(&s[0], &s[1], "t");
    const char *const words[] = {"V write m 0 64 signal t 1", "2 C wait t 1 read m 0 64 signal t 2",
                                 "V wait t 2 write m 0 64", "2 C read m 0 64"};
    for (size_t i = 0; i < 4; i++) {
        char text[80], *split[32] = {NULL}, *more = text;
        (void)snprintf(text, sizeof text, "%s", words[i]);
        for (size_t k = 0; k < 31 && (split[k] = strtok_r(more, " ", &more)) != NULL; k++)
            continue;
        const bool second = strcmp(split[0], "2") == 0;
        REQUIRE(s[0].found[0] == '\0' && s[1].found[0] == '\0');
        event(&s[second], split + second);
    }
    pthread_mutex_unlock(&region->lock);
    if (strcmp(s[1].found, "read-after-write") != 0)
        test_fail(__FILE__, __LINE__, "it finds '%s'", s[1].found);
    check_model_free(s[0].model);
    check_model_free(s[1].model);
    (void)munmap(region, sizeof *region);
}

/* Each kind of finding has all that a report says of it, and its row here. */
TEST(rules)
{
    for (int i = 0; i < CHECK_WHATS; i++) {
        const check_rule *r = &check_rules[i];
        bool known = i == CHECK_USED_AFTER; /* it is found by the shim */
        REQUIRE(r->letter >= 'a' && r->letter <= 'h');
        REQUIRE(r->id != NULL && r->rule != NULL && r->source != NULL && r->mend != NULL);
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
            known |= strstr(rows[j].found, r->id) != NULL;
        for (size_t j = 0; j < sizeof strict_rows / sizeof *strict_rows; j++)
            known |= strstr(strict_rows[j].found, r->id) != NULL;
        if (!known) test_fail(__FILE__, __LINE__, "no row finds %s", r->id);
        for (int j = 0; j < i; j++)
            REQUIRE(strcmp(check_rules[j].id, r->id) != 0);
    }
}

/* --fast. */
TEST(without_order)
{
    scene s = {.model = NULL};
    s.model = check_model_make(found, &s, false);
    char *first[] = {(char[]){"V"}, (char[]){"write"}, (char[]){"m"},
                     (char[]){"0"}, (char[]){"9"},     NULL};
    char *second[] = {(char[]){"C"}, (char[]){"write"}, (char[]){"m"},
                      (char[]){"0"}, (char[]){"9"},     NULL};
    event(&s, first);
    event(&s, second);
    REQUIRE(s.found[0] == '\0');
    check_model_free(s.model);
}

/* Memory stays bounded, and the agents of what is gone are used again. */
TEST(many)
{
    scene s = {.model = NULL};
    s.model = check_model_make(found, &s, true);
    const check_site site = {.call = "work"};
    check_payload *m = payload(&s, "m"), *t = payload(&s, "t"), *u = payload(&s, "u");
    const int queue = agent(&s, "V");
    for (uint64_t i = 1; i <= 2000; i++) {
        const int stream = check_agent_make(s.model, CHECK_CUDA, "a stream");
        REQUIRE(stream > 0);
        const check_access access = {.payload = m,
                                     .begin = i % 7,
                                     .end = 64,
                                     .kind = CHECK_WRITE,
                                     .how = "write",
                                     .exclusive = true};
        const check_turn there = {t, i}, back = {u, i}, last = {u, i - 1};
        const check_work draw = {.waits = &last,
                                 .num_waits = i > 1,
                                 .accesses = &access,
                                 .num_accesses = 1,
                                 .signals = &there,
                                 .num_signals = 1};
        const check_work solve = {.waits = &there,
                                  .num_waits = 1,
                                  .accesses = &access,
                                  .num_accesses = 1,
                                  .signals = &back,
                                  .num_signals = 1};
        check_submit(s.model, queue, &draw, &site);
        check_submit(s.model, stream, &solve, &site);
        check_agent_end(s.model, stream);
    }
    if (s.found[0] != '\0') test_fail(__FILE__, __LINE__, "it finds %s", s.found);
    REQUIRE(check_model_unjudged(s.model) == 0);
    for (int i = 0; i < CHECK_AGENTS; i++)
        (void)check_agent_make(s.model, CHECK_CUDA, "a stream");
    REQUIRE(check_model_unjudged(s.model) > 0);
    check_model_free(s.model);
}

TEST(text)
{
    static const char *const rows_of[][2] = {
        {"particles", "particles"},
        {"Teilchen \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\xb0",
         "Teilchen \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\xb0"},
        {"two\nlines\x1b[1m\x7f", "two?lines?[1m?"},
        {"\xe4 in Latin 1", "? in Latin 1"},
        {"cut \xe2\x82", "cut ??"},
        {"long \xc0\x80 \xe0\x80\x80 \xf0\x80\x80\x80", "long ?? ??? ????"},
        {"half \xed\xa0\x80, beyond \xf4\x90\x80\x80 \xf5", "half ???, beyond ???? ?"},
    };
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s", rows_of[i][0]);
        check_utf8_clean(name);
        if (strcmp(name, rows_of[i][1]) != 0)
            test_fail(__FILE__, __LINE__, "row %zu: it is \"%s\"", i, name);
    }
}
