/**
 * What operators see: metrics and decision records. Every other room reports here; this room knows
 * none of them.
 */
@NullMarked
package io.kvasir.telemetry;

import org.jspecify.annotations.NullMarked;
