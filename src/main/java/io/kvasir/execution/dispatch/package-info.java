/**
 * The entry to the execution of calls. {@link io.kvasir.execution.dispatch.Dispatcher} has the cells decide and tries a
 * single worker on the caller's thread; everything that takes more is a workflow. A {@code Resumption} continues a
 * stream that its worker cut, with the request that {@code Continuation} builds; {@code DeathWatch} finds out whether
 * workers died under requests that nobody tries again.
 */
@NullMarked
package io.kvasir.execution.dispatch;

import org.jspecify.annotations.NullMarked;
