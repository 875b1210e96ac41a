/**
 * What goes wrong with a request, in the words of its API.
 *
 * <p>Whoever cannot serve a request throws an {@link io.kvasir.gateway.error.ApiException} with an {@link
 * io.kvasir.gateway.error.ApiError}; where it is for want of something, that names by a {@link
 * io.kvasir.gateway.error.GateRefusal} the gate and the setting that moves it. In one place, {@link
 * io.kvasir.gateway.error.ApiBoundary}, the error becomes an answer, in the {@link
 * io.kvasir.gateway.error.ErrorFormat} of the API that the path belongs to, under the request's id ({@link
 * io.kvasir.gateway.error.RequestIds}). The answer to a client that has disconnected, which nobody reads, is {@link
 * io.kvasir.gateway.error.ClientCancelled}.
 */
@NullMarked
package io.kvasir.gateway.error;

import org.jspecify.annotations.NullMarked;
