/**
 * A node's membership in the cluster: the failure detector that the platform loads, the removal of crashed nodes, and
 * the way back of a node that was cut off. {@link io.kvasir.app.membership.Membership} is what the rest of the node
 * sees; {@link io.kvasir.app.membership.KubernetesNodes} finds the others to join by the Kubernetes API.
 */
@NullMarked
package io.kvasir.app.membership;

import org.jspecify.annotations.NullMarked;
