#!/bin/sh
# Begins a host in namespaces of its own, for own-host.ts:
#   begin.sh COUNT [FROM TO ro|rw]... INIT...
# ROOT is its tree, NAME its name. GROUP is its control group; empty: it sees those of this machine.
set -eu
if [ -z "${BEGUN-}" ]; then
  export BEGUN=1
  [ -z "$GROUP" ] || echo $$ >"$GROUP/cgroup.procs"
  # It ends with the process that started it, even if that is killed.
  exec setpriv --pdeathsig KILL unshare --mount --pid --net --uts --ipc ${GROUP:+--cgroup} --fork \
    --kill-child --propagation private sh "$0" "$@"
fi
hostname "$NAME"
ip link set lo up
mount --bind "$ROOT" "$ROOT"
count=$1
shift
while [ "$count" -gt 0 ]; do
  mount --bind "$1" "$ROOT$2"
  [ "$3" = rw ] || mount -o remount,bind,ro "$ROOT$2"
  shift 3
  count=$((count - 1))
done
mount -t proc proc "$ROOT/proc"
if [ -n "$GROUP" ]; then
  # Read-only, as systemd takes it for a sign that devices are not its own to manage.
  mount -t sysfs -o ro sysfs "$ROOT/sys"
  mount -t cgroup2 cgroup2 "$ROOT/sys/fs/cgroup"
  mount -t tmpfs -o mode=755 tmpfs "$ROOT/dev"
  for device in null zero full random urandom tty; do
    : >"$ROOT/dev/$device"
    mount --bind "/dev/$device" "$ROOT/dev/$device"
  done
  mkdir "$ROOT/dev/pts" "$ROOT/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$ROOT/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$ROOT/dev/shm"
  ln -s pts/ptmx "$ROOT/dev/ptmx"
  ln -s /proc/self/fd "$ROOT/dev/fd"
else
  mount -t sysfs sysfs "$ROOT/sys"
  mount --rbind /sys/fs/cgroup "$ROOT/sys/fs/cgroup"
  mount --rbind /dev "$ROOT/dev"
fi
mount -t tmpfs -o mode=755 tmpfs "$ROOT/run"
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
mkdir -p "$ROOT/oldroot"
cd "$ROOT"
pivot_root . oldroot
umount -l /oldroot
echo "$ROOT" >/run/own-host
exec env -i container=brine "PATH=$PATH" "$@"
