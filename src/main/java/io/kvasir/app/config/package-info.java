/**
 * Reads the configuration into settings records. All faults of a configuration are found in one pass and reported
 * together, each with its file and line.
 */
@NullMarked
package io.kvasir.app.config;

import org.jspecify.annotations.NullMarked;
