/* value/types.h: what JSON may be, as people declare it.
 *
 *   "string"  "number"  "integer"  "boolean"  "object"  "array"  "any"
 *   "table"                     an object or an array
 *   "integer > 0"  "number >= 0 < 1"  "integer 1..10"  "string ..80"
 *                               bounds: of a number, of a string's characters,
 *                               of how many members there are
 *   "one of low, normal, high"  one of these texts; a word that is a number, as
 *                               in "one of 1, 2", is that number, and no text
 *   "string | integer"          either
 *   "string[]"                  an array of these
 *   "string?"                   it may be left out, or null
 *   ["integer > 0"]             an array, of any type
 *   {"street": "string", "zip?": {...}, "*": "any"}
 *                               an object with these members; others are as "*"
 *                               says, and without it there are none
 *
 * A declaration is JSON itself: a text, an object of declarations, or an array
 * of one. {} is an empty array too, as Lua writes it.
 *
 * Layer    value: above base.
 * Errors   `where` is the path, from `root` on: "input.lines[2].price". */
#ifndef PAWL_VALUE_TYPES_H
#define PAWL_VALUE_TYPES_H

#include "json.h"

/* Is it a declaration? PAWL_DEFINITION; of an unknown word the nearest is the
 * hint. */
pawl_code pawl_types_check(pawl_str type, const char *root, pawl_error *err);
/* Is the value what a declaration, which was checked, says? PAWL_VALUE: the
 * message has the path, what was expected and what was found. */
pawl_code pawl_types_fit(pawl_str type, pawl_str value, const char *root,
                         pawl_error *err);
/* The same of the members that an object has by now, and has not just as they
 * are in `before` (at NULL: none): none need be there. */
pawl_code pawl_types_fit_present(pawl_str type, pawl_str before,
                                 pawl_str object, const char *root,
                                 pawl_error *err);
/* The same of one that it is to have. */
pawl_code pawl_types_fit_member(pawl_str type, const char *name,
                                pawl_str value, const char *root,
                                pawl_error *err);

/* May an object that a declaration, which was checked, is of have a member of
 * that name? What is no declaration of members says nothing: 1. Else `near` is
 * the declared name that may have been meant; "": none. */
#define PAWL_TYPES_NAME 65
int pawl_types_may_have(pawl_str type, const char *name,
                        char near[PAWL_TYPES_NAME]);

/* A declaration, which was checked, as JSON Schema (2020-12), for whoever draws
 * a form of it: an object with "$schema". What may be left out may be null, as
 * it is here. Two things are said otherwise there: 3.0 is an integer, and {} no
 * array. */
void pawl_types_schema(pawl_str type, pawl_buf *out);

#endif
