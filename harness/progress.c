/* The progress line. */
#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

double progress_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_init(struct progress *progress, bool quiet) {
    *progress = (struct progress){.enabled = !quiet && isatty(STDERR_FILENO)};
    progress->started = progress_seconds();
}

void progress_start(struct progress *progress, const char *format, ...) {
    va_list args;
    progress_clear(progress);
    progress->started = progress_seconds();
    progress->printed = 0;
    va_start(args, format);
    vsnprintf(progress->what, sizeof progress->what, format, args);
    va_end(args);
}

void progress_ctas(void *context, uint64_t done, uint64_t total) {
    struct progress *progress = context;
    const double now = progress_seconds();
    if (!progress->enabled || now - progress->started < 2 || now - progress->printed < 0.2)
        return;
    progress->printed = now;
    progress->shown = true;
    fprintf(stderr, "\r\033[K%s: %" PRIu64 " of %" PRIu64 " CTAs (%.0f%%), %.0f s", progress->what,
            done, total, total ? 100.0 * (double)done / (double)total : 0.0,
            now - progress->started);
}

void progress_clear(struct progress *progress) {
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
