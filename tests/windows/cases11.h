/* SPDX-License-Identifier: MIT */
/* The tables of cases of d3d11.exe. */
#ifndef CULVERT_TESTS_WINDOWS_CASES11_H_
#define CULVERT_TESTS_WINDOWS_CASES11_H_

#include "scene11.h"

typedef struct case11 {
    const char *name;
    void (*run)(void);
} case11;

/* Each ended by a case without a name. */
extern const case11 cases_d3d11[], cases_d3d11_errors[], cases_d3d11_rig[];

extern const GUID cases11_iid_fence, cases11_iid_device5;
ID3D11Fence *cases11_fence(const scene11 *s, uint64_t value, bool shared);

#endif
