#!/bin/sh
# ripple-mpi's picture is that of one process, byte for byte: with 1 to 4 ranks, by each way, and with ranks without a
# part. "hosts": over two hosts (two_hosts.sh). Ranks of the renderer's host write straight there, and the others come by
# TCP. The rest takes Open MPI 5 too.
#   ripple.sh BIN DIR [hosts]
# SPDX-License-Identifier: MIT
set -eu
bin=$1 dir=$2 hosts=${3:-} status=0
mpirun --version 2>/dev/null | grep -q "Open MPI) [45]" || { echo "SKIP: no Open MPI of 4 or 5"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # of 4, of 5
mkdir -p "$dir"
set -- --size=101x67 --resolution=160x90 --frames=5 --quiet
"$bin/ripple" "$@" --output="$dir/one.png"
if [ -z "$hosts" ]; then
    for row in 1:auto 2:direct 3:host 4:device 4:host:--idle=2 4:auto:--idle=1,3; do
        IFS=: read -r ranks way idle <<END
$row
END
        CULVERT_MPI_WAY=$way timeout 100 mpirun -n "$ranks" "$bin/ripple-mpi" $idle "$@" --output="$dir/many.png"
        cmp "$dir/one.png" "$dir/many.png"
        rm "$dir/many.png"
    done
    exit
fi
timeout 100 "$(dirname "$0")/two_hosts.sh" "$dir" 0 2 2 "$bin/ripple-mpi" "$@" --output="$dir/two.png" >"$dir/log" 2>&1 || status=$?
cat "$dir/log"
[ $status = 0 ] || exit $status
cmp "$dir/one.png" "$dir/two.png"
grep -q 'rank 1: direct' "$dir/log"
grep -q 'rank 3: host: the renderer is in another network namespace' "$dir/log"
timeout 100 "$(dirname "$0")/two_hosts.sh" "$dir" 0 1 1 "$bin/culvert-mpi-measure" --host --sizes=1 --frames=2 >"$dir/log" 2>&1 || status=$?
cat "$dir/log"
[ $status = 0 ] && grep -q '| host .*| right |' "$dir/log"
