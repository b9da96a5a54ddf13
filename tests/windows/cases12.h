/* SPDX-License-Identifier: MIT */
/* The tables of cases of d3d12.exe. */
#ifndef CULVERT_TESTS_WINDOWS_CASES12_H_
#define CULVERT_TESTS_WINDOWS_CASES12_H_

#include "scene12.h"

typedef struct case12 {
    const char *name;
    void (*run)(void);
} case12;

/* Each ended by a case without a name. */
extern const case12 cases_d3d12[], cases_d3d12_errors[], cases_d3d12_images[], cases_d3d12_ring[],
    cases_d3d12_vmm[], cases_d3d12_cig[], cases_d3d12_rig[];

extern const GUID cases_iid_fence, cases_iid_heap, cases_iid_resource;

#endif
