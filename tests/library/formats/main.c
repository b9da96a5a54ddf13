/* SPDX-License-Identifier: MIT */
/* The cases of the format sweep: a family of formats in one dimension, and in arrays of it. */
#include "sweep.h"

#define BIT(dimension) (1u << (dimension))

static void print(const cell *what, const char *by, const answer *a)
{
    printf("%s %s, %s, %s, %s image, by %s: %s\n",
           a->outcome == OUTCOME_WRONG     ? "WRONG"
           : a->outcome == OUTCOME_SKIPPED ? "skipped"
                                           : "refused",
           what->format->name, sweep_dimension_names[what->dimension],
           what->texels == CULV_TEXELS_NORMALIZED ? "normalized" : "stored",
           what->origin == ORIGIN_CALLERS ? "the caller's" : "Culvert's", by, a->reason);
}

/* Counts and reports; what is no success is printed, once where it is the same of all ways. */
static void count(sweep *s, const cell *what, const answer answers[NUM_WAYS])
{
    const answer *printed = NULL;
    for (int by = 0; by < NUM_WAYS; by++) {
        const answer *a = &answers[by];
        if (a->outcome == OUTCOME_NONE) continue;
        s->counts[a->outcome]++;
        sweep_report(what, (way)by, a);
        if (a->outcome == OUTCOME_RIGHT) continue;
        if (printed == NULL || strcmp(printed->reason, a->reason) != 0)
            print(what, sweep_way_names[by], a);
        printed = a;
        bool worse = a->outcome == OUTCOME_WRONG && s->counts[OUTCOME_WRONG] == 1;
        if (s->first_reason[0] == '\0' || worse)
            snprintf(s->first_reason, sizeof s->first_reason, "%.64s, %s: %.300s",
                     what->format->name, sweep_way_names[by], a->reason);
    }
}

/* Images of both origins in the STORED form, and in the NORMALIZED one where there is such. */
static void sweep_format(sweep *s, const culv_format_info *format, int dimension)
{
    static const struct {
        origin origin;
        culv_texels texels;
    } kinds[] = {{ORIGIN_CULVERTS, CULV_TEXELS_STORED},
                 {ORIGIN_CALLERS, CULV_TEXELS_STORED},
                 {ORIGIN_CALLERS, CULV_TEXELS_NORMALIZED}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        answer answers[NUM_WAYS];
        const cell what = {.format = format,
                           .dimension = dimension,
                           .texels = kinds[k].texels,
                           .origin = kinds[k].origin};
        if (what.texels == CULV_TEXELS_NORMALIZED && format->normalized_array_format == 0) continue;
        sweep_cell(s, &what, answers);
        count(s, &what, answers);
        if (s->lost) FAIL("a kernel faulted, so the rest was not tried: %s", s->first_reason);
    }
}

/* The family in these dimensions, a bit each. */
static void sweep_family(const char *family, unsigned dimensions)
{
    static sweep s;
    culv_format_info format;
    const char *reduced = test_option("reduced", NULL);
    const char *only = test_option("format", NULL);
    unsigned formats = 0;
    sweep_open(&s);
    for (uint32_t number = 0; sweep_next_row(&number, &format);) {
        const char *its = sweep_family_of(&format);
        if (!format.mapped || its == NULL || strcmp(its, family) != 0) continue;
        if (only != NULL && strcmp(only, format.name) != 0) continue;
        unsigned wanted = dimensions;
        if (reduced != NULL && !sweep_representative(&format))
            wanted &= strcmp(reduced, "most") == 0 ? 0 : BIT(SWEEP_2D);
        for (int dimension = 0; dimension < SWEEP_NUM_DIMENSIONS; dimension++)
            if (wanted & BIT(dimension)) sweep_format(&s, &format, dimension);
        formats += wanted != 0;
    }
    sweep_close(&s);
    MEASURED("answers", "%s: %u formats, %u right, %u wrong, %u skipped, %u refused",
             test_case_name(), formats, s.counts[OUTCOME_RIGHT], s.counts[OUTCOME_WRONG],
             s.counts[OUTCOME_SKIPPED], s.counts[OUTCOME_REFUSED]);
    if (s.counts[OUTCOME_WRONG] > 0)
        FAIL("%u wrong, the first: %s", s.counts[OUTCOME_WRONG], s.first_reason);
    if (s.counts[OUTCOME_RIGHT] > 0) return;
    if (formats == 0) SKIP("none of these formats is in the reduced sweep of these dimensions");
    SKIP("none of the %u formats is possible here; the first: %s", formats, s.first_reason);
}

/* The table itself, for the report, and that none of its rows is left out of the sweep. */
TEST(rows)
{
    culv_format_info format;
    unsigned mapped = 0, all = 0;
    for (uint32_t number = 0; sweep_next_row(&number, &format); all++) {
        sweep_report_row(&format);
        mapped += format.mapped != 0;
        if ((sweep_family_of(&format) != NULL) != (format.mapped != 0))
            FAIL("%s has kind %d, which no family of the sweep has", format.name, (int)format.kind);
    }
    MEASURED("rows", "%u of %u are mapped", mapped, all);
    REQUIRE(mapped > 0);
}

/* Arrays go with what they are of. Y'CbCr is all in one, since little of it is possible. */
#define PARTS(X, family)                                                                           \
    X(family, 1d, BIT(SWEEP_1D) | BIT(SWEEP_1D_ARRAY))                                             \
    X(family, 2d, BIT(SWEEP_2D) | BIT(SWEEP_2D_ARRAY))                                             \
    X(family, 3d, BIT(SWEEP_3D))                                                                   \
    X(family, cube, BIT(SWEEP_CUBE) | BIT(SWEEP_CUBE_ARRAY))
#define ALL_PARTS(X)                                                                               \
    PARTS(X, integers)                                                                             \
    PARTS(X, floats)                                                                               \
    PARTS(X, normalized)                                                                           \
    PARTS(X, packed)                                                                               \
    PARTS(X, depth)                                                                                \
    PARTS(X, blocks)                                                                               \
    X(planes, all, BIT(SWEEP_NUM_DIMENSIONS) - 1)

#define CASE(family, part, dimensions)                                                             \
    TEST_AS(family##_##part, sweep_family(#family, dimensions), .title = #family "." #part,        \
            .time_limit = 240)
ALL_PARTS(CASE)
