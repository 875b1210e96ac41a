/**
 * What commands show people: tables, progress, and frames that fill a terminal's screen. {@code StandardStream} tells
 * whether there is a terminal; without one nothing is drawn in place, and there are neither colours nor escape
 * sequences.
 */
@NullMarked
package io.kvasir.app.terminal;

import org.jspecify.annotations.NullMarked;
