/* Reads the files of a trace, inside the folder trees that it may read. */
#include "file_set.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

enum { MAX_FILE_GIB = 8 };

static enum status read_descriptor(int fd, const char *path, uint8_t **bytes, size_t *size,
                                   struct strbuf *error) {
    struct stat info;
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        strbuf_printf(error, "'%s' is not a regular file", path);
        return STATUS_IO;
    }
    if (info.st_size > (off_t)MAX_FILE_GIB << 30) {
        strbuf_printf(error, "'%s' is larger than %d GiB", path, MAX_FILE_GIB);
        return STATUS_IO;
    }
    *size = (size_t)info.st_size;
    *bytes = malloc(*size + 1);
    if (!*bytes) {
        strbuf_printf(error, "no memory for '%s'", path);
        return STATUS_NO_MEMORY;
    }
    for (size_t done = 0; done < *size;) {
        const ssize_t got = read(fd, *bytes + done, *size - done);
        if (got <= 0) {
            free(*bytes);
            *bytes = NULL;
            strbuf_printf(error, "cannot read '%s': %s", path, got ? strerror(errno) : "it shrank");
            return STATUS_IO;
        }
        done += (size_t)got;
    }
    (*bytes)[*size] = 0;
    return STATUS_OK;
}

enum status file_read(const char *path, uint8_t **bytes, size_t *size, struct strbuf *error) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        strbuf_printf(error, "cannot open '%s': %s", path, strerror(errno));
        return STATUS_IO;
    }
    const enum status status = read_descriptor(fd, path, bytes, size, error);
    close(fd);
    return status;
}

/* "a/b/c" gives "a/b", "c" gives "". */
static char *folder_of(struct arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == path)
        return arena_strdup(arena, "/");
    return arena_strndup(arena, path, slash ? (size_t)(slash - path) : 0);
}

static char *join(struct arena *arena, const char *folder, const char *path) {
    const size_t a = strlen(folder), b = strlen(path);
    if (!a || path[0] == '/')
        return arena_strdup(arena, path);
    char *joined = arena_alloc(arena, a + b + 2, 1);
    if (joined) {
        memcpy(joined, folder, a);
        joined[a] = '/';
        memcpy(joined + a + 1, path, b + 1);
    }
    return joined;
}

/* Removes "." and "x/.." from a path, in place. */
static void normalise(char *path) {
    char *parts[PATH_MAX / 2], *save = NULL;
    size_t count = 0;
    const bool absolute = path[0] == '/';
    char *copy = strdup(path);
    if (!copy)
        return;
    for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        if (!strcmp(part, "."))
            continue;
        if (!strcmp(part, "..") && count && strcmp(parts[count - 1], ".."))
            count--;
        else if (strcmp(part, "..") || !absolute)
            parts[count++] = part;
        if (count == sizeof parts / sizeof *parts)
            break;
    }
    char *out = path;
    if (absolute)
        *out++ = '/';
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(parts[i]);
        memcpy(out, parts[i], length);
        out += length;
        if (i + 1 < count)
            *out++ = '/';
    }
    *out = '\0';
    free(copy);
}

static void allow_real(struct file_set *set, const char *real) {
    if (set->allowed_count < sizeof set->allowed / sizeof *set->allowed)
        set->allowed[set->allowed_count++] = arena_strdup(&set->arena, real);
}

enum status file_set_allow(struct file_set *set, const char *folder) {
    char *real = realpath(*folder ? folder : ".", NULL);
    if (!real)
        return STATUS_NOT_FOUND;
    allow_real(set, real);
    free(real);
    return STATUS_OK;
}

/* The nearest folder at or above `real` that holds .git. */
static void allow_project(struct file_set *set, const char *real) {
    char *folder = arena_strdup(&set->arena, real);
    while (folder && *folder) {
        char *marker = join(&set->arena, folder, ".git");
        if (marker && !access(marker, F_OK)) {
            allow_real(set, folder);
            return;
        }
        *strrchr(folder, '/') = '\0';
    }
}

