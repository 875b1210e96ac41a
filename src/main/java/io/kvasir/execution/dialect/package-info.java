/**
 * How engine families share one request between workers, as pure functions: from the client's request and the responses
 * so far to the next engine's request. No I/O, no clock, no state; attempts and workflows send, wait and retry.
 *
 * <p>A {@link io.kvasir.execution.dialect.KvTransferProtocol} is one family's way from prefill to decode, a {@link
 * io.kvasir.execution.dialect.PreprocessingStep} what is done to a request before its prompt is computed, and a {@link
 * io.kvasir.execution.dialect.Translation} serves one API by a chat completion, whose conversation is that which the
 * engine would make of the request ({@link io.kvasir.execution.dialect.ChatConversion}). What they do not understand
 * passes as the bytes it came in: {@link io.kvasir.execution.dialect.JsonMembers} edits members, not documents.
 */
@NullMarked
package io.kvasir.execution.dialect;

import org.jspecify.annotations.NullMarked;
