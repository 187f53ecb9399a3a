#include "kinds.h"

const pawl_kind_rules *const pawl_kinds[PAWL_NKINDS] = {
#define KIND(name, text) [PAWL_KIND_##name] = &pawl_kind_##text,
    PAWL_KINDS(KIND)
#undef KIND
};
