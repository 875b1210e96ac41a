/**
 * Recorded traces as people publish them, each as it is: {@link io.kvasir.lab.trace.RecordedTrace} reads a file in one
 * of the {@link io.kvasir.lab.trace.TraceFormat}s, which it recognises by its content, into {@link
 * io.kvasir.lab.trace.TraceLine}s. A fault names the line, the field and what was expected there.
 */
@NullMarked
package io.kvasir.lab.trace;

import org.jspecify.annotations.NullMarked;
