#!/bin/sh
# GetClockCalibration of Wine's Direct3D 12 succeeds and answers 0 and 0.
# Version: wine64 8.0~repack-4 on mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: a queue whose timestamps work says S_OK with a pair of ticks, the GPU's and
#   QueryPerformanceCounter's, of one moment, or fails.
# Behaviour: S_OK, and both numbers are 0, although GetTimestampFrequency says 1 GHz and
#   timestamps are written. A program that adds the pair's difference places each GPU time at the
#   machine's start.
# Seen: frequency S_OK 1000000000; calibration S_OK gpu 0 cpu 0; timestamps are written and rise
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
wine8 <<'END'
#define COBJMACROS
#define INITGUID
#include <windows.h>

#include <d3d12.h>
#include <stdio.h>

int main(void)
{
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12QueryHeap *queries;
    ID3D12Resource *out;
    ID3D12Fence *fence;
    UINT64 frequency = 0, gpu = 1, cpu = 1, *ticks;
    D3D12_COMMAND_QUEUE_DESC of_queue = {.Type = D3D12_COMMAND_LIST_TYPE_DIRECT};
    D3D12_QUERY_HEAP_DESC of_queries = {.Type = D3D12_QUERY_HEAP_TYPE_TIMESTAMP, .Count = 2};
    D3D12_HEAP_PROPERTIES readback = {.Type = D3D12_HEAP_TYPE_READBACK};
    D3D12_RESOURCE_DESC of_out = {.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                  .Width = 16,
                                  .Height = 1,
                                  .DepthOrArraySize = 1,
                                  .MipLevels = 1,
                                  .SampleDesc = {1, 0},
                                  .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR};
    if (FAILED(
            D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&device)))
        return 3;
    ID3D12Device_CreateCommandQueue(device, &of_queue, &IID_ID3D12CommandQueue, (void **)&queue);
    ID3D12Device_CreateCommandAllocator(device, of_queue.Type, &IID_ID3D12CommandAllocator,
                                        (void **)&allocator);
    ID3D12Device_CreateCommandList(device, 0, of_queue.Type, allocator, NULL,
                                   &IID_ID3D12GraphicsCommandList, (void **)&list);
    ID3D12Device_CreateQueryHeap(device, &of_queries, &IID_ID3D12QueryHeap, (void **)&queries);
    ID3D12Device_CreateCommittedResource(device, &readback, 0, &of_out,
                                         D3D12_RESOURCE_STATE_COPY_DEST, NULL, &IID_ID3D12Resource,
                                         (void **)&out);
    ID3D12Device_CreateFence(device, 0, 0, &IID_ID3D12Fence, (void **)&fence);
    ID3D12GraphicsCommandList_EndQuery(list, queries, D3D12_QUERY_TYPE_TIMESTAMP, 0);
    ID3D12GraphicsCommandList_EndQuery(list, queries, D3D12_QUERY_TYPE_TIMESTAMP, 1);
    ID3D12GraphicsCommandList_ResolveQueryData(list, queries, D3D12_QUERY_TYPE_TIMESTAMP, 0, 2, out,
                                               0);
    ID3D12GraphicsCommandList_Close(list);
    ID3D12CommandQueue_ExecuteCommandLists(queue, 1, (ID3D12CommandList **)&list);
    ID3D12CommandQueue_Signal(queue, fence, 1);
    ID3D12Fence_SetEventOnCompletion(fence, 1, NULL);
    HRESULT asked = ID3D12CommandQueue_GetTimestampFrequency(queue, &frequency);
    printf("frequency %s %llu; ", asked == S_OK ? "S_OK" : "failed", frequency);
    asked = ID3D12CommandQueue_GetClockCalibration(queue, &gpu, &cpu);
    printf("calibration %s gpu %llu cpu %llu; ", asked == S_OK ? "S_OK" : "failed", gpu, cpu);
    ID3D12Resource_Map(out, 0, NULL, (void **)&ticks);
    puts(ticks[0] && ticks[0] <= ticks[1] ? "timestamps are written and rise" : "no timestamps");
    return 0;
}
END
same "frequency S_OK 1000000000; calibration S_OK gpu 0 cpu 0; timestamps are written and rise" "$(cat "$work/seen")"
