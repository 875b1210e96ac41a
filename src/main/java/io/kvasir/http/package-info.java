/**
 * What everything that speaks HTTP shares: headers and the path that a body's bytes take. {@code http.client} has the
 * connections to pods, {@code http.server} the front door.
 */
@NullMarked
package io.kvasir.http;

import org.jspecify.annotations.NullMarked;
