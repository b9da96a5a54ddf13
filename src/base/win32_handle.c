/* SPDX-License-Identifier: MIT */
/* NT handles, names and KMT handles. */
#include "base/handle.h"
#include "base/platform.h"

#include <stdio.h>
#include <windows.h>
#include <winternl.h>

const char *const culvi_handle_duplicate_call = "DuplicateHandle";

/* What an exported object never is. (Wine says of a section, which may well be exported memory,
 * that it is a file.) */
static const char *foreign_kind(HANDLE handle)
{
    switch (GetFileType(handle)) {
    case FILE_TYPE_PIPE: return "a pipe or a socket";
    case FILE_TYPE_CHAR: return "a console or a device";
    default: return NULL;
    }
}

const char *const culvi_handle_memory_source =
    "the graphics API (in Vulkan vkGetMemoryWin32HandleKHR)";
const char *const culvi_handle_semaphore_source =
    "the graphics API (in Vulkan vkGetSemaphoreWin32HandleKHR)";
const char *const culvi_handle_left_advice = "close some handles";

bool culvi_handle_left(int *os_error)
{
    (void)os_error;
    return true; /* 16 million: memory ends first */
}

bool culvi_handle_examine(const culv_handle *handle, const char *source, culvi_handle_facts *facts,
                          culv_reason *problem, char *text, size_t size)
{
    HANDLE nt = handle->value.win32;
    DWORD flags = 0;
    *facts = (culvi_handle_facts){.size_limit = UINT64_MAX};
    if (nt == NULL && handle->name == NULL) {
        *problem = CULV_REASON_NULL_ARGUMENT;
        snprintf(text, size, "value.win32 is NULL%s",
                 culvi_handle_row_of(handle->type)->kind == CULVI_KIND_NT
                     ? ", and so is name; one of them is required"
                     : "");
        return false;
    }
    if (nt != NULL && handle->name != NULL) {
        *problem = CULV_REASON_VALUE;
        snprintf(text, size,
                 "value.win32 and name are both given; an object is named by one of them");
        return false;
    }
    if (culvi_handle_row_of(handle->type)->kind == CULVI_KIND_KMT)
        return true; /* a number that only its driver can look up */
    if (handle->name != NULL) {
        *problem = CULV_REASON_VALUE;
        if (handle->name[0] == L'\0') snprintf(text, size, "name is empty");
        return handle->name[0] != L'\0';
    }
    /* (HANDLE)-1 means this very process wherever a handle is looked up. */
    if (nt == INVALID_HANDLE_VALUE || !GetHandleInformation(nt, &flags)) {
        *problem = CULV_REASON_HANDLE_BAD;
        snprintf(
            text, size,
            "NT handle %p is not open; an earlier import may have taken it, or it is a KMT handle, which has a type of its own",
            nt);
        return false;
    }
    const char *kind = foreign_kind(nt);
    if (kind != NULL) {
        *problem = CULV_REASON_HANDLE_KIND;
        snprintf(text, size, "NT handle %p is %s; pass the one that %s exported", nt, kind, source);
        return false;
    }
    return true;
}

static bool is_nt(const culv_handle *handle)
{
    return culvi_handle_row_of(handle->type)->kind == CULVI_KIND_NT && handle->value.win32 != NULL;
}

bool culvi_handle_duplicate(const culv_handle *handle, const culvi_handle_facts *facts,
                            culv_handle *out, int *os_error)
{
    HANDLE self = GetCurrentProcess();
    culv_handle copy = *handle;
    (void)facts;
    /* A name or a number: nothing is held by it. */
    if (is_nt(handle) && !DuplicateHandle(self, handle->value.win32, self, &copy.value.win32, 0,
                                          FALSE, DUPLICATE_SAME_ACCESS)) {
        *os_error = (int)GetLastError();
        return false;
    }
    *out = copy;
    return true;
}

bool culvi_handle_lend(const culv_handle *handle, const culvi_handle_facts *facts,
                       culvi_duplicate *out, int *os_error)
{
    out->witness = -1;
    return culvi_handle_duplicate(handle, facts, &out->handle, os_error);
}

void culvi_handle_lent_done(const culvi_duplicate *duplicate, const culv_handle *original,
                            bool accepted)
{
    (void)original;
    (void)accepted;
    /* Neither CUDA nor Vulkan takes NT handles over (cuda.h, cuImportExternalMemory;
     * VkImportMemoryWin32HandleInfoKHR). */
    culvi_handle_close(&duplicate->handle);
}

void culvi_handle_close(const culv_handle *handle)
{
    if (is_nt(handle)) CloseHandle(handle->value.win32);
}

void culvi_handle_keep_private(const culv_handle *handle)
{
    (void)handle; /* NT handles are not inherited unless asked for */
}

uint64_t culvi_page_size(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

/* This process's user -------------------------------------------------------------------------- */

_Static_assert(sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE <= sizeof(culvi_user_room), "it fits");

void *culvi_user_of(void *process, culvi_user_room *room)
{
    HANDLE token = NULL;
    DWORD size = 0;
    TOKEN_USER user;
    if (!OpenProcessToken(process, TOKEN_QUERY, &token)) return NULL;
    const BOOL read = GetTokenInformation(token, TokenUser, room, sizeof *room, &size);
    CloseHandle(token);
    memcpy(&user, room, sizeof user);
    return read ? user.User.Sid : NULL;
}

/* One access control entry: all rights for the user that this process runs as. */
static struct own_user {
    OBJECT_ATTRIBUTES attributes;
    SECURITY_DESCRIPTOR descriptor;
    culvi_user_room user;
    union {
        ACL list;
        unsigned char room[sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE];
    } access;
} own;

static BOOL CALLBACK make(PINIT_ONCE once, PVOID context, PVOID *out)
{
    (void)once;
    (void)context;
    (void)out;
    own.attributes.Length = sizeof own.attributes;
    PSID user = culvi_user_of(GetCurrentProcess(), &own.user);
    if (user != NULL && InitializeAcl(&own.access.list, sizeof own.access, ACL_REVISION) &&
        AddAccessAllowedAce(&own.access.list, ACL_REVISION, GENERIC_ALL, user) &&
        InitializeSecurityDescriptor(&own.descriptor, SECURITY_DESCRIPTOR_REVISION) &&
        SetSecurityDescriptorDacl(&own.descriptor, TRUE, &own.access.list, FALSE))
        own.attributes.SecurityDescriptor = &own.descriptor;
    return TRUE;
}

const void *culvi_own_user_attributes(void)
{
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    InitOnceExecuteOnce(&once, make, NULL, NULL);
    return &own.attributes;
}
