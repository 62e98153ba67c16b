#ifndef SILTWIN_FUZZ_REPLAY_H
#define SILTWIN_FUZZ_REPLAY_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Without libFuzzer a fuzz target is a program that runs its target on files: each argument is a
 * folder whose files are all taken. A target that finds nothing returns; one that finds something
 * crashes or stops in a sanitizer. */
typedef int fuzz_target(const uint8_t *data, size_t size);

/* One file in a heap block of exactly its size, so that a read past it is seen. */
static inline int fuzz_replay_file(const char *path, fuzz_target *target) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (!data || size < 0 || fread(data, 1, (size_t)size, file) != (size_t)size) {
        free(data);
        fclose(file);
        return -1;
    }
    fclose(file);
    target(data, (size_t)size);
    free(data);
    return 0;
}

static inline int fuzz_replay(int argc, char **argv, fuzz_target *target) {
    unsigned count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        struct dirent *entry;
        while (folder && (entry = readdir(folder))) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (fuzz_replay_file(path, target)) {
                fprintf(stderr, "cannot read %s\n", path);
                return 1;
            }
            count++;
        }
        if (folder)
            closedir(folder);
    }
    printf("replayed %u inputs\n", count);
    return count ? 0 : 1;
}

#endif