void file_set_init(struct file_set *set, const char *trace_path) {
    *set = (struct file_set){0};
    set->tail = &set->first;
    set->folder = folder_of(&set->arena, trace_path);
    if (!set->folder || file_set_allow(set, set->folder) != STATUS_OK)
        return;
    allow_project(set, set->allowed[0]);
}

void file_set_init_sealed(struct file_set *set) {
    *set = (struct file_set){.folder = "", .sealed = true};
    set->tail = &set->first;
}

void file_set_free(struct file_set *set) {
    arena_free(&set->arena);
}

struct file_entry *file_set_add(struct file_set *set, const char *name, const void *bytes,
                                size_t size) {
    struct file_entry *entry = arena_alloc(&set->arena, sizeof *entry, _Alignof(struct file_entry));
    char *copy = arena_strndup(&set->arena, bytes, size);
    if (!entry || !copy)
        return NULL;
    *entry = (struct file_entry){.name = arena_strdup(&set->arena, name),
                                 .shown = join(&set->arena, set->folder, name),
                                 .bytes = (const uint8_t *)copy,
                                 .size = size};
    if (!entry->name || !entry->shown)
        return NULL;
    *set->tail = entry;
    set->tail = &entry->next;
    return entry;
}

static bool inside(const struct file_set *set, const char *real) {
    for (unsigned i = 0; i < set->allowed_count; i++) {
        const size_t length = strlen(set->allowed[i]);
        if (!strncmp(real, set->allowed[i], length) &&
            (real[length] == '/' || !real[length] || length == 1))
            return true;
    }
    return false;
}

static bool check_inside(const struct file_set *set, const char *path, struct strbuf *error) {
    char *real = realpath(*path ? path : ".", NULL);
    if (!real) {
        strbuf_printf(error, "cannot open '%s': %s", path, strerror(errno));
        return false;
    }
    const bool ok = inside(set, real);
    if (!ok)
        strbuf_printf(error,
                      "'%s' is outside the trace's folder tree and its project; --allow-path DIR "
                      "allows more",
                      path);
    free(real);
    return ok;
}

/* The name of `path` as written in the file `from`. */
static char *name_of(struct file_set *set, const struct file_entry *from, const char *path) {
    char *name = join(&set->arena, from ? folder_of(&set->arena, from->name) : "", path);
    if (name && strlen(name) < PATH_MAX)
        normalise(name);
    return name;
}

const struct file_entry *file_set_open(struct file_set *set, const struct file_entry *from,
                                       const char *path, struct strbuf *error) {
    const char *name = name_of(set, from, path);
    if (!name || strlen(name) >= PATH_MAX) {
        strbuf_puts(error, "the path is too long");
        return NULL;
    }
    if (!message_is_text(name)) {
        strbuf_printf(error, "'%s': a file's name must be UTF-8, for records have it as text",
                      name);
        return NULL;
    }
    for (struct file_entry *entry = set->first; entry; entry = entry->next)
        if (!strcmp(entry->name, name))
            return entry;
    if (set->sealed) {
        strbuf_printf(error, "'%s' is not among the files that came with this trace", name);
        return NULL;
    }
    const char *disk = join(&set->arena, set->folder, name);
    uint8_t *bytes;
    size_t size;
    if (!disk || !check_inside(set, disk, error) ||
        file_read(disk, &bytes, &size, error) != STATUS_OK)
        return NULL;
    struct file_entry *entry = file_set_add(set, name, bytes, size);
    free(bytes);
    if (!entry)
        strbuf_printf(error, "no memory for '%s'", disk);
    return entry;
}

const char *file_set_output_path(struct file_set *set, const struct file_entry *from,
                                 const char *path, struct strbuf *error) {
    const char *name = name_of(set, from, path);
    const char *disk = name ? join(&set->arena, set->folder, name) : NULL;
    const char *folder = disk ? folder_of(&set->arena, disk) : NULL;
    if (!folder || strlen(name) >= PATH_MAX) {
        strbuf_puts(error, "the path is too long");
        return NULL;
    }
    if (set->sealed) {
        strbuf_puts(error, "a record's run writes no files");
        return NULL;
    }
    return check_inside(set, folder, error) ? disk : NULL;
}
