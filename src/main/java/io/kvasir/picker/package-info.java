/**
 * The endpoint picker: what a Kubernetes gateway asks, by Envoy's external processing protocol, to which worker a
 * request should go. The picker is a second way to {@link io.kvasir.gateway.Gateway}, not a second router: its requests
 * are read, limited, decided, booked and recorded like any other, but it is the gateway's proxy that sends them to the
 * worker.
 */
@NullMarked
package io.kvasir.picker;

import org.jspecify.annotations.NullMarked;
