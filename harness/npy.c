/* numpy's .npy format:
 *
 *   0x93 "NUMPY" | major | minor | header length, 2 bytes (version 1) or 4 (2 and 3) | header |
 * data
 *
 * The header is the text of a Python dict with the keys descr, fortran_order and shape. */
#include "npy.h"

#include <inttypes.h>
#include <string.h>

struct header {
    const char *at, *end;
    struct strbuf *error;
};

static enum status syntax(struct header *h, const char *expected) {
    strbuf_printf(h->error, "not a .npy header: expected %s", expected);
    return STATUS_SYNTAX;
}

static void skip_space(struct header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t'))
        h->at++;
}

static bool take(struct header *h, const char *text) {
    const size_t length = strlen(text);
    skip_space(h);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, text, length))
        return false;
    h->at += length;
    return true;
}

/* A quoted string without escapes. */
static bool take_string(struct header *h, const char **text, size_t *length) {
    skip_space(h);
    if (h->at >= h->end || (*h->at != '\'' && *h->at != '"'))
        return false;
    const char quote = *h->at++;
    const char *close = memchr(h->at, quote, (size_t)(h->end - h->at));
    if (!close)
        return false;
    *text = h->at;
    *length = (size_t)(close - h->at);
    h->at = close + 1;
    return true;
}

static bool take_number(struct header *h, uint64_t *value) {
    skip_space(h);
    const char *start = h->at;
    *value = 0;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*h->at - '0'), value))
            return false;
    return h->at != start;
}

static enum status parse_descr(struct header *h, struct npy *npy) {
    const char *text;
    size_t length;
    if (!take_string(h, &text, &length) || length < 3)
        return syntax(h, "a type such as '<f4' after descr");
    uint64_t item_bytes = 0;
    struct header digits = {text + 2, text + length, h->error};
    if (!take_number(&digits, &item_bytes) || digits.at != digits.end)
        return syntax(h, "a type such as '<f4' after descr");
    const bool known = strchr("fiuVb", text[1]) && text[1] && item_bytes && item_bytes <= 8 &&
                       !(item_bytes & (item_bytes - 1));
    if (!known || !strchr("<>|=", text[0]) || !text[0]) {
        strbuf_printf(h->error, "the .npy type '%.*s' is not one that buffers have", (int)length,
                      text);
        return STATUS_UNSUPPORTED;
    }
    if (text[0] == '>' && item_bytes > 1) {
        strbuf_printf(h->error, "the .npy file is big endian; save it as '<%.*s'", (int)length - 1,
                      text + 1);
        return STATUS_UNSUPPORTED;
    }
    npy->kind = text[1];
    npy->item_bytes = (size_t)item_bytes;
    return STATUS_OK;
}

static enum status parse_order(struct header *h) {
    if (take(h, "False"))
        return STATUS_OK;
    if (!take(h, "True"))
        return syntax(h, "True or False after fortran_order");
    strbuf_puts(h->error, "the .npy file is in Fortran order; save numpy.ascontiguousarray of it");
    return STATUS_UNSUPPORTED;
}

static enum status parse_shape(struct header *h, struct npy *npy) {
    if (!take(h, "("))
        return syntax(h, "a shape such as (3, 4)");
    npy->rank = 0;
    npy->elems = 1;
    while (!take(h, ")")) {
        if (npy->rank == NPY_MAX_RANK) {
            strbuf_printf(h->error, "the .npy array has more than %d dimensions", NPY_MAX_RANK);
            return STATUS_UNSUPPORTED;
        }
        uint64_t *dim = &npy->dims[npy->rank++];
        if (!take_number(h, dim) || __builtin_mul_overflow(npy->elems, *dim, &npy->elems))
            return syntax(h, "a shape such as (3, 4)");
        if (!take(h, ",") && !take(h, ")"))
            return syntax(h, "a shape such as (3, 4)");
        if (h->at[-1] == ')')
            break;
    }
    return STATUS_OK;
}

