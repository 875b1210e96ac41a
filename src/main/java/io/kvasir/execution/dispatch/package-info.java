/**
 * The entry to the execution of calls. {@link io.kvasir.execution.dispatch.Dispatcher} has the cells decide and tries a
 * single worker on the caller's thread; everything that takes more is a workflow. {@code DeathWatch} finds out whether
 * workers died under requests that nobody tries again.
 *
 * <p>A {@code Resumption} continues a stream that its worker cut: {@code CutDecider} decides whether it may, by what
 * {@code ProvenRest} can prove of the tokens that were generated; {@code Continuation} builds the request for the rest
 * (of a message by {@code MessagesContinuation}, as a chat; a response is only requested again), and {@code
 * JoinedReports} makes one report of those of all workers.
 */
@NullMarked
package io.kvasir.execution.dispatch;

import org.jspecify.annotations.NullMarked;
