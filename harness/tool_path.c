#include "tool_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first folder of a list "a:b:c" that has `name`. */
static bool find_in(const char *folders, const char *name, char path[TOOL_PATH_BYTES]) {
    while (folders && *folders) {
        const int length = (int)strcspn(folders, ":");
        const int written = snprintf(path, TOOL_PATH_BYTES, "%.*s/%s", length, folders, name);
        if (length && written < TOOL_PATH_BYTES && !access(path, R_OK))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

bool tool_path_ptxas(char path[TOOL_PATH_BYTES]) {
    return find_in(getenv("PATH"), "ptxas", path) || find_in("/usr/local/cuda/bin", "ptxas", path);
}

bool tool_path_cublas(char path[TOOL_PATH_BYTES]) {
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    for (int i = 0; i < 2; i++)
        if (find_in(getenv("LD_LIBRARY_PATH"), names[i], path) ||
            find_in("/usr/local/cuda/lib64:/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
                    "/usr/lib",
                    names[i], path))
            return true;
    return false;
}
