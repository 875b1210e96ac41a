/**
 * Main, command line, configuration and wiring. The only room that knows all others.
 */
@NullMarked
package io.kvasir.app;

import org.jspecify.annotations.NullMarked;
