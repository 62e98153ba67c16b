/* Records: what one GPU answered, in the words of the head comments, so that the same reader takes
 * both. */
#include <stdlib.h>
#include <string.h>

#include "isa_execute.h"

void isa_record_write(const struct isa_program *program, const struct isa_outcome *outcome,
                      FILE *file) {
    fprintf(file, "program %s result %d\n", program->name, (int)outcome->result);
    for (unsigned i = 0; i < program->param_count; i++) {
        const struct isa_values *values = &outcome->after[i];
        if (values->count == 0)
            continue;
        const bool *any = program->params[i].after.any;
        fprintf(file, "after %u %s", i, isa_elem_name(program->params[i].elem));
        for (size_t k = 0, same; k < values->count; k += same) {
            same = 1;
            while (k + same < values->count && any[k + same] == any[k] &&
                   (any[k] || values->bits[k + same] == values->bits[k]))
                same++;
            if (any[k])
                fprintf(file, " ?");
            else
                fprintf(file, " 0x%llx", (unsigned long long)values->bits[k]);
            if (same > 1)
                fprintf(file, "*%zu", same);
        }
        fprintf(file, "\n");
    }
}

/* "after PARAMETER TYPE VALUES" */
static const char *apply_line(char *line, struct isa_program *program) {
    char *rest = line;
    unsigned long index = strtoul(line + strlen("after "), &rest, 10);
    if (index >= program->param_count)
        return "the record has more parameters";
    struct isa_param *param = &program->params[index];
    const char *elem = isa_elem_name(param->elem);
    size_t length = strlen(elem);
    if (rest[0] != ' ' || strncmp(rest + 1, elem, length) != 0 || rest[length + 1] != ' ')
        return "the record has another type";
    struct isa_values values = {0};
    if (!isa_values_parse(&values, param->elem, rest + length + 2) ||
        values.count != param->after.count) {
        isa_values_free(&values);
        return "the record has other elements";
    }
    isa_values_free(&param->after);
    param->after = values;
    return NULL;
}

bool isa_record_apply(const char *record, struct isa_program *program, const char **trouble) {
    char head[96];
    snprintf(head, sizeof head, "\nprogram %s result ", program->name);
    const char *found = strstr(record, head);
    *trouble = NULL;
    if (found == NULL)
        return false;
    program->fails = (int)strtol(found + strlen(head), NULL, 10);
    const char *line = strchr(found + 1, '\n');
    while (*trouble == NULL && line != NULL && strncmp(line + 1, "after ", 6) == 0) {
        char *copy = strndup(line + 1, strcspn(line + 1, "\n"));
        *trouble = copy ? apply_line(copy, program) : "no memory";
        free(copy);
        line = strchr(line + 1, '\n');
    }
    return true;
}
