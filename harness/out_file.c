/* Files that are written whole or not at all: without a name where the file system can do that
 * (O_TMPFILE), else under a name of their own, and renamed at the end. */
#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool failed(const char *path, int number, struct strbuf *error) {
    strbuf_printf(error, "cannot write '%s': %s", path, strerror(number ? number : EIO));
    return false;
}

static void drop(struct out_file *out) {
    free(out->path);
    free(out->partial);
    *out = (struct out_file){0};
}

static bool is_descriptor(const char *path) {
    return !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/self/fd/", 14);
}

/* What is at `path` now may be replaced, or (direct) written into; 0 or an errno. */
static int examine(struct out_file *out, const char *path) {
    struct stat info;
    char *real = is_descriptor(path) ? NULL : realpath(path, NULL);
    out->path = real ? real : strdup(path);
    if (!out->path)
        return ENOMEM;
    if (stat(out->path, &info))
        return errno == ENOENT && *path ? 0 : errno;
    if (S_ISDIR(info.st_mode))
        return EISDIR;
    out->direct = !S_ISREG(info.st_mode) || is_descriptor(path);
    return access(out->path, W_OK) ? errno : 0;
}

static int open_unnamed(struct out_file *out) {
    const char *slash = strrchr(out->path, '/');
    char *folder = slash ? strndup(out->path, (size_t)(slash - out->path) + 1) : strdup(".");
    const int fd = folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    free(folder);
    out->unnamed = fd >= 0;
    return fd;
}

static int open_file(struct out_file *out) {
    struct strbuf name = {0};
    strbuf_printf(&name, "%s.%d.partial", out->path, (int)getpid());
    out->partial = strdup(strbuf_text(&name));
    strbuf_free(&name);
    if (out->direct)
        return open(out->path, O_WRONLY | O_CLOEXEC);
    const int fd = open_unnamed(out);
    return fd >= 0 || !out->partial
               ? fd
               : open(out->partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

bool out_file_begin(struct out_file *out, const char *path, struct strbuf *error) {
    *out = (struct out_file){.shown = path};
    errno = 0;
    int number = examine(out, path);
    const int fd = number ? -1 : open_file(out);
    if (fd >= 0 && out->partial)
        out->file = fdopen(fd, "wb");
    if (out->file)
        return true;
    number = number ? number : errno;
    if (fd >= 0)
        close(fd);
    drop(out);
    return failed(path, number, error);
}

void out_file_write(struct out_file *out, const void *bytes, size_t size) {
    errno = 0;
    if (!out->number && size && fwrite(bytes, size, 1, out->file) != 1)
        out->number = errno ? errno : EIO;
}

/* Gives an unnamed file the partial name; 0 or an errno. */
static int link_partial(const struct out_file *out) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(out->file));
    unlink(out->partial);
    return linkat(AT_FDCWD, self, AT_FDCWD, out->partial, AT_SYMLINK_FOLLOW) ? errno : 0;
}

bool out_file_end(struct out_file *out, bool keep, struct strbuf *error) {
    int number = out->number;
    errno = 0;
    if (fflush(out->file) && !number)
        number = errno ? errno : EIO;
    if (!number && keep && out->unnamed)
        number = link_partial(out);
    if (fclose(out->file) && !number)
        number = errno;
    if (!number && keep && !out->direct && rename(out->partial, out->path))
        number = errno;
    if ((number || !keep) && !out->direct)
        unlink(out->partial);
    const bool ok = !keep || !number || failed(out->shown, number, error);
    drop(out);
    return ok;
}

bool out_file_possible(const char *path, struct strbuf *error) {
    struct out_file out = {0};
    const int number = examine(&out, path);
    const bool direct = out.direct; /* whoever reads a pipe must not see its end now */
    drop(&out);
    if (number || direct)
        return !number || failed(path, number, error);
    return out_file_begin(&out, path, error) && out_file_end(&out, false, error);
}
