/* SPDX-License-Identifier: MIT */
/* COM tables, made of instructions. */
#include "part.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODE = 48, SLOT = 8, SAID = 64 };

void rig_say(const char *format, ...)
{
    va_list args;
    char text[1024];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "culvert-rig: %s\n", text);
    fflush(stderr);
}

/* What a missing method does. */
static HRESULT missing(const part *self, unsigned slot)
{
    static SRWLOCK lock = SRWLOCK_INIT;
    static struct {
        const char *name;
        unsigned slot;
    } said[SAID];
    unsigned i = 0;
    AcquireSRWLockExclusive(&lock);
    while (i < SAID && said[i].name != NULL && (said[i].name != self->name || said[i].slot != slot))
        i++;
    const BOOL is_new = i < SAID && said[i].name == NULL;
    if (is_new) said[i].name = self->name, said[i].slot = slot;
    ReleaseSRWLockExclusive(&lock);
    if (is_new)
        rig_say("the program calls method %u of %s (0 is QueryInterface), which the rig does not "
                "play; it answers E_NOTIMPL, and Windows may do what is asked",
                slot, self->name);
    return E_NOTIMPL;
}

static unsigned char *put(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

/* rax = self; rcx = self->real; if it is there: jump to its slot. Otherwise missing(self, slot). */
static void write_code(unsigned char *at, unsigned slot, BOOL pass)
{
    static const unsigned char load[] = {0x48, 0x89, 0xc8, 0x48, 0x8b, 0x49, SLOT};
    static const unsigned char test[] = {0x48, 0x85, 0xc9, 0x74, 0x09,
                                         0x48, 0x8b, 0x01, 0xff, 0xa0};
    static const unsigned char back[] = {0x48, 0x89, 0xc1}, number[] = {0xba},
                               target[] = {0x48, 0xb8}, jump[] = {0xff, 0xe0};
    const unsigned offset = slot * SLOT;
    HRESULT (*const function)(const part *, unsigned) = missing;
    if (pass) {
        at = put(at, load, sizeof load);
        at = put(at, test, sizeof test);
        at = put(at, &offset, sizeof offset);
        at = put(at, back, sizeof back);
    }
    at = put(at, number, sizeof number);
    at = put(at, &slot, sizeof slot);
    at = put(at, target, sizeof target);
    at = put(at, &function, sizeof function);
    (void)put(at, jump, sizeof jump);
}

void part_fill(void *table, size_t size, unsigned passed)
{
    const unsigned slots = (unsigned)(size / SLOT);
    _Static_assert(offsetof(part, real) == SLOT, "the instructions have it");
    unsigned char *code =
        VirtualAlloc(NULL, (size_t)slots * CODE, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
    if (code == NULL) abort();
    for (unsigned i = 0; i < slots; i++) {
        unsigned char *at = code + (size_t)i * CODE;
        write_code(at, i, i < passed);
        memcpy((char *)table + (size_t)i * SLOT, &at, sizeof at);
    }
    DWORD before;
    VirtualProtect(code, (size_t)slots * CODE, PAGE_EXECUTE_READ, &before);
}

void part_replace(void *slot, void (*function)(void), void *before)
{
    DWORD protection;
    VirtualProtect(slot, sizeof(void *), PAGE_READWRITE, &protection);
    memcpy(before, slot, sizeof(void *));
    memcpy(slot, &function, sizeof(void *));
    VirtualProtect(slot, sizeof(void *), protection, &protection);
}
