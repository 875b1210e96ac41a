/**
 * How engine families share one request between workers, as pure functions: from the client's request and what
 * earlier legs answered to the request of the next leg. No I/O, no clock, no state; the room around this package
 * sends, waits and retries.
 *
 * <p>{@link io.kvasir.execution.dialect.KvTransferProtocol} are the way from prefill to decode, a {@link
 * io.kvasir.execution.dialect.PreprocessingStep} what is done to a request before its prompt is read. What they do not
 * understand passes as the bytes it came in: {@link io.kvasir.execution.dialect.JsonMembers} edits members, not
 * documents.
 */
@NullMarked
package io.kvasir.execution.dialect;

import org.jspecify.annotations.NullMarked;
