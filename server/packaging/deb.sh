#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deb.sh: a Debian package of a tree that `make install DESTDIR=TREE PREFIX=/usr` made.
# usage: server/packaging/deb.sh TREE OUT VERSION    writes OUT/warpsight_VERSION_ARCH.deb and prints its path
# Depends are the packages that the program's libraries are in on this machine: build it where it is to run.
set -eu
tree=$1 out=$2 version=$3
command -v dpkg-deb >/dev/null || { echo "deb: dpkg-deb is missing: this is no Debian system" >&2; exit 1; }
arch=$(dpkg --print-architecture)
depends=$(readelf -d "$tree/usr/bin/warpsight" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | while read -r library; do
    path=$(ldd "$tree/usr/bin/warpsight" | awk -v l="$library" '$1 == l { print $3 }')
    # A file is known by the name that its package gave it, on a merged /usr by either.
    [ -z "$path" ] || dpkg -S "$(readlink -f "$path")" 2>/dev/null || dpkg -S "$path" 2>/dev/null || dpkg -S "${path#/usr}" 2>/dev/null || true
done | cut -d : -f 1 | sort -u | paste -s -d , | sed 's/,/, /g')
[ -n "$depends" ] || { echo "deb: no package of its libraries is known" >&2; exit 1; }
mkdir -p "$tree/DEBIAN"
find "$tree/usr/bin" "$tree/usr/lib/warpsight" -type f -exec strip --strip-debug {} +
gzip -9 -n -f "$tree"/usr/share/man/man1/*.1
cat >"$tree/DEBIAN/control" <<CONTROL
Package: warpsight
Version: $version
Architecture: $arch
Maintainer: WarpSight <warpsight@localhost>
Installed-Size: $(du -k -s "$tree/usr" | cut -f 1)
Depends: $depends
Section: devel
Priority: optional
Description: CUDA profiler that explains why a kernel is slow
 Runs an unmodified CUDA program, counts what its kernels do, and says in the
 terminal, in files and in a browser what slows them down and what to change.
CONTROL
dpkg-deb --root-owner-group --build "$tree" "$out/warpsight_${version}_$arch.deb" >/dev/null
echo "  $out/warpsight_${version}_$arch.deb"
