/* SPDX-License-Identifier: MIT */
/* A device that is removed, as after a driver's crash or an update: which call does it. */
#ifndef CULVERT_SOFT_WINE_REMOVED_H_
#define CULVERT_SOFT_WINE_REMOVED_H_

#include <stdbool.h>
#include <windows.h>

#define DXGI_REMOVED ((HRESULT)0x887a0005)
#define DXGI_HUNG    ((HRESULT)0x887a0006) /* what GetDeviceRemovedReason() says */

/* The n-th call from now removes its device; 0: none. CULVERT_WINE_REMOVE_AT is the first one. */
void overlay_remove_at(unsigned n);
/* Calls that were counted since the last overlay_remove_at(). */
unsigned overlay_counted(void);

/* Counts a call; true: this one removes the device. */
bool removed_now(const char *call);
/* Whether some device was removed: false spares the question. */
bool removed_some(void);
/* An event that a fence holds: Windows sets it when the device is removed. */
void removed_remember(HANDLE event);
/* The device that removed_now() told of is marked: sets these events. */
void removed_wake(void);
extern const GUID removed_key; /* private data of a removed device */

#endif
