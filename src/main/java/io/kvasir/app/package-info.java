/**
 * The program: {@link io.kvasir.app.Main} parses the command line and runs a command.
 *
 * <ul>
 *   <li>{@code app.command}: the commands {@code serve}, {@code picker}, {@code validate}, {@code demo}, {@code sim},
 *       {@code lab}, {@code replay}, {@code train} and {@code version}
 *   <li>{@code app.init}: the command {@code init}, which asks engines what they are and writes a configuration
 *   <li>{@code app.llmd}: llm-d's endpoint picker, its arguments and its file, as a configuration
 *   <li>{@code app.config}: reads configuration files into settings records, with every fault and its place
 *   <li>{@code app.node}: builds a router node from those records, and has the adapters between packages
 *   <li>{@code app.membership}: a node's membership in the cluster, crashes and partitions
 *   <li>{@code app.warmup}: requests that only warm the JVM up, and an engine for them
 *   <li>{@code app.neighbours}: what a node finds out about the other nodes of its cluster
 *   <li>{@code app.admin}: the commands over a running router's admin API, {@code doctor} and {@code keys}
 *   <li>{@code app.top}: the command {@code top}, a fleet in a terminal
 *   <li>{@code app.terminal}: tables and progress bars
 * </ul>
 *
 * <p>The only package that may depend on all others.
 */
@NullMarked
package io.kvasir.app;

import org.jspecify.annotations.NullMarked;
