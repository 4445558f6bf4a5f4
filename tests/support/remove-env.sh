# SPDX-License-Identifier: MIT
#
# For scripts whose programs may die: remove_env DIRECTORY removes an environment with its shared memory, which would be met
# by the next environment whose directory has the same inode.

remove_env()
{
        if [ -d "$1" ]; then
                rm -f "/dev/shm/xac.$(stat -c %D "$1").$(printf %x "$(stat -c %i "$1")")".*
                rm -rf "$1"
        fi
}
