/**
 * The program: {@link io.kvasir.app.Main} parses the command line and runs a command.
 *
 * <ul>
 *   <li>{@code app.command}: the commands {@code serve}, {@code validate}, {@code demo}, {@code sim}, {@code lab},
 *       {@code replay} and {@code train}
 *   <li>{@code app.config}: reads configuration files into settings records, with every fault and its place
 *   <li>{@code app.node}: builds a router node from those records, and has the adapters between packages
 *   <li>{@code app.membership}: a node's membership in the cluster, crashes and partitions
 *   <li>{@code app.warmup}: requests that only warm the JVM up, and an engine for them
 *   <li>{@code app.admin}: the commands over a running router's admin API
 *   <li>{@code app.terminal}: tables and progress bars
 * </ul>
 *
 * <p>The only package that may depend on all others.
 */
@NullMarked
package io.kvasir.app;

import org.jspecify.annotations.NullMarked;
