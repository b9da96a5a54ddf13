/* SPDX-License-Identifier: MIT */
/* What exports of VMM memory as NT handles need of the system: the OBJECT_ATTRIBUTES of what is
 * exported (cuda.h, CUmemAllocationProp::win32HandleMetaData), which say who may open it. */
#include "vmm/share.h"

#include <windows.h>
#include <winternl.h>

/* One access control entry: all rights for the user that this process runs as. */
typedef struct own_user {
    OBJECT_ATTRIBUTES attributes;
    SECURITY_DESCRIPTOR descriptor;
    union {
        TOKEN_USER user;
        unsigned char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } token;
    union {
        ACL list;
        unsigned char room[sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE];
    } access;
} own_user;

static own_user own;

static bool read_user(void)
{
    HANDLE token = NULL;
    DWORD size = 0;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return false;
    BOOL read = GetTokenInformation(token, TokenUser, &own.token, sizeof own.token, &size);
    CloseHandle(token);
    return read != FALSE;
}

static BOOL CALLBACK make(PINIT_ONCE once, PVOID context, PVOID *out)
{
    (void)once;
    (void)context;
    (void)out;
    own.attributes.Length = sizeof own.attributes;
    const bool made =
        read_user() && InitializeAcl(&own.access.list, sizeof own.access, ACL_REVISION) &&
        AddAccessAllowedAce(&own.access.list, ACL_REVISION, GENERIC_ALL, own.token.user.User.Sid) &&
        InitializeSecurityDescriptor(&own.descriptor, SECURITY_DESCRIPTOR_REVISION) &&
        SetSecurityDescriptorDacl(&own.descriptor, TRUE, &own.access.list, FALSE);
    /* Without a descriptor the process's own default decides. */
    if (made) own.attributes.SecurityDescriptor = &own.descriptor;
    return TRUE;
}

const void *culvi_vmm_object_attributes(void)
{
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    InitOnceExecuteOnce(&once, make, NULL, NULL);
    return &own.attributes;
}
