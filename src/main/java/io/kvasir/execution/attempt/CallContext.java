package io.kvasir.execution.attempt;

import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.http.CancellationSource;

/**
 * A call that is carried out, with the client that waits for it.
 *
 * @param call the request
 * @param cancellation the token of the call's attempts: the client cancels it, or a caller that is interrupted
 * @param listener notified of the response that streams
 */
public record CallContext(Call call, CancellationSource cancellation, CallListener listener) {}