static enum status parse_dict(struct header *h, struct npy *npy) {
    unsigned seen = 0;
    if (!take(h, "{"))
        return syntax(h, "a dict");
    while (!take(h, "}")) {
        const char *key;
        size_t length;
        if (!take_string(h, &key, &length) || !take(h, ":"))
            return syntax(h, "a key and a colon");
        enum status status;
        if (length == 5 && !memcmp(key, "descr", 5))
            status = parse_descr(h, npy), seen |= 1;
        else if (length == 13 && !memcmp(key, "fortran_order", 13))
            status = parse_order(h), seen |= 2;
        else if (length == 5 && !memcmp(key, "shape", 5))
            status = parse_shape(h, npy), seen |= 4;
        else
            return syntax(h, "the keys descr, fortran_order and shape only");
        if (status != STATUS_OK)
            return status;
        if (!take(h, ",") && h->at < h->end && *h->at != '}')
            return syntax(h, "a comma or the end of the dict");
        skip_space(h);
        if (h->at >= h->end)
            return syntax(h, "the end of the dict");
    }
    return seen == 7 ? STATUS_OK : syntax(h, "the keys descr, fortran_order and shape");
}

enum status npy_parse(const uint8_t *bytes, size_t size, struct npy *npy, struct strbuf *error) {
    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6)) {
        strbuf_puts(error, "not a .npy file: it does not begin with \\x93NUMPY");
        return STATUS_SYNTAX;
    }
    const unsigned major = bytes[6];
    if (major < 1 || major > 3) {
        strbuf_printf(error, "the .npy version %u is not 1, 2 or 3", major);
        return STATUS_UNSUPPORTED;
    }
    size_t start = major == 1 ? 10 : 12, length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (major > 1 && size >= 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (size < start || size - start < length) {
        strbuf_puts(error, "the .npy file ends inside its header");
        return STATUS_SYNTAX;
    }
    struct header h = {(const char *)bytes + start, (const char *)bytes + start + length, error};
    const enum status status = parse_dict(&h, npy);
    if (status != STATUS_OK)
        return status;
    uint64_t data_bytes;
    if (__builtin_mul_overflow(npy->elems, npy->item_bytes, &data_bytes) ||
        data_bytes != size - start - length) {
        strbuf_printf(error,
                      "the .npy shape wants %" PRIu64
                      " elements of %zu bytes, the file holds %zu bytes",
                      npy->elems, npy->item_bytes, size - start - length);
        return STATUS_SYNTAX;
    }
    npy->data = bytes + start + length;
    return STATUS_OK;
}

bool npy_holds(const struct npy *npy, enum elem_type type) {
    const struct elem_info *info = elem_info(type);
    if (npy->item_bytes != info->size_bytes || info->kind == ELEM_KIND_OBJECT)
        return false;
    switch (type) {
    case ELEM_B8:
    case ELEM_B16:
    case ELEM_B32:
    case ELEM_B64: return true;
    case ELEM_BF16:
    case ELEM_E4M3:
    case ELEM_E5M2: return npy->kind == 'u' || npy->kind == 'V';
    default: break;
    }
    if (info->kind == ELEM_KIND_FLOAT)
        return npy->kind == 'f' || npy->kind == 'V';
    if (info->kind == ELEM_KIND_SIGNED)
        return npy->kind == 'i';
    return npy->kind == 'u' || (npy->kind == 'b' && type == ELEM_U8);
}

void npy_write_header(struct strbuf *out, enum elem_type type, unsigned rank,
                      const uint64_t *dims) {
    const struct elem_info *info = elem_info(type);
    const bool raw_float = type == ELEM_BF16 || type == ELEM_E4M3 || type == ELEM_E5M2;
    char kind = info->kind == ELEM_KIND_SIGNED ? 'i' : 'u';
    if (info->kind == ELEM_KIND_FLOAT && !raw_float)
        kind = 'f';
    struct strbuf dict = {0};
    strbuf_printf(&dict, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                  info->size_bytes == 1 ? '|' : '<', kind, info->size_bytes);
    for (unsigned i = 0; i < rank; i++)
        strbuf_printf(&dict, "%" PRIu64 ",%s", dims[i], i + 1 < rank ? " " : "");
    strbuf_puts(&dict, "), }");
    while ((10 + dict.length + 1) % 64)
        strbuf_puts(&dict, " ");
    strbuf_puts(&dict, "\n");
    const uint8_t head[10] = {0x93,
                              'N',
                              'U',
                              'M',
                              'P',
                              'Y',
                              1,
                              0,
                              (uint8_t)(dict.length & 0xff),
                              (uint8_t)(dict.length >> 8)};
    strbuf_append(out, (const char *)head, sizeof head);
    strbuf_append(out, strbuf_text(&dict), dict.length);
    strbuf_free(&dict);
}
