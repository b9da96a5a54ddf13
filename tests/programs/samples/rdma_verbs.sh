#!/bin/sh
# Runs the sample: rdma_verbs.sh PROGRAM. 77: there is no card, or no GPU with dma-bufs.
# SPDX-License-Identifier: MIT
set -u
"$1" && exit 0
status=$?
[ $status -eq 3 ] && echo "SKIP: no RDMA card, or no GPU with dma-bufs" && exit 77
exit $status
