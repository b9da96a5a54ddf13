#!/bin/sh
# ripple-mpi's picture is that of one process, byte for byte: with 1 to 4 ranks, by each way, and with ranks without a
# part. "hosts": over two hosts, which are two network namespaces and a pair of interfaces between them. Ranks of the
# renderer's host write straight there, and the others come by TCP. It needs root, iproute2 and Open MPI 4; the rest takes
# Open MPI 5 too.
#   ripple.sh BIN DIR [hosts]
# SPDX-License-Identifier: MIT
set -eu
bin=$1 dir=$2 hosts=${3:-} a=cmpi$$a b=cmpi$$b mpis=45
[ -z "$hosts" ] || mpis=4
mpirun --version 2>/dev/null | grep -q "Open MPI) [$mpis]" || { echo "SKIP: no Open MPI of $mpis"; exit 77; }
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
ip netns add $a 2>/dev/null || { echo "SKIP: no network namespaces here"; exit 77; }
trap 'ip netns del $a; ip netns del $b' EXIT
ip netns add $b
ip link add $a netns $a type veth peer name $b netns $b
ip -n $a addr add 10.77.0.1/24 dev $a
ip -n $b addr add 10.77.0.2/24 dev $b
for n in $a $b; do ip -n $n link set lo up; ip -n $n link set $n up; done
cat >"$dir/agent" <<END
#!/bin/sh
shift # the host: only the second one is asked by this
exec ip netns exec $b unshare --uts sh -c "hostname $b; \$*"
END
chmod +x "$dir/agent"
ip netns exec $a unshare --uts sh -c "hostname $a; exec \"\$@\"" sh timeout 100 mpirun --mca plm_rsh_agent "$dir/agent" \
    --mca oob_tcp_if_include $a,$b --mca btl_tcp_if_include 10.77.0.0/24 --oversubscribe -x CULVERT_SOFT \
    --host 10.77.0.1:2,10.77.0.2:2 -n 4 "$bin/ripple-mpi" "$@" --output="$dir/two.png" 2>&1 | tee "$dir/log"
cmp "$dir/one.png" "$dir/two.png"
grep -q 'rank 1: direct' "$dir/log"
grep -q 'rank 3: host: the renderer is in another network namespace' "$dir/log"
