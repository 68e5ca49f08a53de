#!/bin/sh
# The tests of the report look at it in Chromium. Install it when it is missing and we may; else say
# how, and those tests are skipped.
command -v chromium >/dev/null 2>&1 && exit 0
command="apt-get install -y chromium"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium: $command" >&2
    (apt-get update -qq && $command -qq) >/dev/null 2>&1 && exit 0
fi
echo "Tests in a browser need Chromium. Type:  sudo $command" >&2
exit 0
