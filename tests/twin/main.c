/* SPDX-License-Identifier: MIT */
/* The suite of the software twin's CUDA half. */
#include "twin.h"

const test_case *const test_suite_tables[] = {twin_identity_cases,
                                              twin_stream_cases,
                                              twin_kernel_cases,
                                              twin_memory_cases,
                                              twin_timeline_cases,
                                              twin_binary_cases,
                                              twin_torture_cases,
                                              twin_array_cases,
                                              twin_surface_cases,
                                              twin_layout_cases,
                                              twin_image_torture_cases,
                                              twin_texture_cases,
                                              twin_texture_format_cases,
                                              twin_dimension_cases,
                                              twin_plane_cases,
                                              twin_peer_cases,
                                              twin_graph_cases,
                                              twin_vmm_cases,
                                              twin_multicast_cases,
                                              twin_pool_cases,
                                              twin_older_cases,
                                              twin_host_call_cases,
                                              NULL};
