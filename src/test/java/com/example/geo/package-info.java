/**
 * A worked example of plugins in a jar of one's own: requests go to the worker that is nearest on the globe. Kvasir's
 * conf/README.md says how such classes become a jar; a test does the same and loads it.
 */
@NullMarked
package com.example.geo;

import org.jspecify.annotations.NullMarked;
