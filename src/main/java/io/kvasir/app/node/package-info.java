/**
 * A router node: its wiring, and the adapters between rooms that do not know each other.
 */
@NullMarked
package io.kvasir.app.node;

import org.jspecify.annotations.NullMarked;
