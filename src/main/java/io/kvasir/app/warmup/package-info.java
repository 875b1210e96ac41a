/**
 * What warms the JVM up: {@link io.kvasir.app.warmup.SampleTraffic} sends requests of every kind, to
 * gateways or by {@link io.kvasir.app.warmup.SampleProxy} to endpoint pickers; {@link
 * io.kvasir.app.warmup.LoopbackEngine} answers without computing anything.
 */
@NullMarked
package io.kvasir.app.warmup;

import org.jspecify.annotations.NullMarked;
