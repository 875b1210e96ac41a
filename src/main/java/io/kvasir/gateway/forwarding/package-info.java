/**
 * What of a client's request reaches an engine, and what of the engine's answer reaches the client.
 *
 * <p>{@link io.kvasir.gateway.forwarding.ForwardingSettings} has the rules: the {@link
 * io.kvasir.gateway.forwarding.ServedPaths}, by targets in normal form ({@link
 * io.kvasir.gateway.forwarding.RetargetedExchange}), without {@link io.kvasir.gateway.forwarding.ReservedFields}, and
 * with {@link io.kvasir.gateway.forwarding.ForwardedHeaders}, which name the client as far as the {@link
 * io.kvasir.gateway.forwarding.TrustedProxies} are believed. A {@link io.kvasir.gateway.forwarding.ForwardedRequest} is
 * what a worker gets by them. Streams whose clients ask for no usage are made to have it by {@link
 * io.kvasir.gateway.forwarding.UsageInjection}, unless their engine sends it unasked ({@link
 * io.kvasir.gateway.forwarding.UnaskedUsage}).
 */
@NullMarked
package io.kvasir.gateway.forwarding;

import org.jspecify.annotations.NullMarked;
