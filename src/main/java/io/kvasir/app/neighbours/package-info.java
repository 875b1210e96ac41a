/**
 * What the nodes of a cluster are to each other: a {@link io.kvasir.app.neighbours.Neighbours} asks every node what it
 * is (version, ports, certificates, settings) and which ports of the others it reaches, and {@link
 * io.kvasir.app.neighbours.NodesAdmin} shows that at {@code /admin/nodes}. Nodes find each other by the receptionist.
 */
@NullMarked
package io.kvasir.app.neighbours;

import org.jspecify.annotations.NullMarked;
