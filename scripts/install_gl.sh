#!/bin/sh
# Pixels need a system OpenGL library. Install it when it is missing and we may; else say how.
python="$1"
has() { "$python" -c "import ctypes.util as u, sys; sys.exit(not u.find_library('$1'))"; }
(has EGL && has GLESv2) && exit 0
has OSMesa && exit 0
command="apt-get install -y libegl1 libgles2"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing the system OpenGL library: $command" >&2
    (apt-get update -qq && $command -qq) >/dev/null 2>&1 && exit 0
fi
echo "Rendering pixels needs a system OpenGL library. Type:  sudo $command" >&2
echo "(other systems: Mesa's EGL or OSMesa). State observations work without it." >&2
exit 0
