/**
 * What looks into answers on their way to the client, and what stitches the streams of two workers into one.
 */
@NullMarked
package io.kvasir.execution.stream;

import org.jspecify.annotations.NullMarked;
