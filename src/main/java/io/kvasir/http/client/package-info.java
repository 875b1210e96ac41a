/**
 * Connections to pods. A {@link io.kvasir.http.client.PodClient} keeps idle connections per pod and carries out one
 * {@link io.kvasir.http.client.PodCall} at a time on each: it writes the request, reads the head, and hands the body
 * over piece by piece as it arrives, on the calling thread or on one that reads many bodies; a connection that leaves
 * HTTP is a {@link io.kvasir.http.client.PodTunnel} instead. A loop watches a connection for as long as it is open,
 * also between calls, and wakes the call that waits ({@code PlainConnection}); one with TLS is read by the calling
 * thread. Any thread can abort a call. For a short answer no thread waits ({@link
 * io.kvasir.http.client.PodClient#get}). This package does not know what a request or an answer means.
 */
@NullMarked
package io.kvasir.http.client;

import org.jspecify.annotations.NullMarked;
