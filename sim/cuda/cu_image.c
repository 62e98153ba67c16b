/* What an image is, and whether its .version and .target suit the driver and the device.
 *
 *   nothing, or not PTX text       200   (H200: "" and "hello")
 *   machine code, a fat binary     209   only PTX can be simulated
 *   .version 10 and later          222   (H200, whose driver stops at 9.0; texts of 9.1 and later
 *                                        are made by today's compilers and are taken here)
 *   .target above the device       218   (H200 observation 10)
 *   .target sm_NNa of another NN   218   architecture-specific code runs on that architecture only
 *
 * The directives are found by skipping blanks and comments; the parser proper looks at them again.
 */
#include "cu_image.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PTX_MAJOR_MAX = 9, FATBIN_WRAPPER = 0x466243b1, FATBIN_DATA = (int)0xba55ed50 };

static const char *skip_blanks(const char *text) {
    for (;;) {
        while (isspace((unsigned char)*text))
            text++;
        if (text[0] == '/' && text[1] == '/') {
            text += strcspn(text, "\n");
        } else if (text[0] == '/' && text[1] == '*') {
            const char *end = strstr(text + 2, "*/");
            text = end ? end + 2 : text + strlen(text);
        } else {
            return text;
        }
    }
}

/* Text behind the directive `word` at `text`, NULL when something else stands there. */
static const char *directive(const char *text, const char *word) {
    size_t length = strlen(word);
    if (strncmp(text, word, length) != 0 || !isspace((unsigned char)text[length]))
        return NULL;
    return skip_blanks(text + length);
}

static bool is_machine_code(const char *image) {
    int magic = 0;
    if (image[0] == '\x7f')
        return strncmp(image + 1, "ELF", 3) == 0;
    /* Neither magic has a zero byte, so a shorter image is told apart before its end. */
    for (int i = 0; i < 4; i++) {
        if (image[i] == '\0')
            return false;
        magic |= (int)((unsigned)(unsigned char)image[i] << (8 * i));
    }
    return magic == FATBIN_WRAPPER || magic == FATBIN_DATA;
}

static CUresult check_target(const char *text, const struct device_model *model,
                             struct strbuf *log) {
    if (strncmp(text, "sm_", 3) != 0)
        return CUDA_SUCCESS; /* the parser says what is wrong with it */
    char *end = NULL;
    long target = strtol(text + 3, &end, 10);
    if (target > model->exec.sm) {
        strbuf_printf(log, "error: .target sm_%ld%.1s is higher than the device's (sm_%d)\n",
                      target, isalpha((unsigned char)*end) ? end : "", model->exec.sm);
        return CUDA_ERROR_INVALID_PTX;
    }
    if (*end == 'a' && target != model->exec.sm) {
        strbuf_printf(log,
                      "error: .target sm_%lda runs on that architecture only, the device is "
                      "sm_%d\n",
                      target, model->exec.sm);
        return CUDA_ERROR_INVALID_PTX;
    }
    return CUDA_SUCCESS;
}

CUresult cu_image_check(const char *image, const struct device_model *model, struct strbuf *log) {
    if (is_machine_code(image)) {
        strbuf_puts(log, "error: the image is machine code or a fat binary; only PTX text can be "
                         "simulated\n");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    const char *text = directive(skip_blanks(image), ".version");
    if (!text) {
        strbuf_puts(log, "error: not PTX text: it does not begin with .version\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    char *end = NULL;
    long major = strtol(text, &end, 10), minor = 0;
    if (*end == '.')
        minor = strtol(end + 1, &end, 10);
    if (major > PTX_MAJOR_MAX) {
        strbuf_printf(log, "error: .version %ld.%ld is newer than PTX 9\n", major, minor);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    text = directive(skip_blanks(end), ".target");
    return text ? check_target(text, model, log) : CUDA_SUCCESS;
}
