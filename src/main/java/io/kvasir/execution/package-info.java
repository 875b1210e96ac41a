/**
 * Carries a plan out: sends the request to the chosen worker's pod, tries the next candidate while
 * nothing has reached the client, and relays the answer unparsed but for a tap that finds the first
 * token, the usage block and errors inside the stream.
 */
@NullMarked
package io.kvasir.execution;

import org.jspecify.annotations.NullMarked;
