/**
 * A simulated engine: the OpenAI API over HTTP, vLLM's events over ZMQ, a paged prefix cache and the
 * time a real engine would take. The demo, the tests and the load tests run against it.
 */
@NullMarked
package io.kvasir.sim;

import org.jspecify.annotations.NullMarked;
