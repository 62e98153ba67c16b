/* Names and counts of the classes of differences. */
#include "diff_class.h"

#include "commands.h"

static const struct {
    const char *word, *text;
    int status;
} classes[] = {
#define DIFF_CLASS(name, word, text, status) {word, text, status},
#include "diff_class.def"
#undef DIFF_CLASS
};

const char *diff_class_word(enum diff_class class) {
    return classes[class].word;
}

const char *diff_class_text(enum diff_class class) {
    return classes[class].text;
}

int diff_class_status(enum diff_class class) {
    return classes[class].status;
}

json_t *diff_counts_json(const struct diff_counts *counts) {
    json_t *json = json_object();
    for (int i = 0; i < DIFF_CLASS_COUNT; i++)
        json_object_set_new(json, classes[i].word, json_integer((json_int_t)counts->of_class[i]));
    return json;
}

json_t *diff_counts_legal_json(const struct diff_counts *counts) {
    json_t *json = json_object();
    for (int i = 1; i < PROBE_WHY_COUNT; i++)
        if (counts->legal_by[i])
            json_object_set_new(json, probe_why_word((enum probe_why)i),
                                json_integer((json_int_t)counts->legal_by[i]));
    return json;
}
