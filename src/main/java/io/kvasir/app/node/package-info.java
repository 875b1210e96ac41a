/**
 * A router node: {@link io.kvasir.app.node.Node} wires every package to the others, from the configuration's records.
 * {@code RoutingAssembly} builds what decisions are made with, {@code NodeSystem} the actor system, {@code
 * ManagementServer} the port for operators; {@link io.kvasir.app.node.NodeSupervisor} replaces a node that was removed
 * from the cluster, {@link io.kvasir.app.node.HeapRelease} gives memory back that the process does not need any more,
 * and {@link io.kvasir.app.node.CompilerSlices} has the JVM's compilers let requests pass. The other classes are
 * adapters between packages that do not depend on each other, such as health probes, event streams, readiness and the
 * reload of profiles.
 */
@NullMarked
package io.kvasir.app.node;

import org.jspecify.annotations.NullMarked;
