/**
 * A small HTTP/1.1 server that reads on one thread, so that requests are taken in the order in which they came, and
 * answers on virtual ones: cheap enough to stand behind a load test, and near enough to the socket to hang, cut or drop
 * a connection on purpose.
 */
@NullMarked
package io.kvasir.sim.http;

import org.jspecify.annotations.NullMarked;
